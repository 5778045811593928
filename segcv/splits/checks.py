"""What every roles table must keep, checked each time one is made or read."""

from __future__ import annotations

import pandas as pd

from segcv.errors import SplitError
from segcv.tables import EXCLUDED, HELD_OUT, ROLES, TRAIN

SHOWN = 3


def check_roles(roles: pd.DataFrame, images: pd.DataFrame, *, whole_groups: bool = True, held_out_once: bool = True,
                trained_elsewhere: bool = False) -> None:
    """Return when `roles` is a sound split of `images`.

    Each image at most once per repeat and fold, with its own group and a known role; an excluded one has a reason; a
    `train_count`, where there is one, is positive exactly in training;
    every repeat has the folds 0, 1, ..., none without held-out or training images; no group on two sides of a fold,
    if `whole_groups`; each image that is not excluded everywhere is held out once per repeat, if `held_out_once`. Of
    models `trained_elsewhere` the training images may be unknown.

    Raises:
        SplitError: the first of these that does not hold, with the repeat, the fold and examples.
    """
    table = ROLES.check(roles, where="roles")
    if table.empty:
        raise SplitError("the roles table has no row.")
    _check_rows(table, images)
    _check_numbering(table, (HELD_OUT,) if trained_elsewhere else (HELD_OUT, TRAIN))
    if whole_groups:
        torn = groups_on_two_sides(table)
        if len(torn):
            first = torn.iloc[0]
            raise SplitError(f"group {first['group_id']} is on two sides of repeat {first['repeat']}, fold "
                             f"{first['fold']}: trained on and held out ({len(torn)} such cases). "
                             "Groups must stay whole.")
    if held_out_once:
        _check_once(table)


def groups_on_two_sides(roles: pd.DataFrame) -> pd.DataFrame:
    """Repeat, fold and group_id of each group that is both trained on and held out in a fold; no row: none is."""
    keys = ["repeat", "fold", "group_id"]
    sides = roles.loc[roles["role"].isin([TRAIN, HELD_OUT]), [*keys, "role"]].drop_duplicates()
    return sides.loc[sides.duplicated(keys), keys].sort_values(keys, ignore_index=True)


def _check_rows(table: pd.DataFrame, images: pd.DataFrame) -> None:
    unknown = table.loc[~table["role"].isin([TRAIN, HELD_OUT, EXCLUDED]), "role"]
    if len(unknown):
        raise SplitError(f"role {unknown.iloc[0]!r} is not known; roles are {TRAIN}, {HELD_OUT} and {EXCLUDED}.")
    silent = table.loc[table["role"].eq(EXCLUDED) & table["reason"].eq(""), "image_id"]
    if len(silent):
        raise SplitError(f"{silent.iloc[0]} is excluded without a reason ({len(silent)} rows).")
    if "train_count" in table:
        odd = table["train_count"].ge(1).ne(table["role"].eq(TRAIN)) | table["train_count"].lt(0)
        if odd.any():
            first = table[odd].iloc[0]
            raise SplitError(f"{first['image_id']} has the role {first['role']} and train_count {first['train_count']} "
                             f"({int(odd.sum())} rows); it is 1 or more where an image trains, else 0.")
    own = table["image_id"].map(images.set_index("image_id")["group_id"])
    if own.isna().any():
        strange = table.loc[own.isna(), "image_id"].unique()
        raise SplitError(f"{len(strange)} images have a role and are not in the images table: "
                         f"{', '.join(strange[:SHOWN])}.")
    other = table["group_id"].ne(own)
    if other.any():
        first = table[other].iloc[0]
        raise SplitError(f"{first['image_id']} is of group {own[other].iloc[0]} in the images table, and of group "
                         f"{first['group_id']} in the roles ({int(other.sum())} rows).")


def _check_numbering(table: pd.DataFrame, needed: tuple[str, ...]) -> None:
    repeats = sorted(table["repeat"].unique().tolist())
    if repeats != list(range(len(repeats))):
        raise SplitError(f"repeats are numbered {repeats}, and must be 0, 1, ...")
    folds = sorted(table["fold"].unique().tolist())
    for repeat, part in table.groupby("repeat"):
        here = sorted(part["fold"].unique().tolist())
        if here != list(range(len(folds))):
            raise SplitError(f"repeat {repeat} has the folds {here}, and must have {list(range(len(folds)))}.")
    roles = table.groupby(["repeat", "fold", "role"]).size().unstack("role", fill_value=0)
    for role in needed:
        none = roles.index[roles[role].eq(0)] if role in roles.columns else roles.index
        if len(none):
            raise SplitError(f"repeat {none[0][0]}, fold {none[0][1]} has no {role} image: the fold is empty.")


def _check_once(table: pd.DataFrame) -> None:
    used = table.loc[table["role"].ne(EXCLUDED), ["repeat", "image_id"]].drop_duplicates()
    times = table[table["role"].eq(HELD_OUT)].groupby(["repeat", "image_id"]).size()
    count = times.reindex(pd.MultiIndex.from_frame(used), fill_value=0)
    wrong = count[count.ne(1)]
    if len(wrong):
        repeat, image_id = wrong.index[0]
        raise SplitError(f"{image_id} is held out {int(wrong.iloc[0])} times in repeat {repeat}, and must be once "
                         f"({len(wrong)} such images).")
