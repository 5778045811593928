"""What the compiled kernels of this room share: 64 bytes looked at in one step, and where machine code is kept.

A step of 64 bytes becomes a few vector instructions on any machine; its answer is a word with a bit for each byte.
The machine code is kept beside this file, else in the user's cache folder; where neither can be written it is
compiled anew in each process. Imported late, because loading numba takes a second.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.extending import intrinsic


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function as machine code, kept for later processes where that is possible."""
    try:
        return numba.njit(nogil=True, cache=True)(function)
    except RuntimeError:                                          # no folder to keep the machine code in
        return numba.njit(nogil=True)(function)


def _loaded(context, builder, kind, array, at, as_type):        # type: ignore[no-untyped-def]
    """What stands in an array from position `at`, read as another type; any address will do."""
    here = builder.gep(context.make_array(kind)(context, builder, array).data, [at])
    return builder.load(builder.bitcast(here, as_type.as_pointer()), align=1)


def _bytes64(context, builder, kind, array, at):        # type: ignore[no-untyped-def]
    return _loaded(context, builder, kind, array, at, ir.VectorType(ir.IntType(8), 64))


@intrinsic
def changes(typing, truth, prediction, at):        # type: ignore[no-untyped-def]
    """64 bits: bit k says that pixel at + k differs from the one before it, in one of the two byte arrays."""
    def code(context, builder, signature, arguments):        # type: ignore[no-untyped-def]
        before = builder.add(arguments[2], ir.Constant(arguments[2].type, -1))
        changed = [builder.icmp_unsigned("!=", *(_bytes64(context, builder, kind, array, start)
                                                 for start in (arguments[2], before)))
                   for kind, array in zip(signature.args[:2], arguments[:2], strict=True)]
        return builder.bitcast(builder.or_(*changed), ir.IntType(64))
    return types.uint64(truth, prediction, at), code


@intrinsic
def not_zero(typing, array, at):        # type: ignore[no-untyped-def]
    """64 bits: bit k says that byte at + k of a byte array is not 0."""
    def code(context, builder, signature, arguments):        # type: ignore[no-untyped-def]
        values = _bytes64(context, builder, signature.args[0], *arguments)
        return builder.bitcast(builder.icmp_unsigned("!=", values, ir.Constant(values.type, None)), ir.IntType(64))
    return types.uint64(array, at), code


@intrinsic
def word(typing, array, at):        # type: ignore[no-untyped-def]
    """Eight bytes of an array from position `at` as one number; any address will do."""
    def code(context, builder, signature, arguments):        # type: ignore[no-untyped-def]
        return _loaded(context, builder, signature.args[0], *arguments, ir.IntType(64))
    return types.uint64(array, at), code


@intrinsic
def lowest_bit(typing, bits):        # type: ignore[no-untyped-def]
    """Position of the lowest set bit of a word that is not 0."""
    def code(context, builder, signature, arguments):        # type: ignore[no-untyped-def]
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))
    return types.uint64(types.uint64), code


@intrinsic
def set_bits(typing, bits):        # type: ignore[no-untyped-def]
    """Number of set bits."""
    def code(context, builder, signature, arguments):        # type: ignore[no-untyped-def]
        return builder.ctpop(arguments[0])
    return types.uint64(types.uint64), code
