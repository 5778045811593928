"""How a mask looks to a person who checks labels: tiny specks, ragged borders."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np

from segcv.pixels.files import MAX_PIXELS
from segcv.pixels.labels import LabelMap

SPECK_PX, SPECK_SHARE = 4, 2e-5          # a region of at most so many pixels, or so large a share of the image


@dataclass(frozen=True, slots=True)
class MaskLook:
    """What a mask of H x W pixels shows.

    `specks` counts connected regions (8 neighbours) of one class, each of at most 4 pixels or 0.002 % of the image.
    `ragged` is the share of border pixels that a 3 x 3 median would give to another class, 0 to 1: a straight or
    smooth border keeps nearly all of its pixels, one drawn by chance loses many. NaN without a border. Ignored pixels
    and their neighbours count for nothing.
    """

    specks: int
    ragged: float


def mask_look(mask_path: Path, *, labels: LabelMap, max_pixels: int = MAX_PIXELS) -> MaskLook:
    """The MaskLook of the mask in a file.

    Raises:
        MaskError, ImageFileError: the mask cannot be read with these labels.
    """
    from segcv.pixels.region_kernels import tiny_regions

    truth = labels.read(mask_path, max_pixels=max_pixels)
    valid = np.ones(truth.shape, bool) if labels.void is None else truth != labels.void
    shown = np.where(valid, truth, 0).astype(np.uint16)                                # H x W
    tiny = max(SPECK_PX, int(SPECK_SHARE * truth.size))
    specks = tiny_regions(shown, valid, tiny)
    border = np.zeros(truth.shape, bool)
    across, down = shown[:, 1:] != shown[:, :-1], shown[1:] != shown[:-1]
    border[:, 1:] |= across
    border[:, :-1] |= across
    border[1:] |= down
    border[:-1] |= down
    known = valid if valid.all() else cv2.erode(valid.astype(np.uint8), np.ones((3, 3), np.uint8)).astype(bool)
    border &= known
    taken = (cv2.medianBlur(shown, 3) != shown) & border
    return MaskLook(specks, float(taken.sum() / border.sum()) if border.any() else float("nan"))
