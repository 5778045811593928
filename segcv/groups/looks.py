"""Which images look alike: near hashes as suspicion, small pictures of both as the proof."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from segcv.errors import GroupError
from segcv.groups.hamming import hamming_matches, hamming_pairs
from segcv.groups.turns import SIDE, TURNS, turned_hashes
from segcv.groups.verifying import verified


def near_duplicate_pairs(looks: pd.DataFrame, *, max_distance: int, turns: bool = False) -> pd.DataFrame:
    """Verified look-alikes: first, second (image ids, first < second), distance (bits), correlation, turn, identical.

    `looks` holds image_id, phash (uint64), flat (bool), thumbnail (bytes of 32 x 32 uint8), and maybe image_hash (of
    the content) and height and width (px). A pair is reported when its hashes differ in at most `max_distance` of 64
    bits and its thumbnails show the same picture (`verified`); with `turns` also when that holds after one of the
    flips and quarter turns that `turn` names ("" for none). Flat images are never compared. `identical`: equal
    content, or without image_hash equal hash and thumbnail. Of n images that look equal each is paired with the first
    only, and stands for it in other pairs.

    Sorted by identical first, then distance, correlation, ids: the order of rows has no influence.
    """
    if not 0 <= max_distance <= 64:
        raise GroupError(f"max_distance={max_distance}: hashes have 64 bits; use 5 (the default), at most 64.")
    seen = looks[~looks["flat"].astype(bool)].sort_values("image_id", ignore_index=True)
    ids = seen["image_id"].to_numpy(dtype=object)
    hashes = seen["phash"].to_numpy(np.uint64)
    pictures = np.frombuffer(b"".join(seen["thumbnail"]), np.uint8).reshape(len(ids), SIDE, SIDE)
    own = np.arange(len(ids))
    by_look = ["phash", "thumbnail"]
    equal = _first(seen, ["image_hash"] if "image_hash" in seen.columns else by_look)      # images -> first equal one
    stands_for = _first(seen.iloc[equal].set_axis(own), by_look)
    faces = np.flatnonzero(stands_for == own)
    copies = np.concatenate([np.flatnonzero(equal != own), np.flatnonzero((equal == own) & (stands_for != own))])
    copied = np.where(equal != own, equal, stands_for)[copies]
    near = _near(hashes[faces], max_distance)
    if turns:
        near = pd.concat([near, _near_turned(hashes[faces], pictures[faces], max_distance)])
    one, other = faces[near["one"].to_numpy()], faces[near["other"].to_numpy()]
    sides = (seen[["height", "width"]].min(axis=1).to_numpy(np.float64) if "height" in seen.columns
             else np.full(len(ids), np.inf))
    near["correlation"], same = verified(pictures, one, other, near["turn"].to_numpy(np.int64), sides)
    near = near.assign(one=one, other=other)[same].sort_values(["distance", "turn"], kind="stable")
    near = near.drop_duplicates(["one", "other"])
    pairs = pd.DataFrame({
        "first": ids[np.concatenate([copied, near["one"]])],
        "second": ids[np.concatenate([copies, near["other"]])],
        "distance": np.concatenate([np.zeros(len(copies), np.int64), near["distance"]]),
        "correlation": np.concatenate([np.ones(len(copies)), near["correlation"]]),
        "turn": [""] * len(copies) + [TURNS[turn] for turn in near["turn"]],
        "identical": np.arange(len(copies) + len(near)) < int((equal != own).sum()),
    })
    return pairs.sort_values(["identical", "distance", "correlation", "first", "second"],
                             ascending=[False, True, False, True, True], ignore_index=True)


def clusters(image_ids: pd.Series, pairs: pd.DataFrame) -> pd.Series:
    """For each image the least image id it is linked to over any number of pairs (single linkage), row by row.

    >>> pairs = pd.DataFrame({"first": ["a", "b"], "second": ["b", "d"]})
    >>> clusters(pd.Series(["d", "c", "b", "a"]), pairs).tolist()
    ['a', 'c', 'a', 'a']
    """
    row = pd.Series(np.arange(len(image_ids)), index=pd.Index(image_ids, dtype=object))
    one, other = row[pairs["first"]].to_numpy(), row[pairs["second"]].to_numpy()
    graph = coo_matrix((np.ones(len(one), np.int8), (one, other)), shape=(len(row), len(row)))
    component = connected_components(graph, directed=False)[1]
    least = image_ids.astype(object).groupby(component).transform("min")
    return least.rename("cluster")


def _first(seen: pd.DataFrame, columns: list[str]) -> NDArray[np.int64]:
    """For each row the first row with the same values."""
    place = pd.Series(np.arange(len(seen)), dtype=np.int64)
    return (place.groupby([seen[name] for name in columns]).transform("min") if len(seen) else place).to_numpy(np.int64)


def _near(hashes: NDArray[np.uint64], max_distance: int) -> pd.DataFrame:
    """Pairs of rows, one < other, whose hashes are near; rows with equal hashes are paired all with all."""
    distinct, which = np.unique(hashes, return_inverse=True)
    i, j, _ = hamming_pairs(distinct, max_distance=max_distance)
    i, j = (np.concatenate([ends, np.arange(len(distinct))]) for ends in (i, j))       # a hash is near itself
    a, b = member_pairs(i, j, which, which, len(distinct), len(distinct))
    twice = (which[a] == which[b]) & (a >= b)
    one, other = np.minimum(a, b)[~twice], np.maximum(a, b)[~twice]
    return pd.DataFrame({"one": one, "other": other, "turn": 0,
                         "distance": np.bitwise_count(hashes[one] ^ hashes[other]).astype(np.int64)})


def _near_turned(hashes: NDArray[np.uint64], pictures: NDArray[np.uint8], max_distance: int) -> pd.DataFrame:
    """Pairs of rows, one < other, of which the second's hash after a turn is near the first's."""
    turned = turned_hashes(pictures)[:, 1:]                                            # rows x turns
    distinct, which = np.unique(hashes, return_inverse=True)
    distinct_turned, which_turned = np.unique(turned.ravel(), return_inverse=True)
    i, j, _ = hamming_matches(distinct, distinct_turned, max_distance=max_distance)
    one, place = member_pairs(i, j, which, which_turned, len(distinct), len(distinct_turned))
    other, turn = place // turned.shape[1], place % turned.shape[1]
    later = one < other                    # the other way round the pair is found with the turn back
    one, other, turn = one[later], other[later], turn[later]
    return pd.DataFrame({"one": one, "other": other, "turn": turn + 1,
                         "distance": np.bitwise_count(hashes[one] ^ turned[other, turn]).astype(np.int64)})


def member_pairs(i: NDArray[np.int64], j: NDArray[np.int64], which: NDArray[np.int64], which_other: NDArray[np.int64],
             n_distinct: int, n_other: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """All pairs of rows (a, b) with which[a] == i[k] and which_other[b] == j[k], for every k."""
    rows, rows_other = np.argsort(which, kind="stable"), np.argsort(which_other, kind="stable")
    start = np.searchsorted(which[rows], np.arange(n_distinct + 1))
    start_other = np.searchsorted(which_other[rows_other], np.arange(n_other + 1))
    count, count_other = np.diff(start), np.diff(start_other)
    sizes = count[i] * count_other[j]
    pair = np.repeat(np.arange(len(i)), sizes)
    within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return (rows[start[i[pair]] + within // count_other[j[pair]]],
            rows_other[start_other[j[pair]] + within % count_other[j[pair]]])
