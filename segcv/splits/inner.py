"""Groups held out inside the training images: for stopping and choosing, never for the score."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.random import Generator

from segcv.errors import SplitError
from segcv.splits.choices import Choices
from segcv.splits.cutting import cut_roles
from segcv.splits.drawn import drawn_groups
from segcv.splits.group_table import groups_of
from segcv.tables import HELD_OUT, TRAIN, stream


def inner_holdout(rows: pd.DataFrame, *, share: float, rng: Generator) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The training `rows` to fit on and those held out inside: whole groups with about `share` of the images.

    Groups are taken in random order, each if it brings the number of images nearer to the share; both parts have at
    least one group. Rows keep their order; row order and group names have no influence on who is taken.

    Raises:
        SplitError: `share` is not between 0 and 1, or there is only one group.
    """
    if not 0 < share < 1:
        raise SplitError(f"validation_share={share} must lie between 0 and 1, such as 0.2.")
    table, _ = groups_of(rows, None)
    if len(table) < 2:
        raise SplitError("an inner hold-out needs at least 2 groups among the training images; there is only "
                         f"{', '.join(table.index)}. Train for fixed epochs instead.")
    taken = drawn_groups(table["images"].to_numpy(np.int64), share=share, rng=rng)
    inside = rows["group_id"].isin(set(table.index[taken]))
    return rows[~inside].reset_index(drop=True), rows[inside].reset_index(drop=True)


def nested_roles(roles: pd.DataFrame, images: pd.DataFrame, masks: pd.DataFrame | None, *, splitter: str,
                 folds: int | None, seed: int, choices: Choices | None = None) -> pd.DataFrame:
    """Inner folds cut from the training images of every outer fold of `roles`: who may choose, and never who judges.

    Columns repeat, outer, inner, image_id, group_id, role, reason: as ROLES, with a row for each training image of the
    outer fold; its held-out and excluded images are in none. Each outer fold is cut by `splitter` with its own stream
    of chance, so that other outer folds change nothing in it.

    Raises:
        SplitError: the training images of an outer fold cannot be cut.
    """
    parts = []
    trains = roles[roles["role"].eq(TRAIN)]
    for repeat, outer in sorted(set(zip(trains["repeat"].tolist(), trains["fold"].tolist(), strict=True))):
        rows = trains[trains["repeat"].eq(repeat) & trains["fold"].eq(outer)]
        inside = images[images["image_id"].isin(set(rows["image_id"]))].reset_index(drop=True)
        try:
            cut = cut_roles(inside, masks, splitter=splitter, folds=folds, repeats=1, choices=choices,
                            seed=stream(seed, "nested", repeat, outer))
        except SplitError as error:
            raise SplitError(f"the inner folds of repeat {repeat}, outer fold {outer}: {error}") from error
        parts.append(cut.rename(columns={"fold": "inner"}).assign(repeat=repeat, outer=outer))
    return pd.concat(parts, ignore_index=True)[["repeat", "outer", "inner", "image_id", "group_id", "role", "reason"]]


def inner_fold(roles: pd.DataFrame, *, repeat: int, fold: int,
               validation_fold: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The roles rows of `fold` to fit on, and those to validate on: its training rows held out in `validation_fold`.

    Raises:
        SplitError: the validation fold is the test fold or does not exist, or nothing is left to fit or to validate on.
    """
    if validation_fold == fold:
        raise SplitError(f"validation_fold={validation_fold} is the test fold (fold={fold}): stopping or choosing on "
                         "the fold that is reported makes its score too good. Choose another validation fold.")
    here = roles[roles["repeat"].eq(repeat)]
    folds = sorted(here["fold"].unique().tolist())
    for name, number in (("fold", fold), ("validation_fold", validation_fold)):
        if number not in folds:
            raise SplitError(f"{name}={number} is not in the split; repeat {repeat} has the folds {folds}.")
    train = here[here["fold"].eq(fold) & here["role"].eq(TRAIN)]
    there = here[here["fold"].eq(validation_fold) & here["role"].eq(HELD_OUT)]
    inside = train["image_id"].isin(there["image_id"]).to_numpy()
    if inside.all() or not np.any(inside):
        raise SplitError(f"validation_fold={validation_fold} leaves {int((~inside).sum())} of {len(train)} training "
                         f"images of fold {fold} to fit on and {int(inside.sum())} to validate on. "
                         "Choose another fold, or validation_share.")
    return train[~inside].reset_index(drop=True), train[inside].reset_index(drop=True)
