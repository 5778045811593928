"""Images too large to hold whole: read window by window; and label rasters of any size, written row by row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tifffile
from numpy.typing import NDArray

from segcv.errors import ImageFileError
from segcv.pixels.files import MAX_PIXELS, Fault, file_kind, read_bytes
from segcv.pixels.reading import decode_image, image_of_tiff
from segcv.pixels.tiff import TiffWindows
from segcv.tables import replacing

_HEAD = 64                                           # bytes that tell the kind of a file
_GEO_TAGS = (33550, 33922, 34264, 34735, 34736, 34737)      # pixel scale, tie points, transform, and the three key tags


@dataclass(frozen=True, slots=True)
class OpenImage:
    """An image file of any size, open for reading by windows. Made by `open_image`."""

    path: Path
    shape: tuple[int, int]                           # height, width
    _stored: Callable[[slice, slice], NDArray[Any]]

    def read(self, rows: slice, columns: slice) -> NDArray[Any]:
        """The window, h x w x bands, as `read_image` gives it.

        Raises:
            ImageFileError: the file is damaged there.
        """
        try:
            return self._stored(rows, columns)
        except Fault as fault:
            raise ImageFileError(fault.about(self.path)) from fault.__cause__


@contextmanager
def open_image(path: Path, *, max_pixels: int = MAX_PIXELS) -> Iterator[OpenImage]:
    """An image file open for reading by windows; of a TIFF only the strips or tiles that a window touches are decoded.

    Other files are decoded whole, and may not have more than `max_pixels`.

    Raises:
        ImageFileError: the file is missing, damaged, too large for its kind, or to be turned (orientation tag).
    """
    tiff: TiffWindows | None = None
    try:
        if file_kind(read_bytes(path, first=_HEAD)) == "TIFF":
            tiff = opened = TiffWindows.open(path, max_pixels=max_pixels)
            image = OpenImage(path, tiff.shape, lambda rows, columns: image_of_tiff(opened.read(rows, columns)))
        else:
            whole = decode_image(read_bytes(path), max_pixels=max_pixels)
            image = OpenImage(path, whole.shape[:2], lambda rows, columns: whole[rows, columns])
    except Fault as fault:
        raise ImageFileError(fault.about(path)) from fault.__cause__
    try:
        yield image
    finally:
        if tiff is not None:
            tiff.close()


def write_raster(path: Path, rows: Iterable[NDArray[Any]], *, shape: tuple[int, ...], dtype: Any,
                 like: Path | None = None) -> None:
    """Replace `path` by a TIFF of blocks of whole rows, given from top to bottom; compressed without loss.

    `shape`: height, width and maybe bands. Where `like` is a GeoTIFF, its georeference (transform and CRS) is kept.

    Raises:
        ImageFileError: the blocks are not the rows of this shape.
    """
    strip = max(1, min(shape[0], (1 << 20) // max(1, int(np.prod(shape[1:])))))
    tags = _georeference(like) if like is not None else []
    with replacing(path) as beside, tifffile.TiffWriter(beside, bigtiff=bool(np.prod(shape) > 2**31)) as writer:
        writer.write(_strips(rows, shape, strip, np.dtype(dtype), path), shape=shape, dtype=dtype, rowsperstrip=strip,
                     compression="zlib", photometric="minisblack", metadata=None, extratags=tags,
                     planarconfig="contig" if len(shape) == 3 else None)


def _strips(blocks: Iterable[NDArray[Any]], shape: tuple[int, ...], strip: int, dtype: np.dtype[Any],
            path: Path) -> Iterator[NDArray[Any]]:
    waiting, seen = np.zeros((0, *shape[1:]), dtype), 0
    for block in blocks:
        if block.shape[1:] != shape[1:]:
            raise ImageFileError(f"{path}: rows of {block.shape[1:]} were given for an image of {shape}.")
        waiting, seen = np.concatenate([waiting, block.astype(dtype)]), seen + len(block)
        while len(waiting) >= strip:
            yield np.ascontiguousarray(waiting[:strip])
            waiting = waiting[strip:]
    if len(waiting):
        yield np.ascontiguousarray(waiting)
    if seen != shape[0]:
        raise ImageFileError(f"{path}: {seen} rows were given for an image of {shape[0]}.")


def _georeference(like: Path) -> list[tuple[int, int, int, Any, bool]]:
    if file_kind(read_bytes(like, first=_HEAD)) != "TIFF":
        return []
    with tifffile.TiffFile(like) as file:
        tags = file.pages[0].aspage().tags
        return [(tag.code, int(tag.dtype), tag.count, tag.value, True) for code in _GEO_TAGS
                if (tag := tags.get(code)) is not None]
