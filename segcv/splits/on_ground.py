"""Blocks of neighbouring ground: what lies side by side is held out together, and what comes too near is left out."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from numpy.random import Generator

from segcv.errors import SplitError
from segcv.splits.choices import Choices
from segcv.splits.dealing import fold_count, roles_table
from segcv.splits.ground import ALL, Floats, Ground, Ints, ground_of, near_pairs
from segcv.splits.group_table import groups_of

TOO_NEAR = "too near held-out ground"


def blocks(images: pd.DataFrame, *, folds: int | None, rng: Generator, masks: pd.DataFrame | None,
           choices: Choices) -> pd.DataFrame:
    """Roles of whole groups in `folds` blocks of neighbouring ground, of nearly equal numbers of images.

    The ground is halved again and again along x, y or the direction in which the groups are spread, whichever parts
    the fewest pairs of near images. In each fold the training images that touch held-out ground, or lie within the
    buffer of it, are excluded: what is held out shares no ground with training.
    """
    images = images.sort_values("image_id", ignore_index=True)      # sums of coordinates depend on their order
    table, _ = groups_of(images, None)
    k = fold_count(folds, table, "group")
    ground, buffer = ground_of(images, column=choices.ground_column), _buffer(choices)
    unit = images["group_id"].map(dict(zip(table.index, range(len(table)), strict=True))).to_numpy(np.int64)
    frame, centre = _places(ground, unit, len(table))
    if len(np.unique(frame)) == len(frame):
        raise SplitError(f"no two of the {len(frame)} groups lie on one ground, so they have no neighbours. If x and y "
                         f"of all images are of one ground: split.ground_column={ALL}; else split=group_kfold.")
    pairs = near_pairs(ground, buffer)
    fold = np.empty(len(table), np.int64)
    sizes = table["images"].to_numpy(np.int64)
    for number, members in enumerate(_halved(np.arange(len(table)), k, sizes, frame, centre, unit[pairs])):
        fold[members] = number
    held_out = np.arange(k)[:, None] == fold[unit][None]                                # folds x images
    near = np.zeros(held_out.shape, bool)
    for one, other in (pairs.T, pairs.T[::-1]):
        for number in range(k):
            near[number, other[held_out[number, one]]] = True
    excluded = np.where(near & ~held_out, TOO_NEAR, "").astype(object)
    alone = np.flatnonzero((held_out | near).all(axis=1))
    if len(alone):
        raise SplitError(f"fold {alone[0]} has no training image: all of them are {TOO_NEAR}. Use a smaller buffer; "
                         "or, if x and y count within each source, split.ground_column=source_id.")
    return roles_table(images, held_out=held_out, excluded=excluded)


def _buffer(choices: Choices) -> float:
    given = [value for value in (choices.buffer_px, choices.buffer_m) if value is not None]
    if len(given) == 2:
        raise SplitError("split.buffer_px and split.buffer_m are both given; x, y, w and h have one unit: keep one.")
    buffer = float(given[0]) if given else 0.0
    if not 0 <= buffer < np.inf:
        raise SplitError(f"a buffer of {buffer} is not a distance; 0 leaves out the training images that touch.")
    return buffer


def _places(ground: Ground, unit: Ints, units: int) -> tuple[Ints, Floats]:
    """Of each group: the frame of most of its images, and the mean centre of these."""
    frame, centre = np.zeros(units, np.int64), np.zeros((units, 2))
    frames = int(ground.frame.max()) + 1
    cells = np.bincount(unit * frames + ground.frame, minlength=units * frames).reshape(units, frames)
    frame[:] = cells.argmax(axis=1)
    inside = ground.frame == frame[unit]
    np.add.at(centre, unit[inside], ground.centre[inside])
    return frame, centre / cells.max(axis=1)[:, None]


def _halved(members: Ints, folds: int, images: Ints, frame: Ints, centre: Floats, touching: Ints) -> Iterator[Ints]:
    """The members of each of `folds` blocks, side by side. `touching`: pairs of groups, one for each near pair."""
    if folds == 1:
        yield members
        return
    first_folds = folds // 2
    best: tuple[Ints, Ints] | None = None
    fewest = np.inf
    for along in _directions(frame[members], centre[members]):
        order = members[np.lexsort([members, along, frame[members]])]
        wanted = np.abs(np.cumsum(images[order]) / images[order].sum() - first_folds / folds)
        cut = first_folds + int(np.argmin(wanted[first_folds - 1:len(order) - (folds - first_folds)]))
        side = np.zeros(len(images), np.int64)
        side[order[:cut]], side[order[cut:]] = 1, 2
        parted = int((side[touching].prod(axis=1) == 2).sum())
        if parted < fewest:
            best, fewest = (order[:cut], order[cut:]), parted
    assert best is not None
    yield from _halved(best[0], first_folds, images, frame, centre, touching)
    yield from _halved(best[1], folds - first_folds, images, frame, centre, touching)


def _directions(frame: Ints, centre: Floats) -> Iterator[Floats]:
    """Positions along x, along y, and along the widest spread within each frame."""
    yield centre[:, 0]
    yield centre[:, 1]
    widest = np.zeros(len(centre))
    for number in np.unique(frame):
        inside = frame == number
        offset = centre[inside] - centre[inside].mean(axis=0)
        axis = np.linalg.eigh(offset.T @ offset)[1][:, -1]
        widest[inside] = offset @ (axis * np.sign(axis[np.abs(axis).argmax()]))
    yield widest
