"""PNG files as label maps usually are, read several times as fast as by Pillow, with the same result."""

from __future__ import annotations

import struct
import sys
import threading
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import imagecodecs
import numpy as np
from numpy.typing import NDArray

from segcv.pixels.files import damaged, refuse_huge

_GREY, _PALETTE = 0, 3                                   # colour types
_DEPTHS = {_GREY: (1, 2, 4, 8, 16), _PALETTE: (1, 2, 4, 8)}
_SIZES = {b"gAMA": 4, b"cHRM": 32, b"sRGB": 1, b"pHYs": 9, b"tIME": 7}         # chunks that say nothing about labels
_KEPT = 1 << 23                                          # bytes
_THREAD = threading.local()
_SPEAKING = (b"Raw profile type", b"XML:com.adobe.xmp")  # texts that may hold an orientation


@dataclass(frozen=True, slots=True)
class LabelPng:
    """What such a file holds."""

    values: NDArray[np.uint8] | NDArray[np.uint16]       # H x W: grey values or palette indices
    palette: NDArray[np.uint8] | None                    # entries x 3
    bits: int


@dataclass(slots=True)
class _Chunks:
    """What the chunks before the picture and the picture's own say."""

    height: int
    width: int
    bits: int
    colour_type: int
    palette: NDArray[np.uint8] | None
    content: list[memoryview]                            # compressed rows


def decode_label_png(data: bytes, *, max_pixels: int) -> LabelPng | None:
    """The label map in the content of a PNG file, with the values of Pillow's stored mode; None where Pillow must tell.

    One channel (grey of 1, 2, 4, 8, 16 bits; palette indices of 1, 2, 4, 8 bits), not interlaced, without an
    orientation, and put together as the PNG specification says: everything else is Pillow's. 2- and 4-bit greys are
    spread over 0..255, as by Pillow. Raises Fault where a checksum, of a chunk or of the rows, is wrong, where rows
    are missing, and for more than `max_pixels`.
    """
    chunks = _parsed(data, max_pixels)
    if chunks is None:
        return None
    pixel_bytes = 2 if chunks.bits == 16 else 1
    row_bytes = (chunks.width * chunks.bits + 7) // 8
    raw = _inflated(chunks.content, chunks.height * (1 + row_bytes))
    if raw is None:
        return None
    rows = _unfiltered(raw, chunks.height, row_bytes, pixel_bytes)
    if rows is None:
        return None
    return LabelPng(_samples(rows, chunks), chunks.palette if chunks.colour_type == _PALETTE else None, chunks.bits)


def _parsed(data: bytes, max_pixels: int) -> _Chunks | None:
    found: _Chunks | None = None
    ended_content = False
    for name, content in _chunks(data):
        if found is None:
            found = _header(name, content, max_pixels)
            if found is None:
                return None
        elif name == b"IDAT" and not ended_content:
            found.content.append(content)
        elif name == b"IEND":
            complete = found.content and (found.palette is None) == (found.colour_type == _GREY)
            return found if complete else None
        elif name == b"PLTE" and found.colour_type == _PALETTE and found.palette is None and not found.content:
            if not content or len(content) % 3 or len(content) > 3 * 2**found.bits:
                return None
            found.palette = np.frombuffer(content, np.uint8).reshape(-1, 3)
        elif not _silent(name, content, found):
            return None
        else:
            ended_content = bool(found.content)
    raise damaged("the file ends before the picture does")


def _chunks(data: bytes) -> Iterator[tuple[bytes, memoryview]]:
    """Name and content of each whole chunk whose checksum is right; Fault where one is wrong."""
    view, at = memoryview(data), 8
    while at + 12 <= len(data):
        end = at + 12 + int.from_bytes(view[at:at + 4], "big")
        if end > len(data):
            return
        name = data[at + 4:at + 8]
        if zlib.crc32(view[at + 4:end - 4]) != int.from_bytes(view[end - 4:end], "big"):
            raise damaged(f"checksum of chunk {name.decode('latin-1')} is wrong")
        yield name, view[at + 8:end - 4]
        at = end


def _header(name: bytes, content: memoryview, max_pixels: int) -> _Chunks | None:
    if name != b"IHDR" or len(content) != 13:
        return None
    width, height, bits, colour_type, *rest = struct.unpack(">IIBBBBB", content)
    if not width or not height or bits not in _DEPTHS.get(colour_type, ()) or rest != [0, 0, 0]:
        return None
    refuse_huge(height, width, max_pixels)
    return _Chunks(height, width, bits, colour_type, None, [])


def _silent(name: bytes, content: memoryview, so_far: _Chunks) -> bool:
    """Is this a chunk that Pillow reads without a change to the labels?"""
    if name == b"tEXt":
        return not bytes(content[:20]).startswith(_SPEAKING)
    if name == b"tRNS" and not so_far.content:
        return len(content) == 2 if so_far.colour_type == _GREY else 0 < len(content) <= 256
    return _SIZES.get(name) == len(content)


def _scratch(size: int) -> NDArray[np.uint8]:
    """Memory of this thread that the next call hands out again: asking the system for it anew would cost a tenth."""
    if size > _KEPT:
        return np.empty(size, np.uint8)
    kept: NDArray[np.uint8] | None = getattr(_THREAD, "scratch", None)
    if kept is None or kept.size < size:
        kept = _THREAD.scratch = np.empty(size, np.uint8)
    return kept[:size]


def _inflated(content: list[memoryview], size: int) -> NDArray[np.uint8] | None:
    """The rows with their filter bytes, in a buffer of whole words and one more; None where there are more rows than
    the header says."""
    packed: Any = content[0] if len(content) == 1 else b"".join(content)
    raw = _scratch((size // 8 + 2) * 8)
    try:
        found = imagecodecs.deflate_decode(packed, out=raw[:size].data)
    except imagecodecs.DeflateError as error:
        try:
            zlib.decompress(packed)
        except zlib.error:
            raise damaged(error) from error
        return None
    if len(found) != size:
        raise damaged("rows are missing")
    return raw


def _unfiltered(raw: NDArray[np.uint8], height: int, row_bytes: int, pixel_bytes: int) -> NDArray[np.uint8] | None:
    """Rows as bytes, height x row_bytes."""
    stored = raw[:height * (row_bytes + 1)].reshape(height, row_bytes + 1)
    if not stored[:, 0].any():
        return stored[:, 1:].copy()
    if sys.byteorder != "little":
        return None
    from segcv.pixels.label_kernels import unfilter

    rows = np.empty((height + 1, (row_bytes + 7) // 8), np.uint64)
    rows[0] = 0
    if unfilter(raw.view(np.uint64), row_bytes, pixel_bytes, rows):
        return None
    return rows[1:].view(np.uint8)[:, :row_bytes]


def _samples(rows: NDArray[np.uint8], chunks: _Chunks) -> NDArray[Any]:
    bits = chunks.bits
    if bits == 8:
        return np.ascontiguousarray(rows)
    if bits == 16:
        return np.ascontiguousarray(rows).view(">u2").astype(np.uint16)
    ones = np.ascontiguousarray(np.unpackbits(rows, axis=1)[:, :chunks.width * bits])
    if bits == 1:
        return ones
    values = np.packbits(ones.reshape(chunks.height, chunks.width, bits), axis=2)[:, :, 0] >> (8 - bits)
    if chunks.colour_type == _GREY:
        values *= np.uint8(255 // (2**bits - 1))
    return values
