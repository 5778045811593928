"""Rolling origin: what is held out is later than everything that was trained on."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.random import Generator
from numpy.typing import NDArray

from segcv.errors import SplitError
from segcv.splits.choices import Choices
from segcv.splits.dealing import Texts, contiguous, roles_table
from segcv.splits.group_table import groups_of
from segcv.splits.times import times_of, times_text

LATER, NEAR, NEW = "later than the held-out images", "too near in time", "new group"
Times = NDArray[np.datetime64]


def time_ordered(images: pd.DataFrame, *, folds: int | None, rng: Generator, masks: pd.DataFrame | None,
                 choices: Choices) -> pd.DataFrame:
    """Roles of whole groups by time: fold k trains on what ended before its held-out groups began.

    Groups are sorted by their first image and cut into `folds` + 1 unbroken blocks of nearly equal numbers of images.
    Block k + 1 is held out in fold k. Groups of earlier blocks train if their last image lies more than the gap
    before the block's first image; the others, and all later groups, are excluded. The first block is never held out.
    """
    times = times_of(images, choices.time)
    table, _ = groups_of(images, None)
    by_group = pd.Series(times).groupby(images["group_id"].to_numpy(dtype=object), sort=False)
    first, last = (getattr(by_group, which)().loc[table.index].to_numpy() for which in ("min", "max"))
    block, starts = _blocks(first, table["images"].to_numpy(np.int64), folds, "groups")
    held_out, excluded = _sides(block, last, starts, choices)
    place = images["group_id"].map(dict(zip(table.index, range(len(table)), strict=True))).to_numpy(np.int64)
    return _roles(images, held_out[:, place], excluded[:, place], starts)


def known_groups(images: pd.DataFrame, *, folds: int | None, rng: Generator, masks: pd.DataFrame | None,
                 choices: Choices) -> pd.DataFrame:
    """Roles of single images by time: fold k trains on the past of all groups and tests the future of those it knows.

    Images are cut by time into `folds` + 1 unbroken blocks; block k + 1 is held out in fold k, without the images of
    groups that have no training image (excluded, they are new). Groups lie on both sides on purpose, their training
    images always before their held-out ones: the score is about later images of the same groups.
    """
    times = times_of(images, choices.time)
    groups_of(images, None)
    block, starts = _blocks(times, np.ones(len(images), np.int64), folds, "images")
    held_out, excluded = _sides(block, times, starts, choices)
    group = images["group_id"].to_numpy(dtype=object)
    for k in range(len(held_out)):
        trained = set(group[~held_out[k] & (excluded[k] == "")])
        new = held_out[k] & ~np.isin(group, list(trained))
        held_out[k, new], excluded[k, new] = False, NEW
    return _roles(images, held_out, excluded, starts)


def _blocks(times: Times, images: NDArray[np.int64], folds: int | None, what: str) -> tuple[NDArray[np.int64], Times]:
    """Block 0..folds of each unit, units of one time together, and the first time in each block."""
    if folds is None or folds < 1:
        raise SplitError(f"folds={folds}: a split in time needs at least 1 fold. Type split.folds=4, for example.")
    moments, place = np.unique(times, return_inverse=True)
    if len(moments) < folds + 1:
        raise SplitError(f"{folds} folds in time need at least {folds + 1} different times of {what} (the first ones "
                         f"only train); there are {len(moments)}, from {times_text(moments)[0]}. "
                         f"Type split.folds={max(1, len(moments) - 1)}.")
    weight = np.bincount(place, weights=images).astype(np.int64)
    of_moment = contiguous(weight, parts=folds + 1)
    return of_moment[place], moments[np.searchsorted(of_moment, np.arange(folds + 1))]


def _sides(block: NDArray[np.int64], last: Times, starts: Times,
           choices: Choices) -> tuple[NDArray[np.bool_], Texts]:
    """Who is held out, and why others are excluded, folds x units."""
    if choices.gap_days is not None and not 0 <= choices.gap_days < np.inf:
        raise SplitError(f"gap_days={choices.gap_days} must be 0 or more.")
    gap = np.timedelta64(round((choices.gap_days or 0) * 86_400_000_000), "us")
    fold = np.arange(1, len(starts))[:, None]                                           # folds x 1
    excluded = np.full((len(starts) - 1, len(block)), "", object)
    excluded[last[None] >= starts[1:, None] - gap] = NEAR
    excluded[block[None] > fold] = LATER
    held_out = block[None] == fold
    excluded[held_out] = ""
    return held_out, excluded


def _roles(images: pd.DataFrame, held_out: NDArray[np.bool_], excluded: Texts, starts: Times) -> pd.DataFrame:
    trains = (~held_out & (excluded == "")).any(axis=1)
    for found, what, cure in (
        (trains, "no training image before it", "or groups that span less time"),
        (held_out.any(axis=1), "no image to hold out whose group has a past", "or split=time for new groups"),
    ):
        if not found.all():
            k = int(np.argmin(found))
            raise SplitError(f"fold {k}, held out from {times_text(starts[k + 1:k + 2])[0]} on, has {what}. Use fewer "
                             f"folds (split.folds), a smaller split.gap_days, {cure}.")
    return roles_table(images, held_out=held_out, excluded=excluded)
