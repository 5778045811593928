"""What goes with low scores: features of groups, distance from the training groups, and whether difficulty stays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

from segcv.errors import TableError
from segcv.statistics.any_table import Table, table_groups
from segcv.statistics.by_group import GroupScores
from segcv.statistics.candidates import holm
from segcv.statistics.estimate import THESE_MODELS, Estimate
from segcv.statistics.intervals import FEWEST_GROUPS, midranks, student_t
from segcv.statistics.permutation import chunks, permuted
from segcv.statistics.scored import Floats

FEWEST = 10                    # groups; below, one group decides every correlation
SPARE = 5                      # groups beyond the coefficients, at least
DRAWS = 9_999
TOO_FEW = f"fewer than {FEWEST} groups: with so few one group decides any relation, and nothing is said"
SEEN = "seen beside each other, not caused; groups are exchanged, and features may stand for one another"
WHOLE_LINE = (-np.inf, np.inf)


@dataclass(frozen=True, slots=True, eq=False)
class FeatureTests:
    """One row per feature: rank correlation with the group score, permutation p-value, Holm-adjusted p-value, groups.

    `left_out` names features that are no number, or are the same in all groups. An empty table has a `note`.
    """

    table: pd.DataFrame
    left_out: tuple[str, ...]
    note: str


@dataclass(frozen=True, slots=True, eq=False)
class DecayCurve:
    """Score against the distance of a test group from its training groups.

    `strata`: from, to, groups, mean, sd, low, high, in equal numbers of groups by distance. `slope` is the change of
    score per unit of distance, `spread_slope` that of the distance from the line (more spread far out: above 0).
    """

    strata: pd.DataFrame
    slope: Estimate
    spread_slope: Estimate
    note: str


def feature_correlations(table: Table, features: pd.DataFrame, *, seed: int = 0, draws: int = DRAWS) -> FeatureTests:
    """Rank correlation of group scores with each feature of the groups, midranks for ties; two-sided permutation p.

    `features` is indexed by group. A group without a value is left out of that feature.

    Raises:
        TableError: a group has no row in `features`.
    """
    groups = table_groups(table)
    columns = ["feature", "rank_correlation", "p_value", "p_holm", "groups"]
    numbers, left_out = _numbers(groups, features)
    if len(groups.group_ids) < FEWEST:
        return FeatureTests(pd.DataFrame(columns=columns), left_out, TOO_FEW)
    rng = np.random.default_rng(seed)
    there = np.isfinite(numbers.to_numpy(dtype=float))
    kept = [name for name, seen in zip(numbers, there.T, strict=True)
            if seen.sum() >= FEWEST and numbers[name].nunique() > 1]
    left_out = (*left_out, *(str(name) for name in numbers if name not in kept))
    rows = []
    patterns: dict[bytes, list[Any]] = {}                        # features that know the same groups share the draws
    for name in kept:
        patterns.setdefault(np.isfinite(numbers[name].to_numpy(dtype=float)).tobytes(), []).append(name)
    for pattern, names in patterns.items():
        seen = np.frombuffer(pattern, dtype=bool)
        y = _standard(midranks(groups.means[seen]))
        x = np.stack([_standard(midranks(numbers[name].to_numpy(dtype=float)[seen])) for name in names], axis=1)
        found = np.sum(y[:, None] * x, axis=0)                                       # features
        beyond = np.zeros(len(names), np.int64)
        for size in chunks(draws, len(y)):
            beyond += np.sum(np.abs(permuted(y, size, rng) @ x) >= np.abs(found) * (1 - 1e-12), axis=0)
        rows += [(str(name), float(found[at]), (1 + int(beyond[at])) / (draws + 1), np.nan, len(y))
                 for at, name in enumerate(names)]
    result = pd.DataFrame(rows, columns=columns)
    result["p_holm"] = holm(result["p_value"].to_list())
    ordered = result.sort_values(["p_value", "feature"], kind="stable").reset_index(drop=True)
    return FeatureTests(ordered, left_out, SEEN)


def feature_regression(table: Table, features: pd.DataFrame, *, level: float = 0.95) -> FeatureTests:
    """Several features at once: change of the group score per SD of each, with HC3 errors and t(G - p - 1).

    HC3 (MacKinnon & White 1985) holds where groups differ in spread, and is the safest of its kind with few groups.
    """
    groups = table_groups(table)
    columns = ["feature", "per_sd", "standard_error", "low", "high", "p_value", "groups"]
    numbers, left_out = _numbers(groups, features)
    kept = [name for name in numbers if numbers[name].nunique() > 1]
    left_out = (*left_out, *(str(name) for name in numbers if name not in kept))
    whole = numbers[kept].notna().all(axis=1).to_numpy()
    count = int(whole.sum())
    empty = pd.DataFrame(columns=columns)
    if count < FEWEST:
        return FeatureTests(empty, left_out, TOO_FEW)
    if not kept or count - len(kept) - 1 < SPARE:
        return FeatureTests(empty, left_out, f"{count} groups for {len(kept)} features: at least {SPARE} groups more "
                                             "than coefficients are needed; choose fewer features")
    x = numbers.loc[whole, kept].to_numpy(dtype=float)
    design = np.column_stack([np.ones(count), (x - x.mean(axis=0)) / x.std(axis=0, ddof=1)])
    if np.linalg.matrix_rank(design) < design.shape[1]:
        return FeatureTests(empty, left_out, "some features are sums of others: leave one of them out")
    beta, covariance = hc3(design, groups.means[whole])
    df = count - len(kept) - 1
    rows = []
    for place, name in enumerate(kept, start=1):
        error = float(np.sqrt(covariance[place, place]))
        low, high = student_t(float(beta[place]), error**2, df, level=level, bounds=WHOLE_LINE)
        p_value = float(2 * special.stdtr(df, -abs(beta[place]) / error)) if error > 0 else np.nan
        rows.append((str(name), float(beta[place]), error, low, high, p_value, count))
    return FeatureTests(pd.DataFrame(rows, columns=columns), left_out, SEEN)


def decay_curve(
    table: Table, distance: pd.Series, *, strata: int = 4, level: float = 0.95, unit: str = "score",
) -> DecayCurve:
    """How score and spread change with the distance (indexed by group) of a test group from its training groups.

    The slope is by least squares over groups, HC3 errors, t(G - 2). Up to `strata` strata hold equal numbers of groups,
    5 or more where there are two times as many; one of fewer has no interval.

    Raises:
        TableError: a group has no distance.
    """
    groups = table_groups(table)
    numbers, _ = _numbers(groups, distance.to_frame("distance"))
    x, y = numbers["distance"].to_numpy(dtype=float), groups.means
    if not np.isfinite(x).all():
        at = int(np.flatnonzero(~np.isfinite(x))[0])
        raise TableError(f"Group {groups.group_ids[at]} has no distance; give every group one.")
    order = np.lexsort((y, x))
    rows = []
    for part in np.array_split(order, min(strata, len(order), max(2, len(order) // FEWEST_GROUPS))):
        mean, sd = float(y[part].mean()), float(y[part].std(ddof=1)) if len(part) > 1 else np.nan
        low, high = (student_t(mean, sd**2 / len(part), len(part) - 1, level=level, bounds=WHOLE_LINE)
                     if len(part) >= FEWEST_GROUPS else (np.nan, np.nan))
        rows.append((float(x[part].min()), float(x[part].max()), len(part), mean, sd, low, high))
    found = pd.DataFrame(rows, columns=["from", "to", "groups", "mean", "sd", "low", "high"])
    why = TOO_FEW if len(x) < FEWEST else "all groups are equally far" if np.ptp(x) == 0 else ""
    slope, residual = _slope(x, y, why, "score per unit of distance", unit, level)
    spread, _ = _slope(x, np.abs(residual), why, "spread per unit of distance", unit, level)
    return DecayCurve(found, slope, spread, why or SEEN)


def training_distance(table: Table, features: pd.DataFrame) -> pd.Series:
    """Distance of each group from the nearest training group of its fold, in features divided by their SD, by group.

    Missing features count as the mean; features that are the same everywhere do not count.

    >>> table = pd.DataFrame({"fold": [0, 1, 1], "group": list("abc"), "image": list("abc"), "score": [.5, .6, .7]})
    >>> training_distance(table, pd.DataFrame({"x": [0.0, 1.0, 2.0]}, index=list("abc"))).tolist()
    [1.0, 1.0, 2.0]
    """
    groups = table_groups(table)
    numbers, _ = _numbers(groups, features)
    x = numbers.to_numpy(dtype=float)
    spread = np.nanstd(x, axis=0, ddof=1) if len(x) > 1 else np.zeros(x.shape[1])
    used = spread > 0
    z = np.nan_to_num((x[:, used] - np.nanmean(x[:, used], axis=0)) / spread[used])
    fold = groups.fold[:, 0]
    found = np.full(len(z), np.nan)
    for k in np.unique(fold):
        apart = z[fold == k][:, None, :] - z[fold != k][None, :, :]                # held out x training x features
        found[fold == k] = np.sqrt(np.sum(apart**2, axis=2)).min(axis=1, initial=np.inf)
    return pd.Series(found, index=list(groups.group_ids))


def difficulty_stability(table: Table, *, level: float = 0.95) -> Estimate:
    """Mean rank correlation of group scores between every two columns: 1, the same groups are hard each time.

    Columns are seeds or repeats. Interval by leaving out one group at a time, t(G - 1).
    """
    groups = table_groups(table)
    count, columns = groups.scores.shape
    what = f"rank correlation of group scores between columns, {THESE_MODELS}"
    why = ("one column: run seed=0,1,2 or repeats" if columns < 2 else TOO_FEW if count < FEWEST else
           "" if groups.complete else "not every group was scored in every column")
    if not why and np.any(np.ptp(groups.scores, axis=0) == 0):
        why = "all groups score alike in a column"
    if why:
        return Estimate(np.nan, level=level, method="mean Spearman", target=what, unit="rank correlation", groups=count,
                        runs=columns, note=why)
    value = _mean_spearman(groups.scores)
    without = np.array([_mean_spearman(np.delete(groups.scores, g, axis=0)) for g in range(count)])
    variance = float((count - 1) / count * np.sum((without - without.mean()) ** 2))
    low, high = student_t(value, variance, count - 1, level=level, bounds=(-1.0, 1.0))
    return Estimate(value, low, high, level, "mean Spearman, delete-one-group jackknife", what, "rank correlation",
                    groups=count, runs=columns)


def hc3(design: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Least-squares coefficients and their HC3 covariance: X⁺ diag((residual / (1 - leverage))²) X⁺'.

    Sums over groups are einsum's, whose bits do not change with the number of threads.
    """
    inverse = np.einsum("ij,gj->ig", np.linalg.inv(np.einsum("gi,gj->ij", design, design)), design)
    beta = np.einsum("ig,g->i", inverse, y)
    leverage = np.einsum("gi,ig->g", design, inverse)
    residual = y - np.einsum("gi,i->g", design, beta)
    apart = np.divide(residual, 1 - leverage, out=np.zeros(len(y)), where=leverage < 1 - 1e-12)
    return beta, np.einsum("ig,jg->ij", inverse * apart**2, inverse)


