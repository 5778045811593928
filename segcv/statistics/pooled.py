"""Scores of summed pixels, for these models and for the recipe.

Brackets hold the numbers of the definitions on the methods page.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from segcv.errors import RunError
from segcv.metrics import Counts
from segcv.statistics.anova import repeated_sums, repeated_variances
from segcv.statistics.by_group import (
    GroupScores,
    fold_of,
    group_difference,
    mean_over_columns,
    repeat_of,
)
from segcv.statistics.estimate import THE_RECIPE, THESE_MODELS, Estimate
from segcv.statistics.intervals import FEWEST_GROUPS, NO_INTERVAL, effective_groups, student_t
from segcv.statistics.scored import Floats, Ints, ScoredImages
from segcv.statistics.spread import Mean
from segcv.statistics.targets import INCOMPLETE, ONE_COLUMN, TOO_FEW


@dataclass(frozen=True, slots=True, eq=False)
class Jackknife:
    """A score of summed pixels in each column, and the same without each group; NaN where undefined."""

    group_ids: tuple[str, ...]
    theta: Floats              # columns
    without: Floats            # groups x columns; NaN where the group was not scored in the column
    leverage: Floats           # groups: mean over classes of the group's share of the union pixels; sums to 1
    fold: Ints                 # groups x columns
    repeat: Ints               # columns
    images: Ints               # groups
    whole: bool                # every group was scored in every column
    with_class: int            # groups that have a class in the truth

    @property
    def pseudo(self) -> Floats:
        """Pseudo-values, groups x columns: G theta - (G - 1) theta without g."""
        count = len(self.without)
        return count * self.theta[None, :] - (count - 1) * self.without


def jackknife(scored: ScoredImages, score: Callable[[Counts], Floats]) -> Jackknife:
    """Delete-one-group scores of summed pixels; a class that disappears with a group leaves that mean [7]."""
    columns = scored.columns
    labels = scored.column * len(scored.group_ids) + scored.group
    cells = scored.counts.by(labels)
    present = np.unique(labels)
    column, group = present // len(scored.group_ids), present % len(scored.group_ids)
    names, place = np.unique(group, return_inverse=True)
    totals = cells.by(column)
    without = np.full((len(names), columns), np.nan)
    without[place, column] = score(Counts(
        totals.tp[column] - cells.tp, totals.fp[column] - cells.fp, totals.fn[column] - cells.fn,
        totals.valid[column] - cells.valid))
    union = np.zeros((len(names), cells.n_classes))
    np.add.at(union, place, cells.union)
    seen = union.sum(axis=0) > 0
    images = scored.rows[["image_id"]].assign(group=scored.group).drop_duplicates()["group"].value_counts()
    return Jackknife(
        tuple(scored.group_ids[name] for name in names), score(totals), without,
        (union[:, seen] / union[:, seen].sum(axis=0)).mean(axis=1), fold_of(scored, names), repeat_of(scored),
        images.reindex(names).to_numpy().astype(np.int64), len(present) == len(names) * columns,
        len(np.unique(place[cells.truth.sum(axis=1) > 0])))


def pooled_mean(found: Jackknife, pseudo: Floats, without: Floats, value: float) -> Mean:
    """Variance of a pooled score (or difference) for these models [7] and for the recipe: [8] over one partition, over
    repeats with new ones the model variance of the groups' own scores by [10]."""
    count = len(pseudo)
    left_out = without.mean(axis=1)
    v_jack = float((count - 1) / count * np.sum((left_out - left_out.mean()) ** 2))
    df = max(1.0, effective_groups(found.leverage) - 1)
    apart = GroupScores(found.group_ids, pseudo, found.fold, found.repeat, found.images, 0).independent()
    columns = apart.scores.shape[1]
    if columns < 2:
        return Mean(value, v_jack, df, np.nan, np.nan)
    if not apart.one_partition:
        add, model_df = repeated_model_term(apart, found.leverage)
        bottom = v_jack**2 / df + add**2 / model_df
        return Mean(value, v_jack, df, add, (v_jack + add) ** 2 / bottom if bottom > 0 else df)
    fold = np.unique(found.fold[:, 0], return_inverse=True)[1]
    add = pooled_model_term(apart.scores, fold, found.leverage)
    bottom = v_jack**2 / df + add**2 / ((int(fold.max()) + 1) * (columns - 1))
    return Mean(value, v_jack, df, add, (v_jack + add) ** 2 / bottom if bottom > 0 else df)


