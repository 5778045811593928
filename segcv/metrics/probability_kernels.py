"""Compiled histograms of probabilities by right and wrong. Imported late, because loading numba takes a second.

Most probabilities are close to 0 or 1 over large areas, so their levels are counted by runs, as label maps are.
"""

from __future__ import annotations

import numpy as np

from segcv.metrics.joint_kernels import add_runs
from segcv.metrics.wide_kernels import compiled

BLOCK_PX = 8192                               # the bytes of a block stay in the fastest cache
WRONG, RIGHT, IGNORED = np.uint8(0), np.uint8(1), np.uint8(2)


@compiled
def add_probabilities(truth, void, probabilities, histogram):        # type: ignore[no-untyped-def]
    """Add to `histogram` ((C + 1) x 2 x 256 int64) the pixels by round(255 · probability) and wrong or right: a row for
    each class and one for the largest probability, the first of equal ones.

    `truth`: pixels int64, those of `void` do not count; `probabilities`: C x pixels, floats. Returns whether those of
    all counted pixels lie in [0, 1], and how far their sum is from 1 at most.
    """
    n_classes, size = probabilities.shape
    joint = np.zeros((n_classes + 1, 2, 768), np.uint32)           # (wrong, right, ignored) x level
    code, level = np.empty(BLOCK_PX, np.uint8), np.empty(BLOCK_PX, np.uint8)
    largest, largest_class, total = np.empty(BLOCK_PX), np.empty(BLOCK_PX, np.int64), np.empty(BLOCK_PX)
    in_range, off = True, 0.0
    for start in range(0, size, BLOCK_PX):
        pixels = min(BLOCK_PX, size - start)
        true = truth[start:start + pixels]
        for i in range(pixels):
            largest[i], largest_class[i], total[i] = -1.0, 0, 0.0
        for c in range(n_classes):
            p = probabilities[c, start:start + pixels]
            in_range &= _of_class(true, void, c, p, code, level)
            add_runs(code[:pixels], level[:pixels], joint[c])
            _follow(p, c, largest, largest_class, total)
        off = max(off, _of_largest(true, void, largest, largest_class, total, code, level))
        add_runs(code[:pixels], level[:pixels], joint[n_classes])
        if start % (2**17 * BLOCK_PX) == 0 or start + pixels == size:               # before a cell could overflow
            _move(joint, histogram)
    return in_range, off


# A function for each row of pixels: only then does the compiler use vector instructions.
@compiled
def _of_class(true, void, c, p, code, level):        # type: ignore[no-untyped-def]
    outside = 0
    for i in range(true.size):
        value = np.float64(p[i])
        ignored = true[i] == void
        fine = (value >= 0.0) & (value <= 1.0)
        code[i] = IGNORED if ignored else RIGHT if true[i] == c else WRONG
        level[i] = np.uint8(np.int32(np.rint((value if fine else 0.0) * 255.0)))
        outside += not (fine | ignored)
    return outside == 0


@compiled
def _follow(p, c, largest, largest_class, total):        # type: ignore[no-untyped-def]
    for i in range(p.size):
        value = np.float64(p[i])
        larger = value > largest[i]
        largest[i] = value if larger else largest[i]
        largest_class[i] = c if larger else largest_class[i]
        total[i] += value


@compiled
def _of_largest(true, void, largest, largest_class, total, code, level):        # type: ignore[no-untyped-def]
    off = 0.0
    for i in range(true.size):
        ignored = true[i] == void
        code[i] = IGNORED if ignored else RIGHT if true[i] == largest_class[i] else WRONG
        level[i] = np.uint8(np.int32(np.rint(largest[i] * 255.0))) if 0.0 <= largest[i] <= 1.0 else np.uint8(0)
        away = 0.0 if ignored else abs(total[i] - 1.0)
        off = away if away > off else off
    return off


@compiled
def _move(joint, histogram):        # type: ignore[no-untyped-def]
    for row in range(joint.shape[0]):
        for side in range(2):
            for k in range(256):
                cell = 256 * side + k
                histogram[row, side, k] += np.int64(joint[row, 0, cell]) + np.int64(joint[row, 1, cell])
        joint[row] = 0
