"""Pillow's grey conversion and its Lanczos reduction to 32 x 32, the same bits; importing this module loads numba."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

SIDE = 32
_PRECISION = 22          # bits behind the point, of the weights
_LOBES = 3.0             # of the Lanczos window, to each side


@lru_cache(64)
def lanczos_weights(size: int) -> tuple[NDArray[np.int32], NDArray[np.uint32]]:
    """Fixed-point weights that make SIDE samples of `size`, SIDE x taps, and the first and number of the taps."""
    scale = size / SIDE
    stretch = max(scale, 1.0)
    reach = _LOBES * stretch
    weights = np.zeros((SIDE, math.ceil(reach) * 2 + 1), np.int32)
    taps = np.zeros((SIDE, 2), np.uint32)
    for place in range(SIDE):
        centre = (place + 0.5) * scale
        first, end = max(int(centre - reach + 0.5), 0), min(int(centre + reach + 0.5), size)
        one = [_lanczos((tap - centre + 0.5) / stretch) for tap in range(first, end)]
        total = 0.0
        for weight in one:
            total += weight
        taps[place] = first, end - first
        for tap, weight in enumerate(one):
            share = weight / total if total else weight
            weights[place, tap] = int(math.copysign(0.5, share) + share * (1 << _PRECISION))
    return weights, taps


def small_grey(shown: NDArray[np.uint8], *, tall_first: bool) -> NDArray[np.uint8]:
    """The 32 x 32 grey thumbnail of a picture, H x W or H x W x 3.

    Pillow reduces rows, then columns, rounding between the two; since version 12 (`tall_first`) the columns of tall
    pictures first.
    """
    height, width = shown.shape[:2]
    turned = tall_first and height > SIDE and 2 * width < height + SIDE
    rows = np.ascontiguousarray(shown.swapaxes(0, 1) if turned else shown)
    if turned:
        height, width = width, height
    small = np.empty((SIDE, SIDE), np.uint8)
    across, down = lanczos_weights(width), lanczos_weights(height)
    _reduce(rows.reshape(height, -1), shown.ndim == 3, *across, *down, small)
    return small.T if turned else small


@njit(cache=True, nogil=True)
def _reduce(rows: NDArray[np.uint8], colour: bool, across: NDArray[np.int32], taps_across: NDArray[np.uint32],
            down: NDArray[np.int32], taps_down: NDArray[np.uint32], small: NDArray[np.uint8]) -> None:
    height, width = rows.shape[0], rows.shape[1] // 3 if colour else rows.shape[1]
    grey = np.empty(width, np.int32)
    narrow = np.empty((SIDE, height), np.int32)              # rows after the first reduction, transposed
    for y in range(height):
        row = rows[y]
        if colour:
            for x in range(width):
                grey[x] = (np.int32(row[3 * x]) * np.int32(19595) + np.int32(row[3 * x + 1]) * np.int32(38470)
                           + np.int32(row[3 * x + 2]) * np.int32(7471) + np.int32(0x8000)) >> np.int32(16)
        else:
            for x in range(width):
                grey[x] = row[x]
        for place in range(SIDE):
            if width == SIDE:
                narrow[place, y] = grey[place]
            else:
                narrow[place, y] = _weighted(grey, taps_across[place], across[place])
    for place in range(SIDE):
        for y in range(SIDE):
            small[y, place] = narrow[place, y] if height == SIDE else _weighted(narrow[place], taps_down[y], down[y])


@njit(cache=True, nogil=True, inline="always")
def _weighted(samples: Any, taps: Any, weights: Any) -> Any:
    first, count = np.uint64(taps[0]), np.uint64(taps[1])      # unsigned: no check for places counted from the end
    total = np.int32(1 << (_PRECISION - 1))
    for tap in range(count):
        total += np.int32(samples[first + tap] * weights[tap])
    shifted: Any = total >> np.int32(_PRECISION)
    return np.int32(min(max(shifted, np.int32(0)), np.int32(255)))


def _lanczos(x: float) -> float:
    if not -_LOBES <= x < _LOBES:
        return 0.0
    return _sinc(x) * _sinc(x / _LOBES)


def _sinc(x: float) -> float:
    return 1.0 if x == 0.0 else math.sin(x * math.pi) / (x * math.pi)
