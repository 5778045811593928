"""Masks too large to hold whole: open once, read window by window."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from segcv.errors import MaskError
from segcv.pixels.files import MAX_PIXELS, Fault, file_kind, read_bytes
from segcv.pixels.masks import StoredMask, decode_mask, mask_of_tiff
from segcv.pixels.tiff import TiffWindows

Meaning = TypeVar("Meaning")
_HEAD = 64                                       # bytes that tell the kind of a file
WINDOW = 1 << 24                                 # pixels of a window, unless said


@dataclass(frozen=True, slots=True)
class OpenMask:
    """A mask file of any size, open for reading by windows. Made by `open_mask`."""

    path: Path
    shape: tuple[int, int]                       # height, width
    _piece: tuple[int, int]                      # what is decoded at once, height x width
    _stored: Callable[[slice, slice], StoredMask]

    def read(self, rows: slice, columns: slice, decode: Callable[[StoredMask], Meaning]) -> Meaning:
        """What `decode` (a LabelMap's, say) makes of the window; its bounds are whole numbers inside the mask.

        Raises:
            MaskError: the window leaves the mask, the file is damaged, or it holds what `decode` refuses.
        """
        height, width = self.shape
        if not (0 <= rows.start < rows.stop <= height and 0 <= columns.start < columns.stop <= width):
            raise MaskError(f"{self.path} is {height}x{width} (height x width); there is no window of rows "
                            f"{rows.start}..{rows.stop} and columns {columns.start}..{columns.stop} in it.")
        try:
            return decode(self._stored(rows, columns))
        except Fault as fault:
            raise MaskError(fault.about(self.path)) from fault.__cause__

    def windows(self, *, pixels: int = WINDOW) -> Iterator[tuple[slice, slice]]:
        """Rows and columns of windows of at most about `pixels` that cover the mask once and decode nothing twice.

        Rows of whole width where these fit, else blocks; both made of whole strips or tiles.
        """
        height, width = self.shape
        tall, wide = self._piece
        across = width if tall * width <= pixels else max(1, pixels // (tall * wide)) * wide
        down = max(1, pixels // (tall * across)) * tall
        for top in range(0, height, down):
            for left in range(0, width, across):
                yield slice(top, min(top + down, height)), slice(left, min(left + across, width))


@contextmanager
def open_mask(path: Path, *, max_pixels: int = MAX_PIXELS) -> Iterator[OpenMask]:
    """A mask file open for reading by windows, in memory that does not grow with the mask.

    Of a TIFF (GeoTIFF, BigTIFF) only the strips or tiles that a window touches are decoded, so it may have any number
    of pixels; it must not be larger than `max_pixels` in one strip or tile. Other files are decoded whole, and may
    not have more than `max_pixels`.

    Raises:
        MaskError: the file is missing, damaged, too large for its kind, or to be turned (orientation tag).

    >>> with open_mask(Path("large.tif")) as mask:                       # doctest: +SKIP
    ...     for rows, columns in mask.windows():
    ...         labels = mask.read(rows, columns, lambda stored: label_map.decode(stored).labels)
    """
    tiff: TiffWindows | None = None
    try:
        if file_kind(read_bytes(path, first=_HEAD)) == "TIFF":
            tiff = opened = TiffWindows.open(path, max_pixels=max_pixels)
            mask = OpenMask(path, tiff.shape, tiff.piece,
                            lambda rows, columns: mask_of_tiff(opened.read(rows, columns)))
        else:
            whole = decode_mask(read_bytes(path), max_pixels=max_pixels)
            height, width = whole.shape
            mask = OpenMask(path, (height, width), (1, width), lambda rows, columns: _cut(whole, rows, columns))
    except Fault as fault:
        raise MaskError(fault.about(path)) from fault.__cause__
    try:
        yield mask
    finally:
        if tiff is not None:
            tiff.close()


def _cut(whole: StoredMask, rows: slice, columns: slice) -> StoredMask:
    values, colours = (None if part is None else part[rows, columns] for part in (whole.values, whole.colours))
    return replace(whole, values=values, colours=colours)
