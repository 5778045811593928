"""Sizes: padding to what a network takes, and a random window of a large image for training."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def padded(image: NDArray[Any], height: int, width: int, *, fill: int | None = None) -> NDArray[Any]:
    """`image` (H x W or H x W x bands) grown at its lower and right side to height x width.

    With the mirrored image, or with `fill` where that is given. Never smaller than it was.
    """
    grow = [(0, max(0, height - image.shape[0])), (0, max(0, width - image.shape[1]))]
    if not grow[0][1] and not grow[1][1]:
        return image
    grow += [(0, 0)] * (image.ndim - 2)
    return np.pad(image, grow, mode="reflect") if fill is None else np.pad(image, grow, constant_values=fill)


def next_multiple(pixels: int, stride: int) -> int:
    """The smallest multiple of `stride` that is not below `pixels`."""
    return -(-pixels // stride) * stride


def random_corner(height: int, width: int, *, side: int, rng: np.random.Generator) -> tuple[int, int]:
    """Upper left corner of a square window of `side` px, every position alike; 0 along an axis that is shorter."""
    return int(rng.integers(max(1, height - side + 1))), int(rng.integers(max(1, width - side + 1)))


def corner_around(row: int, column: int, height: int, width: int, *, side: int,
                  rng: np.random.Generator) -> tuple[int, int]:
    """Upper left corner of a square window of `side` px that holds the pixel; every such window in the image alike."""
    top, left = (int(rng.integers(max(0, place - side + 1), max(0, min(place, length - side)) + 1))
                 for place, length in ((row, height), (column, width)))
    return top, left
