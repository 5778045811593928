"""Compiled joint histograms of two label arrays. Imported late, because loading numba takes a second.

Label maps are mostly flat: neighbours are alike. So bytes are not counted pixel by pixel but run by run: 64 pixels of
both maps are compared with the 64 before them in a few vector instructions, and only where something changes is a cell
of the histogram touched. The cost is one read pass and the number of runs.
"""

from __future__ import annotations

import numpy as np

from segcv.metrics.wide_kernels import changes, compiled, lowest_bit, set_bits, word

STRIP_PX = 2**31           # pixels per call: a uint32 cell cannot overflow
DENSE = 24                 # changes in 64 pixels from which counting each pixel is faster than counting runs


@compiled
def add_bytes(truth, prediction, void, joint, table):        # type: ignore[no-untyped-def]
    """Add to `table` (C x (C + 1) int64) the pixel pairs of two byte arrays; the last column is any prediction from C
    on. `joint`: 2 x 65536 uint32 zeros to count in. Pixels per call: at most STRIP_PX.

    Returns how many pixels were added, or have the truth `void` (-1: none has).
    """
    add_runs(truth, prediction, joint)
    return _fold(joint, void, table)


@compiled
def add_runs(first, second, joint):        # type: ignore[no-untyped-def]
    """Add the pairs of two byte arrays to the cells first · 256 + second of `joint`, two halves of uint32 to be added
    up; it has cells for all values that `first` holds."""
    one, byte, low = np.uint64(1), np.uint64(8), np.uint64(255)
    size, start, at = first.size, 0, 1                            # the open run begins at start
    while at + 64 <= size:
        changed = changes(first, second, at)
        if changed and set_bits(changed) > np.uint64(DENSE):
            joint[0, (np.intp(first[at - 1]) << 8) | np.intp(second[at - 1])] += np.uint32(at - start)
            for here in range(at, at + 64, 8):
                a, b = word(first, here), word(second, here)
                for _ in range(4):         # in turn to two halves: the same cell twice in a row would wait for its sum
                    joint[0, ((a & low) << byte) | (b & low)] += np.uint32(1)
                    a >>= byte
                    b >>= byte
                    joint[1, ((a & low) << byte) | (b & low)] += np.uint32(1)
                    a >>= byte
                    b >>= byte
            start = at + 64
        else:
            while changed:
                end = at + np.intp(lowest_bit(changed))
                joint[0, (np.intp(first[end - 1]) << 8) | np.intp(second[end - 1])] += np.uint32(end - start)
                start = end
                changed &= changed - one
        at += 64
    if size:                                                      # the run that was open when the blocks ended
        joint[0, (np.intp(first[at - 1]) << 8) | np.intp(second[at - 1])] += np.uint32(at - start)
    for k in range(at, size):
        joint[0, (np.intp(first[k]) << 8) | np.intp(second[k])] += np.uint32(1)


@compiled
def _fold(joint, void, table):        # type: ignore[no-untyped-def]
    n_classes = table.shape[0]
    known = min(n_classes, 256)
    for t in range(known):
        for p in range(known):
            table[t, p] += np.int64(joint[0, 256 * t + p]) + np.int64(joint[1, 256 * t + p])
        for p in range(known, 256):
            table[t, n_classes] += np.int64(joint[0, 256 * t + p]) + np.int64(joint[1, 256 * t + p])
    found = table.sum()
    if void >= 0:
        found += joint[:, 256 * void:256 * (void + 1)].sum()
    return found


@compiled
def to_bytes(values, n_classes, void, out):        # type: ignore[no-untyped-def]
    """Write class ids of any whole-number type as bytes: classes (at most 254) stay, `void` is 255, the rest 254."""
    for i in range(values.size):
        value = np.int64(values[i])
        other = np.uint8(255) if value == void else np.uint8(254)
        out[i] = np.uint8(value) if 0 <= value < n_classes else other


@compiled
def add_pixels(truth, prediction, void, table):        # type: ignore[no-untyped-def]
    """Add to `table` (C x (C + 1) int64) the pixel pairs of two flat integer arrays; the last column is any prediction
    outside 0..C-1. Returns how many pixels were added, or have the truth `void`.
    """
    n_classes, found = table.shape[0], 0
    for i in range(truth.size):
        t, p = np.int64(truth[i]), np.int64(prediction[i])
        if 0 <= t < n_classes:
            table[t, p if 0 <= p < n_classes else n_classes] += 1
            found += 1
        elif t == void:
            found += 1
    return found
