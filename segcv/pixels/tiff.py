"""TIFF files: one picture each, of any number of bands, stored band by band or pixel by pixel."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
import tifffile
from numpy.typing import NDArray
from PIL import TiffImagePlugin

from segcv.pixels.files import Fault, damaged, refuse_huge

_GREY, _COLOUR, _PALETTE, _YCBCR = ("MINISBLACK", "MINISWHITE"), "RGB", "PALETTE", "YCBCR"
_LOSSY = (6, 7, 34892, 33007)                        # the JPEG family of compressions
_BUILT_IN = (1, 8, 32946, 32773, 34925)              # none, deflate, packbits, lzma: read without further libraries


@dataclass(frozen=True, slots=True)
class TiffPicture:
    """A decoded TIFF as stored: samples, what they mean, and how the picture is to be turned."""

    samples: NDArray[Any]                            # H x W x bands
    palette: NDArray[np.uint8] | None                # entries x 3, when samples are indices
    bits: int                                        # per sample
    alpha: bool                                      # the last band is transparency
    orientation: int                                 # EXIF, 1..8
    lossy: bool


def decode_tiff(data: bytes, *, max_pixels: int) -> TiffPicture:
    """The one picture in a TIFF file; smaller copies of it (overviews) and transparency masks beside it are left out.

    White-is-zero files are turned to black-is-zero, 2- and 4-bit greys are spread over 0..255, as Pillow does.
    """
    try:
        with tifffile.TiffFile(io.BytesIO(data)) as file:
            page = _only_page(file)
            refuse_huge(page.imagelength, page.imagewidth, max_pixels)
            return _decode_page(data, page)
    except Fault:
        raise
    except Exception as error:                       # a decoder meets a broken file with any exception whatever
        raise damaged(error) from error


def _only_page(file: tifffile.TiffFile) -> tifffile.TiffPage:
    pages = [page for page in (file.pages.get(number) for number in range(len(file.pages)))
             if not int(getattr(page, "subfiletype", 0)) & 0b101]
    if not pages:
        raise damaged("it holds no page")
    first = pages[0].aspage()
    stack = int((file.imagej_metadata or {}).get("images", 1)) if file.is_imagej else 1
    count = max(len(pages), stack)
    if count > 1:
        raise Fault(f"holds {count} pages of {first.imagelength}x{first.imagewidth}, and a file is one picture",
                    "Write each page to its own file; if the pages are bands, write them as the bands of one page "
                    "(height x width x bands).")
    return first


def _decode_page(data: bytes, page: tifffile.TiffPage) -> TiffPicture:
    photometric = getattr(page.photometric, "name", str(page.photometric))
    if photometric not in (*_GREY, _COLOUR, _PALETTE, _YCBCR):
        raise Fault(f"holds {photometric} colours", "Convert it to RGB.")
    _refuse_short(data, page)
    axes = page.axes
    if page.compression in _BUILT_IN and page.predictor in (1, 2) and photometric != _YCBCR:
        samples = page.asarray()
        if axes == "SYX":
            samples = np.moveaxis(samples, 0, -1)
        elif axes not in ("YX", "YXS"):
            raise Fault(f"holds an array with axes {axes}, not one picture", "Write one picture a file.")
        samples = _black_is_zero(samples, photometric, page)
    else:
        samples = _by_other_decoder(data, page, photometric)
    samples = samples.reshape(*samples.shape[:2], -1)
    palette = None
    if photometric == _PALETTE:
        colormap = np.asarray(page.colormap)                                 # 3 x entries, 16-bit
        palette = (colormap >> 8 if colormap.max() > 255 else colormap).T.astype(np.uint8)
    extra = tuple(int(kind) for kind in page.extrasamples)
    orientation = page.tags.get(274)
    return TiffPicture(samples, palette, int(page.bitspersample), bool(extra) and extra[-1] in (1, 2),
                       int(orientation.value) if orientation is not None else 1, int(page.compression) in _LOSSY)


def _refuse_short(data: bytes, page: tifffile.TiffPage) -> None:
    """Refuse a file that is shorter than its own table of strips or tiles; missing ones would be read as zeros."""
    ends = [offset + count for offset, count in zip(page.dataoffsets, page.databytecounts, strict=True) if count]
    if not ends or max(ends) > len(data):
        raise damaged("the file ends before the picture does")


def _black_is_zero(samples: NDArray[Any], photometric: str, page: tifffile.TiffPage) -> NDArray[Any]:
    bits = int(page.bitspersample)
    if photometric in _GREY and bits in (2, 4):
        samples = (samples * (255 // (2**bits - 1))).astype(np.uint8)
    if photometric == "MINISWHITE":
        if samples.dtype == np.uint8 or samples.dtype == np.bool_:
            full = 1 if bits == 1 else 255
            return (full - samples.astype(np.uint8)).astype(np.uint8)
        if bits != 8:
            raise Fault(f"counts white as zero in {bits} bits, which readers do not agree on",
                        "Write it again with black as zero.")
    return samples


def _by_other_decoder(data: bytes, page: tifffile.TiffPage, photometric: str) -> NDArray[Any]:
    """Samples of a page whose compression tifffile reads only with a further library; Pillow and OpenCV know some."""
    bands, bits = int(page.samplesperpixel), int(page.bitspersample)
    shape = (page.imagelength, page.imagewidth, bands)
    found: NDArray[Any] | None = None
    if bands == 1 or (bits == 8 and bands in (3, 4)):
        picture = TiffImagePlugin.TiffImageFile(io.BytesIO(data))
        if not (photometric == _PALETTE and picture.mode != "P"):
            found = np.asarray(picture)
            if picture.mode == "1":
                found = found.astype(np.uint8)
    elif bits in (16, 32) and bands in (3, 4):
        found = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED)
        if found is not None and found.ndim == 3:
            found = found[:, :, [2, 1, 0, *range(3, found.shape[2])]]
    expected = np.dtype(page.dtype) if bits >= 8 else np.dtype(np.uint8)
    if found is None or found.size != np.prod(shape) or found.dtype.newbyteorder("=") != expected.newbyteorder("="):
        raise Fault(f"is compressed by {getattr(page.compression, 'name', page.compression)} "
                    f"({bands} bands of {bits} bits), which needs another library",
                    "Write it again with compression deflate or none.")
    return np.ascontiguousarray(found).reshape(shape)
