"""The compiled loops of `pixel_blocks`; importing this module loads numba."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

BLOCK = 16                 # side of a block, in pixels
_LEAST_EDGES = 48          # of the 240 neighbours in the rows of a block that differ; below, it is too plain as proof


@njit(cache=True, nogil=True)
def chosen_places(band: NDArray[Any], mask: int, found: NDArray[np.int32]) -> int:
    """Fill `found` (places x (row, column)) with where nine spread pixels hash to a multiple of `mask` + 1.

    The choice depends on the pixels only, so that another picture of the same pixels makes the same one. Returns how
    many there are, also when `found` is too short for them.
    """
    height, width = band.shape
    count = 0
    for y in range(height - BLOCK + 1):
        for x in range(width - BLOCK + 1):
            a, b, c = np.uint32(band[y + 1, x + 1]), np.uint32(band[y + 2, x + 9]), np.uint32(band[y + 9, x + 2])
            d, e, f = np.uint32(band[y + 6, x + 6]), np.uint32(band[y + 5, x + 14]), np.uint32(band[y + 14, x + 5])
            g, h, i = np.uint32(band[y + 10, x + 10]), np.uint32(band[y + 12, x + 13]), np.uint32(band[y + 7, x + 12])
            key = np.uint32(a * np.uint32(0x9E3779B1) + b * np.uint32(0x85EBCA77) + c * np.uint32(0xC2B2AE3D)
                            + d * np.uint32(0x27D4EB2F) + e * np.uint32(0x165667B1) + f * np.uint32(0xD3A2646D)
                            + g * np.uint32(0xFD7046C5) + h * np.uint32(0xB55A4F09) + i * np.uint32(0x8DA6B343))
            key = np.uint32(key ^ (key >> np.uint32(15))) * np.uint32(0x2C1B3C6D)
            if (key >> np.uint32(8)) & np.uint32(mask) == 0 and not (a == b and b == c and c == d and d == e):
                if count < len(found):
                    found[count, 0] = y
                    found[count, 1] = x
                count += 1
    return count


@njit(cache=True, nogil=True)
def block_hashes(image: NDArray[Any], places: NDArray[np.int32], factors: NDArray[np.uint64],
                 words: NDArray[np.uint64]) -> None:
    """Fill `words` with a 64-bit hash of the pixels of the block at each place; 0 for blocks that are too plain.

    `factors` are odd random numbers, one per sample of a block: a sum of products is a universal hash.
    """
    bands = image.shape[2]
    for place in range(len(places)):
        top, left = places[place]
        total, edges, at = np.uint64(0), 0, 0
        for y in range(top, top + BLOCK):
            for x in range(left, left + BLOCK):
                if x > left and image[y, x, 0] != image[y, x - 1, 0]:
                    edges += 1
                for band in range(bands):
                    total += (np.uint64(image[y, x, band]) + np.uint64(1)) * factors[at]
                    at += 1
        total ^= total >> np.uint64(32)
        words[place] = total * np.uint64(0x9E3779B97F4A7C15) if edges >= _LEAST_EDGES else np.uint64(0)
