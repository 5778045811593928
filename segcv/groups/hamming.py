"""All pairs of 64-bit hashes that differ in few bits, found exactly and without comparing all with all.

Cut the 64 bits into d + r bands. Two hashes that differ in at most d bits differ in at most d bands, so they agree on
at least r whole bands: it is enough to compare hashes that share the bits of some r bands (the pigeonhole principle).
"""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

FEW = 9_000_000      # comparisons; up to here all with all is quicker than loading the compiled join
MANY = 30_000        # from here on two shared bands are asked for: more tables, far smaller buckets
MOST_BITS = 22       # beyond this distance bands are too narrow to help
WIDEST_KEY = 20      # bits; a longer key is cut, which costs comparisons and no pair


def hamming_pairs(hashes: NDArray[np.uint64], *, max_distance: int, shared_bands: int | None = None,
                  ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Every pair i < j of positions whose hashes differ in at most `max_distance` bits, and that distance.

    Sorted by i, then j. The hashes must all be different (collapse equal ones first: a pile of them has quadratically
    many pairs). Exact: no pair is missed and none is reported twice. `shared_bands` is r above, 0 compares all with
    all; it changes the time and not the result, and is chosen by the number of hashes if None.

    >>> i, j, distance = hamming_pairs(np.array([0b0000, 0b0111, 0b1111], np.uint64), max_distance=3)
    >>> list(zip(i.tolist(), j.tolist(), distance.tolist()))
    [(0, 1, 3), (1, 2, 1)]
    """
    if shared_bands is None:
        shared_bands = _shared_bands(len(hashes), len(hashes), max_distance)
    if shared_bands == 0:
        first, second = _all_with_all(hashes, hashes, max_distance)
        first, second = first[second > first], second[second > first]
    else:
        first, second = _banded(hashes, 0, max_distance, max_distance + shared_bands)
    return _sorted(hashes, hashes, first, second)


def hamming_matches(queries: NDArray[np.uint64], hashes: NDArray[np.uint64], *, max_distance: int,
                    shared_bands: int | None = None,
                    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Every position in `queries` with every position in `hashes` that differ in at most `max_distance` bits, and that
    distance; sorted by the first, then the second. Exact like `hamming_pairs`; each array holds different hashes.

    >>> i, j, distance = hamming_matches(np.array([0, 7], np.uint64), np.array([1, 15, 7], np.uint64), max_distance=1)
    >>> list(zip(i.tolist(), j.tolist(), distance.tolist()))
    [(0, 0, 1), (1, 1, 1), (1, 2, 0)]
    """
    if shared_bands is None:
        shared_bands = _shared_bands(len(queries), len(hashes), max_distance)
    if shared_bands == 0:
        first, second = _all_with_all(queries, hashes, max_distance)
    else:
        both = np.concatenate([queries, hashes])
        first, second = _banded(both, len(queries), max_distance, max_distance + shared_bands)
        second = second - len(queries)
    return _sorted(queries, hashes, first, second)


def diameter(hashes: NDArray[np.uint64]) -> tuple[int, int, int]:
    """Largest Hamming distance within a set of hashes, in bits, and the positions of one pair that has it."""
    widest = (0, 0, 0)
    for start in range(0, len(hashes), 256):
        distance = np.bitwise_count(hashes[start:start + 256, None] ^ hashes[None])      # rows x hashes
        row, column = np.unravel_index(int(distance.argmax()), distance.shape)
        if distance[row, column] > widest[0]:
            widest = (int(distance[row, column]), start + int(row), int(column))
    return widest


def _shared_bands(n_hashes: int, n_others: int, max_distance: int) -> int:
    if n_hashes * n_others <= FEW or max_distance > MOST_BITS:
        return 0
    return 1 if max(n_hashes, n_others) < MANY else 2


def _sorted(hashes: NDArray[np.uint64], others: NDArray[np.uint64], first: NDArray[np.int64], second: NDArray[np.int64],
            ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    order = np.lexsort((second, first))
    first, second = first[order], second[order]
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


def _banded(hashes: NDArray[np.uint64], n_queries: int, max_distance: int,
            bands: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """All with all, or, if `n_queries` is not 0, the first `n_queries` with the others."""
    from segcv.groups.hamming_kernel import pairs_sharing_bands  # numba loads here, when there is work for it

    hashes = np.ascontiguousarray(hashes, np.uint64)
    positions = [np.arange(band, 64, bands) for band in range(bands)]      # neighbouring bits: different bands
    masks = np.array([sum(1 << int(bit) for bit in bits) for bits in positions], np.uint64)
    found, capacity = 0, 4 * len(hashes)
    first, second = np.empty(capacity, np.int32), np.empty(capacity, np.int32)
    for shared in itertools.combinations(range(bands), bands - max_distance):
        key_bits = np.concatenate([positions[band] for band in shared]).astype(np.uint64)[:WIDEST_KEY]
        chosen = np.array(shared, np.int64)
        count = pairs_sharing_bands(hashes, n_queries, masks, chosen, key_bits, max_distance, first, second, found)
        if count > len(first):
            first, second = (np.concatenate([kept, np.empty(2 * count - len(kept), np.int32)])
                             for kept in (first, second))
            count = pairs_sharing_bands(hashes, n_queries, masks, chosen, key_bits, max_distance, first, second, found)
        found = count
    return (np.minimum(first[:found], second[:found]).astype(np.int64),
            np.maximum(first[:found], second[:found]).astype(np.int64))
