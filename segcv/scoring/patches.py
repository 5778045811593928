"""Patches cut from one source: whether their pixels would be counted twice."""

from __future__ import annotations

import numpy as np
import pandas as pd

PLACE = ["x", "y", "w", "h"]


def overlapping_patches(images: pd.DataFrame) -> list[tuple[str, str]]:
    """One overlapping pair of image ids for each source that has one, by source; empty where counts may be added.

    `images` holds image_id, source_id and the place of each patch in its source in pixels: x, y (left, top), w, h.
    Patches that only touch do not overlap. Rows without source or with an unknown place are not judged.
    """
    if not {"source_id", *PLACE} <= set(images.columns):
        return []
    placed = images[images["source_id"].ne("") & images[PLACE].notna().all(axis=1)]
    pairs = []
    for _, patches in placed.groupby("source_id", sort=True):
        pair = _first_overlap(patches.sort_values(["x", "y", "image_id"]))
        if pair is not None:
            pairs.append(pair)
    return pairs


def _first_overlap(patches: pd.DataFrame) -> tuple[str, str] | None:
    """The first overlapping pair of patches that are sorted by x."""
    x, y, w, h = patches[PLACE].to_numpy(dtype=np.float64).T
    ids = patches["image_id"].to_numpy()
    behind = np.searchsorted(x, x + w, side="left")                 # first patch that starts right of this one's end
    for first in range(len(x)):
        near = slice(first + 1, int(behind[first]))
        crossing = (y[near] < y[first] + h[first]) & (y[near] + h[near] > y[first])
        if crossing.any():
            return str(ids[first]), str(ids[first + 1 + int(np.argmax(crossing))])
    return None