def _slope(x: Floats, y: Floats, why: str, what: str, unit: str, level: float) -> tuple[Estimate, Floats]:
    target = f"{what}, {THESE_MODELS}"
    method = f"least squares over groups, HC3, df {len(x) - 2}"
    if why:
        return Estimate(np.nan, level=level, method=method, target=target, unit=unit, groups=len(x), note=why), y * 0
    centred = x - x.mean()
    design = np.column_stack([np.ones(len(x)), centred])
    beta, covariance = hc3(design, y)
    low, high = student_t(float(beta[1]), float(covariance[1, 1]), len(x) - 2, level=level, bounds=WHOLE_LINE)
    slope = Estimate(float(beta[1]), low, high, level, method, target, unit, groups=len(x))
    return slope, y - beta[0] - beta[1] * centred


def _numbers(groups: GroupScores, features: pd.DataFrame) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """The number columns of `features` in the order of the groups, and the names of the others."""
    table = features.set_axis(features.index.astype("str"))
    absent = [name for name in groups.group_ids if name not in table.index]
    if absent:
        raise TableError(f"Group {absent[0]} has no row in the table of group features ({len(absent)} such groups).")
    table = table.loc[list(groups.group_ids)]
    numbers = table.select_dtypes(include=["number", "bool"])
    return numbers.astype(float), tuple(str(name) for name in table if name not in numbers)


def _standard(ranks: Floats) -> Floats:
    centred = ranks - ranks.mean()
    length = float(np.sqrt(np.sum(centred**2)))
    standard: Floats = centred / length if length > 0 else centred
    return standard


def _mean_spearman(scores: Floats) -> float:
    standard = np.stack([_standard(midranks(scores[:, s])) for s in range(scores.shape[1])])
    return float(np.einsum("sg,tg->st", standard, standard)[np.triu_indices(len(standard), 1)].mean())
