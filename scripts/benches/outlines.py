"""Pairs of objects to measure distances between: wavy blobs, as organs or buildings are, and shapes made to be hard."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Mask = NDArray[np.bool_]
Pair = tuple[Mask, Mask]


def blob(rng: np.random.Generator, side: int, *, centre: NDArray[np.float64], radius: float) -> Mask:
    """A star-shaped object whose radius waves around `radius` with the angle."""
    y, x = np.mgrid[:side, :side] - centre[:, None, None]
    angle = np.arctan2(y, x)
    wave = sum(rng.normal(0, 0.12 / k) * np.cos(k * angle + rng.uniform(0, 2 * np.pi)) for k in range(1, 9))
    inside: Mask = np.hypot(y, x) < radius * (1 + wave)
    return inside


def blob_pair(rng: np.random.Generator, side: int) -> Pair:
    """Truth and prediction: three objects each, the predicted ones moved by some pixels and of another outline."""
    masks = np.zeros((2, side, side), bool)
    for at in rng.uniform(0.3, 0.7, (3, 2)) * side:
        radius = side * rng.uniform(0.08, 0.2)
        moved = at + rng.normal(0, side * 0.01, 2)
        masks[0] |= blob(rng, side, centre=at, radius=radius)
        masks[1] |= blob(rng, side, centre=moved, radius=radius)
    return masks[0], masks[1]


def stress_pairs(rng: np.random.Generator, side: int) -> dict[str, Pair]:
    """Shapes with very many or very few outline pixels, near and far."""
    y, x = np.mgrid[:side, :side]
    noise = rng.random((2, side, side)) > 0.5
    empty, full = np.zeros((side, side), bool), np.ones((side, side), bool)
    return {
        "checkerboard": ((x + y) % 2 == 0, (x + y) % 2 == 1),
        "squares of 8": ((x // 8 + y // 8) % 2 == 0, (x // 8 + y // 8) % 2 == 1),
        "thin lines": (y % 8 == 0, x % 8 == 0),
        "dense noise": (noise[0], noise[1]),
        "sparse noise": (rng.random((side, side)) > 0.999, rng.random((side, side)) > 0.999),
        "noise left, noise right": (noise[0] & (x < side // 4), noise[1] & (x >= side - side // 4)),
        "single pixels": ((y == 3) & (x == 5), (y == side - 9) & (x == side - 4)),
        "one pixel and noise": ((y == 3) & (x == 5), noise[0]),
        "full image": (full, full),
        "full image and one pixel": (full, (y == 3) & (x == 5)),
        "empty prediction": (noise[0], empty),
        "both empty": (empty, empty),
    }
