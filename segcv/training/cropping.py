"""Which window of a training image an epoch sees: any, or one that shows a class drawn among those of its mask."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from segcv.errors import ConfigError
from segcv.training.windows import corner_around, random_corner

REMEMBERED = 256        # pixels per class and image, evenly from all of them in reading order


class Cropping:
    """Square windows of `side` px (None: whole images), a share `foreground` of them around a pixel of a drawn class.

    The class is drawn evenly among those that the mask of this very image holds, so a rare one is met as often as a
    common one; then one of its pixels, and the window lies anywhere around it. The mask of a training image is all that
    is looked at.

    Raises:
        ConfigError: the share is outside 0..1, or there are no windows that it could place.
    """

    def __init__(self, side: int | None, *, foreground: float, void: int) -> None:
        if not 0 <= foreground <= 1:
            raise ConfigError(f"augment.foreground={foreground} is a share of the windows, from 0 to 1.")
        if foreground and side is None:
            raise ConfigError(f"augment.foreground={foreground} has no effect without windows: set augment.crop=PIXELS "
                              "too, or leave it out.")
        self.side, self.foreground, self.void = side, foreground, void
        self._pixels: dict[str, list[NDArray[np.int64]]] = {}

    def window(self, image_id: str, truth: NDArray[Any], *, rng: np.random.Generator) -> tuple[slice, slice]:
        """Rows and columns of one draw from an image with this truth, H x W."""
        assert self.side is not None
        height, width = truth.shape
        pixels = self._classes(image_id, truth) if self.foreground and rng.random() < self.foreground else []
        if pixels:
            mine = pixels[int(rng.integers(len(pixels)))]
            row, column = divmod(int(mine[int(rng.integers(len(mine)))]), width)
            top, left = corner_around(row, column, height, width, side=self.side, rng=rng)
        else:
            top, left = random_corner(height, width, side=self.side, rng=rng)
        return slice(top, top + self.side), slice(left, left + self.side)

    def _classes(self, image_id: str, truth: NDArray[Any]) -> list[NDArray[np.int64]]:
        """Some pixels of each class that the mask holds, found once."""
        if image_id not in self._pixels:
            classes = [int(value) for value in np.unique(truth) if value != self.void]
            places = [np.flatnonzero(truth == value) for value in classes]
            self._pixels[image_id] = [found[np.linspace(0, len(found) - 1, min(len(found), REMEMBERED)).astype(int)]
                                      for found in places]
        return self._pixels[image_id]
