"""Scores of summed pixels, for these models and for the recipe.

Brackets hold the numbers of the definitions on the methods page.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from segcv.metrics import Counts
from segcv.statistics.by_group import fold_of, mean_over_columns, repeat_of
from segcv.statistics.estimate import THE_RECIPE, THESE_MODELS, Estimate
from segcv.statistics.intervals import FEWEST_GROUPS, NO_INTERVAL, effective_groups, student_t
from segcv.statistics.scored import Floats, Ints, ScoredImages
from segcv.statistics.targets import INCOMPLETE, ONE_COLUMN, ONLY_EQUAL_GROUP, TOO_FEW


def pooled_estimates(
    scored: ScoredImages, score: Callable[[Counts], Floats], *, unit: str, level: float, what: str = "pooled",
    class_index: int | None = None,
) -> tuple[Estimate, Estimate]:
    """Summed pixels, then the score: delete-one-group jackknife with t, for these models and for the recipe [7, 8].

    `score` gives one number per row of Counts; a class that disappears with a group leaves that mean. With
    `class_index` the leverage is that class's pixels, and groups without it in the truth do not count.
    """
    columns, runs = scored.columns, scored.runs
    labels = scored.column * len(scored.group_ids) + scored.group
    cells = scored.counts.by(labels)
    present = np.unique(labels)
    column, group = present // len(scored.group_ids), present % len(scored.group_ids)
    names = np.unique(group)
    totals = cells.by(column)
    theta = score(totals)                                                           # columns
    value = float(mean_over_columns(theta[None])[0])
    classes = slice(None) if class_index is None else slice(class_index, class_index + 1)
    truth = np.zeros(len(scored.group_ids), np.int64)
    np.add.at(truth, group, cells.truth[:, classes].sum(axis=1))
    with_class = int((truth > 0).sum()) if class_index is not None else len(names)
    undefined = int(np.isnan(theta).sum())

    def said(interval: tuple[float, float], df: float, whom: str, why: str) -> Estimate:
        method = "delete-one-group jackknife" + (f", t with df {df:.1f}" if not why else "")
        return Estimate(value, *interval, level=level, method=method, target=f"{what}, {whom}", unit=unit,
                        groups=with_class, runs=runs, undefined=undefined, note=why)

    why = ""
    if with_class < FEWEST_GROUPS:
        why = TOO_FEW
        if class_index is not None:
            why = f"the class is in {with_class} groups only: no interval below {FEWEST_GROUPS}"
    elif len(present) != len(names) * columns:
        why = INCOMPLETE
    elif undefined:
        why = "undefined in a column"
    if why:
        return said(NO_INTERVAL, 0, THESE_MODELS, why), said(NO_INTERVAL, 0, THE_RECIPE, why)
    count = len(names)
    place = np.searchsorted(names, group)
    without = np.full((count, columns), np.nan)
    without[place, column] = score(Counts(
        totals.tp[column] - cells.tp, totals.fp[column] - cells.fp, totals.fn[column] - cells.fn,
        totals.valid[column] - cells.valid))
    union = np.zeros((count, cells.n_classes))
    np.add.at(union, place, cells.union)
    union = union[:, classes]
    seen = union.sum(axis=0) > 0
    leverage = (union[:, seen] / union[:, seen].sum(axis=0)).mean(axis=1)          # groups, sums to 1
    effective = effective_groups(leverage)
    if not np.isfinite(without).all():
        why = "without one of the groups the score is undefined"
        return said(NO_INTERVAL, 0, THESE_MODELS, why), said(NO_INTERVAL, 0, THE_RECIPE, why)
    left_out = without.mean(axis=1)
    v_jack = float((count - 1) / count * np.sum((left_out - left_out.mean()) ** 2))
    df = max(1.0, effective - 1)
    these = said(student_t(value, v_jack, df, level=level), df, THESE_MODELS, "")
    if columns < 2:
        return these, said(NO_INTERVAL, 0, THE_RECIPE, ONE_COLUMN)
    if len(np.unique(repeat_of(scored))) > 1:
        return these, said(NO_INTERVAL, 0, THE_RECIPE, ONLY_EQUAL_GROUP)
    pseudo = count * theta[None, :] - (count - 1) * without                        # groups x columns
    fold = np.unique(fold_of(scored, names)[:, 0], return_inverse=True)[1]
    add = pooled_model_term(pseudo, fold, leverage)
    total = v_jack + add
    df = total**2 / (v_jack**2 / max(1.0, effective - 1) + add**2 / (len(np.unique(fold)) * (columns - 1)))
    return these, said(student_t(value, total, df, level=level), df, THE_RECIPE, "")


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
