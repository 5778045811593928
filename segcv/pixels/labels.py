"""What the numbers or colours in mask files mean: class ids 0..C-1, or ignored."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segcv.errors import MaskError
from segcv.pixels.files import MAX_PIXELS, Fault, read_bytes
from segcv.pixels.masks import ROUNDED_WITHIN, StoredMask, decode_mask

Color = tuple[int, int, int]
NAN = "nan"                          # how an undefined number is called in `values`
SHOWN = 6                            # values or colours named in a message
_UNKNOWN, _IGNORED = -2, -1          # in lookup tables, beside class ids


@dataclass(frozen=True, slots=True)
class LabelMap:
    """Class names in order of their ids, the stored value that means "ignored", and how stored values or colours map.

    Without `values` and `colors` the stored value is the class id. `values` maps a stored value (or "nan") to a
    class id or to the ignore value; `colors` does so for red, green, blue. The ignore value itself is always ignored
    unless `values` says otherwise. Make one with `label_map`, which refuses contradictions.
    """

    names: tuple[str, ...]
    ignore: int | None
    values: Mapping[int | str, int] | None = None
    colors: Mapping[Color, int] | None = None

    @property
    def n_classes(self) -> int:
        """Number of scored classes, C."""
        return len(self.names)

    @property
    def void(self) -> int:
        """What ignored pixels hold in label arrays: 255, or 65535 when there are more than 255 classes."""
        return 255 if self.n_classes <= 255 else 65535

    def read(self, path: Path, *, max_pixels: int = MAX_PIXELS) -> NDArray[np.uint8] | NDArray[np.uint16]:
        """The mask in a file, H x W, class ids 0..C-1 and `void`; uint8, or uint16 above 255 classes.

        Floats within 1e-3 of a whole number are rounded (`check_data` says so once).

        Raises:
            MaskError: the file is missing, damaged or lossy, or holds a value, colour or channel that this map
                does not explain; the message counts its pixels and names the setting that cures it.
        """
        try:
            return self.decode(decode_mask(read_bytes(path), max_pixels=max_pixels)).labels
        except Fault as fault:
            raise MaskError(fault.about(path)) from fault.__cause__

    def decode(self, stored: StoredMask) -> Labels:
        """Class ids of a mask as stored; raises Fault."""
        rounded = False
        if self.colors is not None:
            coded, explain = color_codes(stored), self._explain_codes
        else:
            coded, rounded = whole_numbers(stored, nan_known=NAN in (self.values or {}))
            explain = self._explain_values(stored.one_bit)
        if stored.lossy:
            raise self._lossy(coded, explain)
        found, pixels, places = distinct(coded)
        meaning = explain(found)
        unknown = meaning == _UNKNOWN
        if unknown.any():
            raise self._unknown(found[unknown], pixels[unknown], coded.size)
        kind: type[np.uint8] | type[np.uint16] = np.uint8 if self.void == 255 else np.uint16
        labels = np.where(meaning == _IGNORED, self.void, meaning).astype(kind)[places]
        counts = np.zeros(self.n_classes, np.int64)
        np.add.at(counts, meaning[meaning >= 0], pixels[meaning >= 0])
        return Labels(labels, counts, int(pixels[meaning == _IGNORED].sum()), rounded)

    def to_json(self) -> dict[str, Any]:
        """Plain data that `from_json` turns back."""
        return {
            "names": list(self.names), "ignore": self.ignore,
            "values": None if self.values is None else {str(raw): to for raw, to in self.values.items()},
            "colors": None if self.colors is None else {hex_color(raw): to for raw, to in self.colors.items()},
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> LabelMap:
        """The map that `to_json` described."""
        values, colors = data["values"], data["colors"]
        return cls(
            tuple(data["names"]), data["ignore"],
            None if values is None else {raw if raw == NAN else int(raw): to for raw, to in values.items()},
            None if colors is None else {color_of_code(int(raw[1:], 16)): to for raw, to in colors.items()},
        )

    def _explain_codes(self, found: NDArray[np.int64]) -> NDArray[np.int64]:
        assert self.colors is not None
        return self._look_up(found, {color_code(color): to for color, to in self.colors.items()})

    def _explain_values(self, one_bit: bool) -> Callable[[NDArray[np.int64]], NDArray[np.int64]]:
        if self.values is None:
            table = {c: c for c in range(self.n_classes)}
        else:
            table = {NAN_CODE if raw == NAN else int(raw): to for raw, to in self.values.items()}
            if one_bit and 1 not in table and 255 in table:      # 1-bit files hold 0 and 1 where 8-bit ones hold 0 and 255
                table[1] = table[255]
        if self.ignore is not None and self.ignore not in table:
            table[self.ignore] = self.ignore
        return lambda found: self._look_up(found, table)

    def _look_up(self, found: NDArray[np.int64], table: Mapping[int, int]) -> NDArray[np.int64]:
        """For each stored value its class id, _IGNORED or _UNKNOWN."""
        def meaning(value: int) -> int:
            to = table.get(value, _UNKNOWN)
            return to if 0 <= to < self.n_classes or value not in table else _IGNORED
        return np.array([meaning(int(value)) for value in found], np.int64)

    def _unknown(self, values: NDArray[np.int64], pixels: NDArray[np.int64], size: int) -> Fault:
        by_pixels = np.argsort(-pixels, kind="stable")
        if self.colors is not None:
            shown = [f"{hex_color(color_of_code(int(values[i])))} in {pixels[i]} pixels" for i in by_pixels[:SHOWN]]
            first = hex_color(color_of_code(int(values[by_pixels[0]])))[1:]
            return Fault(f"colours that data.colors does not declare: {_listed(shown, len(values))}",
                         f"Add each to data.colors with its class id, or with the ignore value, as in '{first}': "
                         f"{self.ignore if self.ignore is not None else 255}; antialiased or resized masks must be made again.")
        shown = [f"value {value_name(int(values[i]))} in {pixels[i]} of {size} pixels" for i in by_pixels[:SHOWN]]
        return Fault(f"{_listed(shown, len(values))}, which {'is' if len(values) == 1 else 'are'} not a class "
                     f"({self._known()})", self._cure([int(value) for value in values]))

    def _known(self) -> str:
        ignored = "none ignored" if self.ignore is None else f"{self.ignore} ignored"
        if self.values is not None:
            return f"data.values names {', '.join(map(str, self.values))}; {ignored}"
        return f"0..{self.n_classes - 1}; {ignored}"

    def _cure(self, unknown: list[int]) -> str:
        whole = [value for value in unknown if value != NAN_CODE]
        table = dict(self.values) if self.values is not None else {c: c for c in range(self.n_classes)}
        if self.ignore is not None and self.values is None:
            table[self.ignore] = self.ignore
        first = value_name(unknown[0])
        mapped = "{" + ", ".join(f"{raw}: {to}" for raw, to in table.items() if len(table) <= 20) + f", {first}: ?" + "}"
        ways = [f"map it with data.values={mapped} (? a class id or the ignore value)"]
        if len(unknown) == 1 and whole and self.values is None:
            ways.insert(0, f"if {first} means ignored set data.ignore={first}")
        if whole and self.values is None and self.n_classes <= min(whole) and max(whole) < self.n_classes + 32:
            ways.append(f"raise data.num_classes={max(whole) + 1}")
        text = "; or ".join([*ways, "correct the mask."])
        return text[0].upper() + text[1:]

    def _lossy(self, coded: NDArray[np.int64], explain: Callable[[NDArray[np.int64]], NDArray[np.int64]]) -> Fault:
        found, pixels, _ = distinct(coded)
        other = explain(found) == _UNKNOWN
        return Fault(f"is a JPEG, which is lossy: {int(other.sum())} other values than the declared ones in "
                     f"{int(pixels[other].sum())} of {coded.size} pixels",
                     "Export the masks again as PNG; rounding them would guess at every border.")


@dataclass(frozen=True, slots=True)
class Labels:
    """A decoded mask and what was counted on the way."""

    labels: NDArray[np.uint8] | NDArray[np.uint16]       # H x W
    counts: NDArray[np.int64]                            # pixels per class
    ignored: int                                         # pixels
    rounded: bool                                        # floats were not whole numbers


NAN_CODE = np.iinfo(np.int64).min        # stands for NaN among whole numbers


def whole_numbers(stored: StoredMask, *, nan_known: bool) -> tuple[NDArray[np.int64], bool]:
    """Stored values as integers, and whether floats had to be rounded; raises Fault for colours and fractions."""
    if stored.values is None:
        raise _colours_without_table(stored)
    if stored.values.dtype.kind != "f":
        return stored.values, False
    undefined = np.isnan(stored.values)
    known = np.where(undefined, 0.0, stored.values)
    rounded = np.round(known)
    far = (np.abs(known - rounded) > ROUNDED_WITHIN) | (np.abs(known) > 2**53)
    if far.any():
        values, pixels = np.unique(known[far], return_counts=True)
        shown = [f"{value:g} in {count} pixels" for value, count in zip(values[:SHOWN], pixels, strict=False)]
        raise Fault(f"holds fractions, which are no class ids: {_listed(shown, len(values))}",
                    "Is this a probability map? Save class ids as whole numbers.")
    whole = rounded.astype(np.int64)
    if undefined.any():
        if not nan_known:
            raise Fault(f"value nan in {int(undefined.sum())} of {undefined.size} pixels, which is not a class",
                        "Map it with data.values={..., nan: ?} (? a class id or the ignore value), or correct the mask.")
        whole[undefined] = NAN_CODE
    return whole, bool((known != rounded).any())


def color_codes(stored: StoredMask) -> NDArray[np.int64]:
    """Colours as red << 16 | green << 8 | blue; of palette masks the palette's colour, of 8-bit grey v the colour vvv."""
    if stored.colours is not None:
        if not stored.opaque:
            raise Fault("has an alpha channel that is not opaque everywhere (RGBA, 4 channels)",
                        "Which channel is the label? Write colours without alpha, or class ids as a PNG of one channel.")
        bands = stored.colours.astype(np.int32)
        return bands[:, :, 0] << 16 | bands[:, :, 1] << 8 | bands[:, :, 2]
    assert stored.values is not None
    if stored.palette is not None:
        if int(stored.values.max()) >= len(stored.palette):
            raise Fault(f"palette index {int(stored.values.max())} has no colour; the palette has {len(stored.palette)}",
                        "Save the mask again.")
        return np.array([color_code(color) for color in stored.palette], np.int32)[stored.values]
    if stored.values.dtype != np.uint8:
        raise Fault(f"holds numbers ({stored.kind}), and data.colors declares colours",
                    "Declare data.values instead, or correct the mask.")
    grey = stored.values.astype(np.int32) * (255 if stored.one_bit else 1)
    return grey << 16 | grey << 8 | grey


