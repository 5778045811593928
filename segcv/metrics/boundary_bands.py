"""Boundary IoU: the overlap of what lies just inside two outlines."""

from __future__ import annotations

import math

import numpy as np

from segcv.errors import ConfigError
from segcv.metrics.boundaries import BoolMask, check_masks


def boundary_iou(truth: BoolMask, prediction: BoolMask, *, depth: int | None = None,
                 valid: BoolMask | None = None) -> float:
    """IoU of the two inner boundary bands, in [0, 1]; one object missing 0, both NaN (Cheng et al. 2021).

    The band is the object less its erosion by a square of 2 depth + 1 pixels; beyond the image edge is background.
    `depth`: by default `band_depth` of the image. `valid`: False where the truth is ignored; it counts as inside for
    the erosion, so that it makes no band beside it, and is itself in no band.

    By hand: of a square of 4 x 4 pixels 12 lie in a band of depth 1. Without its first pixel 11 of them do, and the
    pixel that this bares: 11 of 13.

    >>> square = np.pad(np.ones((4, 4), bool), 2)
    >>> bitten = square.copy()
    >>> bitten[2, 2] = False
    >>> round(boundary_iou(square, bitten), 6) == round(11 / 13, 6)
    True
    """
    check_masks(truth, prediction, valid=valid)
    deep = band_depth(truth.shape) if depth is None else depth
    if deep < 1:
        raise ConfigError(f"depth={depth}: a band is at least one pixel deep.")
    bands = [_band(mask, deep, valid) for mask in (truth, prediction)]
    union = int(np.count_nonzero(bands[0] | bands[1]))
    return int(np.count_nonzero(bands[0] & bands[1])) / union if union else float("nan")


def band_depth(shape: tuple[int, ...], *, ratio: float = 0.02) -> int:
    """Depth of the band in pixels: `ratio` of the image's diagonal, at least 1.

    >>> band_depth((512, 512)), band_depth((8, 8))
    (14, 1)
    """
    return max(1, round(ratio * math.hypot(*shape)))


def _band(mask: BoolMask, depth: int, valid: BoolMask | None) -> BoolMask:
    import cv2

    inside = np.ascontiguousarray(mask if valid is None else mask | ~valid)
    square = np.ones((2 * depth + 1, 2 * depth + 1), np.uint8)
    core = cv2.erode(inside.view(np.uint8), square, borderType=cv2.BORDER_CONSTANT, borderValue=0)
    band: BoolMask = (mask if valid is None else mask & valid) & (core == 0)
    return band
