"""The variance of a mean over groups: what groups and what models add to it, and which difference it can show.

Numbers in brackets are the definitions of the methods page.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from segcv.statistics.anova import model_factor, repeated_sums, repeated_variances, variances
from segcv.statistics.by_group import GroupScores
from segcv.statistics.components import group_sums
from segcv.statistics.scored import Floats


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean over groups (or a weighted one) and its variance for these models and for the recipe.

    `model_variance` is what the models add; `df` belongs to their sum. With one column the models add an unknown
    amount: NaN.
    """

    value: float
    group_variance: float
    group_df: float
    model_variance: float
    df: float

    @property
    def variance(self) -> float:
        """For the recipe: groups and models."""
        return self.group_variance + self.model_variance


@dataclass(frozen=True, slots=True)
class Spread:
    """The variances that planning needs, of one score or of one difference.

    `group` shrinks with groups only, `interaction` with groups and columns, `model` with folds x columns only.
    NaN where not identifiable.
    """

    group: float
    interaction: float
    model: float
    folds: int


def mean_of(groups: GroupScores) -> Mean:
    """Each group once [4, 5, 10]: V = s2_g/G + max(0, m2) c/S, Satterthwaite degrees of freedom."""
    groups = groups.independent()
    count, columns = groups.scores.shape
    means = groups.means
    value = float(means.mean()) if count else np.nan
    if count < 2:
        return Mean(value, np.nan, np.nan, np.nan, np.nan)
    plain = float(np.var(means, ddof=1)) / count
    if columns < 2 or not groups.complete:
        return Mean(value, plain, count - 1.0, np.nan, np.nan)
    if not groups.one_partition:
        found = repeated_variances(groups.scores, groups.fold)
        return Mean(value, plain, count - 1.0, found.variance - plain, found.df)
    sums = group_sums(groups)
    c, folds = model_factor(np.unique(groups.fold[:, 0], return_counts=True)[1]), sums.folds
    if sums.residual_df == 0:
        return Mean(value, plain, count - 1.0, 0.0, count - 1.0)       # leave-one-group-out: c = 0
    mean_square = sums.residual / sums.residual_df
    a = sums.column / (columns - 1)
    m2 = (a - folds * mean_square) / count
    extra = max(0.0, m2) * c / columns
    spread = 2 * plain**2 / (count - 1)
    if m2 > 0:
        scale = c / (columns * count)
        spread += 2 * (scale * a) ** 2 / sums.column_df + 2 * (scale * folds * mean_square) ** 2 / sums.residual_df
    variance = plain + extra
    return Mean(value, plain, count - 1.0, extra, 2 * variance**2 / spread if spread > 0 else np.nan)


def row_mean_of(groups: GroupScores, weights: Floats | None = None) -> Mean:
    """Each image once, or with its weight [6]: CR2 over groups, Bell-McCaffrey degrees of freedom, model term.

    Shapes: `weights` has one number per row of `image_scores`.
    """
    groups = groups.independent()
    if groups.image_scores is None or groups.image_group is None:
        raise ValueError("a mean over images needs the images behind the groups")
    count, columns = len(groups.images), groups.image_scores.shape[1]
    v = np.ones(len(groups.image_scores)) if weights is None else np.asarray(weights, dtype=float)
    total = np.bincount(groups.image_group, weights=v, minlength=count)
    w = total / total.sum()
    y = groups.image_scores.mean(axis=1)
    there = total > 0                               # groups without weight have no part in the mean
    total = np.where(there, total, 1.0)
    u = np.bincount(groups.image_group, weights=v * y, minlength=count) / total
    value = float(np.sum(w * u))
    if there.sum() < 2:
        return Mean(value, np.nan, np.nan, np.nan, np.nan)
    v2 = float(np.sum(w**2 * (u - value) ** 2 / (1 - w)))
    size = groups.images.astype(float)
    noise = np.bincount(groups.image_group, weights=v**2, minlength=count) / total**2       # 1/N_g without weights
    spare = float(np.sum(size - 1))
    plain = np.bincount(groups.image_group, weights=y, minlength=count) / size
    sig = float(np.sum((y - plain[groups.image_group]) ** 2)) / spare if spare else 0.0
    tau = max(0.0, float(np.var(u[there], ddof=1)) - sig * float(np.mean(noise[there])))
    icc = tau + sig * noise
    df_iid = trace_df(w, noise)
    df = float(np.sqrt(df_iid * trace_df(w, icc))) if np.any(icc > 0) else df_iid
    if columns < 2:
        return Mean(value, v2, df, np.nan, np.nan)
    factors = []
    for s in range(columns):
        fold = np.unique(groups.fold[:, s], return_inverse=True)[1]
        factors.append(max(0.0, float(np.sum(np.bincount(fold, weights=w) ** 2) - np.sum(w**2))))
    if groups.one_partition:
        sums = group_sums(groups)
        m2, model_df = variances(sums).model, sums.column_df
    else:                                           # over repeats: our extension of [6] by [10]
        m2 = repeated_variances(groups.scores, groups.fold).model
        model_df = repeated_sums(groups.scores, groups.fold).run_df
    add = max(0.0, float(np.nan_to_num(m2))) / columns * float(np.mean(factors))
    bottom = v2**2 / df + add**2 / model_df
    return Mean(value, v2, df, add, (v2 + add) ** 2 / bottom if bottom > 0 else df)