def distinct(coded: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[Any]]:
    """Distinct values, pixels of each, and for each pixel the index of its value."""
    if coded.dtype.kind == "u" and coded.dtype.itemsize <= 2:
        size = 256 if coded.dtype.itemsize == 1 else 65536
        pixels = np.zeros(size, np.int64)
        for rows in np.array_split(coded, max(1, coded.size >> 20)):       # strips: bincount widens to 64 bits
            pixels += np.bincount(rows.ravel(), minlength=size)
        found = np.flatnonzero(pixels)
        place = np.zeros(size, np.intp)
        place[found] = np.arange(len(found))
        return found.astype(np.int64), pixels[found], place[coded]
    found, places, pixels = np.unique(coded, return_inverse=True, return_counts=True)
    return found.astype(np.int64), pixels.astype(np.int64), places.reshape(coded.shape)


def color_code(color: Any) -> int:
    """red << 16 | green << 8 | blue."""
    red, green, blue = (int(part) for part in color)
    return red << 16 | green << 8 | blue


def color_of_code(code: int) -> Color:
    """Red, green, blue of a colour code."""
    return code >> 16 & 255, code >> 8 & 255, code & 255


def hex_color(color: Color) -> str:
    """#RRGGBB."""
    return f"#{color_code(color):06X}"


