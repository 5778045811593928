"""Label maps from plain settings, and from the masks themselves where these leave no doubt."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from segcv.errors import ConfigError, MaskError, SegcvWarning
from segcv.pixels.coding import NAN, Color, distinct, whole_numbers
from segcv.pixels.files import MAX_PIXELS, Fault, read_bytes
from segcv.pixels.labels import LabelMap
from segcv.pixels.masks import decode_mask

_HEX = re.compile(r"(?:#|0x)?([0-9a-fA-F]{6})")
_MOST = 65_535                       # classes that fit beside the void in 16 bits


def label_map(*, names: Sequence[str] | None = None, num_classes: int | None = None, ignore: int | None = 255,
              values: Mapping[Any, int] | None = None, colors: Mapping[Any, int] | None = None) -> LabelMap:
    """The label map that settings declare.

    `values` maps a stored value to a class id or to the ignore value; `colors` maps "3C1098", "#3C1098", "60,16,152"
    or three numbers so. Classes without a name are called class_0, class_1, and so on.

    Raises:
        ConfigError: no classes are declared, settings contradict each other, a class has no value or colour, or the
            ignore value is also a scored class (its IoU would turn into recall without a word).

    >>> label_map(num_classes=2, values={0: 0, 255: 1}).values
    {0: 0, 255: 1}
    """
    for name, given, example in (("values", values, "{0: 0, 255: 1}"), ("colors", colors, "{3C1098: 0}")):
        if given is not None and not isinstance(given, Mapping):
            raise ConfigError(f"data.{name}={given} is no mapping. Write it like 'data.{name}={example}'")
    values, colors = values or None, colors or None
    if values is not None and colors is not None:
        raise ConfigError("data.values and data.colors are both set; a mask is read by one of them. Take one out.")
    by_value = None if values is None else {_raw_value(raw): _target(raw, to) for raw, to in values.items()}
    by_color = None if colors is None else {_color(raw): _target(raw, to) for raw, to in colors.items()}
    if (values is not None and len(by_value or {}) < len(values)) or (
            colors is not None and len(by_color or {}) < len(colors)):
        raise ConfigError(f"data.{'values' if colors is None else 'colors'} names one entry twice.")
    targets = None
    if by_value is not None or by_color is not None:
        targets = set((by_value or {}).values()) | set((by_color or {}).values())
    names = _names(names, num_classes, targets, ignore)
    _refuse_scored_ignore(len(names), ignore)
    if targets is not None:
        _refuse_bad_targets(targets, len(names), ignore, "values" if by_color is None else "colors")
    return LabelMap(tuple(names), ignore, by_value, by_color)


def infer_label_map(masks: Iterable[Path], *, ignore: int | None = 255, max_pixels: int = MAX_PIXELS) -> LabelMap:
    """The label map of masks whose stored values are 0..C-1, and perhaps `ignore`; warns, naming what it took.

    Raises:
        MaskError: a mask cannot be read or is colour-coded, values have gaps, there is one class only, or `ignore`
            may as well be the object of 0/255 masks; the message holds the setting to type.
    """
    found: dict[int, int] = {}
    files = 0
    for path in masks:
        files += 1
        try:
            stored = decode_mask(read_bytes(path), max_pixels=max_pixels)
            if stored.lossy:
                raise Fault(f"is lossy ({stored.kind})", "Export the masks again as PNG.")
            one = distinct(whole_numbers(stored, nan_known=False)[0])
        except Fault as fault:
            raise MaskError(fault.about(path)) from fault.__cause__
        for value, count in zip(one.values.tolist(), one.pixels.tolist(), strict=True):
            found[value] = found.get(value, 0) + count
    if not files:
        raise MaskError("no mask is given, so no classes can be found. Declare data.num_classes=N.")
    classes = sorted(value for value in found if value != ignore)
    counted = ", ".join(f"{value} ({found[value]} pixels)" for value in sorted(found)[:20])
    counted += f", and {len(found) - 20} more" if len(found) > 20 else ""
    if classes == [0] and ignore in found:
        raise MaskError(f"{files} masks hold 0 and {ignore} only, and {ignore} is also the ignore value, so everything "
                        f"but the background would be ignored. If {ignore} is the object: data.num_classes=2 "
                        f"'data.values={{0: 0, {ignore}: 1}}'")
    if len(classes) < 2:
        raise MaskError(f"{files} masks hold one class only: {counted}. Scoring needs at least two (background and "
                        "object). If another class exists, declare it: data.num_classes=2")
    if classes != list(range(len(classes))):
        guess = ", ".join(f"{value}: {c}" for c, value in enumerate(classes[:20]))
        raise MaskError(f"{files} masks hold the values {counted}, which are not 0, 1, 2, ... without a gap. Say what "
                        f"they mean, as in 'data.values={{{guess}}}', or how many classes there are: "
                        f"data.num_classes={max(classes) + 1}")
    note = f", {ignore} ignored" if ignore in found else ""
    warnings.warn(f"classes are not declared; the {files} masks hold 0..{len(classes) - 1}{note}, taken as "
                  f"{len(classes)} classes. Declare data.num_classes={len(classes)} (or data.classes) to be sure.",
                  SegcvWarning, stacklevel=2)
    return label_map(num_classes=len(classes), ignore=ignore)


def _names(names: Sequence[str] | None, num_classes: int | None, targets: set[int] | None,
           ignore: int | None) -> Sequence[str]:
    if names is not None:
        named = [str(name) for name in names]
        if num_classes is not None and num_classes != len(named):
            raise ConfigError(f"data.num_classes={num_classes}, and data.classes has {len(named)} "
                              f"({', '.join(named)}). Make them agree, or set one of them only.")
        twice = sorted({name for name in named if named.count(name) > 1})
        if twice:
            raise ConfigError(f"data.classes has {twice[0]!r} twice. Give each class a name of its own.")
        if any(not name.strip() for name in named):
            raise ConfigError("data.classes has a blank name. Give each class a name.")
    else:
        if num_classes is None and targets is not None:
            num_classes = max((to for to in targets if to != ignore), default=0) + 1
        if num_classes is None:
            raise ConfigError("no classes are declared. Set data.num_classes=N or data.classes=[background,...].")
        named = [f"class_{c}" for c in range(num_classes)]
    if len(named) < 2:
        raise ConfigError(f"{len(named)} class is declared (data.num_classes={len(named)}); background is a class too. "
                          "For one kind of object set data.num_classes=2: 0 background, 1 object.")
    if len(named) > _MOST:
        raise ConfigError(f"{len(named)} classes are declared; label arrays hold at most {_MOST}.")
    return named


def _refuse_scored_ignore(n_classes: int, ignore: int | None) -> None:
    if ignore is not None and 0 <= ignore < n_classes:
        raise ConfigError(f"data.ignore={ignore} is also a scored class (0..{n_classes - 1}); its pixels would leave "
                          "the score, and IoU would turn into recall. Choose a value outside the classes: "
                          f"data.ignore={255 if n_classes <= 255 else 65535}, or map values with data.values.")


def _refuse_bad_targets(targets: set[int], n_classes: int, ignore: int | None, setting: str) -> None:
    outside = sorted(to for to in targets if to != ignore and not 0 <= to < n_classes)
    allowed = f"0..{n_classes - 1}" + (f" or the ignore value {ignore}" if ignore is not None else "")
    if outside:
        raise ConfigError(f"data.{setting} maps to {outside[0]}, which is not a class id. Map to {allowed}.")
    bare = [c for c in range(n_classes) if c not in targets]
    if bare:
        raise ConfigError(f"data.{setting} maps nothing to class {bare[0]} ({len(bare)} of {n_classes} classes have no "
                          f"entry). Add one, or declare fewer classes.")


def _target(raw: Any, to: Any) -> int:
    if to is None or (isinstance(to, bool | str) and not str(to).lstrip("-").isdigit()):
        raise ConfigError(f"{raw!r} is mapped to {to!r}; map it to a class id, a whole number.")
    if isinstance(to, float) and not to.is_integer():
        raise ConfigError(f"{raw!r} is mapped to {to!r}; map it to a class id, a whole number.")
    return int(to)


def _raw_value(raw: Any) -> int | str:
    """A key of data.values."""
    if str(raw).strip().lower() == NAN:
        return NAN
    try:
        number = float(str(raw).strip())
    except ValueError:
        number = np.nan
    if not number.is_integer():
        raise ConfigError(f"data.values has the key {raw!r}; a key is a whole number as stored in the masks, or nan. "
                          "For colours use data.colors.")
    return int(number)


def _color(raw: Any) -> Color:
    """A key of data.colors."""
    parts: Sequence[Any] = ()
    if isinstance(raw, str):
        text = raw.strip()
        digits = _HEX.fullmatch(text)
        if digits:
            code = int(digits.group(1), 16)
            return code >> 16, code >> 8 & 255, code & 255
        parts = re.split(r"[,\s]+", text.strip("()[] "))
    elif isinstance(raw, Sequence):
        parts = raw
    elif raw == 0 and not isinstance(raw, bool):             # unquoted 000000
        return 0, 0, 0
    numbers = [int(part) for part in parts if str(part).isdigit()]
    if len(numbers) != 3 or len(parts) != 3 or max(numbers) > 255:
        raise ConfigError(f"data.colors has the key {raw!r}; write a colour as '3C1098' or '60,16,152' (in quotes, "
                          "or it is read as a number).")
    return numbers[0], numbers[1], numbers[2]
