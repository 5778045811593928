"""Which images look alike: near hashes as suspicion, small pictures of both as the proof."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from segcv.errors import GroupError
from segcv.groups.hamming import hamming_pairs

SIDE = 32                  # of a thumbnail, in pixels
LEAST_CORRELATION = 0.9    # of two thumbnails, for a pair to count as look-alike
CONTRAST = 16.0            # grey levels; below it a thumbnail says little, and more agreement is asked for
DULL_CORRELATION, DULL_DIFFERENCE = 0.95, 12.0


def near_duplicate_pairs(looks: pd.DataFrame, *, max_distance: int) -> pd.DataFrame:
    """Verified look-alikes: first, second (image ids, first < second), distance (bits), correlation, identical.

    `looks` holds image_id, phash (uint64), flat (bool), thumbnail (bytes of 32 x 32 uint8) and maybe image_hash (of
    the file's content). A pair is reported when its hashes differ in at most `max_distance` of 64 bits and its
    thumbnails correlate by at least 0.9; where one has little contrast (standard deviation below 16) by 0.95 with a
    mean difference of at most 12 grey levels. Flat images are never compared. `identical`: equal hash and thumbnail,
    or equal content. Of n identical images each is paired with the first only, and stands for it in other pairs.
    Sorted by identical first, then distance, correlation, ids: the order of rows has no influence.
    """
    if not 0 <= max_distance <= 64:
        raise GroupError(f"max_distance={max_distance}: hashes have 64 bits; use 5 (the default), at most 64.")
    seen = looks[~looks["flat"].astype(bool)].sort_values("image_id", ignore_index=True)
    ids = seen["image_id"].to_numpy(dtype=object)
    hashes = seen["phash"].to_numpy(np.uint64)
    pictures = seen["thumbnail"].to_numpy(dtype=object)
    stands_for = _first_of_equals(seen)                                   # images -> first image that equals it
    faces = np.flatnonzero(stands_for == np.arange(len(ids)))
    copies = np.flatnonzero(stands_for != np.arange(len(ids)))
    one, other = _near_faces(hashes, faces, max_distance)
    correlation, alike = _verified(pictures, one, other)
    one, other, correlation = one[alike], other[alike], correlation[alike]
    pairs = pd.DataFrame({
        "first": ids[np.concatenate([stands_for[copies], one])],
        "second": ids[np.concatenate([copies, other])],
        "distance": np.concatenate([np.zeros(len(copies), np.int64),
                                    np.bitwise_count(hashes[one] ^ hashes[other]).astype(np.int64)]),
        "correlation": np.concatenate([np.ones(len(copies)), correlation]),
        "identical": np.arange(len(copies) + len(one)) < len(copies),
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


def _first_of_equals(seen: pd.DataFrame) -> NDArray[np.int64]:
    """For each row the first row with the same hash and thumbnail, or with the same content."""
    place = pd.Series(np.arange(len(seen)), dtype=np.int64)
    first = place.groupby([seen["phash"], seen["thumbnail"]]).transform("min") if len(seen) else place
    if "image_hash" in seen.columns and len(seen):
        first = first.groupby(seen["image_hash"]).transform("min")
        first = first.groupby([seen["phash"], seen["thumbnail"]]).transform("min")
    return first.to_numpy(np.int64)


def _near_faces(hashes: NDArray[np.uint64], faces: NDArray[np.int64],
                max_distance: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pairs of rows, smaller first, whose hashes are near; rows with equal hashes are paired all with all."""
    distinct, which = np.unique(hashes[faces], return_inverse=True)
    i, j, _ = hamming_pairs(distinct, max_distance=max_distance)
    i, j = (np.concatenate([ends, np.arange(len(distinct))]) for ends in (i, j))       # a hash is near itself
    order = np.argsort(which, kind="stable")
    start = np.searchsorted(which[order], np.arange(len(distinct) + 1))
    count = np.diff(start)                                                # rows per distinct hash
    sizes = count[i] * count[j]
    pair = np.repeat(np.arange(len(i)), sizes)
    within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    one = faces[order[start[i[pair]] + within // count[j[pair]]]]
    other = faces[order[start[j[pair]] + within % count[j[pair]]]]
    twice = (i[pair] == j[pair]) & (one >= other)
    return np.minimum(one, other)[~twice], np.maximum(one, other)[~twice]


def _verified(pictures: NDArray[np.object_], one: NDArray[np.int64],
              other: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Correlation of the two thumbnails of each pair, in [-1, 1], and whether they are alike."""
    correlation, alike = np.empty(len(one)), np.empty(len(one), bool)
    for start in range(0, len(one), 4096):
        part = slice(start, start + 4096)
        a, b = _thumbnails(pictures[one[part]]), _thumbnails(pictures[other[part]])     # pairs x 1024
        difference = np.abs(a - b).mean(1)
        a, b = a - a.mean(1, keepdims=True), b - b.mean(1, keepdims=True)
        spread_a, spread_b = np.sqrt((a * a).mean(1)), np.sqrt((b * b).mean(1))
        both = spread_a * spread_b
        correlation[part] = np.divide((a * b).mean(1), both, out=np.zeros(len(a)), where=both > 0)
        dull = np.minimum(spread_a, spread_b) < CONTRAST
        strict = (correlation[part] >= DULL_CORRELATION) & (difference <= DULL_DIFFERENCE)
        alike[part] = np.where(dull, strict, correlation[part] >= LEAST_CORRELATION)
    return correlation, alike


def _thumbnails(pictures: NDArray[np.object_]) -> NDArray[np.float64]:
    flat = np.frombuffer(b"".join(pictures), np.uint8)
    return flat.reshape(len(pictures), SIDE * SIDE).astype(np.float64)
