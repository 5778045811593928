"""Large images in overlapping tiles, and how much each tile says about each of its pixels."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import ceil

import numpy as np
from numpy.typing import NDArray

from segcv.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Tile:
    """A window of an image, in px, and the weight of each of its pixels (height x width, in (0, 1])."""

    top: int
    left: int
    weight: NDArray[np.float32]

    @property
    def window(self) -> tuple[slice, slice]:
        """Rows and columns of the image that the tile covers."""
        height, width = self.weight.shape
        return slice(self.top, self.top + height), slice(self.left, self.left + width)


def tiles(height: int, width: int, *, side: int | None, overlap: int) -> list[Tile]:
    """Tiles that cover an image, row by row: one where it fits into `side` px (or `side` is None), else several.

    All tiles of an image have one size; neighbours share at least `overlap` px. Within an overlap the weight of a tile
    rises from its edge like a Hann window; at the image's own edge it stays 1, since no other tile knows that ground.

    Raises:
        ConfigError: the overlap does not leave room to step.

    >>> [(tile.top, tile.left) for tile in tiles(4, 10, side=4, overlap=1)]
    [(0, 0), (0, 3), (0, 6)]
    """
    if side is not None and not 0 <= overlap < side:
        raise ConfigError(f"overlap={overlap} must be from 0 to below the tile's {side} px. Use about an eighth of it.")
    down, across = _starts(height, side, overlap), _starts(width, side, overlap)
    tall, wide = min(height, side or height), min(width, side or width)
    rows, columns = _weights(down, tall), _weights(across, wide)
    return [Tile(top, left, np.outer(rows[top], columns[left])) for top, left in product(down, across)]


def _starts(length: int, side: int | None, overlap: int) -> list[int]:
    """First pixels of tiles along one axis, spread evenly from 0 to the last that fits."""
    if side is None or length <= side:
        return [0]
    steps = ceil((length - side) / (side - overlap))
    return [round(step * (length - side) / steps) for step in range(steps + 1)]


def _weights(starts: list[int], length: int) -> dict[int, NDArray[np.float32]]:
    """Weight along one axis for each tile, by its start; above 0 everywhere."""
    weights = {}
    for place, start in enumerate(starts):
        weight = np.ones(length)
        if place > 0:
            shared = starts[place - 1] + length - start
            weight[:shared] *= _rise(shared)
        if place + 1 < len(starts):
            shared = start + length - starts[place + 1]
            weight[length - shared:] *= _rise(shared)[::-1]
        weights[start] = weight.astype(np.float32)
    return weights


def _rise(pixels: int) -> NDArray[np.float64]:
    """Half a Hann window, taken at the pixels' centres: above 0 and below 1, and 1 together with its mirror image."""
    rise: NDArray[np.float64] = np.sin(np.pi / 2 * (np.arange(pixels) + 0.5) / pixels) ** 2
    return rise
