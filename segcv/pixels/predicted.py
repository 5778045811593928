"""Predicted masks as files: class ids, or coded as the masks of the truth are. What is no class is kept as no class."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segcv.errors import ConfigError, MaskError
from segcv.pixels.coding import Color, color_code, color_codes, distinct, hex_color, whole_numbers
from segcv.pixels.declared import label_map
from segcv.pixels.files import MAX_PIXELS, Fault, read_bytes
from segcv.pixels.labels import LabelMap
from segcv.pixels.masks import StoredMask, decode_mask

IDS, MASKS = "ids", "masks"              # how predicted values may be coded, besides by a mapping


@dataclass(frozen=True, slots=True)
class PredictedCoding:
    """What the values of a predicted mask mean. A value without a meaning is outside the label set: never a class.

    `values` is None where each value is its class id. Make one with `predicted_coding`.
    """

    n_classes: int
    void: int                            # what a pixel outside the label set may hold
    values: Mapping[int, int] | None
    colors: Mapping[Color, int] | None

    def read(self, path: Path, *, max_pixels: int = MAX_PIXELS) -> NDArray[np.integer[Any]]:
        """The predicted mask in a PNG, TIFF or BMP file, H x W; what lies outside 0..C-1 is no class.

        Raises:
            MaskError: the file is missing, damaged or lossy, or holds fractions or colours that are not declared.
        """
        try:
            return self.decode(decode_mask(read_bytes(path), max_pixels=max_pixels))
        except Fault as fault:
            raise MaskError(fault.about(path)) from fault.__cause__

    def decode(self, stored: StoredMask) -> NDArray[np.integer[Any]]:
        """`read` of a mask as stored; raises Fault."""
        if stored.lossy:
            raise Fault(f"is lossy ({stored.kind}), so its values are not those that were predicted",
                        "Save predictions as PNG or TIFF.")
        if stored.colours is not None and self.colors is not None:
            return self._of_colours(stored)
        if stored.one_bit and self.values is not None and 1 not in self.values and 255 in self.values:
            assert stored.values is not None
            return self.ids(stored.values * np.uint8(255))
        return self.ids(whole_numbers(stored, nan_known=False)[0])

    def ids(self, values: NDArray[np.integer[Any]]) -> NDArray[np.integer[Any]]:
        """Class ids of predicted values, H x W; values without a meaning stay outside 0..C-1."""
        if self.values is None:
            return values
        found = distinct(values)
        meaning = [self.values.get(value, value if value >= self.n_classes else self.void)
                   for value in found.values.tolist()]
        kind = np.uint8 if max(meaning) <= 255 else np.int64
        return found.spread(np.array(meaning, kind))

    def _of_colours(self, stored: StoredMask) -> NDArray[np.integer[Any]]:
        assert self.colors is not None
        found = distinct(color_codes(stored))
        table = {color_code(color): to for color, to in self.colors.items()}
        strange = [code for code in found.values.tolist() if code not in table]
        if strange:
            raise Fault(f"has the colour {hex_color(strange[0])}, which data.colors does not declare "
                        f"({len(strange)} such colours)", "Save class ids, or the declared colours without smoothing.")
        meaning = np.array([table[code] for code in found.values.tolist()])
        inside = (meaning >= 0) & (meaning < self.n_classes)
        return found.spread(np.where(inside, meaning, self.void).astype(np.uint16))


def predicted_coding(labels: LabelMap, *, values: Any = None) -> PredictedCoding:
    """How predicted masks are read: `values` is "ids", "masks" (as those of the truth), or {stored value: class id}.

    With None a value is a class id, and also what the label map says of it, where the two do not contradict each
    other: 0 and 255 beside 0 and 1 under {0: 0, 255: 1}.

    Raises:
        ConfigError: `values` is none of these, or None and the two readings differ.

    >>> predicted_coding(label_map(num_classes=2, values={0: 0, 255: 1})).values
    {0: 0, 1: 1, 255: 1}
    """
    ids = {c: c for c in range(labels.n_classes)}
    colors = None if labels.colors is None else dict(labels.colors)
    as_masks = {int(raw): to for raw, to in (labels.values or {}).items() if isinstance(raw, int)}
    if isinstance(values, Mapping):
        given = label_map(names=labels.names, ignore=labels.ignore, values=values).values
        table = {int(raw): to for raw, to in (given or {}).items()}
    elif values == IDS or (values is None and not as_masks):
        return PredictedCoding(labels.n_classes, labels.void, None, colors)
    elif values == MASKS:
        table = as_masks or ids
    elif values is None:
        differ = [raw for raw, to in as_masks.items() if ids.get(raw, to) != to]
        if differ:
            raise ConfigError(f"A predicted value {differ[0]} may be class {differ[0]}, or class {as_masks[differ[0]]} "
                              "as data.values says of the masks. Say which: predicted_values=ids or "
                              "predicted_values=masks")
        table = ids | as_masks
    else:
        raise ConfigError(f"predicted_values={values} is not known; use ids, masks, or a mapping such as "
                          "'predicted_values={0: 0, 255: 1}'")
    inside = {raw: to if 0 <= to < labels.n_classes else labels.void for raw, to in table.items()}
    return PredictedCoding(labels.n_classes, labels.void, inside, colors)
