"""Where the spread comes from: groups, models, their interaction, images. Closed form, for any group sizes.

Brackets hold the numbers of the definitions on the methods page. The model is
y[g,i,s] = mu + a_g + t_k + m_ks + x_gs + b_gi + e_gis: group g lies in fold k, image i in group g, and each fold and
column s (a pass over all folds) has its own network, so the model effect is nested in the fold.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Sums:
    """Sums of squares of a complete table over folds x seeds, with their degrees of freedom [1]."""

    groups: int
    folds: int
    columns: int
    residual: float            # SSres: group x column within folds
    row: float                 # SSrow: groups within folds, over all columns
    column: float              # sum over folds of SScol_k
    image: float
    image_column: float
    image_df: int              # sum of (N_g - 1)
    h: float                   # mean of 1/N_g that the groups' image noise is divided by
    h_folds: float             # sum over folds of the mean of 1/N_g
    group_variance: float      # s2_g of the column means

    @property
    def residual_df(self) -> int:
        return (self.groups - self.folds) * (self.columns - 1)

    @property
    def row_df(self) -> int:
        return self.groups - self.folds

    @property
    def column_df(self) -> int:
        return self.folds * (self.columns - 1)


@dataclass(frozen=True, slots=True)
class Variances:
    """Signed variance components; each unbiased, so each may come out below zero. NaN = not identifiable."""

    group: float               # a2
    model: float               # m2
    interaction: float         # x2
    image: float               # b2
    residual: float            # e2


def sums_of_squares(scores: Floats, *, group: Ints, fold: Ints) -> Sums:
    """The sums over a complete table of image scores.

    Shapes: `scores` is images x columns without NaN; `group` and `fold` hold one index per image, and a group lies
    in one fold.
    """
    labels, group = np.unique(group, return_inverse=True)
    images, columns = scores.shape
    size = np.bincount(group)                                                       # groups
    fold_of = np.zeros(len(labels), np.int64)
    fold_of[group] = np.unique(fold, return_inverse=True)[1]
    folds = int(fold_of.max()) + 1
    in_fold = np.bincount(fold_of)                                                  # folds
    u = _sum_by(group, scores, len(labels)) / size[:, None]                         # groups x columns
    u_fold = _sum_by(fold_of, u, folds) / in_fold[:, None]                          # folds x columns
    u_g, u_k = u.mean(axis=1), u_fold.mean(axis=1)
    residual = u - u_g[:, None] - u_fold[fold_of] + u_k[fold_of][:, None]
    y = scores.mean(axis=1)
    within = scores - y[:, None] - u[group] + u_g[group][:, None]
    h_fold = np.bincount(fold_of, weights=1 / size) / in_fold
    degrees = len(labels) - folds
    return Sums(
        groups=len(labels), folds=folds, columns=columns,
        residual=float(np.sum(residual**2)),
        row=float(columns * np.sum((u_g - u_k[fold_of]) ** 2)),
        column=float(np.sum(in_fold[:, None] * (u_fold - u_k[:, None]) ** 2)),
        image=float(np.sum((y - u_g[group]) ** 2)),
        image_column=float(np.sum(within**2)),
        image_df=int(images - len(labels)),
        h=float(np.sum((in_fold - 1) * h_fold) / degrees) if degrees else np.nan,
        h_folds=float(np.sum(h_fold)),
        group_variance=float(np.var(u_g, ddof=1)) if len(labels) > 1 else np.nan,
    )


def variances(sums: Sums) -> Variances:
    """The components by the closed formulas; unbiased for any group sizes.

    Not identifiable (NaN): with one column everything but the images, with one group in every fold everything.
    """
    return Variances(*(float(part) for part in _components(
        sums, sums.residual, sums.row, sums.column / (sums.columns - 1) if sums.columns > 1 else np.nan,
        _over(sums.image_column, sums.image_df * (sums.columns - 1)), _over(sums.image, sums.image_df))))


def drawn_variances(sums: Sums, *, draws: int, rng: Generator) -> Floats:
    """Signed draws of the components by pivots [3], draws x (group, model, interaction, image, residual)."""
    def pivot(square: float, df: int) -> Floats:
        return square / rng.chisquare(df, draws) if df > 0 else np.full(draws, np.nan)

    residual = pivot(sums.residual, sums.residual_df) * sums.residual_df
    row = pivot(sums.row, sums.row_df) * sums.row_df
    column = sums.folds * pivot(sums.column, sums.column_df)
    noise = pivot(sums.image_column, sums.image_df * (sums.columns - 1))
    parts = _components(sums, residual, row, column, noise, pivot(sums.image, sums.image_df))
    return np.stack([np.broadcast_to(part, draws) for part in parts], axis=1)


def model_factor(groups_in_fold: Ints) -> float:
    """c: the share of the model variance, divided by the columns, that the group variance does not carry already [5].

    >>> round(model_factor(np.array([2, 2, 2, 2, 2])), 4)
    0.1111
    """
    sizes = np.asarray(groups_in_fold, dtype=float)
    total = sizes.sum()
    if total < 2:
        return 0.0
    together = np.sum((sizes / total) ** 2)
    return float(together - (1 - (np.sum(sizes**2) / total - 1) / (total - 1)) / total)


@dataclass(frozen=True, slots=True)
class Repeated:
    """Components and variance of the mean over repeats, groups and runs crossed [10]."""

    interaction: float
    model: float
    group: float
    variance: float            # of the mean over groups, for the recipe
    df: float


@dataclass(frozen=True, slots=True)
class RepeatedSums:
    """Sums of squares over repeats with a new partition each, groups and runs crossed [10]."""

    groups: int
    repeats: int
    run_df: int                # r = runs - 1, less where repeats share a fold
    left_df: int               # G R - G - r
    run: float                 # red: what the runs explain within groups
    left: float                # y'y - red
    group_variance: float      # s2_g of the repeats' means
    alike: float               # P: how often two groups share a fold
    factor: float              # c, averaged over repeats
    folds: float               # mean over repeats


def repeated_sums(scores: Floats, fold: Ints) -> RepeatedSums:
    """The sums over repeats with a new partition each; `scores` and `fold` are groups x repeats."""
    groups, repeats = scores.shape
    run = np.zeros((groups, repeats), np.int64)
    start, factors, alike, folds_of = 0, [], [], []
    for r in range(repeats):
        names, run[:, r] = np.unique(fold[:, r], return_inverse=True)
        sizes = np.bincount(run[:, r])
        run[:, r] += start
        start += len(names)
        folds_of.append(len(names))
        factors.append(model_factor(sizes))
        alike.append((np.sum(sizes**2) - groups) / (groups * (groups - 1)))
    member = np.zeros((groups, start))
    np.put_along_axis(member, run, 1.0, axis=1)                                     # each group is in one run a repeat
    cross = np.diag(member.sum(axis=0)) - member.T @ member / repeats               # Z'Z, Z centred per group
    y = scores - scores.mean(axis=1, keepdims=True)
    rank = int(np.sum(np.linalg.eigvalsh(cross) > 1e-9 * groups))                   # runs - 1 where all are linked
    explained = np.bincount(run.reshape(-1), weights=y.reshape(-1), minlength=start)            # Z'y
    red = float(explained @ np.linalg.pinv(cross, hermitian=True) @ explained)
    return RepeatedSums(
        groups=groups, repeats=repeats, run_df=rank, left_df=groups * repeats - groups - rank,
        run=red, left=float(np.sum(y * y)) - red, group_variance=float(np.var(scores.mean(axis=1), ddof=1)),
        alike=float(np.mean(alike)), factor=float(np.mean(factors)), folds=float(np.mean(folds_of)))


def repeated_variances(scores: Floats, fold: Ints) -> Repeated:
    """Henderson III over repeats with a new partition each.

    Shapes: `scores` and `fold` are groups x repeats; x2 and a2 contain the image noise.
    """
    sums = repeated_sums(scores, fold)
    a2, m2, x2 = (float(part) for part in _repeated_components(sums, sums.left, sums.run, sums.group_variance))
    s2, groups, repeats, c = sums.group_variance, sums.groups, sums.repeats, sums.factor
    variance = s2 / groups + max(0.0, np.nan_to_num(m2)) * c / repeats
    spread = 2 * (s2 / groups) ** 2 / (groups - 1)
    if m2 > 0:
        spread += 2 * (c * (m2 + x2 * sums.folds / groups) / repeats) ** 2 / sums.run_df
    df = float(2 * variance**2 / spread) if spread > 0 else np.nan
    return Repeated(x2, m2, a2, float(variance), df)


def drawn_repeated(sums: RepeatedSums, *, draws: int, rng: Generator) -> Floats:
    """Signed draws over repeats, draws x (group, model, interaction), by pivots: each sum of squares over a chi-square.

    The runs' sum of squares is no exact multiple of a chi-square; coverage is in the room's README.
    """
    def pivot(square: float, df: int) -> Floats:
        return square * df / rng.chisquare(df, draws) if df > 0 else np.full(draws, np.nan)

    left, run = pivot(sums.left, sums.left_df), pivot(sums.run, sums.run_df)
    return np.stack(_repeated_components(sums, left, run, pivot(sums.group_variance, sums.groups - 1)), axis=1)


def _repeated_components(
    sums: RepeatedSums, left: Floats | float, run: Floats | float, group_variance: Floats | float,
) -> tuple[Floats | float, ...]:
    """a2, m2, x2 from the sums of squares of what is left and of the runs, and the variance of group means."""
    repeats = sums.repeats
    x2 = _over(left, sums.left_df)
    m2 = (run - sums.run_df * x2) / (sums.groups * (repeats - 1)) if repeats > 1 else x2 * np.nan
    return group_variance - x2 / repeats - m2 * (1 - sums.alike) / repeats, m2, x2


def _components(sums: Sums, residual: Floats | float, row: Floats | float, column: Floats | float,
                noise: Floats | float, image: Floats | float) -> tuple[Floats | float, ...]:
    """a2, m2, x2, b2, e2 from sums of squares, a column mean square, and the two image mean squares."""
    e2 = np.nan_to_num(noise) if sums.image_df == 0 else noise
    b2 = (image - e2 / sums.columns) if sums.image_df else np.full_like(np.asarray(image), 0.0)
    ms_res, ms_row = _over(residual, sums.residual_df), _over(row, sums.row_df)
    x2 = ms_res - e2 * sums.h
    m2 = (column - sums.folds * x2 - e2 * sums.h_folds) / sums.groups
    a2 = (ms_row - ms_res) / sums.columns - b2 * sums.h
    return a2, m2, x2, b2, e2


def _over(square: Floats | float, df: int) -> Floats | float:
    return square / df if df > 0 else square * np.nan


def _sum_by(labels: Ints, values: Floats, count: int) -> Floats:
    total = np.zeros((count, values.shape[1]))
    np.add.at(total, labels, values)
    return total
