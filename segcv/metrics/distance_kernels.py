"""Compiled distances between the outlines of two masks, exact. Imported late, because loading numba takes a second.

A map marks the elements of an outline: bytes that are not 0, rows x columns. The distance of an element to the nearest
one of the other map is found in two steps: the vertical distance to the nearest element of each column, for all pixels
in two sweeps over the rows; then, along the row of the element, outward until columns are farther away than what was
found. Where outlines are far apart that would take long, and a row that has used up its steps goes on with the lower
envelope of its parabolas (Felzenszwalb & Huttenlocher 2012), so the work stays proportional to the pixels.
"""

from __future__ import annotations

import numpy as np

from segcv.metrics.wide_kernels import compiled, lowest_bit, not_zero, set_bits

BLOCK = 64                 # maps have rows of a multiple of so many bytes
STEPS = 1                  # per column of a row, before its envelope is made: beyond, that is faster


@compiled
def border_map(mask, valid, width):        # type: ignore[no-untyped-def]
    """The border pixels of a mask, rows x `width` bytes, width a multiple of BLOCK; `valid`: None, or not ignored."""
    rows, columns = mask.shape
    inside = np.zeros((rows + 2, columns + 2), np.uint8)     # what makes no border beside it; a rim without
    for y in range(rows):
        line = inside[y + 1, 1:columns + 1]
        for x in range(columns):
            line[x] = mask[y, x] if valid is None else mask[y, x] | (valid[y, x] ^ 1)
    border = np.zeros((rows, width), np.uint8)
    for y in range(rows):
        above, below, left, right = inside[y, 1:], inside[y + 2, 1:], inside[y + 1], inside[y + 1, 2:]
        for x in range(columns):
            is_object = mask[y, x] if valid is None else mask[y, x] & valid[y, x]
            border[y, x] = is_object & ((above[x] & below[x] & left[x] & right[x]) ^ 1)
    return border


@compiled
def corner_map(mask, valid, width):        # type: ignore[no-untyped-def]
    """The pieces of a mask's outline by pixel corner, (rows + 1) x `width` bytes: which of the four pixels around it
    are set, 8 4 over 2 1; 0 where they are alike, or where one of them is ignored."""
    rows, columns = mask.shape
    padded, judged = np.zeros((rows + 2, columns + 2), np.uint8), np.ones((rows + 2, columns + 2), np.uint8)
    for y in range(rows):
        for x in range(columns):
            padded[y + 1, x + 1] = mask[y, x] if valid is None else mask[y, x] & valid[y, x]
            if valid is not None:
                judged[y + 1, x + 1] = valid[y, x]
    pieces = np.zeros((rows + 1, width), np.uint8)
    for y in range(rows + 1):
        above, below = padded[y], padded[y + 1]
        above_right, below_right = above[1:], below[1:]
        for x in range(columns + 1):
            code = np.uint8(8 * above[x] + 4 * above_right[x] + 2 * below[x] + below_right[x])
            pieces[y, x] = np.uint8(0) if code == 15 else code
        if valid is not None:
            for x in range(columns + 1):
                pieces[y, x] *= judged[y, x] & judged[y, x + 1] & judged[y + 1, x] & judged[y + 1, x + 1]
    return pieces


