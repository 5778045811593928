"""The mean score on new groups, each group or each image counting once, for these models and for the recipe.

Brackets hold the numbers of the definitions on the methods page.
"""

from __future__ import annotations

import numpy as np

from segcv.statistics.anova import model_factor, repeated_variances, sums_of_squares, variances
from segcv.statistics.by_group import GroupScores
from segcv.statistics.estimate import THE_RECIPE, THESE_MODELS, Estimate
from segcv.statistics.intervals import DRAWS, FEWEST_GROUPS, NO_INTERVAL, bootstrap_t, gaffke, student_t
from segcv.statistics.scored import Floats

ONE_COLUMN = ("one seed and one repeat: how much the model itself varies is unknown; run seed=0,1,2 "
              "(or more repeats) for an interval of the recipe")
TOO_FEW = f"fewer than {FEWEST_GROUPS} groups: only the bounded interval is given"
TOO_FEW_BOUNDED = "fewer than 2 groups: nothing is known about other groups"
ONLY_EQUAL_GROUP = "over repeats only the equal-group mean has an interval of the recipe"
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
    count = len(groups.scores)
    plain = float(np.var(groups.means, ddof=1)) / count if count > 1 else 0.0
    if plain == 0:
        return 1.0, ""
    if not groups.one_partition:
        repeats = np.unique(groups.repeat)
        averaged = np.stack([groups.scores[:, groups.repeat == r].mean(axis=1) for r in repeats], axis=1)
        first = [int(np.flatnonzero(groups.repeat == r)[0]) for r in repeats]
        return float(np.sqrt(repeated_variances(averaged, groups.fold[:, first]).variance / plain)), ""
    sizes = np.unique(groups.fold[:, 0], return_counts=True)[1]
    columns = groups.scores.shape[1]
    extra = max(0.0, np.nan_to_num(model_variance(groups))) * model_factor(sizes) / columns
    return float(np.sqrt((plain + extra) / plain)), ""


def model_variance(groups: GroupScores) -> float:
    """m2, signed, of a complete table over one partition; NaN with one column or one group in every fold."""
    if groups.image_scores is None or groups.image_group is None or groups.image_fold is None:
        alone = np.arange(len(groups.scores))
        return variances(sums_of_squares(groups.scores, group=alone, fold=groups.fold[:, 0])).model
    return variances(sums_of_squares(groups.image_scores, group=groups.image_group, fold=groups.image_fold)).model


def equal_row_estimates(groups: GroupScores, *, unit: str, level: float, runs: int) -> tuple[Estimate, Estimate]:
    """Each image counts once, for these models and for the recipe: CR2 with Bell-McCaffrey degrees of freedom [6].

    A ratio of two random sums: consistent, not unbiased.
    """
    if groups.image_scores is not None:
        weights = groups.images / groups.images.sum()
        value = float(weights @ groups.means)
    else:
        value = float(np.average(groups.means, weights=groups.images)) if len(groups.images) else np.nan
    count = len(groups.images)

    def said(interval: tuple[float, float], df: float, whom: str, why: str) -> Estimate:
        method = "CR2 over groups" + (f", df {df:.1f}" if not why else "")
        return Estimate(value, *interval, level=level, method=method, target=f"equal_row, {whom}", unit=unit,
                        groups=count, runs=runs, undefined=groups.undefined, note=why)

    why = TOO_FEW if count < FEWEST_GROUPS else INCOMPLETE if groups.image_scores is None else ""
    if why:
        return said(NO_INTERVAL, 0, THESE_MODELS, why), said(NO_INTERVAL, 0, THE_RECIPE, why)
    v2, df_iid, df_icc = _cr2(groups)
    df = float(np.sqrt(df_iid * df_icc))
    these = said(student_t(value, v2, df, level=level), df, THESE_MODELS, "")
    if groups.scores.shape[1] < 2:
        return these, said(NO_INTERVAL, 0, THE_RECIPE, ONE_COLUMN)
    if not groups.one_partition:
        return these, said(NO_INTERVAL, 0, THE_RECIPE, ONLY_EQUAL_GROUP)
    columns = groups.scores.shape[1]
    shares = groups.images / groups.images.sum()
    names, fold = np.unique(groups.fold[:, 0], return_inverse=True)
    in_fold = np.bincount(fold, weights=shares)
    factor = max(0.0, float(np.sum(in_fold**2) - np.sum(shares**2)))
    add = max(0.0, float(np.nan_to_num(model_variance(groups)))) / columns * factor
    total = v2 + add
    df = total**2 / (v2**2 / df + add**2 / (len(names) * (columns - 1)))
    return these, said(student_t(value, total, df, level=level), df, THE_RECIPE, "")


def _cr2(groups: GroupScores) -> tuple[float, float, float]:
    """V2, df under independent images, df under the estimated correlation within groups."""
    assert groups.image_scores is not None and groups.image_group is not None
    size = groups.images.astype(float)
    w = size / size.sum()
    u = groups.means
    d = u - float(w @ u)
    v2 = float(np.sum(w**2 * d**2 / (1 - w)))
    y = groups.image_scores.mean(axis=1)
    spare = float(np.sum(size - 1))
    sig = float(np.sum((y - u[groups.image_group]) ** 2)) / spare if spare else 0.0
    tau = max(0.0, float(np.var(u, ddof=1)) - sig * float(np.mean(1 / size)))
    icc = tau + sig / size
    return v2, _trace_df(w, 1 / size), _trace_df(w, icc) if np.any(icc > 0) else _trace_df(w, 1 / size)


def _trace_df(w: Floats, v: Floats) -> float:
    """tr(M)² / tr(M²), M = D (I - 1w') diag(v) (I - w1') D, D = diag(w / sqrt(1 - w))."""
    d = w / np.sqrt(1 - w)
    middle = np.diag(v) - np.add.outer(v * w, v * w) + np.sum(w**2 * v)
    m = d[:, None] * middle * d[None, :]
    return float(np.trace(m) ** 2 / np.sum(m * m))
