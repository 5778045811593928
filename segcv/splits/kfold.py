"""Every image held out once: whole groups dealt to folds, one group a fold, or, for comparison only, single images."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.random import Generator

from segcv.errors import SplitError
from segcv.splits.balancing import balanced_folds
from segcv.splits.choices import Choices
from segcv.splits.columns import strata_of, value_counts
from segcv.splits.dealing import fold_count, roles_of
from segcv.splits.group_table import groups_of


def group_kfold(images: pd.DataFrame, *, folds: int | None, rng: Generator,
                masks: pd.DataFrame | None, choices: Choices) -> pd.DataFrame:
    """Roles of whole groups in `folds` folds of nearly equal numbers of images; `masks` is not read.

    With `stratify` the groups of each kind are dealt evenly: their number differs by one at most between folds.
    """
    table, _ = groups_of(images, None)
    k = fold_count(folds, table, "group")
    fold = balanced_folds(table[["images"]].to_numpy(np.int64), folds=k, rng=rng,
                          strata=strata_of(images, table.index, choices.stratify))
    return roles_of(images, images["group_id"].map(dict(zip(table.index, fold, strict=True))).to_numpy(np.int64))


def balanced_group_kfold(images: pd.DataFrame, *, folds: int | None, rng: Generator,
                         masks: pd.DataFrame | None, choices: Choices) -> pd.DataFrame:
    """Roles of whole groups in `folds` folds that hold near 1/`folds` of every class's pixels and of the images.

    With `balance_on` also of the images with each value of these columns; `stratify` is as in group_kfold.
    Reads how many pixels of each class every image has, those held out too: their labels, never their scores.
    """
    if masks is None:
        raise SplitError("balanced_group_kfold needs the mask profile (pixels per image and class); "
                         "use split=group_kfold to balance image counts only.")
    table, pixels = groups_of(images, masks)
    k = fold_count(folds, table, "group")
    values = value_counts(images, table.index, choices.balance_on)
    amounts = np.hstack([pixels.to_numpy(np.int64), values.to_numpy(np.int64), table[["images"]].to_numpy(np.int64)])
    fold = balanced_folds(amounts, folds=k, rng=rng, classes=pixels.shape[1],
                          strata=strata_of(images, table.index, choices.stratify))
    return roles_of(images, images["group_id"].map(dict(zip(table.index, fold, strict=True))).to_numpy(np.int64))


def leave_one_group_out(images: pd.DataFrame, *, folds: int | None, rng: Generator,
                        masks: pd.DataFrame | None, choices: Choices) -> pd.DataFrame:
    """Roles with one fold per group, that group held out; fold 0 holds the group with the least image id."""
    table, _ = groups_of(images, None)
    if folds is not None:
        raise SplitError(f"folds={folds} has no effect: leave_one_group_out makes one fold per group, here "
                         f"{len(table)}. Type split.folds=null, or split=group_kfold split.folds={folds}.")
    if len(table) < 2:
        raise SplitError(f"leave_one_group_out needs at least 2 groups; there is only {len(table)} group: "
                         f"{', '.join(table.index)}.")
    place = dict(zip(table.index, range(len(table)), strict=True))
    return roles_of(images, images["group_id"].map(place).to_numpy(np.int64))


def random_kfold(images: pd.DataFrame, *, folds: int | None, rng: Generator,
                 masks: pd.DataFrame | None, choices: Choices) -> pd.DataFrame:
    """Roles of single images dealt at random: this leaks, for groups lie on both sides. For comparison only."""
    groups_of(images, None)
    k = fold_count(folds, images.set_index("image_id"), "image")
    order = np.argsort(images["image_id"].to_numpy(dtype=object), kind="stable")
    fold = np.empty(len(images), np.int64)
    fold[order] = rng.permutation(np.arange(len(images)) % k)
    return roles_of(images, fold)
