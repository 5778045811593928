"""Do two tiles that should share ground show the same there? Told from their pixels, for a few pairs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segcv.errors import ImageFileError
from segcv.leakage.facts import Facts
from segcv.leakage.places import Places
from segcv.leakage.touched import Ints
from segcv.pixels import read_image

TRIED = 5                # pairs looked at
LEAST_CORRELATION = 0.9  # of the shared pixels
LEAST_CONTRAST = 2.0     # standard deviation of both; below it agreement says nothing
LEAST_SIDE = 4           # pixels of the shared part


def shared_pixels_agree(facts: Facts, places: Places, pairs: Ints) -> bool | None:
    """True when most of the pairs looked at agree, false when most do not; None when none could be compared."""
    assert facts.folds is not None and facts.images is not None
    crossing = np.zeros(len(pairs), bool)
    for fold in facts.folds:
        held_out, train = fold.held_out[places.rows], fold.train[places.rows]
        crossing |= (held_out[pairs].any(axis=1) & train[pairs].any(axis=1))
    chosen = pairs[crossing]
    chosen = chosen[np.linspace(0, len(chosen) - 1, min(TRIED, len(chosen))).astype(np.int64)]
    paths = facts.images["image_path"].to_numpy(object)[places.rows]
    told = [agree for one, other in chosen.tolist()
            if (agree := _agree(Path(paths[one]), Path(paths[other]), _parts(places, one, other))) is not None]
    return sum(told) > len(told) / 2 if told else None


def _parts(places: Places, one: int, other: int) -> tuple[tuple[slice, slice], tuple[slice, slice]]:
    """The shared rectangle in the pixels of each of the two, rows then columns."""
    low = np.maximum(places.ground.low[one], places.ground.low[other])
    high = np.minimum(places.ground.high[one], places.ground.high[other])
    found = []
    for own in (places.ground.low[one], places.ground.low[other]):
        (left, top), (right, bottom) = np.round(low - own).astype(int), np.round(high - own).astype(int)
        found.append((slice(top, bottom), slice(left, right)))
    return found[0], found[1]


def _agree(one: Path, other: Path, parts: tuple[tuple[slice, slice], tuple[slice, slice]]) -> bool | None:
    if not (one.is_file() and other.is_file()):
        return None
    try:
        a, b = (_grey(read_image(path))[part] for path, part in zip((one, other), parts, strict=True))
    except ImageFileError:                   # the data half names such files
        return None
    if a.shape != b.shape or min(a.shape) < LEAST_SIDE or min(a.std(), b.std()) < LEAST_CONTRAST:
        return None
    return bool(np.corrcoef(a.ravel(), b.ravel())[0, 1] >= LEAST_CORRELATION)


def _grey(image: NDArray[Any]) -> NDArray[np.float64]:
    return np.asarray(image[:, :, :3].mean(axis=2), np.float64)
