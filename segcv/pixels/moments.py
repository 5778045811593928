"""Mean and standard deviation of pixels, one file after the other: exact for whole numbers, merged for floats."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

_STRIP = 1 << 16                     # pixels worked on at once: what fits into a cache


@dataclass(slots=True)
class Moments:
    """Running count, mean and spread per band over all pixels that were added.

    uint8 and uint16 pixels are summed as integers without any rounding; float pixels are centred per strip in float64
    and merged (Chan, Golub & LeVeque 1983, equations 2.1a and b).
    """

    bands: int
    pixels: int = 0
    _sums: list[int] = field(default_factory=list)
    _squares: list[int] = field(default_factory=list)
    _mean: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    _spread: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))       # sum of squared deviations

    def __post_init__(self) -> None:
        self._sums, self._squares = [0] * self.bands, [0] * self.bands
        self._mean, self._spread = np.zeros(self.bands), np.zeros(self.bands)

    def add(self, pixels: NDArray[Any]) -> None:
        """Take in pixels, n x bands; all calls of one dtype."""
        for start in range(0, len(pixels), _STRIP):
            strip = pixels[start:start + _STRIP]
            if strip.dtype.kind == "u":
                whole = strip.astype(np.int64)
                for band in range(self.bands):
                    self._sums[band] += int(whole[:, band].sum())
                    self._squares[band] += int((whole[:, band] ** 2).sum())
            else:
                self._merge(strip.astype(np.float64))
            self.pixels += len(strip)

    def mean(self) -> NDArray[np.float64]:
        """Per band; NaN without pixels."""
        if not self.pixels:
            return np.full(self.bands, np.nan)
        mean: NDArray[np.float64] = self._mean + np.array([total / self.pixels for total in self._sums])
        return mean

    def std(self) -> NDArray[np.float64]:
        """Population standard deviation (divided by n) per band; NaN without pixels."""
        if not self.pixels:
            return np.full(self.bands, np.nan)
        n = self.pixels
        whole = [math.sqrt(Fraction(n * squares - total * total, n * n))
                 for total, squares in zip(self._sums, self._squares, strict=True)]
        return np.array(whole) + np.sqrt(self._spread / n)

    def _merge(self, strip: NDArray[np.float64]) -> None:
        n, m = self.pixels, len(strip)
        mean = strip.mean(axis=0)
        spread = ((strip - mean) ** 2).sum(axis=0)
        delta = mean - self._mean
        self._spread = self._spread + spread + delta**2 * (n * m / (n + m))
        self._mean = self._mean + delta * (m / (n + m))


def valid_pixels(image: NDArray[Any], nodata: float | None) -> NDArray[np.bool_]:
    """H x W: where a pixel counts; false where all bands equal `nodata`, or a float band is not finite."""
    valid = np.ones(image.shape[:2], bool)
    if nodata is not None:
        valid &= ~(image == nodata).all(axis=2)
    if image.dtype.kind == "f":
        valid &= np.isfinite(image).all(axis=2)
    return valid


def strips(image: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """The image in horizontal strips that fit into a cache."""
    rows = max(1, _STRIP // max(1, image.shape[1]))
    for top in range(0, image.shape[0], rows):
        yield image[top:top + rows]
