"""Compiled joint histograms of two label arrays. Imported late, because loading numba takes a second.

Label maps are mostly flat: neighbours are alike. So bytes are not counted pixel by pixel but run by run: 64 pixels of
both maps are compared with the 64 before them in a few vector instructions, and only where something changes is a cell
of the histogram touched. The cost is one read pass and the number of runs.

The machine code is kept beside this file, else in the user's cache folder; where neither can be written it is
compiled anew in each process.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

STRIP_PX = 2**31           # pixels per call: a uint32 cell cannot overflow
DENSE = 24                 # changes in 64 pixels from which counting each pixel is faster than counting runs


def _compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    try:
        return numba.njit(nogil=True, cache=True)(function)
    except RuntimeError:                                          # no folder to keep the machine code in
        return numba.njit(nogil=True)(function)


@intrinsic
def _changes(typing, truth, prediction, at):        # type: ignore[no-untyped-def]
    """64 bits: bit k says that pixel at + k differs from the one before it, in one of the two byte arrays."""
    def code(context, builder, signature, arguments):        # type: ignore[no-untyped-def]
        pixels = ir.VectorType(ir.IntType(8), 64)
        changed = []
        for array_type, array in zip(signature.args[:2], arguments[:2], strict=True):
            data = context.make_array(array_type)(context, builder, array).data
            here = builder.gep(data, [arguments[2]])
            before = builder.gep(here, [ir.Constant(ir.IntType(64), -1)])
            now, then = (builder.load(builder.bitcast(at, pixels.as_pointer()), align=1) for at in (here, before))
            changed.append(builder.icmp_unsigned("!=", now, then))
        return builder.bitcast(builder.or_(*changed), ir.IntType(64))
    return types.uint64(truth, prediction, at), code


@intrinsic
def _word(typing, array, at):        # type: ignore[no-untyped-def]
    """Eight bytes of an array from position `at` as one number; any address will do."""
    def code(context, builder, signature, arguments):        # type: ignore[no-untyped-def]
        here = builder.gep(context.make_array(signature.args[0])(context, builder, arguments[0]).data, [arguments[1]])
        return builder.load(builder.bitcast(here, ir.IntType(64).as_pointer()), align=1)
    return types.uint64(array, at), code


@intrinsic
def _lowest_bit(typing, word):        # type: ignore[no-untyped-def]
    """Position of the lowest set bit of a word that is not 0."""
    def code(context, builder, signature, arguments):        # type: ignore[no-untyped-def]
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))
    return types.uint64(types.uint64), code


@intrinsic
def _set_bits(typing, word):        # type: ignore[no-untyped-def]
    """Number of set bits."""
    def code(context, builder, signature, arguments):        # type: ignore[no-untyped-def]
        return builder.ctpop(arguments[0])
    return types.uint64(types.uint64), code


@_compiled
def add_bytes(truth, prediction, void, joint, table):        # type: ignore[no-untyped-def]
    """Add to `table` (C x (C + 1) int64) the pixel pairs of two byte arrays; the last column is any prediction from C
    on. `joint`: 2 x 65536 uint32 zeros to count in. Pixels per call: at most STRIP_PX.

    Returns how many pixels were added, or have the truth `void` (-1: none has).
    """
    one, byte, low = np.uint64(1), np.uint64(8), np.uint64(255)
    size, start, at = truth.size, 0, 1                            # the open run begins at start
    while at + 64 <= size:
        changes = _changes(truth, prediction, at)
        if changes and _set_bits(changes) > np.uint64(DENSE):
            joint[0, (np.intp(truth[at - 1]) << 8) | np.intp(prediction[at - 1])] += np.uint32(at - start)
            for first in range(at, at + 64, 8):
                t, p = _word(truth, first), _word(prediction, first)
                for _ in range(4):         # in turn to two rows: the same cell twice in a row would wait for its sum
                    joint[0, ((t & low) << byte) | (p & low)] += np.uint32(1)
                    t >>= byte
                    p >>= byte
                    joint[1, ((t & low) << byte) | (p & low)] += np.uint32(1)
                    t >>= byte
                    p >>= byte
            start = at + 64
        else:
            while changes:
                end = at + np.intp(_lowest_bit(changes))
                joint[0, (np.intp(truth[end - 1]) << 8) | np.intp(prediction[end - 1])] += np.uint32(end - start)
                start = end
                changes &= changes - one
        at += 64
    if size:                                                      # the run that was open when the blocks ended
        joint[0, (np.intp(truth[at - 1]) << 8) | np.intp(prediction[at - 1])] += np.uint32(at - start)
    for k in range(at, size):
        joint[0, (np.intp(truth[k]) << 8) | np.intp(prediction[k])] += np.uint32(1)
    return _fold(joint, void, table)


@_compiled
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


@_compiled
def to_bytes(values, n_classes, void, out):        # type: ignore[no-untyped-def]
    """Write class ids of any whole-number type as bytes: classes (at most 254) stay, `void` is 255, the rest 254."""
    for i in range(values.size):
        value = np.int64(values[i])
        other = np.uint8(255) if value == void else np.uint8(254)
        out[i] = np.uint8(value) if 0 <= value < n_classes else other


@_compiled
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
