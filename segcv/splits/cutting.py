"""All repeats of a split, with what is left out of it and what it cannot do said aloud."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.random import Generator
from numpy.typing import NDArray

from segcv.errors import SegcvWarning, SplitError
from segcv.splits.checks import check_roles
from segcv.splits.choices import Choices, refuse_without_effect
from segcv.splits.group_table import groups_of
from segcv.splits.resampling import resampled_training
from segcv.splits.splitters import SPLITTERS
from segcv.splits.times import times_of
from segcv.tables import EXCLUDED, HELD_OUT, ROLES, TRAIN, stream

SHOWN = 5
TRIES = 20        # cuts tried until a repeat has folds that no earlier repeat has
LOCKED, CAP, COPY = "locked cohort", "cap", "exact copy"      # reasons for which an image is excluded
FIRST_BY_TIME = "time"
TIMED = frozenset({"time_column"})


def cut_roles(images: pd.DataFrame, masks: pd.DataFrame | None, *, splitter: str, folds: int | None, repeats: int,
              seed: int, locked_groups: Sequence[str] = (), max_per_group: int | None = None,
              first_by: str | None = None, bootstrap: bool = False, copies: Collection[str] = (),
              choices: Choices | None = None, class_names: Sequence[str] = ()) -> pd.DataFrame:
    """The roles of every image in every fold of every repeat (ROLES), sorted by repeat, fold and image id.

    `splitter` is a name in SPLITTERS. Repeat r is cut with its own stream of chance, so more repeats leave the first
    ones as they are. Images of `locked_groups` are excluded in every fold, and so are `copies`, ids of images that are
    there twice; of each group at most `max_per_group`
    images train, the same in all folds of a repeat, all of them are tested: chosen at random, or with
    `first_by="time"` the first in time. With `bootstrap` all repeats hold out what the first does, and the training
    groups of each fold are drawn anew with replacement; `train_count` then says how often an image trains. Neither the
    order of rows nor the names of groups has an influence. `folds` is None where the splitter knows it
    (leave_one_group_out); `choices` are those that this splitter reads.

    Warns of a group above 1/folds of the images, of classes in one group only, and in fewer groups than folds.

    Raises:
        SplitError: fewer groups than folds or 2 folds, an unknown splitter or locked group, repeats that cannot
            differ, a choice without effect.
    """
    choices = choices or Choices()
    check_choices(splitter, repeats=repeats, max_per_group=max_per_group, first_by=first_by, bootstrap=bootstrap,
                  choices=choices)
    chosen = SPLITTERS[splitter]
    open_images = _without_locked(images, locked_groups)
    open_images = open_images[~open_images["image_id"].isin(list(copies))].reset_index(drop=True)
    times = None if first_by is None else times_of(open_images, choices.time)
    parts: list[pd.DataFrame] = []
    seen: list[frozenset[frozenset[str]]] = []
    for repeat in range(repeats):
        rng = np.random.default_rng(stream(seed, "repeat", 0 if bootstrap else repeat))
        cut = chosen(open_images, folds=folds, rng=rng, masks=masks, choices=choices)
        for _ in range(TRIES):
            if bootstrap or _partition(cut) not in seen:
                break
            cut = chosen(open_images, folds=folds, rng=rng, masks=masks, choices=choices)
        if not bootstrap and _partition(cut) in seen:
            _refuse_same(open_images, cut, repeat)
        seen.append(_partition(cut))
        cut = _capped(cut, max_per_group, open_images["image_id"], times, rng)
        if bootstrap:
            cut = resampled_training(cut, rng=np.random.default_rng(stream(seed, "bootstrap", repeat)))
        parts.append(cut.assign(repeat=repeat))
    locked = images["group_id"].isin(list(locked_groups))
    again = images["image_id"].isin(list(copies)) & ~locked
    roles = pd.concat([*parts, _excluded_rows(images[locked], LOCKED, parts),
                       _excluded_rows(images[again], COPY, parts)], ignore_index=True)
    if bootstrap:
        roles["train_count"] = roles["train_count"].fillna(0)
    roles = ROLES.check(roles, where="roles").sort_values(["repeat", "fold", "image_id"], ignore_index=True)
    check_roles(roles, images, whole_groups=chosen.whole_groups, held_out_once=chosen.held_out_once)
    if chosen.whole_groups:
        _warn_limits(open_images, masks, roles["fold"].nunique(), chosen.counts_folds,
                     dict(enumerate(class_names)))
        _warn_few_groups(open_images, [*choices.balance_on, *([choices.stratify] if choices.stratify else [])],
                         roles["fold"].nunique())
    return roles


def check_choices(splitter: str, *, repeats: int, max_per_group: int | None, first_by: str | None, bootstrap: bool,
                  choices: Choices) -> None:
    """Return when these choices can be followed, whatever the images are.

    Raises:
        SplitError: an unknown splitter, a choice without effect, or a number that cannot be.
    """
    if splitter not in SPLITTERS:
        raise SplitError(f"split {splitter!r} is not known; there are {', '.join(SPLITTERS)}.")
    chosen = SPLITTERS[splitter]
    refuse_without_effect(choices, chosen.reads | (TIMED if first_by is not None else frozenset()), splitter)
    if repeats < 1:
        raise SplitError(f"repeats={repeats}: a split is cut at least once. Type split.repeats=1.")
    if repeats > 1 and not (chosen.seeded or bootstrap):
        raise SplitError(f"repeats={repeats} has no effect: {splitter} cuts the same folds each time. "
                         "Type split.repeats=1.")
    if max_per_group is not None and max_per_group < 1:
        raise SplitError(f"max_per_group={max_per_group}: at least 1 image of a group must train, or null for no cap.")
    if first_by not in (None, FIRST_BY_TIME):
        raise SplitError(f"first_by={first_by} is not known; use {FIRST_BY_TIME}, or null for images at random.")
    if first_by is not None and max_per_group is None:
        raise SplitError(f"first_by={first_by} has no effect without a cap: split.max_per_group=20, for example.")


def _without_locked(images: pd.DataFrame, locked_groups: Sequence[str]) -> pd.DataFrame:
    groups = set(images["group_id"])
    unknown = [group for group in locked_groups if group not in groups]
    if unknown:
        raise SplitError(f"locked group {unknown[0]!r} does not exist; groups are "
                         f"{', '.join(sorted(groups)[:SHOWN])}{', ...' if len(groups) > SHOWN else ''}.")
    return images[~images["group_id"].isin(list(locked_groups))].reset_index(drop=True)


def _partition(roles: pd.DataFrame) -> frozenset[frozenset[str]]:
    held_out = roles[roles["role"].eq(HELD_OUT)]
    return frozenset(frozenset(ids) for _, ids in held_out.groupby("fold")["image_id"])


def _refuse_same(images: pd.DataFrame, cut: pd.DataFrame, repeat: int) -> None:
    groups, folds = images["group_id"].nunique(), cut["fold"].nunique()
    raise SplitError(f"repeat {repeat} has no effect: {groups} groups in {folds} folds were cut the same way as in an "
                     f"earlier repeat in {TRIES + 1} tries. Type split.repeats={repeat}, or use fewer folds.")


def _capped(roles: pd.DataFrame, max_per_group: int | None, ids: pd.Series, times: NDArray[np.datetime64] | None,
            rng: Generator) -> pd.DataFrame:
    """At most so many training images per group, the first in time or any; the rest is excluded."""
    if max_per_group is None:
        return roles
    turn = pd.DataFrame({"time": 0 if times is None else times}, index=ids.astype(object)).sort_index()
    turn["chance"] = rng.permutation(len(turn)) if times is None else 0
    rank = turn.sort_values(["time", "chance"], kind="stable").assign(rank=range(len(turn)))["rank"]
    first = roles.drop_duplicates("image_id")
    place = rank[first["image_id"]].set_axis(first.index).groupby(first["group_id"]).rank(method="first")
    over = set(first.loc[place > max_per_group, "image_id"])
    if not over:
        warnings.warn(f"max_per_group={max_per_group} leaves out nothing: the largest group has "
                      f"{int(first.groupby('group_id').size().max())} images.", SegcvWarning, stacklevel=3)
    capped = roles["role"].eq(TRAIN) & roles["image_id"].isin(over)
    return roles.assign(role=roles["role"].mask(capped, EXCLUDED), reason=roles["reason"].mask(capped, CAP))


def _excluded_rows(images: pd.DataFrame, reason: str, parts: list[pd.DataFrame]) -> pd.DataFrame:
    cells = pd.concat([part[["repeat", "fold"]].drop_duplicates() for part in parts])
    return cells.merge(images[["image_id", "group_id"]], how="cross").assign(role=EXCLUDED, reason=reason)


def _warn_limits(images: pd.DataFrame, masks: pd.DataFrame | None, folds: int, counts_folds: bool,
                 names: Mapping[int, str]) -> None:
    table, pixels = groups_of(images, masks)
    limit = 1 / folds if counts_folds else 0.5
    giant = table[table["images"] > limit * len(images)].sort_values("images", ascending=False, kind="stable")
    if len(giant):
        shown = "; ".join(f"{group}: {count} of {len(images)} images ({100 * count / len(images):.0f} %)"
                          for group, count in giant["images"].iloc[:SHOWN].items())
        warnings.warn(f"groups larger than {'1/' + str(folds) if counts_folds else 'half'} of the images: {shown}. No "
                      "cut can balance the folds: where such a group is held out, the score is mostly its own and "
                      "training has little else.", SegcvWarning, stacklevel=3)
    present = (pixels > 0).sum()                                                        # groups per class
    absent = [_class(c, names) for c in names if c not in present.index or not present[c]]
    if absent and len(present):
        warnings.warn(f"{', '.join(absent[:SHOWN])}{_more(absent)} {'occurs' if len(absent) == 1 else 'occur'} in no "
                      "mask: never trained, and its score undefined or 0. Are the classes declared right?",
                      SegcvWarning, stacklevel=3)
    alone = [f"{_class(c, names)} occurs in group {pixels.index[pixels[c] > 0][0]} only" for c in present.index
             if present[c] == 1]
    if alone:
        warnings.warn(f"{'; '.join(alone[:SHOWN])}{_more(alone)}. Where that group is held out the class was never "
                      "trained, in all other folds its score is undefined.", SegcvWarning, stacklevel=3)
    few = [f"{_class(c, names)} in {present[c]} groups" for c in present.index if 1 < present[c] < folds]
    if few and counts_folds:
        warnings.warn(f"classes in fewer groups than the {folds} folds: {'; '.join(few[:SHOWN])}{_more(few)}. In the "
                      "folds without them their score is undefined.", SegcvWarning, stacklevel=3)


def _warn_few_groups(images: pd.DataFrame, columns: Sequence[str], folds: int) -> None:
    """Say which values of the columns that folds are balanced on are in fewer groups than there are folds."""
    few = []
    for column in columns:
        groups = images.groupby(images[column].astype("str"))["group_id"].nunique()
        few += [f"{column}={value} in {count} group{'s' * (count > 1)}"
                for value, count in groups.items() if count < folds]
    if few:
        warnings.warn(f"values in fewer groups than the {folds} folds: {'; '.join(few[:SHOWN])}{_more(few)}. Some "
                      "folds hold none of them out, whatever the balance: their scores say nothing about it.",
                      SegcvWarning, stacklevel=3)


def _class(class_id: int, names: Mapping[int, str]) -> str:
    name = names.get(class_id, "")
    return f"class {class_id} ({name})" if name and name != str(class_id) else f"class {class_id}"


def _more(items: Sequence[str]) -> str:
    return f" and {len(items) - SHOWN} more" if len(items) > SHOWN else ""
