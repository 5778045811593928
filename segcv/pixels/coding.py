"""Stored values and colours as whole numbers, their distinct values, and how messages name them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from segcv.pixels.files import Fault
from segcv.pixels.masks import ROUNDED_WITHIN, StoredMask

Color = tuple[int, int, int]
NAN = "nan"                              # how an undefined number is called in settings
NAN_CODE = int(np.iinfo(np.int64).min)   # and what stands for it among whole numbers
_LARGEST = int(np.iinfo(np.int64).max)
SHOWN = 6                                # values or colours named in a message
_WORTH_COMPILED = 1 << 16                # pixels from which on loading the compiled loops pays


@dataclass(frozen=True, slots=True)
class Distinct:
    """The distinct values of an array, ascending, and the pixels of each."""

    values: NDArray[np.int64]
    pixels: NDArray[np.int64]
    spread: Callable[[NDArray[Any]], NDArray[Any]]       # one entry per value -> H x W, perhaps the array itself


def distinct(coded: NDArray[Any]) -> Distinct:
    """The distinct whole numbers in an array, H x W: by table for 8 and 16 bits, by runs of equal pixels for others."""
    if coded.dtype.kind == "u" and coded.dtype.itemsize <= 2:
        pixels = _tallied(coded)
        values = np.flatnonzero(pixels)

        def by_table(entries: NDArray[Any]) -> NDArray[Any]:
            if entries.dtype == coded.dtype and (entries == values).all():
                return coded                                                 # every value means itself
            table = np.zeros(len(pixels), entries.dtype)
            table[values] = entries
            spread: NDArray[Any] = cv2.LUT(coded, table) if coded.dtype == np.uint8 and entries.dtype in (
                np.uint8, np.uint16) else table[coded]
            return spread

        return Distinct(values.astype(np.int64), pixels[values], by_table)
    flat = coded.ravel()
    starts = np.flatnonzero(np.concatenate(([True], flat[1:] != flat[:-1])))
    lengths = np.diff(starts, append=flat.size)
    values, places = np.unique(flat[starts], return_inverse=True)
    pixels = np.zeros(len(values), np.int64)
    np.add.at(pixels, places, lengths)
    return Distinct(values.astype(np.int64), pixels,
                    lambda entries: np.repeat(entries[places], lengths).reshape(coded.shape))


def count_outside(values: NDArray[np.uint8], n_classes: int, ignore: int | None) -> int:
    """How many bytes are neither class ids nor the ignore value."""
    if values.size < _WORTH_COMPILED:
        strange = values >= n_classes
        return int(np.count_nonzero(strange if ignore is None else strange & (values != ignore)))
    from segcv.pixels.label_kernels import outside

    return int(outside(values.ravel(), np.uint8(n_classes), np.uint8(0 if ignore is None else ignore)))   # 0: a class


def _tallied(coded: NDArray[Any]) -> NDArray[np.int64]:
    """Pixels of every value that 8 or 16 unsigned bits can hold."""
    pixels = np.zeros(256**coded.dtype.itemsize, np.int64)
    flat = coded.ravel()
    if coded.dtype == np.uint8 and coded.size >= _WORTH_COMPILED:
        from segcv.pixels.label_kernels import tally

        whole = flat.size // 8 * 8
        rows = np.zeros((4, 256), np.int64)
        words = flat[:whole].view(np.uint64)
        tally(words if words.flags.aligned else words.copy(), rows)
        pixels += rows.sum(axis=0)
        flat = flat[whole:]
    for strip in np.array_split(flat, max(1, flat.size >> 16)):              # bincount widens to 64 bits
        pixels += np.bincount(strip, minlength=len(pixels))
    return pixels


def whole_numbers(stored: StoredMask, *, nan_known: bool) -> tuple[NDArray[Any], bool]:
    """Stored values as whole numbers, and whether floats had to be rounded; raises Fault for colours and fractions."""
    if stored.values is None:
        raise _colours_without_table(stored)
    if stored.values.dtype.kind not in "fiu":
        raise Fault(f"holds numbers of type {stored.values.dtype.name}", "Save class ids, as whole numbers.")
    if stored.values.dtype.kind != "f":
        if stored.values.dtype == np.uint64 and stored.values.max() > _LARGEST:
            raise Fault(f"holds numbers beyond {_LARGEST}", "Is it a map of class ids? Save these in fewer bits.")
        return stored.values, False
    undefined = np.isnan(stored.values)
    known = np.where(undefined, 0.0, stored.values.astype(np.float64))
    rounded = np.round(known)
    with np.errstate(invalid="ignore"):                                      # infinity is no whole number either
        far = ~(np.abs(known - rounded) <= ROUNDED_WITHIN) | (np.abs(known) > 2**53)
    if far.any():
        values, pixels = np.unique(known[far], return_counts=True)
        shown = [f"{value:g} in {count} pixels" for value, count in zip(values[:SHOWN], pixels, strict=False)]
        raise Fault(f"holds numbers that are no class ids: {listed(shown, len(values))}",
                    "Is it a map of probabilities? Save class ids, as whole numbers; give no-data a whole number too "
                    "and name it in data.ignore.")
    whole = rounded.astype(np.int64)
    if undefined.any():
        if not nan_known:
            raise Fault(f"value nan in {int(undefined.sum())} of {undefined.size} pixels, which is not a class",
                        "Map it, as in 'data.values={0: 0, 1: 1, nan: 255}' with data.ignore=255, or correct the mask.")
        whole[undefined] = NAN_CODE
    return whole, bool((known != rounded).any())


def color_codes(stored: StoredMask) -> NDArray[np.int32]:
    """Colours as red << 16 | green << 8 | blue: of palette masks the palette's, of 8-bit grey v the colour vvv."""
    if stored.colours is not None:
        if not stored.opaque:
            raise Fault(f"has an alpha channel that is not 255 everywhere ({stored.kind}, {stored.channels} channels)",
                        "Which one is the label? Write colours without alpha, or class ids as a PNG of one channel.")
        bands = stored.colours.astype(np.int32)                              # H x W x 3
        codes: NDArray[np.int32] = bands[:, :, 0] << 16 | bands[:, :, 1] << 8 | bands[:, :, 2]
        return codes
    assert stored.values is not None
    if stored.palette is not None:
        highest = int(stored.values.max())
        if highest >= len(stored.palette):
            raise Fault(f"has pixels of palette index {highest}, and a palette of {len(stored.palette)} colours",
                        "Save the mask again.")
        entries = np.array([color_code(color) for color in stored.palette.tolist()], np.int32)
        shown: NDArray[np.int32] = entries[stored.values]
        return shown
    if stored.values.dtype != np.uint8:
        raise Fault(f"holds numbers ({stored.kind}), and data.colors declares colours",
                    "Declare data.values instead, or correct the mask.")
    grey: NDArray[np.int32] = stored.values.astype(np.int32) * (255 if stored.one_bit else 1)
    return grey * 0x010101


