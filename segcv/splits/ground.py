"""Where images lie: rectangles on the ground, and which of them touch or come near each other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from segcv.errors import SplitError
from segcv.tables import HELD_OUT, TRAIN

ALL, GROUND, SOURCE = "all", "ground", "source_id"
PLACE = ("x", "y", "w", "h")
PIXEL_SIZE = "ground_pixel_size"
SHOWN = 3
ROUNDING = 1e-9        # of the extent: coordinates that differ by less are equal

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Ground:
    """The rectangle of each image, in the unit of the table (px or m), and the ground whose coordinates these are."""

    low: Floats          # images x (x, y)
    high: Floats         # images x (x, y)
    frame: Ints          # images; coordinates of different frames have nothing to do with each other
    slack: float = 0.0   # in that unit; what overlaps or is apart by less, only touches

    @property
    def centre(self) -> Floats:
        """Middle of each rectangle, images x (x, y)."""
        middle: Floats = (self.low + self.high) / 2
        return middle

    @property
    def rounding(self) -> float:
        """What separates two coordinates that are meant to be equal."""
        return max(self.slack, ROUNDING * float(max(np.abs(self.low).max(), np.abs(self.high).max(), 1.0)))


def ground_of(images: pd.DataFrame, *, column: str | None = None) -> Ground:
    """The Ground of the images, from their columns x, y (least coordinates) and w, h, all in one unit.

    Coordinates count within the images of one value of `column`; where it is not said, within `ground` if the table
    has that column, else within source_id, else they are of one ground. `column="all"`: of one ground, whatever the
    table has. Where there is a column `ground_pixel_size`, in that unit, half a pixel more or less is rounding.

    Raises:
        SplitError: a column is missing, a number is missing, or a side is not above 0; the rows are named.
    """
    missing = [name for name in PLACE if name not in images.columns]
    if missing:
        raise SplitError(f"there is no column {missing[0]}: where an image lies takes x, y, w and h; the table has "
                         f"{', '.join(images.columns)}.")
    box = images[list(PLACE)].to_numpy(np.float64)                                      # images x 4
    bad = ~np.isfinite(box).all(axis=1) | (box[:, 2:] <= 0).any(axis=1)
    if bad.any():
        names = images.loc[bad, "image_id"]
        raise SplitError(f"{len(names)} of {len(images)} images have no place: x, y must be numbers and w, h above 0 "
                         f"({', '.join(names.iloc[:SHOWN])}).")
    slack = images[PIXEL_SIZE].max() / 2 if PIXEL_SIZE in images.columns else 0.0
    return Ground(box[:, :2], box[:, :2] + box[:, 2:], _frames(images, column), float(slack))


def near_pairs(ground: Ground, distance: float | None) -> Ints:
    """Pairs of images (pairs x 2, the first number less) that lie at most `distance` apart; 0: those that touch.

    With None, those that share ground: the rectangles overlap. Distances are between the nearest points.
    """
    reach = ground.rounding + (distance or 0.0)
    found = [np.empty((0, 2), np.int64)]
    for frame in np.unique(ground.frame):
        inside = np.flatnonzero(ground.frame == frame)
        side = (ground.high[inside] - ground.low[inside]).max()
        tree = cKDTree(ground.centre[inside])
        near = inside[tree.query_pairs(side + reach, p=np.inf, output_type="ndarray")]
        one, other = near[:, 0], near[:, 1]
        gap = np.maximum(ground.low[one], ground.low[other]) - np.minimum(ground.high[one], ground.high[other])
        overlap = (gap < -ground.rounding).all(axis=1)
        keep = overlap if distance is None else np.hypot(*np.maximum(gap, 0).T) <= reach
        found.append(np.sort(near[keep], axis=1).astype(np.int64))
    pairs = np.concatenate(found)
    return pairs[np.lexsort(pairs.T[::-1])]


def shared_areas(ground: Ground, pairs: Ints) -> Floats:
    """Area that the two rectangles of each pair share."""
    one, other = pairs.T
    side = np.minimum(ground.high[one], ground.high[other]) - np.maximum(ground.low[one], ground.low[other])
    area: Floats = np.maximum(side, 0).prod(axis=1)
    return area


def overlaps_on_ground(images: pd.DataFrame, *, column: str | None = None) -> pd.DataFrame:
    """Pairs of images whose rectangles overlap: first, second (ids, first < second), share of the smaller one.

    Sorted by ids; the order of rows has no influence.
    """
    images = images.sort_values("image_id", ignore_index=True)
    ground = ground_of(images, column=column)
    pairs = near_pairs(ground, None)
    whole = (ground.high - ground.low).prod(axis=1)
    ids = images["image_id"].to_numpy(dtype=object)
    return pd.DataFrame({"first": ids[pairs[:, 0]], "second": ids[pairs[:, 1]],
                         "share": shared_areas(ground, pairs) / whole[pairs].min(axis=1)})


def shared_ground(images: pd.DataFrame, roles: pd.DataFrame, *, distance: float | None,
                  column: str | None = None) -> pd.DataFrame:
    """Per repeat and fold, how much of what is held out lies on ground that training has seen.

    Columns: repeat, fold, images and groups (held out), near_images and near_groups (those of them that lie at most
    `distance` from a training image, or with None, overlap one), all counts.
    """
    pairs = near_pairs(ground_of(images, column=column), distance)
    both = np.concatenate([pairs, pairs[:, ::-1]])
    place = pd.Series(range(len(images)), index=images["image_id"])
    said = []
    for (repeat, fold), rows in roles.groupby(["repeat", "fold"]):
        side = np.zeros((2, len(images)), bool)
        for number, role in enumerate((TRAIN, HELD_OUT)):
            side[number, place[rows.loc[rows["role"].eq(role), "image_id"]]] = True
        near = np.zeros(len(images), bool)
        near[both[side[1, both[:, 0]] & side[0, both[:, 1]], 0]] = True
        group = images["group_id"]
        said.append({"repeat": repeat, "fold": fold, "images": int(side[1].sum()),
                     "groups": group[side[1]].nunique(), "near_images": int(near.sum()),
                     "near_groups": group[near].nunique()})
    return pd.DataFrame(said)


def groups_on_shared_ground(images: pd.DataFrame, *, column: str | None = None) -> list[tuple[str, str]]:
    """Pairs of groups with images that overlap on the ground, each once, in the order of their images."""
    pairs = near_pairs(ground_of(images, column=column), None)
    group = images["group_id"].to_numpy(dtype=object)
    return list(dict.fromkeys((min(a, b), max(a, b)) for a, b in group[pairs] if a != b))


def local_coordinates(images: pd.DataFrame) -> bool:
    """Do x and y seem to count anew in each group, though no column says so?

    So it is when most images have a twin of another group in exactly the same place, as the tiles of several pictures
    that were cut by one grid.
    """
    if GROUND in images.columns or SOURCE in images.columns:
        return False
    places = images[list(PLACE)].round(6).assign(group_id=images["group_id"])
    groups = places.groupby(list(PLACE))["group_id"].transform("nunique")
    return bool((groups > 1).mean() > 0.5)


def _frames(images: pd.DataFrame, column: str | None) -> Ints:
    if column is None:
        column = next((name for name in (GROUND, SOURCE) if name in images.columns), ALL)
    if column == ALL:
        return np.zeros(len(images), np.int64)
    if column not in images.columns:
        raise SplitError(f"split.ground_column={column} is not a column of the table; it has "
                         f"{', '.join(images.columns)}. Type split.ground_column={ALL} if x and y are of one ground.")
    blank = images.loc[images[column].astype("str").eq(""), "image_id"]
    if len(blank):
        raise SplitError(f"{column} is blank in {len(blank)} of {len(images)} rows ({', '.join(blank.iloc[:SHOWN])}): "
                         "x and y count within it.")
    first = images.groupby(images[column].astype("str"), sort=False)["image_id"].min().sort_values()
    number: Ints = np.asarray(first.index.get_indexer(pd.Index(images[column].astype("str"))), np.int64)
    return number
