"""All pairs of 64-bit hashes that differ in few bits, found exactly and without comparing all with all.

Cut the 64 bits into d + 2 bands. Two hashes that differ in at most d bits differ in at most d bands, so they agree on
at least two whole bands: it is enough to compare hashes that share two bands (the pigeonhole principle).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

FEW = 9_000_000      # comparisons; up to here all with all is quicker than loading the compiled join
LEAST_BANDS = 6      # so that a band has at most 11 bits, and its table of buckets stays small
MOST_BITS = 22       # beyond this distance bands are too narrow to help


def hamming_pairs(hashes: NDArray[np.uint64], *, max_distance: int, by_bands: bool | None = None,
                  ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Every pair i < j of positions whose hashes differ in at most `max_distance` bits, and that distance.

    Sorted by i, then j. The hashes must all be different (collapse equal ones first: a pile of them has quadratically
    many pairs). Exact: no pair is missed and none is reported twice. `by_bands` changes the time and not the result:
    True joins by bands, False compares all with all; None takes what is quicker.

    >>> i, j, distance = hamming_pairs(np.array([0b0000, 0b0111, 0b1111], np.uint64), max_distance=3)
    >>> list(zip(i.tolist(), j.tolist(), distance.tolist()))
    [(0, 1, 3), (1, 2, 1)]
    """
    if by_bands is None:
        by_bands = _by_bands(len(hashes), len(hashes), max_distance)
    if by_bands:
        first, second = _banded(hashes, 0, max_distance)
    else:
        first, second = _all_with_all(hashes, hashes, max_distance)
        first, second = first[second > first], second[second > first]
    return _sorted(hashes, hashes, first, second)


def hamming_matches(queries: NDArray[np.uint64], hashes: NDArray[np.uint64], *, max_distance: int,
                    by_bands: bool | None = None,
                    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Every position in `queries` with every position in `hashes` that differ in at most `max_distance` bits, and that
    distance; sorted by the first, then the second. Exact like `hamming_pairs`; each array holds different hashes.

    >>> i, j, distance = hamming_matches(np.array([0, 7], np.uint64), np.array([1, 15, 7], np.uint64), max_distance=1)
    >>> list(zip(i.tolist(), j.tolist(), distance.tolist()))
    [(0, 0, 1), (1, 1, 1), (1, 2, 0)]
    """
    if by_bands is None:
        by_bands = _by_bands(len(queries), len(hashes), max_distance)
    if by_bands and len(queries):
        first, second = _banded(np.concatenate([queries, hashes]), len(queries), max_distance)
        second = second - len(queries)
    else:
        first, second = _all_with_all(queries, hashes, max_distance)
    return _sorted(queries, hashes, first, second)


def hamming_components(hashes: NDArray[np.uint64], *, max_distance: int) -> NDArray[np.int64]:
    """For each hash the number of its cluster: hashes within `max_distance` bits are linked, over any number of steps
    (single linkage). Equal hashes are one; clusters are numbered by their least hash.

    >>> hamming_components(np.array([255, 0, 1, 0, 3], np.uint64), max_distance=1).tolist()
    [1, 0, 0, 0, 0]
    """
    order = np.argsort(hashes)
    is_new = np.ones(len(hashes), bool)
    is_new[1:] = hashes[order][1:] != hashes[order][:-1]
    distinct = hashes[order][is_new]
    which = np.empty(len(hashes), np.int64)
    which[order] = np.cumsum(is_new) - 1
    i, j, _ = hamming_pairs(distinct, max_distance=max_distance)
    graph = coo_matrix((np.ones(len(i), np.int8), (i, j)), shape=(len(distinct), len(distinct)))
    component = connected_components(graph, directed=False)[1] if len(distinct) else np.empty(0, np.int64)
    first = np.unique(component, return_index=True)[1]
    number = np.argsort(np.argsort(first))
    found: NDArray[np.int64] = number[component][which].astype(np.int64)
    return found


def diameter(hashes: NDArray[np.uint64]) -> tuple[int, int, int]:
    """Largest Hamming distance within a set of hashes, in bits, and the positions of one pair that has it."""
    widest = (0, 0, 0)
    for start in range(0, len(hashes), 256):
        distance = np.bitwise_count(hashes[start:start + 256, None] ^ hashes[None])      # rows x hashes
        row, column = np.unravel_index(int(distance.argmax()), distance.shape)
        if distance[row, column] > widest[0]:
            widest = (int(distance[row, column]), start + int(row), int(column))
    return widest


def _by_bands(n_hashes: int, n_others: int, max_distance: int) -> bool:
    return n_hashes * n_others > FEW and max_distance <= MOST_BITS


def _sorted(hashes: NDArray[np.uint64], others: NDArray[np.uint64], first: NDArray[np.int64], second: NDArray[np.int64],
            ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    pair = first * max(1, len(others)) + second
    pair.sort()
    first, second = np.divmod(pair, max(1, len(others)))
    return first, second, np.bitwise_count(hashes[first] ^ others[second]).astype(np.int64)


def _all_with_all(hashes: NDArray[np.uint64], others: NDArray[np.uint64],
                  max_distance: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    first, second = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for start in range(0, len(hashes), 512):
        near = np.bitwise_count(hashes[start:start + 512, None] ^ others[None]) <= max_distance      # rows x others
        row, column = np.nonzero(near)
        first.append(row + start)
        second.append(column)
    return np.concatenate(first), np.concatenate(second)


def _banded(hashes: NDArray[np.uint64], n_queries: int,
            max_distance: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """All with all, or, if `n_queries` is not 0, the first `n_queries` with the others."""
    from segcv.groups.hamming_kernel import pairs_sharing_bands, with_bands_together  # numba loads here

    bands = max(max_distance + 2, LEAST_BANDS)
    positions = [np.arange(band, 64, bands) for band in range(bands)]      # neighbouring bits: different bands
    moved = with_bands_together(np.ascontiguousarray(hashes, np.uint64), np.concatenate(positions).astype(np.uint64))
    width = np.array([len(bits) for bits in positions])
    shifts = (np.cumsum(width) - width).astype(np.uint64)
    masks = np.array([((1 << int(bits)) - 1) << int(at) for bits, at in zip(width, shifts, strict=True)], np.uint64)
    room = 2 * len(hashes) + 1024
    while True:
        first, second = np.empty(room, np.int32), np.empty(room, np.int32)
        found = pairs_sharing_bands(moved, n_queries, masks, shifts, max_distance, first, second)
        if found <= room:
            break
        room = found
    first, second = first[:found].astype(np.int64), second[:found].astype(np.int64)
    return np.minimum(first, second), np.maximum(first, second)
