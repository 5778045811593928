"""PNG files put together by the specification, chunk by chunk, so that tests choose depth, filters and damage."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence

import numpy as np

GREY, PALETTE = 0, 3


def chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def packed_rows(values: np.ndarray, bits: int) -> np.ndarray:
    """Rows of samples of `bits` bits as bytes, height x bytes."""
    if bits == 16:
        return values.astype(">u2").view(np.uint8).reshape(len(values), -1)
    ones = np.unpackbits(values.astype(np.uint8)[:, :, None], axis=2)[:, :, 8 - bits:]
    return np.packbits(ones.reshape(len(values), -1), axis=1)


def filtered(rows: np.ndarray, filters: Sequence[int], pixel_bytes: int) -> bytes:
    """Rows with their filter bytes, filtered as chapter 9 of the specification says, byte by byte."""
    out = bytearray()
    above = [0] * rows.shape[1]
    for row, kind in zip(rows.tolist(), filters, strict=True):
        out.append(kind)
        for x, value in enumerate(row):
            left, corner = (row[x - pixel_bytes], above[x - pixel_bytes]) if x >= pixel_bytes else (0, 0)
            out.append((value - _guess(kind, left, above[x], corner)) % 256)
        above = row
    return bytes(out)


def assembled(content: bytes, *, width: int, height: int, bits: int, colour_type: int, interlaced: bool = False,
              before: Sequence[tuple[bytes, bytes]] = (), parts: int = 1) -> bytes:
    """The file: header, chunks `before` the picture, the compressed rows in `parts` chunks, end."""
    size = -(-len(content) // parts)
    header = struct.pack(">IIBBBBB", width, height, bits, colour_type, 0, 0, int(interlaced))
    idat = [(b"IDAT", content[at:at + size]) for at in range(0, len(content), size)]
    chunks = [(b"IHDR", header), *before, *idat, (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(name, inside) for name, inside in chunks)


def _guess(kind: int, left: int, above: int, corner: int) -> int:
    if kind < 3:
        return (0, left, above)[kind]
    if kind == 3:
        return (left + above) // 2
    estimate = left + above - corner
    far = [abs(estimate - value) for value in (left, above, corner)]
    return (left, above, corner)[far.index(min(far))]