def trace_df(w: Floats, v: Floats) -> float:
    """tr(M)² / tr(M²), M = D (I - 1w') diag(v) (I - w1') D, D = diag(w / sqrt(1 - w)), without forming M [6]."""
    d = w**2 / (1 - w)                              # D squared
    a = v * w
    b = float(np.sum(w * a)) - a                    # M_ij = D_i D_j (b_i - a_j), and v_i more where i = j
    diagonal = b - a
    trace = float(np.sum(d * (v + diagonal)))
    total = np.sum(d * b**2) * np.sum(d) - 2 * np.sum(d * b) * np.sum(d * a) + np.sum(d) * np.sum(d * a**2)
    square = float(total + np.sum(d**2 * ((v + diagonal) ** 2 - diagonal**2)))
    return trace**2 / square


def effect_spread(groups: GroupScores) -> Spread:
    """Spread of one score or difference, interaction with the image noise it carries."""
    groups = groups.independent()
    count, columns = groups.scores.shape
    folds = len(np.unique(groups.fold[:, 0]))
    if columns < 2 or not groups.complete or count < 2:
        return Spread(float(np.var(groups.means, ddof=1)) if count > 1 else np.nan, np.nan, np.nan, folds)
    if not groups.one_partition:
        found = repeated_variances(groups.scores, groups.fold)
        return Spread(found.group, found.interaction, found.model,
                      round(repeated_sums(groups.scores, groups.fold).folds))
    sums = group_sums(groups)
    if sums.residual_df == 0:
        return Spread(float(np.var(groups.means, ddof=1)), np.nan, np.nan, folds)
    residual, row = sums.residual / sums.residual_df, sums.row / sums.row_df
    return Spread((row - residual) / columns, residual,
                  (sums.column / (columns - 1) - sums.folds * residual) / count, folds)


def binding(spread: Spread, *, groups: int, columns: int) -> str:
    """What a mean would gain most from: "groups" or "models" (seeds, repeats), by v/G against model / (K S) [13]."""
    by_groups = (spread.group + spread.interaction / columns) / groups
    by_models = max(0.0, spread.model) / (spread.folds * columns)
    if not np.isfinite([by_groups, by_models]).all():
        return "unknown"
    return "groups" if by_groups >= by_models else "models"


def detectable_difference(variance: float, df: float, *, level: float = 0.95, power: float = 0.8) -> float:
    """The smallest true difference that a two-sided t finds with this power: noncentral t(df, d / sqrt V) [13].

    >>> round(detectable_difference(1.0, 1e6), 3)      # 1.960 + 0.842 standard errors
    2.802
    """
    if variance == 0:
        return 0.0
    if not (variance > 0 and df > 0):
        return np.nan
    critical = float(special.stdtrit(df, 0.5 + level / 2))
    return float(special.nctdtrinc(df, 1 - power, critical)) * float(np.sqrt(variance))