def color_code(color: Sequence[int]) -> int:
    """red << 16 | green << 8 | blue."""
    red, green, blue = color
    return red << 16 | green << 8 | blue


def color_of_code(code: int) -> Color:
    """Red, green, blue of a colour code."""
    return code >> 16 & 255, code >> 8 & 255, code & 255


def hex_color(code: int) -> str:
    """#RRGGBB of a colour code."""
    return f"#{code:06X}"


def value_name(value: int) -> str:
    """A stored value as people write it."""
    return NAN if value == NAN_CODE else str(value)


def listed(shown: Sequence[str], count: int) -> str:
    """The first of `count` entries, and how many more there are."""
    more = f", and {count - len(shown)} more" if count > len(shown) else ""
    return ", ".join(shown) + more


def _colours_without_table(stored: StoredMask) -> Fault:
    assert stored.colours is not None
    if stored.channels != 3:
        return Fault(f"has an alpha channel ({stored.kind}, {stored.channels} channels), so it is not clear where the "
                     "label is", "Write the channel that holds the class ids to a PNG of one channel.")
    found = distinct(color_codes(stored))
    most = np.argsort(-found.pixels, kind="stable")[:SHOWN]
    shown = [f"{hex_color(int(found.values[i]))} in {found.pixels[i]} pixels" for i in most]
    example = ", ".join(f"{hex_color(int(code))[1:]}: {c}" for c, code in enumerate(found.values[:3]))
    equal = bool((stored.colours[:, :, :1] == stored.colours).all())
    lossy, same = "lossy and " if stored.lossy else "", ", all equal" if equal else ""
    return Fault(f"is {lossy}colour-coded ({stored.kind}, 3 channels{same}) and no colour table is declared; "
                 f"colours found: {listed(shown, len(found.values))}",
                 f"Declare what each means, as in 'data.colors={{{example}}}'"
                 f"{', or save one of the equal channels as the mask' if equal else ''}.")
