"""Do pictures that should share ground show the same there? Told from their pixels, for a few pairs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segcv.errors import ImageFileError
from segcv.pixels.reading import read_image

TRIED = 5                # pairs looked at
LEAST_CORRELATION = 0.9  # of the shared pixels
LEAST_CONTRAST = 2.0     # standard deviation of both; below it agreement says nothing
LEAST_SIDE = 4           # pixels of the shared part

Floats = NDArray[np.float64]
Part = tuple[slice, slice]


def rectangles_agree(paths: Sequence[str], low: Floats, high: Floats, pairs: NDArray[np.int64]) -> bool | None:
    """True when most of a few pairs (pairs x 2, rows) show the same on the ground they share, false when most do not.

    `low` and `high` are the corners of the pictures' rectangles in pixels, images x (x, y). None when no pair could be
    compared: a file is missing, or what is shared is blank or too small.
    """
    chosen = pairs[np.linspace(0, len(pairs) - 1, min(TRIED, len(pairs))).astype(np.int64)]
    told = [agree for one, other in chosen.tolist()
            if (agree := _agree(Path(paths[one]), Path(paths[other]), _parts(low, high, one, other))) is not None]
    return sum(told) > len(told) / 2 if told else None


def _parts(low: Floats, high: Floats, one: int, other: int) -> tuple[Part, Part]:
    """The shared rectangle in the pixels of each of the two, rows then columns."""
    start, end = np.maximum(low[one], low[other]), np.minimum(high[one], high[other])
    found = []
    for own in (low[one], low[other]):
        (left, top), (right, bottom) = np.round(start - own).astype(int), np.round(end - own).astype(int)
        found.append((slice(top, bottom), slice(left, right)))
    return found[0], found[1]


def _agree(one: Path, other: Path, parts: tuple[Part, Part]) -> bool | None:
    if not (one.is_file() and other.is_file()):
        return None
    try:
        a, b = (_grey(read_image(path))[part] for path, part in zip((one, other), parts, strict=True))
    except ImageFileError:                   # the check of the images names such files
        return None
    if a.shape != b.shape or min(a.shape) < LEAST_SIDE or min(a.std(), b.std()) < LEAST_CONTRAST:
        return None
    return bool(np.corrcoef(a.ravel(), b.ravel())[0, 1] >= LEAST_CORRELATION)


def _grey(image: NDArray[Any]) -> Floats:
    return np.asarray(image[:, :, :3].mean(axis=2), np.float64)
