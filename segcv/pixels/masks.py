"""Masks as stored: the number or the colour of each pixel, before a label map says what it means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segcv.pixels.arrays import decode_array
from segcv.pixels.files import MAX_PIXELS, Fault, file_kind
from segcv.pixels.label_png import LabelPng, decode_label_png
from segcv.pixels.reading import open_picture, orientation, turned
from segcv.pixels.tiff import TiffPicture, decode_tiff

_ONE_CHANNEL = "A mask has one: write the channel that holds the class ids to a file of its own."
ROUNDED_WITHIN = 1e-3                # a float this close to a whole number means it


@dataclass(frozen=True, slots=True)
class StoredMask:
    """What a mask file holds. `values` are numbers or palette indices; where colours are stored, `colours` instead."""

    values: NDArray[Any] | None              # H x W, integer or float
    colours: NDArray[np.uint8] | None        # H x W x 3, red, green, blue
    palette: NDArray[np.uint8] | None        # entries x 3, of the indices in `values`
    one_bit: bool                            # `values` are 0 and 1 for want of more bits
    lossy: bool                              # written with JPEG compression
    channels: int                            # in the file: 1, 2 grey and alpha, 3 colours, 4 colours and alpha
    opaque: bool                             # is alpha, where there is one, 255 everywhere?
    kind: str                                # words for messages

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width."""
        stored = self.values if self.values is not None else self.colours
        assert stored is not None
        height, width = stored.shape[:2]
        return height, width


def decode_mask(data: bytes, *, max_pixels: int = MAX_PIXELS) -> StoredMask:
    """The mask in a file's content, as Pillow's stored mode defines it; raises Fault.

    P is the palette index, 1, L, I;16, I and F the number, never a colour or 8-bit conversion of it. TIFF is read
    with the same meaning. In arrays (.npy, .npz) the number counts, and True is a set pixel. An orientation tag is
    applied, as for images.
    """
    found = file_kind(data)
    if found == "PNG" and (label_png := decode_label_png(data, max_pixels=max_pixels)) is not None:
        return _indexed(label_png)
    if found in ("NPY", "NPZ"):
        return _of_array(decode_array(data, found, max_pixels=max_pixels))
    if found == "TIFF":
        return mask_of_tiff(decode_tiff(data, max_pixels=max_pixels))
    picture = open_picture(data, max_pixels=max_pixels)
    mode, lossy = picture.mode, found == "JPEG" or (found == "WEBP" and b"VP8 " in data[12:1024])
    if found == "PNG" and data[24] == 16 and mode in ("LA", "RGB", "RGBA"):
        raise Fault(f"has {len(mode)} channels of 16 bits", _ONE_CHANNEL)
    kind = f"{picture.format}, {mode}"
    how = orientation(picture)
    if mode in ("LA", "RGB", "RGBA"):
        return _coloured(turned(np.asarray(picture), how), lossy, kind)
    if mode == "P":
        palette = np.asarray(picture.getpalette("RGB"), dtype=np.uint8).reshape(-1, 3)
        return StoredMask(turned(np.asarray(picture), how), None, palette, False, lossy, 1, True, kind)
    if mode in ("1", "L", "I", "F") or mode.startswith("I;16"):
        values = np.asarray(picture)
        if mode == "1":
            values = values.astype(np.uint8)
        return StoredMask(turned(values, how), None, None, mode == "1", lossy, 1, True, kind)
    raise Fault(f"holds {mode} colours", "Write the class ids as a PNG of one channel.")


def _of_array(values: NDArray[Any]) -> StoredMask:
    kind = f"array, {values.dtype.name}"
    if values.dtype == np.bool_:
        return StoredMask(values.astype(np.uint8), None, None, True, False, 1, True, kind)
    return StoredMask(values, None, None, False, False, 1, True, kind)


def mask_of_tiff(tiff: TiffPicture) -> StoredMask:
    """The mask in a TIFF, or in a window of one; raises Fault."""
    samples = turned(tiff.samples, tiff.orientation)
    bands = samples.shape[2]
    if samples.dtype == np.bool_:
        samples = samples.astype(np.uint8)
    kind = f"TIFF of {bands} bands, {samples.dtype.name}" if bands > 1 else f"TIFF, {samples.dtype.name}"
    if tiff.lossy:
        kind = f"JPEG in {kind}"
    if bands == 1:
        return StoredMask(samples[:, :, 0], None, tiff.palette, tiff.bits == 1, tiff.lossy, 1, True, kind)
    if samples.dtype == np.uint8 and (bands == 3 or (bands == 4 and tiff.alpha)):
        return _coloured(samples, tiff.lossy, kind)
    raise Fault(f"has {bands} channels of {samples.dtype.name}",
                _ONE_CHANNEL)


def _indexed(png: LabelPng) -> StoredMask:
    mode = "P" if png.palette is not None else {1: "1", 16: "I;16"}.get(png.bits, "L")
    return StoredMask(png.values, None, png.palette, mode == "1", False, 1, True, f"PNG, {mode}")


def _coloured(samples: NDArray[Any], lossy: bool, kind: str) -> StoredMask:
    channels = samples.shape[2]
    opaque = channels == 3 or bool((samples[:, :, -1] == 255).all())
    colours = samples[:, :, [0, 0, 0]] if channels == 2 else samples[:, :, :3]
    return StoredMask(None, np.ascontiguousarray(colours), None, False, lossy, channels, opaque, kind)
