"""Scores of groups, column by column: what every statement about new groups starts from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from segcv.errors import RunError
from segcv.metrics import Counts
from segcv.statistics.scored import Floats, Ints, ScoredImages, coded


@dataclass(frozen=True, slots=True, eq=False)
class GroupScores:
    """Mean scores of groups in columns, and what they rest on.

    `scores` is groups x columns (NaN: not scored there), `fold` groups x columns (-1), `images` the scored images of
    a group; `image_scores` (images x columns), `image_group`, `image_fold` and `image_ids` hold the complete table
    behind them, or are None where a group has one score of its own (counts added first).
    """

    group_ids: tuple[str, ...]
    scores: Floats
    fold: Ints
    repeat: Ints              # columns
    images: Ints
    undefined: int
    image_scores: Floats | None = None
    image_group: Ints | None = None
    image_fold: Ints | None = None
    image_ids: tuple[str, ...] | None = None

    @property
    def means(self) -> Floats:
        """Mean over the columns a group was scored in, one per group; NaN if never."""
        return mean_over_columns(self.scores)

    @property
    def complete(self) -> bool:
        """Whether every group has a score in every column."""
        return bool(np.isfinite(self.scores).all())

    @property
    def one_partition(self) -> bool:
        """Whether all columns share one partition into folds: seeds do, and repeats that only redraw the training."""
        return same_partition(self.fold)

    def independent(self) -> GroupScores:
        """The same in columns that share no partition and no training sets: over several repeats the seeds of each
        are averaged first, over one the seeds are the columns."""
        repeats = np.unique(self.repeat)
        if len(repeats) == 1 or len(repeats) == len(self.repeat):
            return self
        first = [int(np.flatnonzero(self.repeat == r)[0]) for r in repeats]

        def averaged(table: Floats) -> Floats:
            return np.stack([mean_over_columns(table[:, self.repeat == r]) for r in repeats], axis=1)

        return replace(self, scores=averaged(self.scores), fold=self.fold[:, first], repeat=repeats,
                       image_scores=averaged(self.image_scores) if self.image_scores is not None else None)


def same_partition(fold: Ints) -> bool:
    """Whether every group lies in one fold only, groups x columns; -1, not scored there, fits any."""
    return bool(((fold == fold.max(axis=1, keepdims=True, initial=-1)) | (fold < 0)).all())


def group_scores(scored: ScoredImages, image_scores: Floats, *, keep: NDArray[np.bool_] | None = None) -> GroupScores:
    """Mean image score of each group in each column; an undefined image (NaN) leaves every column and is counted.

    Shapes: `image_scores` has one number per row of `scored.rows`.
    """
    image, ids = coded(scored.rows["image_id"])
    group_of = np.zeros(len(ids), np.int64)
    group_of[image] = scored.group
    bad = np.zeros(len(ids), bool)
    bad[image[~np.isfinite(image_scores)]] = True
    total = np.zeros((len(ids), scored.columns))
    times = np.zeros((len(ids), scored.columns), np.int64)
    np.add.at(total, (image, scored.column), np.nan_to_num(image_scores))
    np.add.at(times, (image, scored.column), 1)
    table = np.full(total.shape, np.nan)
    np.divide(total, times, out=table, where=(times > 0) & ~bad[:, None])
    used = ~bad
    names, place = np.unique(group_of[used], return_inverse=True)
    fold = fold_of(scored, names)
    sums, seen = np.zeros((len(names), scored.columns)), np.zeros((len(names), scored.columns), np.int64)
    np.add.at(sums, place, np.nan_to_num(table[used]))
    np.add.at(seen, place, np.isfinite(table[used]).astype(np.int64))
    means = np.full(sums.shape, np.nan)
    np.divide(sums, seen, out=means, where=seen > 0)
    whole = bool(np.isfinite(table[used]).all()) and len(names) > 0
    return GroupScores(
        tuple(scored.group_ids[number] for number in names), means, fold, repeat_of(scored),
        np.bincount(place, minlength=len(names)).astype(np.int64), int(bad.sum()),
        table[used] if whole else None, place.astype(np.int64) if whole else None, fold[place, 0] if whole else None,
        tuple(map(str, ids[used])) if whole else None)


def group_difference(first: GroupScores, second: GroupScores, *, names: tuple[str, str] = ("A", "B")) -> GroupScores:
    """First minus second, group by group and image by image.

    Raises:
        RunError: the two were not scored on the same groups, images, folds and columns.
    """
    one, two = set(first.group_ids), set(second.group_ids)
    if one != two:
        odd = min(one ^ two)
        raise RunError(f"Group {odd} was scored for {names[0] if odd in one else names[1]} only ({len(one ^ two)} such "
                       "groups). Candidates are compared on the same images; score the rest, or leave it out of both.")
    if first.scores.shape != second.scores.shape or (first.repeat != second.repeat).any():
        raise RunError(f"{names[0]} has {first.scores.shape[1]} columns (seeds x repeats), {names[1]} "
                       f"{second.scores.shape[1]}: compare the same seeds and repeats of both.")
    if first.group_ids != second.group_ids or (first.fold != second.fold).any():
        raise RunError(f"{names[0]} and {names[1]} had the groups in different folds; compare runs under one split.")
    if (first.images != second.images).any():
        at = int(np.flatnonzero(first.images != second.images)[0])
        raise RunError(f"Group {first.group_ids[at]} has {first.images[at]} scored images for {names[0]} and "
                       f"{second.images[at]} for {names[1]}; an image must be defined for both (policy truth).")
    images = None
    if first.image_scores is not None and second.image_scores is not None:
        if first.image_ids != second.image_ids:
            odd = min(set(first.image_ids or ()) ^ set(second.image_ids or ()))
            raise RunError(f"Image {odd} has a score for one of {names[0]} and {names[1]} only. Candidates are "
                           "compared on the same images, defined for both (policy truth).")
        images = first.image_scores - second.image_scores
    return GroupScores(first.group_ids, first.scores - second.scores, first.fold, first.repeat, first.images,
                       max(first.undefined, second.undefined), images,
                       first.image_group if images is not None else None,
                       first.image_fold if images is not None else None,
                       first.image_ids if images is not None else None)


def group_pooled_scores(scored: ScoredImages, score: Callable[[Counts], Floats]) -> GroupScores:
    """One score per group and column from the counts added within the group; `score` gives one number per row."""
    labels = scored.column * len(scored.group_ids) + scored.group
    present = np.unique(labels)
    values = score(scored.counts.by(labels))
    names = np.unique(scored.group)
    table = np.full((len(scored.group_ids), scored.columns), np.nan)
    table[present % len(scored.group_ids), present // len(scored.group_ids)] = values
    images = scored.rows[["image_id"]].assign(group=scored.group).drop_duplicates()["group"].value_counts()
    table = table[names]
    defined = np.isfinite(table).any(axis=1)
    names = names[defined]
    return GroupScores(tuple(scored.group_ids[number] for number in names), table[defined], fold_of(scored, names),
                       repeat_of(scored), images.reindex(names).to_numpy().astype(np.int64), int((~defined).sum()))


def fold_of(scored: ScoredImages, names: Ints) -> Ints:
    """Fold of each group of `names` in each column, groups x columns; -1 where it was not scored."""
    fold = np.full((len(scored.group_ids), scored.columns), -1, np.int64)
    fold[scored.group, scored.column] = scored.rows["fold"].to_numpy(np.int64)
    return fold[names]


def repeat_of(scored: ScoredImages) -> Ints:
    """Repeat of each column, columns."""
    repeat = np.zeros(scored.columns, np.int64)
    repeat[scored.column] = scored.rows["repeat"].to_numpy(np.int64)
    return repeat


def mean_over_columns(values: Floats) -> Floats:
    """Mean of what is defined along the last axis; NaN where nothing is."""
    seen = np.isfinite(values)
    total = np.where(seen, values, 0.0).sum(axis=-1)
    count = seen.sum(axis=-1)
    mean: Floats = np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)
    return mean
