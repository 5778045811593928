"""What the numbers or colours in mask files mean: class ids 0..C-1, or ignored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segcv.errors import MaskError
from segcv.pixels.coding import (
    NAN,
    NAN_CODE,
    SHOWN,
    Color,
    color_code,
    color_codes,
    color_of_code,
    count_outside,
    distinct,
    hex_color,
    listed,
    value_name,
    whole_numbers,
)
from segcv.pixels.files import MAX_PIXELS, Fault, read_bytes
from segcv.pixels.masks import StoredMask, decode_mask

_UNKNOWN, _IGNORED = -2, -1              # meanings, beside class ids
_NEARBY = 32                             # classes more than declared, up to which raising their number is suggested


@dataclass(frozen=True, slots=True)
class Labels:
    """A decoded mask and what was counted on the way."""

    labels: NDArray[np.uint8] | NDArray[np.uint16]       # H x W: class ids, and `LabelMap.void`
    counts: NDArray[np.int64]                            # pixels per class
    ignored: int                                         # pixels
    rounded: bool                                        # were floats not whole numbers?


@dataclass(frozen=True, slots=True)
class LabelMap:
    """Class names in order of their ids, the stored value that means "ignored", and how stored values or colours map.

    Without `values` and `colors` the stored value is the class id. `values` maps a stored value (or "nan") to a
    class id or to the ignore value; `colors` does so for (red, green, blue). The ignore value itself is ignored
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

        Floats within 1e-3 of a whole number are rounded (`check_data` says so once). In 1-bit files a set pixel is 1,
        or 255 where `values` names 255 and not 1.

        Raises:
            MaskError: the file is missing, damaged or lossy, or holds a value, colour or channel that this map
                does not explain; the message counts its pixels and names the setting that cures it.
        """
        try:
            return self.ids(decode_mask(read_bytes(path), max_pixels=max_pixels))
        except Fault as fault:
            raise MaskError(fault.about(path)) from fault.__cause__

    def ids(self, stored: StoredMask) -> NDArray[np.uint8] | NDArray[np.uint16]:
        """Class ids of a mask as stored, without counting them; raises Fault."""
        plain = self._plain(stored)
        return self.decode(stored).labels if plain is None else plain

    def decode(self, stored: StoredMask) -> Labels:
        """Class ids of a mask as stored; raises Fault."""
        rounded = False
        if self.colors is not None:
            coded: NDArray[Any] = color_codes(stored)
        else:
            coded, rounded = whole_numbers(stored, nan_known=NAN in (self.values or {}))
        found = distinct(coded)
        table = self._table(one_bit=stored.one_bit)
        meaning = np.array([table.get(int(value), _UNKNOWN) for value in found.values], np.int64)
        unknown = meaning == _UNKNOWN
        if stored.lossy:
            raise Fault(f"is lossy ({stored.kind}): {int(unknown.sum())} values other than the declared ones, in "
                        f"{int(found.pixels[unknown].sum())} of {coded.size} pixels",
                        "Export the masks again as PNG; rounding them would guess at every border.")
        if unknown.any():
            from_one = self.values is None and self.colors is None and 0 not in found.values
            raise self._unknown(found.values[unknown], found.pixels[unknown], coded.size, from_one=from_one)
        kind: type[np.uint8] | type[np.uint16] = np.uint8 if self.void == 255 else np.uint16
        labels = found.spread(np.where(meaning == _IGNORED, self.void, meaning).astype(kind))
        counts = np.zeros(self.n_classes, np.int64)
        np.add.at(counts, meaning[meaning >= 0], found.pixels[meaning >= 0])
        return Labels(labels, counts, int(found.pixels[meaning == _IGNORED].sum()), rounded)

    def _plain(self, stored: StoredMask) -> NDArray[np.uint8] | None:
        """The stored bytes where they are class ids and the void already, which most masks are; None otherwise."""
        values = stored.values
        if (values is None or values.dtype != np.uint8 or stored.lossy or self.values is not None
                or self.colors is not None or self.void != 255 or self.ignore not in (None, 255)):
            return None
        return values if count_outside(values, self.n_classes, self.ignore) == 0 else None

    def to_json(self) -> dict[str, Any]:
        """Plain data that `from_json` turns back."""
        return {
            "names": list(self.names), "ignore": self.ignore,
            "values": None if self.values is None else {str(raw): to for raw, to in self.values.items()},
            "colors": None if self.colors is None else {hex_color(color_code(raw)): to
                                                        for raw, to in self.colors.items()},
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

    def _table(self, *, one_bit: bool) -> dict[int, int]:
        """Stored value or colour code -> class id, or _IGNORED."""
        if self.colors is not None:
            table = {color_code(color): to for color, to in self.colors.items()}
        elif self.values is not None:
            table = {NAN_CODE if raw == NAN else int(raw): to for raw, to in self.values.items()}
            if one_bit and 1 not in table and 255 in table:
                table[1] = table[255]
        else:
            table = {c: c for c in range(self.n_classes)}
        if self.ignore is not None and self.colors is None:
            table.setdefault(self.ignore, self.ignore)
        return {raw: to if 0 <= to < self.n_classes else _IGNORED for raw, to in table.items()}

    def _unknown(self, values: NDArray[np.int64], pixels: NDArray[np.int64], size: int, *,
                 from_one: bool) -> Fault:
        most = np.argsort(-pixels, kind="stable")[:SHOWN].tolist()
        if self.colors is not None:
            shown = [f"{hex_color(int(values[i]))} in {pixels[i]} of {size} pixels" for i in most]
            entry = f"'{hex_color(int(values[most[0]]))[1:]}': {255 if self.ignore is None else self.ignore}"
            return Fault(f"has colours that data.colors does not declare: {listed(shown, len(values))}",
                         f"Declare each with its class id, or with the ignore value as in {entry}; colours that only "
                         "smoothing or resizing made call for the original masks.")
        shown = [f"value {value_name(int(values[i]))} in {pixels[i]} of {size} pixels" for i in most]
        known = f"data.values names {', '.join(map(str, self.values))}" if self.values else f"0..{self.n_classes - 1}"
        ignored = "none ignored" if self.ignore is None else f"{self.ignore} ignored"
        return Fault(f"{listed(shown, len(values))}, which {'is' if len(values) == 1 else 'are'} not a class "
                     f"({known}; {ignored})", self._cure(values.tolist(), from_one=from_one))

    def _cure(self, unknown: list[int], *, from_one: bool) -> str:
        first = value_name(unknown[0])
        ways = []
        table: dict[int | str, int] = dict(self.values or {c: c for c in range(self.n_classes)})
        if self.values is None:
            if self.ignore is not None:
                table[self.ignore] = self.ignore
            if from_one and unknown == [self.n_classes] and self.n_classes <= 20:
                shifted = ", ".join(f"{c + 1}: {c}" for c in range(self.n_classes))
                ways.append(f"if class ids start at 1: 'data.values={{{shifted}}}'")
            if len(unknown) == 1 and unknown[0] != NAN_CODE:
                ways.append(f"if {first} means ignored: data.ignore={first}")
            if self.n_classes <= min(unknown) and max(unknown) < self.n_classes + _NEARBY:
                ways.append(f"if there are more classes: data.num_classes={max(unknown) + 1}")
        entries = [f"{raw}: {to}" for raw, to in list(table.items())[:20]]
        ways.append(f"say what it means: 'data.values={{{', '.join(entries)}, {first}: ?}}', ? being a class id or the "
                    "ignore value")
        text = "; or ".join([*ways, "correct the mask."])
        return text[0].upper() + text[1:]
