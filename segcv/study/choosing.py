"""What the groups are made from when the settings leave it open: coarser id columns, and patterns in the names."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from segcv.errors import GroupError, SegcvWarning
from segcv.groups import AUTO, Levels, coarser_levels, given_groups, name_groups, places_by_names, proposed_pattern
from segcv.settings import GroupSettings, SplitSettings
from segcv.splits import SPLITTERS

SHOWN = 3
LEVEL_NOTE = "would leave"         # in every note on a coarser id that the folds were not cut by
_POSITIONS = ("frames", "numbered")      # patterns that take the last number of a position for a number of a frame


def chosen_groups(images: pd.DataFrame, group: GroupSettings, split: SplitSettings) -> GroupSettings:
    """The settings with pattern and levels said; what was chosen, and what else could be, is warned.

    With group.level=auto id columns that name one thing in the world (patient_id, slide) stay whole, up to the
    coarsest that leaves enough groups for the folds. With group.pattern=auto, and no group given, the ready pattern
    that the names speak for is taken, if it tells enough of them.

    Raises:
        GroupError: a level is no column.
    """
    wanted = group.levels if group.level in (None, AUTO) else [*group.levels, str(group.level)]
    absent = [level for level in wanted if level not in images.columns]
    if absent:
        raise GroupError(f"group.level={absent[0]} is not a column of the table; it has {', '.join(images.columns)}.")
    least = _least_groups(split)
    pattern = None if group.pattern == AUTO else group.pattern
    labels = given_groups(images, pattern=pattern, levels=wanted)
    levels = Levels() if group.level != AUTO else coarser_levels(images, labels, least=least, without=wanted)
    if group.pattern == AUTO and not labels.ne("").any() and not levels.kept:
        pattern = _by_names(images["image_id"], least, split)
        if pattern is not None and group.level == AUTO:
            labels = given_groups(images, pattern=pattern, levels=wanted)
            levels = coarser_levels(images, labels, least=least, without=wanted)
    _say_levels(images, labels, levels, pattern, wanted, least)
    return replace(group, pattern=pattern, level=None, levels=[*wanted, *levels.kept])


def _least_groups(split: SplitSettings) -> int:
    """How many groups the folds take at least."""
    known = SPLITTERS.get(split.name)
    parts = known is not None and known.counts_folds and known.held_out_once and known.whole_groups
    return split.folds if parts and split.folds is not None else 2


def _by_names(image_ids: pd.Series, least: int, split: SplitSettings) -> str | None:
    placed = places_by_names(pd.DataFrame({"image_id": image_ids}), None) is not None
    pattern = proposed_pattern(image_ids, without=_POSITIONS if placed else ())
    if pattern is None:
        return None
    told = name_groups(image_ids, pattern)
    matched = told[told.ne("")]
    size = matched.value_counts()
    shown = ", ".join(f"{name} ({count} images)" for name, count in size.iloc[:SHOWN].items())
    missed = image_ids[told.eq("")].sort_values()
    unmatched = f"; not, for example, {', '.join(missed.iloc[:SHOWN])}" if len(missed) else ""
    what = (f"no group was given, and {len(matched)} of {len(told)} names tell one by group.pattern={pattern}: "
            f"{len(size)} groups, {shown}{', ...' if len(size) > SHOWN else ''}{unmatched}")
    if len(size) < least:
        warnings.warn(f"{what}. That is fewer than the {least} folds of split={split.name}, so it is not used: if "
                      "images of one such name belong together (frames of a clip), the folds tear them and the score "
                      f"is too high. Then type group.pattern={pattern} split.folds={len(size)}; if not, "
                      "group.pattern=null.", SegcvWarning, stacklevel=3)
        return None
    warnings.warn(f"{what}. If the names do not mean that, type group.pattern=null.", SegcvWarning, stacklevel=3)
    return pattern


def level_notes(notes: Sequence[str]) -> tuple[str, ...]:
    """Those of a split's notes that say which coarser ids its folds were not cut by."""
    return tuple(note for note in notes if LEVEL_NOTE in note)


def _say_levels(images: pd.DataFrame, labels: pd.Series, levels: Levels, pattern: str | None, wanted: list[str],
                least: int) -> None:
    if levels.kept:
        before = labels[labels.ne("")].nunique()
        after = given_groups(images, pattern=pattern, levels=[*wanted, *levels.kept])
        made = f"{before} groups become {after.nunique()}" if before else f"{after.nunique()} groups"
        warnings.warn(f"{' and '.join(levels.kept)} stay whole ({made}): columns of this name stand for one thing in "
                      "the world, whose images are not independent. If that is wrong here, type group.level=null.",
                      SegcvWarning, stacklevel=3)
    for column, count in levels.too_few:
        warnings.warn(f"{column} {LEVEL_NOTE} {count} groups, fewer than the {least} folds, so what it names is in "
                      f"training and held out: the score says nothing of a new one. Type group.level={column} "
                      f"split.folds={max(2, count)}.", SegcvWarning, stacklevel=3)
    if levels.others:
        shown = ", ".join(f"{column} ({count} groups)" for column, count in levels.others)
        warnings.warn(f"coarser ids that {LEVEL_NOTE} enough groups: {shown}. If new ones of these are what the model "
                      f"will meet, type group.level={levels.others[-1][0]}.", SegcvWarning, stacklevel=3)