def value_name(value: int) -> str:
    """The stored value as people write it."""
    return NAN if value == NAN_CODE else str(value)


def _listed(shown: list[str], count: int) -> str:
    more = f", and {count - len(shown)} more" if count > len(shown) else ""
    return ", ".join(shown) + more


def _colours_without_table(stored: StoredMask) -> Fault:
    assert stored.colours is not None
    bands = stored.colours
    if "LA" in stored.kind or "RGBA" in stored.kind or "4 bands" in stored.kind:
        return Fault(f"has an alpha channel ({stored.kind}; {'2' if 'LA' in stored.kind else '4'} channels), "
                     "so it is not clear where the label is",
                     "Write the channel that holds the class ids to a PNG of one channel.")
    found, pixels, _ = distinct(color_codes(stored))
    by_pixels = np.argsort(-pixels, kind="stable")
    names = [hex_color(color_of_code(int(found[i]))) for i in by_pixels]
    shown = [f"{name} in {pixels[i]} pixels" for name, i in zip(names[:SHOWN], by_pixels, strict=False)]
    example = ", ".join(f"'{name[1:]}': {c}" for c, name in enumerate(sorted(names)[:3]))
    grey = bool((bands[:, :, :1] == bands).all())
    return Fault(f"is colour-coded (RGB, 3 channels{', all equal' if grey else ''}) and no colour table is declared; colours "
                 f"found: {_listed(shown, len(found))}",
                 f"Declare which class each is, as in data.colors={{{example}}}"
                 f"{', or save one of the three equal channels as the mask' if grey else ''}.")
