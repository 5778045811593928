"""TIFF files: one picture each, of any number of bands, whole or by windows."""

from __future__ import annotations

import io
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import tifffile
from numpy.typing import NDArray

from segcv.pixels.files import Fault, damaged, refuse_huge

_GREY, _COLOUR, _PALETTE, _YCBCR = ("MINISBLACK", "MINISWHITE"), "RGB", "PALETTE", "YCBCR"
_LOSSY = (6, 7, 34892, 33007)                        # the JPEG family of compressions
_KEPT = 1 << 24                                      # pixels of decoded strips or tiles kept for the next window


@dataclass(frozen=True, slots=True)
class TiffPicture:
    """A decoded TIFF, or a window of one, as stored: samples, what they mean, and how the picture is to be turned."""

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
            _refuse_unreadable(page, len(data))
            return _picture(page, _by_pixel(page.asarray(squeeze=False)))
    except Fault:
        raise
    except Exception as error:                       # a decoder meets a broken file with any exception whatever
        raise damaged(error) from error


def tiff_size(path: Path) -> tuple[int, int, int]:
    """Height, width and orientation (1..8) in the header; raises Fault."""
    try:
        with tifffile.TiffFile(path) as file:
            page = _only_page(file)
            return int(page.imagelength), int(page.imagewidth), _orientation(page)
    except Fault:
        raise
    except Exception as error:
        raise damaged(error) from error


@dataclass(slots=True)
class TiffWindows:
    """A TIFF file open for reading by windows: only the strips or tiles that a window touches are decoded."""

    file: tifffile.TiffFile
    page: tifffile.TiffPage
    shape: tuple[int, int]                           # height, width
    piece: tuple[int, int]                           # of a strip or tile
    _decoded: OrderedDict[int, NDArray[Any]] = field(default_factory=OrderedDict)

    @classmethod
    def open(cls, path: Path, *, max_pixels: int) -> TiffWindows:
        """Open the file; raises Fault, also where one strip or tile alone is larger than `max_pixels`."""
        try:
            file = tifffile.TiffFile(path)
        except Exception as error:
            raise damaged(error) from error
        try:
            page = _only_page(file)
            _refuse_unreadable(page, path.stat().st_size)
            height, width = int(page.imagelength), int(page.imagewidth)
            piece = (int(page.tilelength), int(page.tilewidth)) if page.is_tiled else (
                min(int(page.rowsperstrip), height), width)
            if _orientation(page) != 1:
                raise Fault(f"is to be turned (orientation {_orientation(page)}), and it is read by windows",
                            "Write it upright.")
            if not page.is_memmappable and piece[0] * piece[1] > max_pixels:
                raise Fault(f"is {height}x{width} (height x width) and compressed in pieces of {piece[0]}x{piece[1]}, "
                            f"too large to decode ({max_pixels} pixels at most)",
                            "Write it in tiles of 512x512, or cut it into images.")
            return cls(file, page, (height, width), piece)
        except Fault:
            file.close()
            raise
        except Exception as error:
            file.close()
            raise damaged(error) from error

    def read(self, rows: slice, columns: slice) -> TiffPicture:
        """The window, its bounds whole numbers inside the picture; raises Fault."""
        try:
            if self.page.is_memmappable:
                mapped = self.page.asarray(out="memmap", squeeze=False)
                samples = _by_pixel(np.array(mapped[:, :, rows, columns], self.page.dtype))
            else:
                samples = _by_pixel(self._put_together(rows, columns))
            return _picture(self.page, samples)
        except Fault:
            raise
        except Exception as error:
            raise damaged(error) from error

    def close(self) -> None:
        """Close the file."""
        self.file.close()

    def _put_together(self, rows: slice, columns: slice) -> NDArray[Any]:
        """The window as planes x 1 x height x width x samples."""
        planes, _, height, width, samples = self.page.shaped
        window = np.empty((planes, 1, rows.stop - rows.start, columns.stop - columns.start, samples), self.page.dtype)
        tall, wide = self.piece
        down, across = -(-height // tall), -(-width // wide)
        for plane in range(planes):
            for y in range(rows.start // tall, -(-rows.stop // tall)):
                for x in range(columns.start // wide, -(-columns.stop // wide)):
                    piece = self._piece((plane * down + y) * across + x)                 # h x w x samples
                    top, left = max(rows.start, y * tall), max(columns.start, x * wide)
                    bottom, right = min(rows.stop, (y + 1) * tall), min(columns.stop, (x + 1) * wide)
                    inside = piece[top - y * tall:bottom - y * tall, left - x * wide:right - x * wide]
                    window[plane, 0, top - rows.start:bottom - rows.start,
                           left - columns.start:right - columns.start] = inside
        return window

    def _piece(self, index: int) -> NDArray[Any]:
        if index in self._decoded:
            self._decoded.move_to_end(index)
            return self._decoded[index]
        handle = self.file.filehandle
        handle.seek(self.page.dataoffsets[index])
        size = self.page.databytecounts[index]
        data, _, shape = self.page.decode(handle.read(size) if size else None, index, jpegtables=self.page.jpegtables,
                                          jpegheader=self.page.jpegheader)
        if data is None:                                                     # left out, as GDAL does: no data
            data = np.full(shape, self.page.nodata, self.page.dtype)
        self._decoded[index] = data[0]
        while len(self._decoded) > 1 and sum(one.shape[0] * one.shape[1] for one in self._decoded.values()) > _KEPT:
            self._decoded.popitem(last=False)
        return self._decoded[index]


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


def _refuse_unreadable(page: tifffile.TiffPage, size: int) -> None:
    """Refuse colours that are no labels, and a file shorter than its own table of strips or tiles says: missing ones
    would be read as zeros."""
    photometric = _photometric(page)
    if photometric not in (*_GREY, _COLOUR, _PALETTE, _YCBCR) or (
            photometric == _YCBCR and int(page.compression) not in _LOSSY):
        raise Fault(f"holds {photometric} colours", "Convert it to RGB.")
    if page.imagedepth > 1:
        raise Fault(f"holds a volume of {page.imagedepth} slices", "Write each slice to its own file.")
    ends = [offset + count for offset, count in zip(page.dataoffsets, page.databytecounts, strict=True) if count]
    if not ends or max(ends) > size:
        raise damaged("the file ends before the picture does")


def _picture(page: tifffile.TiffPage, samples: NDArray[Any]) -> TiffPicture:
    photometric = _photometric(page)
    palette = None
    if photometric == _PALETTE:
        colormap = np.asarray(page.colormap)                                 # 3 x entries, 16-bit
        palette = (colormap >> 8 if colormap.max() > 255 else colormap).T.astype(np.uint8)
    extra = tuple(int(kind) for kind in page.extrasamples)
    return TiffPicture(_black_is_zero(samples, photometric, page), palette, int(page.bitspersample),
                       bool(extra) and extra[-1] in (1, 2), _orientation(page), int(page.compression) in _LOSSY)


def _orientation(page: tifffile.TiffPage) -> int:
    tag = page.tags.get(274)
    return int(tag.value) if tag is not None else 1


def _by_pixel(planes: NDArray[Any]) -> NDArray[Any]:
    """planes x 1 x height x width x samples -> height x width x bands."""
    samples = planes[:, 0]
    return np.moveaxis(samples[..., 0], 0, -1) if samples.shape[-1] == 1 else samples[0]


def _photometric(page: tifffile.TiffPage) -> str:
    return str(getattr(page.photometric, "name", page.photometric))


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
