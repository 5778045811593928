"""The common kinds of JPEG by OpenCV and of PNG by libspng, which are quicker than Pillow and give the same samples."""

from __future__ import annotations

import struct
from typing import Any

import cv2
import imagecodecs
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from segcv.pixels.files import refuse_broken_png, refuse_huge

_FRAMES = frozenset({0xC0, 0xC1, 0xC2})      # baseline, extended and progressive JPEG, Huffman coded
_ORIENTATION = 274                           # the EXIF tag
_PNG_BANDS = {0: 1, 2: 3, 6: 4}              # by colour type


def decode_quick(data: bytes, kind: str, *, max_pixels: int) -> NDArray[np.uint8] | None:
    """H x W x bands of a plain 8-bit JPEG or PNG as it is stored; None for anything that takes a closer look.

    That is: JPEGs that are not grey or RGB, are turned by EXIF, or do not end with their end marker; PNGs of another
    depth, with palette, transparency, interlacing, EXIF or animation. Raises Fault for broken PNGs and for pictures
    above `max_pixels`.
    """
    if kind == "JPEG":
        size = _plain_jpeg(data)
    elif kind == "PNG":
        size = _plain_png(data)
    else:
        return None
    if size is None:
        return None
    height, width, bands = size
    refuse_huge(height, width, max_pixels)
    if kind == "PNG":
        refuse_broken_png(data)
        found = _png(data)
    else:
        how = {1: cv2.IMREAD_GRAYSCALE, 3: cv2.IMREAD_COLOR_RGB}[bands]
        found = cv2.imdecode(np.frombuffer(data, np.uint8), how | cv2.IMREAD_IGNORE_ORIENTATION)
    if found is None or found.dtype != np.uint8 or found.size != height * width * bands:
        return None
    samples: NDArray[np.uint8] = found.reshape(height, width, bands)
    return samples


def _png(data: bytes) -> Any:
    try:
        return imagecodecs.spng_decode(data)
    except imagecodecs.SpngError:              # the reader that takes a closer look says what is wrong
        return None


def _plain_jpeg(data: bytes) -> tuple[int, int, int] | None:
    """Height, width and bands, told by the headers."""
    if data[-2:] != b"\xff\xd9":
        return None
    at = 2
    while at + 9 < len(data) and data[at] == 0xFF:
        marker, length = data[at + 1], struct.unpack_from(">H", data, at + 2)[0]
        if marker in _FRAMES:
            depth, height, width, bands = struct.unpack_from(">BHHB", data, at + 4)
            return (height, width, bands) if depth == 8 and bands in (1, 3) and height and width else None
        if 0xC3 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            return None                                        # another coding
        if marker == 0xE1 and data[at + 4:at + 8] == b"Exif" and _is_turned(data[at + 4:at + 2 + length]):
            return None
        at += 2 + length
    return None


def _is_turned(exif: bytes) -> bool:
    """Does an EXIF segment turn the picture, or can it not be read?"""
    found = Image.Exif()
    try:
        found.load(exif)
        return bool(found.get(_ORIENTATION, 1) != 1)
    except (SyntaxError, ValueError, KeyError, struct.error, OSError):
        return True


def _plain_png(data: bytes) -> tuple[int, int, int] | None:
    """Height, width and bands, told by the headers before the pixels."""
    if len(data) < 33 or data[12:16] != b"IHDR":
        return None
    width, height, depth, colour, _, _, interlaced = struct.unpack_from(">IIBBBBB", data, 16)
    if depth != 8 or colour not in _PNG_BANDS or interlaced:
        return None
    at = 33
    while at + 8 <= len(data):
        length, name = struct.unpack_from(">I4s", data, at)
        if name == b"IDAT":
            return height, width, _PNG_BANDS[colour]
        if name in (b"tRNS", b"acTL", b"eXIf"):
            return None
        at += 12 + length
    return None
