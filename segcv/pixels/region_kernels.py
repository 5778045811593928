"""The compiled loop of regions of equal pixels; importing this module loads numba."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True, nogil=True)
def _root(parent: NDArray[np.int32], place: int) -> int:
    while parent[place] != place:
        parent[place] = parent[parent[place]]
        place = parent[place]
    return place


@njit(cache=True, nogil=True)
def tiny_regions(values: NDArray[Any], valid: NDArray[np.bool_], tiny: int) -> int:
    """How many regions of equal values have at most `tiny` pixels; valid pixels only, 8 neighbours, H x W."""
    height, width = values.shape
    parent = np.arange(height * width).astype(np.int32)
    size = np.zeros(height * width, np.int32)
    for y in range(height):
        for x in range(width):
            if not valid[y, x]:
                continue
            here = y * width + x
            for dy, dx in ((0, -1), (-1, -1), (-1, 0), (-1, 1)):
                v, u = y + dy, x + dx
                if v >= 0 and 0 <= u < width and valid[v, u] and values[v, u] == values[y, x]:
                    one, other = _root(parent, here), _root(parent, v * width + u)
                    parent[max(one, other)] = min(one, other)
    for place in range(height * width):
        if valid[place // width, place % width]:
            size[_root(parent, place)] += 1
    return int(np.sum((size > 0) & (size <= tiny)))
