"""Where images lie on the ground: from the columns x, y, w, h, else from the positions in their names."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from segcv.groups import NAME_PATTERNS
from segcv.leakage.facts import Facts, codes_of
from segcv.splits import Ground

GROUNDS = ("ground", "source_id", "source")      # columns within whose values x and y count
LEAST_MATCHED = 0.5                              # share of names that must hold a position
_POSITION = re.compile(
    r"[_-](?:x(?P<x>-?\d+)[_-]?y(?P<y>-?\d+)|y(?P<y2>-?\d+)[_-]?x(?P<x2>-?\d+)|"
    r"r(?:ow)?[_-]?(?P<row>\d+)[_-]?c(?:ol)?[_-]?(?P<col>\d+)|c(?:ol)?[_-]?(?P<col2>\d+)[_-]?r(?:ow)?[_-]?(?P<row2>\d+))"
    r"(?:[_-](?:w|h|s|size)?\d+)*$", re.IGNORECASE)
_SOURCE = re.compile(NAME_PATTERNS["tiles"], re.IGNORECASE)


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """Rectangles of the images that have a place, and how that is known."""

    ground: Ground
    rows: NDArray[np.int64]          # of the images table, in the order of the rectangles
    names: list[str]                 # of the ground, per rectangle
    cells: bool                      # positions are numbers of cells in a grid: neighbours are known, overlap is not
    sure: bool                       # the rectangles are given; else they follow if positions are pixels
    evidence: str


def places_of(facts: Facts) -> Places | None:
    """The Places, or None where neither columns nor names tell them."""
    assert facts.images is not None
    columns = set(facts.images.columns)
    if {"x", "y", "w", "h"} <= columns:
        return _from_columns(facts.images, sure=True)
    if {"x", "y"} <= columns and facts.profile is not None:
        sizes = facts.profile[["width", "height"]].to_numpy(np.float64)
        return _from_columns(facts.images.assign(w=sizes[:, 0], h=sizes[:, 1]), sure=False)
    return _from_names(facts)


def _from_columns(images: pd.DataFrame, *, sure: bool) -> Places | None:
    box = images[["x", "y", "w", "h"]].to_numpy(np.float64)                     # images x 4
    rows = np.flatnonzero(np.isfinite(box).all(axis=1) & (box[:, 2:] > 0).all(axis=1))
    named = [name for name in GROUNDS if name in images.columns and images[name].astype("str").ne("").any()]
    column = named[0] if named else None
    if column is None:
        sources = _name_sources(images["image_id"])
        names = sources if sources.ne("").mean() >= LEAST_MATCHED else pd.Series("", index=images.index)
        told = "within the source that names tell" if names.ne("").any() else "of one ground"
    else:
        names, told = images[column].astype("str"), f"within {column}"
    if not len(rows) or (column is None and not names.ne("").any() and _local(images, box)):
        return None
    told = f"x, y, {'w, h' if sure else 'and the size of the images in pixels'}, {told}"
    return Places(_ground(box[rows, :2], box[rows, 2:], names.iloc[rows]), rows, names.iloc[rows].tolist(), False, sure,
                  told)


def _local(images: pd.DataFrame, box: NDArray[np.float64]) -> bool:
    """Do most images share their exact place with another, so that x and y must count anew in each picture?"""
    return bool(pd.DataFrame(box).duplicated(keep=False).mean() > 0.5) and len(images) > 1


def _from_names(facts: Facts) -> Places | None:
    assert facts.images is not None
    ids = facts.images["image_id"]
    matches = [_POSITION.search(image_id) for image_id in ids]
    rows = np.flatnonzero([match is not None for match in matches])
    if not len(rows) or len(rows) < LEAST_MATCHED * len(ids):
        return None
    found = [match.groupdict() for match in matches if match is not None]
    first = found[0]
    cells = first["row"] is not None or first["row2"] is not None
    at = np.array([[_number(one, "col", "col2") if cells else _number(one, "x", "x2"),
                    _number(one, "row", "row2") if cells else _number(one, "y", "y2")] for one in found])
    if np.isnan(at).any():                                                      # names of two kinds
        return None
    names = _name_sources(ids).iloc[rows]
    if cells or _least_step(at) <= 1 or facts.profile is None:
        size = np.ones_like(at)
        return Places(_ground(at, size, names), rows, names.tolist(), True, False, "cells of a grid, told by names")
    size = facts.profile[["width", "height"]].to_numpy(np.float64)[rows]
    return Places(_ground(at, size, names), rows, names.tolist(), False, False,
                  "positions in names and the size of the images, in pixels")


def _number(fields: dict[str, str | None], *names: str) -> float:
    text = next((fields[name] for name in names if fields[name] is not None), None)
    return float("nan") if text is None else float(text)


def _least_step(at: NDArray[np.float64]) -> float:
    steps = np.concatenate([np.diff(np.unique(at[:, axis])) for axis in (0, 1)])
    return float(steps.min()) if len(steps) else np.inf


def _name_sources(ids: pd.Series) -> pd.Series:
    """What stands before the position in each name, "" where there is none."""
    found = [_SOURCE.search(image_id) for image_id in ids]
    return pd.Series([match.group("source") if match else "" for match in found], index=ids.index, dtype=object)


def _ground(low: NDArray[np.float64], size: NDArray[np.float64], names: pd.Series) -> Ground:
    return Ground(low, low + size, np.maximum(codes_of(names), 0) + (names.astype("str") != "").to_numpy())
