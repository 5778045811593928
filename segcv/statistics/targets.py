"""The mean score on new groups, each group or each image counting once, for these models and for the recipe.

Brackets hold the numbers of the definitions on the methods page.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from segcv.errors import TableError
from segcv.statistics.by_group import GroupScores
from segcv.statistics.estimate import THE_RECIPE, THESE_MODELS, Estimate
from segcv.statistics.intervals import DRAWS, FEWEST_GROUPS, NO_INTERVAL, bootstrap_t, gaffke, student_t
from segcv.statistics.scored import Floats
from segcv.statistics.spread import mean_of, row_mean_of

ONE_COLUMN = ("one seed and one repeat: how much the model itself varies is unknown; run seed=0,1,2 "
              "(or more repeats) for an interval of the recipe")
TOO_FEW = f"fewer than {FEWEST_GROUPS} groups: only the bounded interval is given"
TOO_FEW_BOUNDED = "fewer than 2 groups: nothing is known about other groups"
INCOMPLETE = "not every group was scored in every column; run the missing cells"


def equal_group_estimates(
    groups: GroupScores, *, unit: str, target: str, level: float, seed: int, runs: int,
) -> tuple[Estimate, ...]:
    """Each group once: bootstrap-t, Student t and Gaffke for these models, bootstrap-t for the recipe [4, 9, 10].

    The four come in that order; below 5 groups only the bounded one has an interval.
    """
    means = groups.means
    count = len(means)
    value = float(np.mean(means)) if count else np.nan

    def said(interval: tuple[float, float], method: str, whom: str, why: str) -> Estimate:
        note = "" if np.isfinite(interval).all() else why
        return Estimate(value, *interval, level=level, method=method, target=f"{target}, {whom}", unit=unit,
                        groups=count, runs=runs, undefined=groups.undefined, note=note)

    alike = "all groups score alike: the spread over groups cannot be seen"
    few = TOO_FEW if count < FEWEST_GROUPS else alike
    drawn = plain = NO_INTERVAL
    if count >= FEWEST_GROUPS:
        drawn = bootstrap_t(means, level=level, rng=np.random.default_rng(seed), draws=DRAWS)
        spread = float(np.var(means, ddof=1))
        plain = student_t(value, spread / count, count - 1, level=level) if spread > 0 else NO_INTERVAL
    bounded = gaffke(means, level=level, rng=np.random.default_rng(seed)) if count >= 2 else NO_INTERVAL
    stretch, why = recipe_stretch(groups)
    wide = NO_INTERVAL
    if count >= FEWEST_GROUPS and not why:
        wide = bootstrap_t(means, level=level, rng=np.random.default_rng(seed), draws=DRAWS, stretch=stretch)
    return (
        said(drawn, "bootstrap-t over groups", THESE_MODELS, few),
        said(plain, f"Student t over groups, df {count - 1}", THESE_MODELS, few),
        said(bounded, "Gaffke bound (validity conjectured)", THESE_MODELS, TOO_FEW_BOUNDED),
        said(wide, "bootstrap-t over groups, widened by the model term", THE_RECIPE,
             TOO_FEW if count < FEWEST_GROUPS else why or alike),
    )


def recipe_stretch(groups: GroupScores) -> tuple[float, str]:
    """sqrt(V / V_group): how much wider the recipe's interval is than that of these models; and why there is none.

    Seeds and repeats crossed: the seeds of a repeat are averaged first, and the repeats are the columns.
    """
    if groups.scores.shape[1] < 2:
        return 1.0, ONE_COLUMN
    if not groups.complete:
        return 1.0, INCOMPLETE
    mean = mean_of(groups)
    if not mean.group_variance > 0:
        return 1.0, ""
    return float(np.sqrt(mean.variance / mean.group_variance)), ""


def weights_of(groups: GroupScores, weights: pd.Series) -> Floats | None:
    """The weights (indexed by image_id) of the images behind the groups; None where those are not known.

    Raises:
        TableError: an image has no weight.
    """
    if groups.image_ids is None:
        return None
    absent = [name for name in groups.image_ids if name not in weights.index]
    if absent:
        raise TableError(f"Image {absent[0]} has no weight ({len(absent)} such images). Give every scored image one.")
    found: Floats = weights.loc[list(groups.image_ids)].to_numpy(dtype=float)
    return found


def equal_row_estimates(
    groups: GroupScores, *, unit: str, level: float, runs: int, weights: Floats | None = None,
) -> tuple[Estimate, Estimate]:
    """Each image counts once, for these models and for the recipe: CR2 with Bell-McCaffrey degrees of freedom [6].

    A ratio of two random sums: consistent, not unbiased. `weights`, one per row of `image_scores`, lets images count
    by what they are worth instead.

    Raises:
        TableError: a weight is missing or below zero, or all are zero.
    """
    target = "equal_row" if weights is None else "weighted"
    if groups.image_scores is not None:
        by_image = np.ones(len(groups.image_scores)) if weights is None else np.asarray(weights, dtype=float)
        if not (np.isfinite(by_image).all() and (by_image >= 0).all() and by_image.sum() > 0):
            raise TableError("Every scored image needs a weight of zero or more, and one at least above zero.")
        value = float(np.sum(by_image * groups.image_scores.mean(axis=1)) / by_image.sum())
    else:
        value = float(np.average(groups.means, weights=groups.images)) if len(groups.images) else np.nan
    count = len(groups.images)

    def said(interval: tuple[float, float], df: float, whom: str, why: str) -> Estimate:
        method = "CR2 over groups" + (f", df {df:.1f}" if not why else "")
        return Estimate(value, *interval, level=level, method=method, target=f"{target}, {whom}", unit=unit,
                        groups=count, runs=runs, undefined=groups.undefined, note=why)

    weighed = count
    if weights is not None and groups.image_group is not None:
        weighed = len(np.unique(groups.image_group[by_image > 0]))
    why = TOO_FEW if weighed < FEWEST_GROUPS else INCOMPLETE if groups.image_scores is None else ""
    if why:
        return said(NO_INTERVAL, 0, THESE_MODELS, why), said(NO_INTERVAL, 0, THE_RECIPE, why)
    mean = row_mean_of(groups, weights)
    these = said(student_t(value, mean.group_variance, mean.group_df, level=level), mean.group_df, THESE_MODELS, "")
    if groups.scores.shape[1] < 2:
        return these, said(NO_INTERVAL, 0, THE_RECIPE, ONE_COLUMN)
    return these, said(student_t(value, mean.variance, mean.df, level=level), mean.df, THE_RECIPE, "")
