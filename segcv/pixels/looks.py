"""What a picture looks like, in few bytes: a perceptual hash and a thumbnail, from 8-bit grey."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from segcv.errors import ConfigError
from segcv.pixels.landmarks import MARK, landmarks, pixel_blocks
from segcv.pixels.moments import valid_pixels
from segcv.pixels.phash import SIDE, phash_of, thumbnail_of

FLAT_BELOW = 4.0                     # standard deviation of the thumbnail, in grey levels of 0..255
LEAST_VALID = 1 / 8                  # of the thumbnail; with less, the hash is that of where there are data
MARKS = ("blocks", "landmarks")      # kinds of marks, each with those before it
_RANGE = (1, 99)                     # percentiles of the valid pixels that become 0 and 255


@dataclass(frozen=True, slots=True)
class Look:
    """How a picture looks: pictures with few differing bits look alike, unless they are flat."""

    phash: int                       # 64 bits, the bits of `imagehash.phash` row by row, first bit highest
    flat: bool                       # too little content for the hash to mean anything
    thumbnail: NDArray[np.uint8]     # 32 x 32 grey
    blocks: NDArray[Any]             # MARK records; empty unless asked for
    landmarks: NDArray[Any]          # MARK records; empty unless asked for


def look(image: NDArray[Any], *, nodata: float | None = None, marks: str | None = None) -> Look:
    """The Look of an image, H x W x bands; equal to `imagehash.phash` for 8-bit RGB and grey pictures.

    Of more than three bands the first three count, of two the first. 16-bit and float pictures are scaled first,
    1st..99th percentile of the valid pixels to 0..255: a plain 8-bit conversion clips them, and then all look alike.
    A picture is flat when its thumbnail (where at least half a cell is valid) has a standard deviation below 4, or less
    than an eighth of it is valid.
    `marks`: "blocks" also takes the pixel blocks by which overlapping pictures are known, "landmarks" both kinds.
    """
    if marks not in (None, *MARKS):
        raise ConfigError(f"marks={marks!r} is not known; use one of {', '.join(MARKS)}, or None.")
    plain = nodata is None and image.dtype == np.uint8
    valid = np.broadcast_to(np.True_, image.shape[:2]) if plain else valid_pixels(image, nodata)
    shown = eight_bit(image, valid)
    thumbnail = thumbnail_of(shown)
    content = thumbnail
    if not plain and not valid.all():
        share = Image.fromarray(valid.astype(np.uint8) * np.uint8(255)).resize((SIDE, SIDE), Image.Resampling.BOX)
        content = thumbnail[np.asarray(share) >= 128]
    flat = content.size < LEAST_VALID * thumbnail.size or float(content.std()) < FLAT_BELOW
    none = np.empty(0, MARK)
    grey: Any = shown if shown.ndim == 2 or marks != "landmarks" else cv2.cvtColor(shown, cv2.COLOR_RGB2GRAY)
    return Look(phash_of(thumbnail), bool(flat), thumbnail,
                blocks=none if marks is None else pixel_blocks(image),
                landmarks=none if marks != "landmarks" else landmarks(grey))


def eight_bit(image: NDArray[Any], valid: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """H x W grey or H x W x 3 as uint8 for looking at; pixels that are not valid become 0 where scaling is needed."""
    shown = image[:, :, :3] if image.shape[2] >= 3 else image[:, :, 0]
    if shown.dtype == np.uint8:
        return np.ascontiguousarray(shown)
    scaled = np.zeros(shown.shape, np.uint8)
    inside = shown[valid].astype(np.float64)
    if not inside.size:
        return scaled
    low, high = np.percentile(inside, _RANGE)
    if high > low:
        scaled[valid] = np.clip((inside - low) * (255 / (high - low)) + 0.5, 0, 255).astype(np.uint8)
    return scaled