def pooled_estimates(
    scored: ScoredImages, score: Callable[[Counts], Floats], *, unit: str, level: float, what: str = "pooled",
    of_one_class: bool = False,
) -> tuple[Estimate, Estimate]:
    """Summed pixels, then the score: delete-one-group jackknife with t, for these models and for the recipe [7, 8].

    `score` gives one number per row of Counts. With `of_one_class` groups without the class in the truth do not count.
    """
    found = jackknife(scored, score)
    value = float(mean_over_columns(found.theta[None])[0])
    count = found.with_class if of_one_class else len(found.without)
    undefined = int(np.isnan(found.theta).sum())

    def said(interval: tuple[float, float], df: float, whom: str, why: str) -> Estimate:
        method = "delete-one-group jackknife" + (f", t with df {df:.1f}" if not why else "")
        return Estimate(value, *interval, level=level, method=method, target=f"{what}, {whom}", unit=unit,
                        groups=count, runs=scored.runs, undefined=undefined, note=why)

    why = ""
    if count < FEWEST_GROUPS:
        why = f"the class is in {count} groups only: no interval below {FEWEST_GROUPS}" if of_one_class else TOO_FEW
    elif not found.whole:
        why = INCOMPLETE
    elif undefined:
        why = "undefined in a column"
    elif not np.isfinite(found.without).all():
        why = "without one of the groups the score is undefined"
    if why:
        return said(NO_INTERVAL, 0, THESE_MODELS, why), said(NO_INTERVAL, 0, THE_RECIPE, why)
    mean = pooled_mean(found, found.pseudo, found.without, value)
    these = said(student_t(value, mean.group_variance, mean.group_df, level=level), mean.group_df, THESE_MODELS, "")
    if not np.isfinite(mean.variance):
        return these, said(NO_INTERVAL, 0, THE_RECIPE, ONE_COLUMN)
    return these, said(student_t(value, mean.variance, mean.df, level=level), mean.df, THE_RECIPE, "")


def pooled_difference(
    first: ScoredImages, second: ScoredImages, score: Callable[[Counts], Floats], *, names: tuple[str, str],
) -> tuple[GroupScores, Mean, list[Floats]]:
    """Pseudo-values of first minus second, the mean difference with its variances, and the differences by fold.

    Raises:
        RunError: the two were not scored on the same groups and folds, or a score is undefined.
    """
    one, two = jackknife(first, score), jackknife(second, score)
    for name, each in zip(names, (one, two), strict=True):
        if not each.whole or not np.isfinite(each.theta).all() or not np.isfinite(each.without).all():
            raise RunError(f"{name}: the pooled score is undefined in a column or without one of the groups; compare "
                           "by another target, e.g. target=equal_group.")
    tables = [GroupScores(each.group_ids, each.pseudo, each.fold, each.repeat, each.images, 0) for each in (one, two)]
    difference = group_difference(*tables, names=names)
    both = replace(one, leverage=(one.leverage + two.leverage) / 2)
    value = float((one.theta - two.theta).mean())
    mean = pooled_mean(both, difference.scores, one.without - two.without, value)
    by_fold = []
    for r in np.unique(one.repeat):
        folds = []
        for scored in (first, second):
            inside = scored.rows["repeat"].to_numpy() == r
            run = scored.rows.loc[inside].groupby(["fold", "seed"], sort=True).ngroup().to_numpy()
            fold = scored.rows.loc[inside].groupby(run)["fold"].first().to_numpy()
            of_run = score(scored.counts.take(inside).by(run))
            number = np.unique(fold, return_inverse=True)[1]
            folds.append(np.bincount(number, weights=of_run) / np.bincount(number))
        by_fold.append(folds[0] - folds[1])
    return difference, mean, by_fold


def repeated_model_term(apart: GroupScores, leverage: Floats) -> tuple[float, float]:
    """What the models add to the variance of a pooled score over repeats with new partitions, and its df.

    To first order a pooled score is the mean of the groups' own scores, each with its leverage: its pseudo-value is
    theta + G leverage (own - theta). The model variance is that of the own scores by Henderson III [10], and weighs as
    much as the leverages that share a run, beyond those of single groups, which the jackknife carries.
    """
    there = leverage > 0
    share = leverage[there]
    theta = apart.scores.mean(axis=0)                                               # columns
    own = theta + (apart.scores[there] - theta) / (len(leverage) * share[:, None])
    fold = apart.fold[there]
    factors = []
    for s in range(own.shape[1]):
        run = np.unique(fold[:, s], return_inverse=True)[1]
        factors.append(max(0.0, float(np.sum(np.bincount(run, weights=share) ** 2) - np.sum(share**2))))
    sums = repeated_sums(own, fold)
    m2 = float(np.nan_to_num(repeated_variances(own, fold).model))
    return max(0.0, m2) / own.shape[1] * float(np.mean(factors)), float(max(1, sums.run_df))


def pooled_model_term(pseudo: Floats, fold: Ints, leverage: Floats) -> float:
    """What the models add to the variance of a pooled score, never below 0 [8].

    Shapes: `pseudo` is groups x columns; `fold` (0..K-1) and `leverage` have one number per group.
    """
    count, columns = pseudo.shape
    size = np.bincount(fold)
    per_fold = np.zeros((len(size), columns))
    np.add.at(per_fold, fold, pseudo)
    parts = per_fold / count                                                        # T_ks
    mean_fold = per_fold / size[:, None]
    rest = pseudo - pseudo.mean(axis=1, keepdims=True) - mean_fold[fold] + mean_fold.mean(axis=1)[fold][:, None]
    own = np.bincount(fold, weights=np.sum(rest**2, axis=1) / (columns - 1)) / count**2
    noise = float(np.sum(size / np.maximum(1, size - 1) * own))
    share = np.bincount(fold, weights=leverage)
    factor = max(0.0, 1 - float(np.sum(leverage**2) / np.sum(share**2)))
    return float(max(0.0, float(np.sum(np.var(parts, axis=1, ddof=1))) - noise) * factor / columns)
