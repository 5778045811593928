"""The compiled inner loop of `hamming_pairs`; importing this module loads numba."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True)
def _bit_count(bits: Any) -> Any:
    bits -= (bits >> np.uint64(1)) & np.uint64(0x5555555555555555)
    bits = (bits & np.uint64(0x3333333333333333)) + ((bits >> np.uint64(2)) & np.uint64(0x3333333333333333))
    bits = (bits + (bits >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((bits * np.uint64(0x0101010101010101)) >> np.uint64(56))


@njit(cache=True)
def _is_first_agreement(difference: Any, masks: Any, shared: Any) -> Any:
    """Are `shared` the first bands on which the two hashes agree? So each pair is reported for one choice of bands."""
    at = 0
    for band in range(shared[-1] + 1):
        agrees = (difference & masks[band]) == np.uint64(0)
        wanted = band == shared[at]
        if agrees != wanted:
            return False
        if wanted:
            at += 1
    return True


@njit(cache=True)
def pairs_sharing_bands(hashes: NDArray[np.uint64], n_queries: int, masks: NDArray[np.uint64],
                        shared: NDArray[np.int64], key_bits: NDArray[np.uint64], max_distance: int,
                        first: NDArray[np.int32], second: NDArray[np.int32], found: int) -> int:
    """Number of pairs known after those that agree on the bands `shared` first were added from place `found` on.

    All with all when `n_queries` is 0, else the first `n_queries` hashes with the others.

    When it exceeds the length of `first`, the pairs beyond were counted and not stored: call again with more room.
    """
    buckets = 1 << len(key_bits)
    start = np.zeros(buckets + 1, np.int32)
    keys = np.empty(len(hashes), np.int32)
    for row in range(len(hashes)):
        key = np.int32(0)
        for bit in key_bits:
            key = np.int32((key << 1) | np.int32((hashes[row] >> bit) & np.uint64(1)))
        keys[row] = key
        start[key + 1] += 1
    for bucket in range(buckets):
        start[bucket + 1] += start[bucket]
    rows, sorted_hashes = np.empty(len(hashes), np.int32), np.empty(len(hashes), np.uint64)
    for row in range(len(hashes)):      # counting sort; afterwards start[key] is the end of that bucket
        place = start[keys[row]]
        start[keys[row]] = place + 1
        rows[place] = row
        sorted_hashes[place] = hashes[row]
    low = 0
    for bucket in range(buckets):
        high = start[bucket]
        middle = low                    # where the queries of the bucket end: the sort keeps the order of rows
        while n_queries and middle < high and rows[middle] < n_queries:
            middle += 1
        for one in range(low, middle if n_queries else high - 1):
            for other in range(middle if n_queries else one + 1, high):
                difference = sorted_hashes[one] ^ sorted_hashes[other]
                if _bit_count(difference) <= max_distance and _is_first_agreement(difference, masks, shared):
                    if found < len(first):
                        first[found] = rows[one]
                        second[found] = rows[other]
                    found += 1
        low = high
    return found
