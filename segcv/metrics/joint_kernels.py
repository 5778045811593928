"""Compiled joint histograms of two label arrays. Imported late, because loading numba takes a second.

The machine code is kept beside this file, else in the user's cache folder; where neither can be written it is
compiled anew in each process.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np

STRIP_WORDS = 2**28        # 2**31 pixels: a uint32 cell cannot overflow within a strip


def _compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    try:
        return numba.njit(nogil=True, cache=True)(function)
    except RuntimeError:                                          # no folder to keep the machine code in
        return numba.njit(nogil=True)(function)


@_compiled
def add_words(truth, prediction, table):        # type: ignore[no-untyped-def]
    """Add to `table` (2 x 65536 uint32; cell truth·256 + prediction) the pixel pairs of two arrays of 8-pixel words.

    Label maps are mostly flat: a word pair equal to the last flat one only lengthens its run, so that the cost is one
    read pass. Pixels of other words go alternately to the two rows, because adding twice in a row to the same cell
    would wait for the first sum. Words per call: at most STRIP_WORDS.
    """
    byte, seven, low = np.uint64(8), np.uint64(56), np.uint64(255)
    flat_truth, flat_prediction = np.uint64(0), np.uint64(0)      # the flat pair whose run is open
    cell, run = np.uint64(0), np.uint32(0)
    for i in range(truth.size):
        t, p = truth[i], prediction[i]
        if t == flat_truth and p == flat_prediction:
            run += np.uint32(8)
            continue
        rotated_t, rotated_p = (t >> byte) | (t << seven), (p >> byte) | (p << seven)
        if (t ^ rotated_t) | (p ^ rotated_p) == np.uint64(0):     # all 8 pixels alike, in both
            table[0, cell] += run
            flat_truth, flat_prediction = t, p
            cell, run = ((t & low) << byte) | (p & low), np.uint32(8)
        else:
            for _ in range(4):
                table[0, ((t & low) << byte) | (p & low)] += np.uint32(1)
                t >>= byte
                p >>= byte
                table[1, ((t & low) << byte) | (p & low)] += np.uint32(1)
                t >>= byte
                p >>= byte
    table[0, cell] += run


@_compiled
def add_pixels(truth, prediction, void, table):        # type: ignore[no-untyped-def]
    """Add to `table` (C x (C + 1) int64) the pixel pairs of two flat integer arrays; the last column is any prediction
    outside 0..C-1. Returns how many truth pixels are neither in 0..C-1 nor `void`, and the first such value.
    """
    n_classes = table.shape[0]
    unknown, first = 0, np.int64(0)
    for i in range(truth.size):
        t = np.int64(truth[i])
        if t < 0 or t >= n_classes:
            if t != void:
                if unknown == 0:
                    first = t
                unknown += 1
            continue
        p = np.int64(prediction[i])
        if p < 0 or p >= n_classes:
            p = np.int64(n_classes)
        table[t, p] += 1
    return unknown, first
