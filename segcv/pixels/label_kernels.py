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
    behind = np.uint64(64) - wide                                 # shift of the pixel before, in the word before
    # The bytes of the pixels left and above left, as two queues of one or two bytes.
    lefts, corners = left >> behind, corner >> behind
    last = wide - eight
    for at in range(0, 64, 8):
        place = np.uint64(at)
        a, c = np.int64(lefts & low), np.int64(corners & low)
        over = (up >> place) & low
        b = np.int64(over)
        if kind == 3:
            guess = (a + b) >> 1
        else:
            far_a, far_b, far_c = abs(b - c), abs(a - c), abs(a + b - c - c)
            least = b if far_b <= far_c else c
            guess = a if far_a <= far_b and far_a <= far_c else least
        value = (((t >> place) & low) + np.uint64(guess)) & low
        found |= value << place
        lefts, corners = (lefts >> eight) | (value << last), (corners >> eight) | (over << last)
    return found


@_compiled
def _paeth(t, left, up, corner):        # type: ignore[no-untyped-def]
    """One word of a row of 1-byte pixels filtered by Paeth: bytes that follow from zeros are taken together."""
    low, full = np.uint64(255), np.uint64(0xFFFFFFFFFFFFFFFF)
    repeat, eight, end = np.uint64(0x0101010101010101), np.uint64(8), np.uint64(64)
    a, c = left >> np.uint64(56), corner >> np.uint64(56)
    found, place = np.uint64(0), np.uint64(0)
    while place < end:
        rest = t >> place
        if a == c and rest & low == np.uint64(0):                 # as above, as far as nothing was corrected
            if rest == np.uint64(0):
                return found | (up & (full << place))
            start = place
            while rest & low == np.uint64(0):
                rest >>= eight
                place += eight
            found |= up & (full << start) & ~(full << place)
            a = c = (up >> (place - eight)) & low
        elif rest == np.uint64(0) and (up ^ (c * repeat)) >> place == np.uint64(0):
            return found | ((a * repeat) & (full << place))       # as left, where above all is as above left
        b = (up >> place) & low
        ia, ib, ic = np.int64(a), np.int64(b), np.int64(c)
        far_a, far_b, far_c = abs(ib - ic), abs(ia - ic), abs(ia + ib - ic - ic)
        least = b if far_b <= far_c else c
        guess = a if far_a <= far_b and far_a <= far_c else least
        a = ((rest & low) + guess) & low
        c = b
        found |= a << place
        place += eight
    return found


@_compiled
def unfilter(raw, row_bytes, pixel_bytes, rows):        # type: ignore[no-untyped-def]
    """Undo the filters of `raw` (a filter byte, then `row_bytes`, per row) into `rows` (1 + height x words, uint64).

    `raw` is given as uint64 words, with one word more than its bytes fill. Row 0 of `rows` must be zero: it stands
    above the picture. Pixels have 1 or 2 bytes. Label maps are mostly flat, so filtered words are mostly zero, and then
    eight bytes are known at once; this is where the time is saved. Bytes behind the end of a row become anything.
    Returns 0, or the number (from 1) of the first row whose filter does not exist. Little-endian machines only.
    """
    words = rows.shape[1]
    zero, one, low = np.uint64(0), np.uint64(1), np.uint64(255)
    wide = np.uint64(8 * pixel_bytes)
    last = np.uint64(64) - wide                                   # shift that leaves the last pixel of a word
    repeat = np.uint64(0x0101010101010101) if pixel_bytes == 1 else np.uint64(0x0001000100010001)
    step, four, half = np.uint64(8), np.uint64(16), np.uint64(32)
    for y in range(1, rows.shape[0]):
        start = (y - 1) * (row_bytes + 1)
        kind = (raw[start >> 3] >> np.uint64(8 * (start & 7))) & low
        first = (start + 1) >> 3                                  # word in which the row begins,
        down = np.uint64(8 * ((start + 1) & 7))                   # and where in it
        rest = np.uint64(63) - down
        above, row = rows[y - 1], rows[y]
        if kind == 0:
            for i in range(words):
                row[i] = (raw[first + i] >> down) | ((raw[first + i + 1] << rest) << one)
        elif kind == 1:
            before = zero                                         # the last pixel, repeated
            for i in range(words):
                t = (raw[first + i] >> down) | ((raw[first + i + 1] << rest) << one)
                if t != zero:
                    if pixel_bytes == 1:
                        t = _sum(t, t << step)
                    t = _sum(t, t << four)
                    t = _sum(t, t << half)
                    t = _sum(t, before)
                    before = (t >> last) * repeat
                else:
                    t = before
                row[i] = t
        elif kind == 2:
            for i in range(words):
                t = (raw[first + i] >> down) | ((raw[first + i + 1] << rest) << one)
                row[i] = _sum(t, above[i])
        elif kind == 3 or kind == 4:
            left, corner = zero, zero
            for i in range(words):
                t = (raw[first + i] >> down) | ((raw[first + i + 1] << rest) << one)
                up = above[i]
                if kind == 4 and t == zero and left >> last == corner >> last:
                    found = up                                    # left equals corner: the guess is the one above
                elif kind == 4 and t == zero and up == (corner >> last) * repeat:
                    found = (left >> last) * repeat               # above equals corner: the guess is the one left
                elif kind == 4 and pixel_bytes == 1:
                    found = _paeth(t, left, up, corner)
                else:
                    found = _byte_by_byte(kind, t, left, up, corner, wide)
                row[i] = found
                left, corner = found, up
        else:
            return y
    return 0


@_compiled
def outside(values, n_classes, ignore):        # type: ignore[no-untyped-def]
    """How many bytes are neither below `n_classes` nor `ignore`, both bytes too."""
    found = 0
    for i in range(values.size):
        found += (values[i] >= n_classes) & (values[i] != ignore)
    return found


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
