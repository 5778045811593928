"""Patches cut from one source: where they lie, and whether their pixels would be counted twice."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from segcv.errors import ScoreError

PLACE = ["x", "y", "w", "h"]


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """Where a patch lies in its source, in whole pixels; sorted from top to bottom, then from left to right."""

    y: int
    x: int
    h: int
    w: int


def place_of(row: pd.Series) -> Place:
    """The place of one row of an images table, whose numbers are whole."""
    return Place(int(row["y"]), int(row["x"]), int(row["h"]), int(row["w"]))


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


def scored_ids(images: pd.DataFrame) -> pd.Series:
    """The id under which each image is scored: its own, or its source_id where patches of that source overlap.

    Raises:
        ScoreError: overlapping patches of one source have places unknown or in fractions of pixels, lie in two
            groups, or their source is named like another image.
    """
    own = images["image_id"]
    pairs = overlapping_patches(images)
    if not pairs:
        return own
    source_of = dict(zip(own, images["source_id"], strict=True))
    stitched = images["source_id"].isin({source_of[first] for first, _ in pairs})
    patches = images[stitched]
    places = patches[PLACE]
    odd = ~((places % 1).eq(0).all(axis=1) & places[["w", "h"]].gt(0).all(axis=1))      # unknown is odd too
    if odd.any():
        row = patches[odd].iloc[0]
        raise ScoreError(f"{row['image_id']}: x, y, w, h are {', '.join(str(row[name]) for name in PLACE)}; patches of "
                         f"source {row['source_id']} overlap, and to be put together each needs its place in whole "
                         "pixels.")
    torn = patches.groupby("source_id")["group_id"].nunique()
    if (torn > 1).any():
        raise ScoreError(f"source {torn.index[torn > 1][0]} has patches in {torn.max()} groups. Give all patches of a "
                         "source one group_id.")
    clash = set(patches["source_id"]) & set(own)
    if clash:
        raise ScoreError(f"{min(clash)} is a source of overlapping patches and the image_id of another image. Rename "
                         "one of them.")
    return own.mask(stitched, images["source_id"])


def refuse_overlaps(images: pd.DataFrame, *, why: str) -> None:
    """Refuse overlapping patches, which cannot be put together for the reason `why`.

    Raises:
        ScoreError: there are some; it names a pair.
    """
    pairs = overlapping_patches(images)
    if pairs:
        first, second = pairs[0]
        raise ScoreError(f"{first} and {second} overlap in their source ({len(pairs)} such sources): pixels that both "
                         f"show would be counted twice, and {why}.")


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
