"""Labelled pixels per image and class, and how many groups have a class."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from segcv.leakage.facts import Codes, Facts

Floats = NDArray[np.float64]


def class_pixels(facts: Facts) -> Floats:
    """Labelled pixels, images x classes."""
    return facts.once("class_pixels", _class_pixels)


def groups_with(group: Codes, pixels: Floats) -> NDArray[np.bool_]:
    """Which groups have any pixel of each class, groups x classes; every code of `group` is >= 0."""
    has = np.zeros((int(group.max()) + 1, pixels.shape[1]), bool)
    for c in range(pixels.shape[1]):
        has[group[pixels[:, c] > 0], c] = True
    return has


def _class_pixels(facts: Facts) -> Floats:
    assert facts.masks is not None
    class_id = facts.masks["class_id"].to_numpy(np.int64)
    labelled = class_id >= 0
    row = _rows(facts.ids, facts.masks["image_id"].to_numpy(object))[labelled]
    found = np.zeros((len(facts.ids), int(class_id.max(initial=-1)) + 1))
    found[row, class_id[labelled]] = facts.masks["pixels"].to_numpy(np.float64)[labelled]
    return found


def _rows(ids: NDArray[np.object_], asked: NDArray[np.object_]) -> NDArray[np.int64]:
    """The row of each asked id; at once where every id is asked equally often, in order."""
    times, rest = divmod(len(asked), len(ids)) if len(ids) else (0, 1)
    if not rest and times and np.array_equal(np.repeat(ids, times), asked):
        return np.repeat(np.arange(len(ids)), times)
    return np.asarray(pd.Index(ids).get_indexer(pd.Index(asked)), np.int64)
