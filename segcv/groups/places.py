"""Where images lie: from the columns x, y, w, h, from the georeference of their files, or from their names."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from segcv.groups.names import NAME_PATTERNS

GROUNDS = ("ground", "source_id", "source")      # columns within whose values x and y count
LEAST_MATCHED = 0.5                              # share of names that must hold a position
METRES, DEGREES, PIXELS, CELLS = "m", "degree", "px", "cells"
_POSITION = re.compile(
    r"(?:^|[/_-])(?:x(?P<x>-?\d+)[_-]?y(?P<y>-?\d+)|y(?P<y2>-?\d+)[_-]?x(?P<x2>-?\d+)|"
    r"r(?:ow)?[_-]?(?P<row>\d+)[_-]?c(?:ol)?[_-]?(?P<col>\d+)|c(?:ol)?[_-]?(?P<col2>\d+)[_-]?r(?:ow)?[_-]?(?P<row2>\d+))"
    r"(?:[_-](?:w|h|s|size)?\d+)*$", re.IGNORECASE)
_SOURCE = re.compile(NAME_PATTERNS["tiles"], re.IGNORECASE)
_NUMBERS = re.compile(r"^(?P<source>.*?)[_-]?(?P<one>\d+)[_-](?P<other>\d+)$")       # site_512_1024


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """Rectangles of the images that have a place, and how that is known."""

    table: pd.DataFrame      # x, y (least coordinates), w, h, ground (text: where these count), pixel_size; index: row
    unit: str                # px, cells (positions in a grid: neighbours are known, overlap is not), m, degree, ""
                             # (what the user's columns count in is not said)
    sure: bool               # the rectangles are given; else they follow if positions are pixels
    evidence: str

    @property
    def cells(self) -> bool:
        """Are these numbers of cells in a grid?"""
        return self.unit == CELLS


def places_by_columns(images: pd.DataFrame, sizes: pd.DataFrame | None, *, column: str | None = None) -> Places | None:
    """The Places that the columns x, y (w, h) tell; None without them. Where w, h are missing, `sizes` (width, height
    of the files, rows of the images) stand for them, and that is not sure. They count within the values of `column`;
    where it is not said, of the first of GROUNDS that there is, else within the sources that names tell, else all are
    of one ground, unless most images share their place with another.
    """
    if not {"x", "y"} <= set(images.columns):
        return None
    if {"w", "h"} <= set(images.columns):
        return _by_columns(images, column, sure=True)
    if sizes is None:
        return None
    known = sizes[["width", "height"]].to_numpy(np.float64)
    return _by_columns(images.assign(w=known[:, 0], h=known[:, 1]), column, sure=False)


def places_by_georeference(images: pd.DataFrame, found: pd.DataFrame | None) -> Places | None:
    """The Places that files tell, as the room pixels reads them; None where no file tells any."""
    if found is None or found.empty:
        return None
    row = pd.Series(range(len(images)), index=images["image_id"])[found["image_id"]].to_numpy()
    table = found[["x", "y", "w", "h", "pixel_size"]].assign(ground=found["crs"].replace("", "no system")).set_axis(row)
    systems = sorted(set(table["ground"]))
    units = set(found["unit"])
    return Places(table, units.pop() if len(units) == 1 else "", True,
                  f"the georeference of {len(found)} GeoTIFFs ({', '.join(name[:20] for name in systems[:3])})")


def places_by_names(images: pd.DataFrame, sizes: pd.DataFrame | None) -> Places | None:
    """The Places that positions in the names tell, where half of the names have one; None else.

    `scene_x512_y1024` counts in pixels when positions are farther apart than 1, and `scene_r03_c07` in cells.
    """
    ids = images["image_id"]
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
    names = sources_by_names(ids).iloc[rows]
    if cells or _least_step(at) <= 1 or sizes is None:
        return Places(_table(at, np.ones_like(at), names, rows), CELLS, False, "cells of a grid, told by names")
    size = sizes[["width", "height"]].to_numpy(np.float64)[rows]
    return Places(_table(at, size, names, rows), PIXELS, False,
                  "positions in names and the size of the images, in pixels")


def places_by_numbers(images: pd.DataFrame, sizes: pd.DataFrame) -> list[Places]:
    """The two Places that names such as `site_512_1024` may tell: x then y, and y then x; none where they cannot.

    Two numbers may mean anything: which of these holds, if any, must be seen from the pixels.
    """
    matches = [_NUMBERS.search(image_id) for image_id in images["image_id"]]
    found = [match for match in matches if match is not None]
    if len(found) < len(matches) or not found:
        return []
    at = np.array([[float(match["one"]), float(match["other"])] for match in found])
    if _least_step(at) <= 1:
        return []
    names = pd.Series([match["source"] for match in found])
    size, rows = sizes[["width", "height"]].to_numpy(np.float64), np.arange(len(found))
    return [Places(_table(at[:, order], size, names, rows), PIXELS, False,
                   f"two numbers in names, taken for {told}, and the size of the images, in pixels")
            for order, told in (([0, 1], "x and y"), ([1, 0], "y and x"))]


def sources_by_names(image_ids: pd.Series) -> pd.Series:
    """What stands before the position in each name, "" where there is none."""
    found = [_SOURCE.search(image_id) for image_id in image_ids]
    return pd.Series([match.group("source") if match else "" for match in found], index=image_ids.index, dtype=object)


def _by_columns(images: pd.DataFrame, column: str | None, *, sure: bool) -> Places | None:
    box = images[["x", "y", "w", "h"]].to_numpy(np.float64)                     # images x 4
    rows = np.flatnonzero(np.isfinite(box).all(axis=1) & (box[:, 2:] > 0).all(axis=1))
    named = [name for name in GROUNDS if name in images.columns and images[name].astype("str").ne("").any()]
    column = column or (named[0] if named else None)
    if column == "all":
        names, told = pd.Series("", index=images.index), "of one ground"
    elif column is None:
        sources = sources_by_names(images["image_id"])
        names = sources if sources.ne("").mean() >= LEAST_MATCHED else pd.Series("", index=images.index)
        told = "within the source that names tell" if names.ne("").any() else "of one ground"
    else:
        names, told = images[column].astype("str"), f"within {column}"
    if not len(rows) or (column is None and not names.ne("").any() and _local(images, box)):
        return None
    told = f"x, y, {'w, h' if sure else 'and the size of the images in pixels'}, {told}"
    return Places(_table(box[rows, :2], box[rows, 2:], names.iloc[rows], rows), "" if sure else PIXELS, sure, told)


def _local(images: pd.DataFrame, box: NDArray[np.float64]) -> bool:
    """Do most images share their exact place with another, so that x and y must count anew in each picture?"""
    return bool(pd.DataFrame(box).duplicated(keep=False).mean() > 0.5) and len(images) > 1


def _number(fields: dict[str, str | None], *names: str) -> float:
    text = next((fields[name] for name in names if fields[name] is not None), None)
    return float("nan") if text is None else float(text)


def _least_step(at: NDArray[np.float64]) -> float:
    steps = np.concatenate([np.diff(np.unique(at[:, axis])) for axis in (0, 1)])
    return float(steps.min()) if len(steps) else np.inf


def _table(low: NDArray[np.float64], size: NDArray[np.float64], names: pd.Series,
           rows: NDArray[np.int64]) -> pd.DataFrame:
    return pd.DataFrame({"x": low[:, 0], "y": low[:, 1], "w": size[:, 0], "h": size[:, 1],
                         "ground": names.astype("str").to_numpy(object), "pixel_size": 0.0}, index=rows)
