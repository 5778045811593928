"""Data frames as tables of typed cells."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from segcv.reporting.section import Cell, Format, Table, count, estimate, text
from segcv.reporting.sentences import column
from segcv.statistics import Estimate

COUNTED = ("repeat", "fold", "seed", "images", "groups", "folds", "repeats", "seeds", "undefined", "labelled_pixels",
           "runs", "hit", "missed", "false_alarm", "absent")
SHARES = ("miss_rate", "false_alarm_rate")


def frame_table(frame: pd.DataFrame, *, name: str, title: str = "", why: str = "",
                formats: Mapping[str, Format] | None = None) -> Table:
    """The frame as it is; numbers are scores unless their column counts, or `formats` says what it holds."""
    given = formats or {}
    kinds = {label: given.get(label) or _format(frame[label], str(label)) for label in frame.columns}
    rows = tuple(tuple(_cell(value, kinds[label]) for label, value in zip(frame.columns, row, strict=True))
                 for row in frame.itertuples(index=False, name=None))
    return Table(name, tuple(column(str(label)) for label in frame.columns), rows, title, why)


def estimates_table(named: Iterable[tuple[str, Estimate]], *, name: str, title: str, first: str) -> Table:
    """One row per Estimate: name, value with interval, method, groups, runs, undefined."""
    rows = tuple((
        text(label), estimate(each), text(each.method), count(each.groups), count(each.runs), count(each.undefined))
        for label, each in named)
    names = (first, "value", "method", "groups", "runs", "undefined")
    return Table(name, tuple(map(column, names)), rows, title)


def mapping_table(values: Mapping[str, object], *, name: str, title: str, columns: tuple[str, str]) -> Table:
    """Nested settings as dotted names and texts, in the order given."""
    rows = tuple((text(key), text(value)) for key, value in _flat(values, ""))
    return Table(name, tuple(map(column, columns)), rows, title)


def _flat(values: Mapping[str, object], prefix: str) -> list[tuple[str, str]]:
    rows: list[tuple[str, str]] = []
    for key, value in values.items():
        if isinstance(value, Mapping):
            rows += _flat({str(inner): each for inner, each in value.items()}, f"{prefix}{key}.")
        else:
            rows.append((f"{prefix}{key}", str(value)))
    return rows


def _format(values: pd.Series, label: str) -> Format:
    if label in SHARES:
        return "percent"
    if label in COUNTED:
        return "count"
    if pd.api.types.is_float_dtype(values):
        return "score"
    return "number" if pd.api.types.is_numeric_dtype(values) else "text"


def _cell(value: object, kind: Format) -> Cell:
    if kind == "text" or isinstance(value, str):
        return text(value)
    return Cell(float(value) if isinstance(value, int | float | np.number) else float("nan"), kind)