@compiled
def directed_distances(first, second, dy, dx, window, down):        # type: ignore[no-untyped-def]
    """Of each element of map `first`, by rows, the distance to the nearest one of `second`, and its byte.

    `window`: first and last + 1 row and column that hold both maps' elements. `down`: working space of that size, whole
    numbers that hold twice the rows. `second` has an element.
    """
    top, bottom, left, right = window
    columns = right - left
    _vertical(second, window, down)
    across2 = (np.arange(columns) * dx) ** 2
    down2 = np.empty(columns)                                       # of a row: squared vertical distance, by column
    found = _number(first, window)
    distances, bytes_ = np.empty(found), np.empty(found, np.uint8)
    at = 0
    apex, until = np.empty(columns, np.int64), np.empty(columns + 1)
    for y in range(top, bottom):
        row = first[y]
        ready, steps, parabolas = False, 0, 0
        for block in range(left // BLOCK * BLOCK, right, BLOCK):
            bits = not_zero(row, block)
            while bits:
                x = block + np.intp(lowest_bit(bits)) - left
                bits &= bits - np.uint64(1)
                if not ready:
                    _squares(down[y - top], dy, down2)
                    ready = True
                if steps < STEPS * columns:
                    best, k = down2[x], 1
                    reach = max(x, columns - 1 - x)
                    while k <= reach and across2[k] < best:
                        if k <= x:
                            best = min(best, down2[x - k] + across2[k])
                        if x + k < columns:
                            best = min(best, down2[x + k] + across2[k])
                        k += 1
                    steps += k
                else:
                    if parabolas == 0:
                        parabolas = _envelope(down2, dx, apex, until)
                    best = _lowest(down2, dx, apex, until, parabolas, x)
                distances[at], bytes_[at] = np.sqrt(best), row[left + x]
                at += 1
    return distances, bytes_


@compiled
def bytes_of(elements, window):        # type: ignore[no-untyped-def]
    """The bytes of a map's elements, by rows."""
    top, bottom, left, right = window
    found = np.empty(_number(elements, window), np.uint8)
    at = 0
    for y in range(top, bottom):
        row = elements[y]
        for block in range(left // BLOCK * BLOCK, right, BLOCK):
            bits = not_zero(row, block)
            while bits:
                found[at] = row[block + np.intp(lowest_bit(bits))]
                at += 1
                bits &= bits - np.uint64(1)
    return found


@compiled
def _vertical(elements, window, down):        # type: ignore[no-untyped-def]
    """Rows to the nearest element in the same column; half the range of `down`'s type or more: there is none."""
    top, bottom, left, right = window
    none = down.dtype.type(1 << (8 * down.itemsize - 1))
    _first_row(elements[top, left:right], none, down[0])
    for y in range(1, bottom - top):
        _from_above(elements[top + y, left:right], down[y - 1], down[y])
    for y in range(bottom - top - 2, -1, -1):
        _from_below(down[y + 1], down[y])


# A function for each row: only then does the compiler use vector instructions.
@compiled
def _first_row(elements, none, here):        # type: ignore[no-untyped-def]
    for x in range(here.size):
        here[x] = 0 if elements[x] else none


@compiled
def _from_above(elements, above, here):        # type: ignore[no-untyped-def]
    zero, one = here.dtype.type(0), here.dtype.type(1)
    for x in range(here.size):
        here[x] = zero if elements[x] else here.dtype.type(above[x] + one)


@compiled
def _from_below(below, here):        # type: ignore[no-untyped-def]
    one = here.dtype.type(1)
    for x in range(here.size):
        here[x] = min(here[x], here.dtype.type(below[x] + one))


@compiled
def _squares(down, dy, squares):        # type: ignore[no-untyped-def]
    none = 1 << (8 * down.itemsize - 1)
    for x in range(down.size):
        away = np.float64(down[x]) * dy
        squares[x] = away * away if down[x] < none else np.inf


@compiled
def _number(elements, window):        # type: ignore[no-untyped-def]
    top, bottom, left, right = window
    found = 0
    for y in range(top, bottom):
        for block in range(left // BLOCK * BLOCK, right, BLOCK):
            found += np.intp(set_bits(not_zero(elements[y], block)))
    return found


@compiled
def _envelope(down2, dx, apex, until):        # type: ignore[no-untyped-def]
    """The parabolas down2[i] + (x - i)² dx² that are lowest somewhere: their apices, and up to which x each is."""
    number = 0
    for i in range(down2.size):
        if down2[i] == np.inf:
            continue
        while number > 0:
            last = apex[number - 1]
            cross = ((down2[i] - down2[last]) / (dx * dx) / (i - last) + i + last) / 2
            if number > 1 and cross <= until[number - 2]:
                number -= 1
            else:
                until[number - 1] = cross
                break
        apex[number] = i
        number += 1
    until[number - 1] = np.inf
    return number


@compiled
def _lowest(down2, dx, apex, until, number, x):        # type: ignore[no-untyped-def]
    """The envelope's value at x; its neighbours are tried too, so that a rounded crossing costs nothing."""
    low, high = 0, number - 1
    while low < high:
        middle = (low + high) // 2
        if until[middle] < x:
            low = middle + 1
        else:
            high = middle
    best = np.inf
    for i in range(max(low - 1, 0), min(low + 2, number)):
        best = min(best, down2[apex[i]] + ((x - apex[i]) * dx) ** 2)
    return best


@compiled
def window_of(first, second):        # type: ignore[no-untyped-def]
    """First and last + 1 row and column that hold the elements of both maps, and whether each map has any."""
    rows, width = first.shape
    top, bottom = rows, 0
    columns = np.zeros(width, np.uint8)
    has_first, has_second = False, False
    for y in range(rows):
        of_first, of_second = np.uint64(0), np.uint64(0)
        for block in range(0, width, BLOCK):
            of_first |= not_zero(first[y], block)
            of_second |= not_zero(second[y], block)
        has_first |= of_first != 0
        has_second |= of_second != 0
        if of_first | of_second:
            top, bottom = min(top, y), y + 1
            a, b = first[y], second[y]
            for x in range(width):
                columns[x] |= a[x] | b[x]
    left, right = 0, width
    while right > 0 and not columns[right - 1]:
        right -= 1
    while left < right and not columns[left]:
        left += 1
    return has_first, has_second, (min(top, bottom), bottom, left, right)
