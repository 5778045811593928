"""Pictures as PNG: label maps as files, small copies of images as bytes."""

from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from segcv.errors import MaskError
from segcv.pixels.looks import eight_bit
from segcv.pixels.moments import valid_pixels
from segcv.tables import replacing

_LEVEL = 3                           # of compression: label maps are runs, more effort gains little


def write_mask(path: Path, labels: NDArray[Any]) -> None:
    """Replace `path` by a grey PNG of the label array, H x W, 8 bits for uint8 and 16 for uint16.

    Rows are written without filters, which makes label maps quick to read; any PNG reader reads them.

    Raises:
        MaskError: the array is not two-dimensional uint8 or uint16, or the name does not end in .png.
    """
    if labels.ndim != 2 or labels.dtype not in (np.uint8, np.uint16) or not labels.size:
        raise MaskError(f"{path}: a label array is H x W of uint8 or uint16, and this is "
                        f"{labels.dtype.name} of shape {labels.shape}.")
    if path.suffix.lower() != ".png":
        raise MaskError(f"{path}: masks are written as PNG. Give a name that ends in .png.")
    with replacing(path) as beside:
        beside.write_bytes(_grey_png(labels))


def thumbnail(image: NDArray[Any], *, side: int = 256, nodata: float | None = None) -> bytes:
    """PNG bytes of an image, H x W x bands, for people: RGB or grey of 8 bits, its longer side at most `side` pixels.

    16-bit and float images are scaled, 1st..99th percentile to 0..255; of further bands the first three are shown.
    """
    picture = Image.fromarray(eight_bit(image, valid_pixels(image, nodata)))
    picture.thumbnail((side, side), Image.Resampling.LANCZOS)
    buffer = io.BytesIO()
    picture.save(buffer, "PNG")
    return buffer.getvalue()


def _grey_png(labels: NDArray[Any]) -> bytes:
    height, width = labels.shape
    bits = 8 * labels.dtype.itemsize
    samples = np.ascontiguousarray(labels, dtype=">u2" if bits == 16 else np.uint8)
    rows = np.zeros((height, 1 + width * bits // 8), np.uint8)                        # first byte 0: no filter
    rows[:, 1:] = samples.view(np.uint8).reshape(height, -1)
    header = struct.pack(">IIBBBBB", width, height, bits, 0, 0, 0, 0)                 # grey, not interlaced
    return b"\x89PNG\r\n\x1a\n" + b"".join((
        _chunk(b"IHDR", header), _chunk(b"IDAT", zlib.compress(rows.tobytes(), _LEVEL)), _chunk(b"IEND", b"")))


def _chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
