"""Compiled loops over label maps: undoing PNG row filters, counting values. Imported late: loading numba takes time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np

_LOW, _HIGH = np.uint64(0x7F7F7F7F7F7F7F7F), np.uint64(0x8080808080808080)


def _compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    try:
        return numba.njit(nogil=True, cache=True)(function)
    except RuntimeError:                                          # no folder to keep the machine code in
        return numba.njit(nogil=True)(function)


@_compiled
def _sum(a, b):        # type: ignore[no-untyped-def]
    """Eight sums of bytes, each modulo 256."""
    return ((a & _LOW) + (b & _LOW)) ^ ((a ^ b) & _HIGH)


@_compiled
def _byte_by_byte(kind, t, left, up, corner, wide):        # type: ignore[no-untyped-def]
    """One word of a row filtered by average (3) or Paeth (4), from the words left, above, and above left of it."""
    found = np.uint64(0)
    eight, low = np.uint64(8), np.uint64(255)
    at = np.uint64(0)
    behind = np.uint64(64) - wide                                 # shift of the pixel before, in the word before
    for _ in range(8):
        if at < wide:
            a = np.int64((left >> (behind + at)) & low)
            c = np.int64((corner >> (behind + at)) & low)
        else:
            a = np.int64((found >> (at - wide)) & low)
            c = np.int64((up >> (at - wide)) & low)
        b = np.int64((up >> at) & low)
        if kind == 3:
            guess = (a + b) >> 1
        else:
            far_a, far_b, far_c = abs(b - c), abs(a - c), abs(a + b - c - c)
            if far_a <= far_b and far_a <= far_c:
                guess = a
            elif far_b <= far_c:
                guess = b
            else:
                guess = c
        found |= ((((t >> at) & low) + np.uint64(guess)) & low) << at
        at += eight
    return found


@_compiled
def unfilter(raw, row_bytes, pixel_bytes, rows):        # type: ignore[no-untyped-def]
    """Undo the filters of `raw` (a filter byte, then `row_bytes`, per row) into `rows` (1 + height x words, uint64).

    Row 0 of `rows` must be zero: it stands above the picture. Pixels have 1 or 2 bytes. Label maps are mostly flat, so
    filtered words are mostly zero, and then eight bytes are known at once; this is where the time is saved. Returns 0,
    or the number (from 1) of the first row whose filter does not exist. Little-endian machines only.
    """
    words = rows.shape[1]
    filtered = np.zeros(words, np.uint64)
    filtered_bytes = filtered.view(np.uint8)
    wide = np.uint64(8 * pixel_bytes)
    last = np.uint64(64) - wide                                   # shift that leaves the last pixel of a word
    repeat = np.uint64(0x0101010101010101) if pixel_bytes == 1 else np.uint64(0x0001000100010001)
    step, four, half = np.uint64(8), np.uint64(16), np.uint64(32)
    for y in range(1, rows.shape[0]):
        start = (y - 1) * (row_bytes + 1)
        kind = raw[start]
        filtered_bytes[:row_bytes] = raw[start + 1:start + 1 + row_bytes]
        if kind == 0:
            rows[y] = filtered
        elif kind == 1:
            before = np.uint64(0)                                 # the last pixel, repeated
            for i in range(words):
                t = filtered[i]
                if t != np.uint64(0):
                    if pixel_bytes == 1:
                        t = _sum(t, t << step)
                    t = _sum(t, t << four)
                    t = _sum(t, t << half)
                    t = _sum(t, before)
                    before = (t >> last) * repeat
                else:
                    t = before
                rows[y, i] = t
        elif kind == 2:
            for i in range(words):
                rows[y, i] = _sum(filtered[i], rows[y - 1, i])
        elif kind == 3 or kind == 4:
            left, corner = np.uint64(0), np.uint64(0)
            for i in range(words):
                t, up = filtered[i], rows[y - 1, i]
                if kind == 4 and t == np.uint64(0) and left >> last == corner >> last:
                    found = up                                    # left equals corner: the guess is the one above
                elif kind == 4 and t == np.uint64(0) and up == (corner >> last) * repeat:
                    found = (left >> last) * repeat               # above equals corner: the guess is the one left
                else:
                    found = _byte_by_byte(kind, t, left, up, corner, wide)
                rows[y, i] = found
                left, corner = found, up
        else:
            return y
    return 0


@_compiled
def tally(words, counts):        # type: ignore[no-untyped-def]
    """Add the bytes of 8-byte words to `counts` (4 x 256 int64; the sum over rows counts).

    A word equal to the last flat one only lengthens its run. Neighbouring bytes go to different rows, because adding
    twice in a row to the same cell would wait for the first sum.
    """
    byte, seven, low = np.uint64(8), np.uint64(56), np.uint64(255)
    flat, run = np.uint64(0), np.int64(0)
    for i in range(words.size):
        word = words[i]
        if word == flat:
            run += 8
        elif word == (word >> byte) | (word << seven):
            counts[0, flat & low] += run
            flat, run = word, np.int64(8)
        else:
            for _ in range(2):
                counts[0, word & low] += 1
                counts[1, (word >> byte) & low] += 1
                counts[2, (word >> np.uint64(16)) & low] += 1
                counts[3, (word >> np.uint64(24)) & low] += 1
                word >>= np.uint64(32)
    counts[0, flat & low] += run
