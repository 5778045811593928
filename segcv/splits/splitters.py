"""The ways to deal images to folds: one function each, all with the same signature, by name in SPLITTERS."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pandas as pd
from numpy.random import Generator
from numpy.typing import NDArray

from segcv.errors import SplitError
from segcv.splits.balancing import balanced_folds
from segcv.splits.group_table import groups_of
from segcv.tables import HELD_OUT, ROLES, TRAIN

SHOWN = 5


class Cut(Protocol):
    """A way to cut: the roles of one repeat (ROLES, its repeat being 0), every image once per fold."""

    def __call__(self, images: pd.DataFrame, *, folds: int | None, rng: Generator,
                 masks: pd.DataFrame | None) -> pd.DataFrame: ...


@dataclass(frozen=True, slots=True)
class Splitter:
    """A way to cut and what it promises; calling it cuts one repeat."""

    cut: Cut
    leaking: bool = False           # groups may lie on both sides; every score made with it is marked
    seeded: bool = True             # another seed gives other folds
    counts_folds: bool = True       # the number of folds is chosen; False: it follows from the groups
    held_out_once: bool = True      # every image is held out in exactly one fold of a repeat
    needs_masks: bool = False       # reads the labels (never pixels of images, never scores) of all images

    def __call__(self, images: pd.DataFrame, *, folds: int | None, rng: Generator,
                 masks: pd.DataFrame | None) -> pd.DataFrame:
        return self.cut(images, folds=folds, rng=rng, masks=masks)


def group_kfold(images: pd.DataFrame, *, folds: int | None, rng: Generator,
                masks: pd.DataFrame | None) -> pd.DataFrame:
    """Roles of whole groups in `folds` folds of nearly equal numbers of images; `masks` is not read."""
    table, _ = groups_of(images, None)
    k = fold_count(folds, table, "group")
    fold = balanced_folds(table[["images"]].to_numpy(np.int64), folds=k, rng=rng)
    return roles_of(images, images["group_id"].map(dict(zip(table.index, fold, strict=True))).to_numpy(np.int64))


def balanced_group_kfold(images: pd.DataFrame, *, folds: int | None, rng: Generator,
                         masks: pd.DataFrame | None) -> pd.DataFrame:
    """Roles of whole groups in `folds` folds that hold near 1/`folds` of every class's pixels and of the images.

    Reads how many pixels of each class every image has, those held out too: their labels, never their scores.
    """
    if masks is None:
        raise SplitError("balanced_group_kfold needs the mask profile (pixels per image and class); "
                         "use split=group_kfold to balance image counts only.")
    table, pixels = groups_of(images, masks)
    k = fold_count(folds, table, "group")
    amounts = np.hstack([pixels.to_numpy(np.int64), table[["images"]].to_numpy(np.int64)])      # groups x (classes, 1)
    fold = balanced_folds(amounts, folds=k, rng=rng)
    return roles_of(images, images["group_id"].map(dict(zip(table.index, fold, strict=True))).to_numpy(np.int64))


def leave_one_group_out(images: pd.DataFrame, *, folds: int | None, rng: Generator,
                        masks: pd.DataFrame | None) -> pd.DataFrame:
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
                 masks: pd.DataFrame | None) -> pd.DataFrame:
    """Roles of single images dealt at random: this leaks, for groups lie on both sides. For comparison only."""
    groups_of(images, None)
    k = fold_count(folds, images.set_index("image_id"), "image")
    order = np.argsort(images["image_id"].to_numpy(dtype=object), kind="stable")
    fold = np.empty(len(images), np.int64)
    fold[order] = rng.permutation(np.arange(len(images)) % k)
    return roles_of(images, fold)


SPLITTERS: dict[str, Splitter] = {
    "group_kfold": Splitter(group_kfold),
    "balanced_group_kfold": Splitter(balanced_group_kfold, needs_masks=True),
    "leave_one_group_out": Splitter(leave_one_group_out, seeded=False, counts_folds=False),
    "random_kfold": Splitter(random_kfold, leaking=True),
}


def roles_of(images: pd.DataFrame, fold: NDArray[np.int64]) -> pd.DataFrame:
    """The roles (ROLES, repeat 0) when each image is held out in its `fold` and trains in all others."""
    folds = int(fold.max()) + 1
    held_out = np.arange(folds)[:, None] == fold[None]                                  # folds x images
    return ROLES.check(pd.DataFrame({
        "repeat": 0,
        "fold": np.repeat(np.arange(folds), len(images)),
        "image_id": np.tile(images["image_id"].to_numpy(dtype=object), folds),
        "group_id": np.tile(images["group_id"].to_numpy(dtype=object), folds),
        "role": np.where(held_out, HELD_OUT, TRAIN).ravel(),
        "reason": "",
    }), where="roles")


def fold_count(folds: int | None, units: pd.DataFrame, what: str) -> int:
    """`folds`, when it can be cut from the `units` (groups or images, one row each).

    Raises:
        SplitError: fewer than 2 folds, or fewer units than folds.
    """
    if folds is None or folds < 2:
        raise SplitError(f"folds={folds}: a split needs at least 2 folds. Type split.folds=5, for example.")
    if len(units) < folds:
        names = ", ".join(map(str, units.index[:SHOWN])) + (", ..." if len(units) > SHOWN else "")
        only = f"is only 1 {what}" if len(units) == 1 else f"are only {len(units)} {what}s"
        cure = (f"Type split.folds={len(units)}, or form more {what}s." if len(units) > 1 else
                "Images that belong together cannot be both trained on and tested on: form more groups.")
        raise SplitError(f"{folds} folds need at least {folds} {what}s; there {only}: {names}. {cure}")
    return folds
