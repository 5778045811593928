"""Everything that ties two images together, as one table: copies, look-alikes, shared ground."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from segcv.errors import GroupError, SegcvWarning
from segcv.groups.looks import near_duplicate_pairs
from segcv.groups.overlaps import EQUAL_PIXELS, overlapping_pairs

IDENTICAL, NEAR, OVERLAP = "identical", "near-duplicate", "overlap"       # kinds of links, in the order they join
OVERLAPS = ("blocks", "landmarks")
SHOWN = 5
_COLUMNS = ("first", "second", "kind", "turn", "how")


def links_between(rows: pd.DataFrame, looks: pd.DataFrame | None, *, labels: Sequence[str], max_distance: int | None,
                  turns: bool, overlaps: str | None, ground: pd.DataFrame | None, largest: float) -> pd.DataFrame:
    """Links of images: first, second, kind, turn, and how near they are in words; the strongest kind first.

    `ground` holds pairs (first, second, share) whose rectangles overlap; where a chain of them, with the groups
    `labels` of the rows, would have more than `largest` images, none of it is linked: such ground is cut into blocks,
    not joined. What positions tell of a pair, pixels are not asked again. Flat images are counted, warned and not
    linked by their looks.

    Raises:
        GroupError: `looks` lacks an image, or is None while look-alikes or overlaps are asked for.
    """
    if overlaps not in (None, *OVERLAPS):
        raise GroupError(f"group.overlaps={overlaps} is not known; use one of {', '.join(OVERLAPS)}, or null.")
    found = [pd.DataFrame({name: [] for name in _COLUMNS}).astype("str")]
    if looks is None:
        if max_distance is not None or overlaps is not None:
            raise GroupError(f"max_distance={max_distance} and overlaps={overlaps} need the looks of the images; use "
                             "None to leave look-alikes and overlaps out.")
    else:
        mine = _complete(rows, looks)
        if max_distance is not None:
            found.append(_near(mine, max_distance, turns))
        if overlaps is not None:
            found.append(_overlapping(mine, overlaps))
    if ground is not None:
        said = pd.MultiIndex.from_frame(ground[["first", "second"]])
        found = [links[links["kind"].ne(OVERLAP) | ~pd.MultiIndex.from_frame(links[["first", "second"]]).isin(said)]
                 for links in found]
        ground = ground[_in_short_chains(rows["image_id"], labels, ground, largest)]
        found.append(pd.DataFrame({"first": ground["first"], "second": ground["second"], "kind": OVERLAP, "turn": "",
                                   "how": [f"{100 * share:.0f} % of one is ground of the other, by their positions"
                                           for share in ground["share"]]}))
    links = pd.concat(found, ignore_index=True)
    rank = links["kind"].map({IDENTICAL: 0, NEAR: 1, OVERLAP: 2})
    return links.iloc[np.argsort(rank.to_numpy(), kind="stable")].reset_index(drop=True)


def _in_short_chains(image_ids: pd.Series, labels: Sequence[str], pairs: pd.DataFrame,
                     largest: float) -> NDArray[np.bool_]:
    """Pairs whose component, over whole groups, has at most `largest` images."""
    own = [f"group {label}" if label else f"image {image_id}"
           for image_id, label in zip(image_ids, labels, strict=True)]
    unit = pd.factorize(np.array(own, object))[0]
    row = pd.Series(unit, index=image_ids)
    ends = row[pairs["first"]].to_numpy(), row[pairs["second"]].to_numpy()
    units = int(unit.max(initial=-1)) + 1
    part = connected_components(coo_matrix((np.ones(len(pairs)), ends), shape=(units, units)), directed=False)[1]
    size = np.bincount(part[unit], minlength=1)
    return np.asarray(size[part[ends[0]]] <= largest, bool)


def _complete(rows: pd.DataFrame, looks: pd.DataFrame) -> pd.DataFrame:
    missing = rows.loc[~rows["image_id"].isin(looks["image_id"]), "image_id"]
    if len(missing):
        raise GroupError(f"{len(missing)} of {len(rows)} images have no looks, such as {missing.iloc[0]}.")
    mine = looks[looks["image_id"].isin(rows["image_id"])]
    flat = mine.loc[mine["flat"].astype(bool), "image_id"].sort_values()
    if len(flat):
        more = f" and {len(flat) - SHOWN} more" if len(flat) > SHOWN else ""
        warnings.warn(f"{len(flat)} flat (blank) images have no content to compare and are not joined by their looks: "
                      f"{', '.join(flat.iloc[:SHOWN])}{more}.", SegcvWarning, stacklevel=4)
    return mine


def _near(looks: pd.DataFrame, max_distance: int, turns: bool) -> pd.DataFrame:
    pairs = near_duplicate_pairs(looks, max_distance=max_distance, turns=turns)
    how = ["identical" if identical else f"{distance} bits apart{turn and ', ' + turn}" for identical, distance, turn
           in zip(pairs["identical"], pairs["distance"], pairs["turn"], strict=True)]
    return pairs[["first", "second", "turn"]].assign(
        kind=np.where(pairs["identical"].astype(bool), IDENTICAL, NEAR), how=how)


def _overlapping(looks: pd.DataFrame, overlaps: str) -> pd.DataFrame:
    if "blocks" not in looks.columns:
        raise GroupError(f"overlaps={overlaps} needs looks with blocks and landmarks; use None to leave overlaps out.")
    pairs = overlapping_pairs(looks, landmarks=overlaps == "landmarks")
    how = [f"{100 * share:.0f} % shared, {votes} {'equal blocks' if kind == EQUAL_PIXELS else 'landmarks'}"
           for share, votes, kind in zip(pairs["share"], pairs["votes"], pairs["kind"], strict=True)]
    return pairs[["first", "second"]].assign(kind=OVERLAP, turn="", how=how)
