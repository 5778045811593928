"""A frozen model on groups it never saw: no folds, so every statement is about this model. Numbers: methods page."""

from __future__ import annotations

import numpy as np

from segcv.errors import ConfigError
from segcv.statistics.any_table import Table, table_groups
from segcv.statistics.estimate import THE_RECIPE, THESE_MODELS, Estimate
from segcv.statistics.intervals import FEWEST_GROUPS, hoeffding, student_t
from segcv.statistics.spread import mean_of
from segcv.statistics.targets import equal_group_estimates

ONE_FROZEN = "exact for independent groups and one frozen model that saw none of them"
SEVERAL = "one frozen model only: these are several networks"
FROM_FOLDS = "not over cross-validation folds, whose networks share training groups"


def frozen_estimates(
    table: Table, *, unit: str = "score", target: str = "equal_group", level: float = 0.95, seed: int = 0,
) -> tuple[Estimate, Estimate, Estimate, Estimate]:
    """Each group once, for this model: bootstrap-t, Student t, Gaffke, and Hoeffding where it is exact.

    `table` has no folds (group, image, score); scores in [0, 1].
    """
    groups = table_groups(table)
    count = len(groups.group_ids)
    drawn, plain, bounded, _ = equal_group_estimates(groups, unit=unit, target=target, level=level, seed=seed,
                                                     runs=groups.scores.shape[1])
    folds = max(len(np.unique(groups.fold[:, s])) for s in range(groups.scores.shape[1]))
    why = FROM_FOLDS if folds > 1 else SEVERAL if groups.scores.shape[1] > 1 else ""
    low, high = hoeffding(drawn.value, count, level=level) if not why else (np.nan, np.nan)
    return drawn, plain, bounded, Estimate(
        drawn.value, low, high, level, f"Hoeffding over {count} groups", f"{target}, {THESE_MODELS}", unit,
        groups=count, runs=groups.scores.shape[1], undefined=groups.undefined, note=why or ONE_FROZEN)


def external_drop(
    cross_validated: Table, external: Table, *, unit: str = "score", target: str = "equal_group", level: float = 0.95,
) -> Estimate:
    """Cross-validated mean minus the mean of a frozen model on an external cohort, each group once.

    The two have no group in common, so their variances add; Welch-Satterthwaite degrees of freedom. The recipe's
    variance is used where it is known (two or more seeds or repeats).

    Raises:
        ConfigError: they share groups.
    """
    inside, outside = table_groups(cross_validated), table_groups(external)
    shared = sorted(set(inside.group_ids) & set(outside.group_ids))
    if shared:
        raise ConfigError(f"Group {shared[0]} is in the cross-validation and in the external cohort ({len(shared)} "
                          "such groups): a cohort is external only if no group of it was trained on.")
    one, two = mean_of(inside), mean_of(outside)
    known = np.isfinite(one.variance)
    first, df = (one.variance, one.df) if known else (one.group_variance, one.group_df)
    variance = first + two.group_variance
    value = one.value - two.value
    frozen = "this frozen model" if outside.scores.shape[1] == 1 else "these frozen models"
    what = f"{target}, cross-validated ({THE_RECIPE if known else THESE_MODELS}) minus external ({frozen})"
    counts = (len(inside.group_ids), len(outside.group_ids))
    note, low, high, welch = "", np.nan, np.nan, np.nan
    if min(counts) < FEWEST_GROUPS:
        note = f"fewer than {FEWEST_GROUPS} groups on one side"
    elif not variance > 0:
        note = "all groups score alike: the spread over groups cannot be seen"
    else:
        welch = variance**2 / (first**2 / df + two.group_variance**2 / two.group_df)
        low, high = student_t(value, variance, welch, level=level, bounds=(-1.0, 1.0))
    return Estimate(value, low, high, level, f"two samples of groups, df {welch:.1f}", what, unit, groups=sum(counts),
                    runs=inside.scores.shape[1], undefined=inside.undefined + outside.undefined, note=note)


def conformal_errors(table: Table, *, level: float = 0.9, error: bool = False) -> Estimate:
    """The error that every image of a new group stays below with probability `level`: split-conformal over groups.

    One score per calibration group, its worst image; value is the ceil((G + 1) level)-th smallest, the interval is the
    set of errors from 0 to it. Scores are turned into errors (1 - score) unless `error` says they are errors. The
    calibration groups must have been neither trained on nor used to choose anything.

    >>> import pandas as pd
    >>> groups = [f"{n:02d}" for n in range(9)]
    >>> table = pd.DataFrame({"group": groups, "image": groups, "score": [.9, .8, .7, .6, .5, .4, .3, .2, .1]})
    >>> round(conformal_errors(table, level=.8).value, 3)      # the 8th smallest of nine errors .1, .2, ... .9
    0.8
    """
    groups = table_groups(table)
    scores = groups.scores.mean(axis=1, keepdims=True) if groups.image_scores is None else groups.image_scores
    of = np.arange(len(groups.group_ids)) if groups.image_group is None else groups.image_group
    errors = (scores if error else 1 - scores).max(axis=1)
    worst = np.full(len(groups.group_ids), -np.inf)
    np.maximum.at(worst, of, errors)
    count = len(worst)
    place = int(np.ceil(round((count + 1) * level, 9)))
    method, target = "split-conformal over groups", f"largest image error of a new group, {THESE_MODELS}"
    if place > count:
        needed = int(np.ceil(round(level / (1 - level), 9)))
        return Estimate(np.nan, level=level, method=method, target=target, unit="error", groups=count,
                        note=f"{count} calibration groups are too few for {level:.0%}: {needed} are needed")
    value = float(np.sort(worst)[place - 1])
    return Estimate(value, min(0.0, value), value, level, method, target, "error", groups=count,
                    undefined=groups.undefined)
