"""The compiled loops of `hamming_pairs`; importing this module loads numba."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic
from numpy.typing import NDArray

_FEW = 48       # hashes; so many in a bucket are compared directly, more are sorted by a second band first


def _count_bits(context: Any, bits: Any) -> Any:
    """Number of set bits of a uint64, by the processor's own instruction."""
    def build(_: Any, builder: Any, __: Any, values: Any) -> Any:
        count = builder.module.declare_intrinsic("llvm.ctpop", [ir.IntType(64)])
        return builder.call(count, [values[0]])
    return types.int64(types.uint64), build


_bit_count: Any = intrinsic(_count_bits)


@njit(cache=True)
def with_bands_together(hashes: NDArray[np.uint64], order: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The hashes with bit `order[k]` moved to place k, by a table for each byte."""
    tables = np.zeros((8, 256), np.uint64)
    place = np.empty(64, np.uint64)
    for k in range(64):
        place[order[k]] = k
    for byte in range(8):
        for value in range(256):
            for bit in range(8):
                if (value >> bit) & 1:
                    tables[byte, value] |= np.uint64(1) << place[8 * byte + bit]
    moved = np.empty_like(hashes)
    for row in range(len(hashes)):
        bits = np.uint64(0)
        for byte in range(8):
            bits |= tables[byte, (hashes[row] >> np.uint64(8 * byte)) & np.uint64(255)]
        moved[row] = bits
    return moved


@njit(cache=True)
def _agree_first_on(difference: Any, masks: Any, band: Any, second: Any) -> Any:
    """Is `band` the first on which two hashes agree, and `second` (if not negative) the next? So each pair is reported
    in one bucket only."""
    agrees = False
    for other in range(max(band, second)):
        agrees |= other != band and difference & masks[other] == np.uint64(0)
    return not agrees


@njit(cache=True)
def _compare(hashes: Any, rows: Any, low: Any, high: Any, n_queries: Any, masks: Any, band: Any, second: Any,
             max_distance: Any, one_of: Any, other_of: Any, found: Any) -> Any:
    """All pairs of a bucket, or its queries with its others; the rows of a bucket are in order."""
    middle = low
    while n_queries and middle < high and rows[middle] < n_queries:
        middle += 1
    for one in range(low, middle if n_queries else high - 1):
        mine = hashes[one]
        for other in range(middle if n_queries else one + 1, high):
            difference = mine ^ hashes[other]
            if _bit_count(difference) <= max_distance and _agree_first_on(difference, masks, band, second):
                if found < len(one_of):
                    one_of[found] = rows[one]
                    other_of[found] = rows[other]
                found += 1
    return found


@njit(cache=True)
def _sort_by_band(hashes: Any, rows: Any, low: Any, high: Any, shift: Any, mask: Any, start: Any, sorted_hashes: Any,
                  sorted_rows: Any) -> None:
    """Counting sort of hashes[low:high] by one band into sorted_hashes[:high - low]; start[k + 1] ends bucket k."""
    start[:] = 0
    for place in range(low, high):
        start[((hashes[place] >> shift) & mask) + np.uint64(2)] += 1
    for bucket in range(2, len(start)):
        start[bucket] += start[bucket - 1]
    for place in range(low, high):
        key = ((hashes[place] >> shift) & mask) + np.uint64(1)
        sorted_hashes[start[key]] = hashes[place]
        sorted_rows[start[key]] = rows[place]
        start[key] += 1


@njit(cache=True)
def pairs_sharing_bands(hashes: NDArray[np.uint64], n_queries: int, masks: NDArray[np.uint64],
                        shifts: NDArray[np.uint64], max_distance: int, first: NDArray[np.int32],
                        second: NDArray[np.int32]) -> int:
    """Fill `first` and `second` with all near pairs; returns how many there are, also when there is no room for them.

    All with all when `n_queries` is 0, else the first `n_queries` hashes with the others. Two near hashes agree on at
    least two of the bands: all are sorted by one band, and large buckets, which then fit the cache, by a second one.
    """
    n, bands = len(hashes), len(masks)
    widest = np.uint64(0)
    for band in range(bands):
        widest = max(widest, masks[band] >> shifts[band])
    start, inner_start = np.empty(widest + np.uint64(3), np.int32), np.empty(widest + np.uint64(3), np.int32)
    order = np.arange(n).astype(np.int32)
    by_band, rows = np.empty(n, np.uint64), np.empty(n, np.int32)
    inner, inner_rows = np.empty(1, np.uint64), np.empty(1, np.int32)
    found = 0
    for band in range(bands - 1):
        _sort_by_band(hashes, order, 0, n, shifts[band], masks[band] >> shifts[band], start, by_band, rows)
        low = 0
        for bucket in range(len(start) - 2):
            high = start[bucket + 1]
            if high - low <= _FEW:
                found = _compare(by_band, rows, low, high, n_queries, masks, band, -1, max_distance, first, second,
                                 found)
            else:
                if len(inner) < high - low:
                    inner, inner_rows = np.empty(2 * (high - low), np.uint64), np.empty(2 * (high - low), np.int32)
                for other in range(band + 1, bands):
                    _sort_by_band(by_band, rows, low, high, shifts[other], masks[other] >> shifts[other], inner_start,
                                  inner, inner_rows)
                    begin = 0
                    for inner_bucket in range(len(inner_start) - 2):
                        end = inner_start[inner_bucket + 1]
                        if end - begin > 1:
                            found = _compare(inner, inner_rows, begin, end, n_queries, masks, band, other,
                                             max_distance, first, second, found)
                        begin = end
            low = high
    return found
