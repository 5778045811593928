"""Two candidates and more in a plain table of fold scores: paired differences on the same folds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import pandas as pd
from scipy import special

from segcv.errors import RunError
from segcv.statistics.candidates import holm
from segcv.statistics.complete import check_one_sweep
from segcv.statistics.estimate import THE_RECIPE, Estimate
from segcv.statistics.intervals import student_t
from segcv.statistics.results import refuse_undefined, results_table

ROUNDING = 1e-12         # differences of scores that are no further apart are equal


@dataclass(frozen=True, slots=True)
class ResultsComparison:
    """Paired difference of two candidates on the same folds, first minus second.

    `t_plain` is the paired t on folds; `t_corrected` corrects its variance for shared training images (Nadeau &
    Bengio 2003). `mean_difference` carries the corrected interval. `p_holm` is the corrected p among all pairs that
    were compared, and decides the verdict.
    """

    first: str
    second: str
    mean_difference: Estimate
    t_plain: float
    t_corrected: float
    degrees_of_freedom: int
    p_plain: float
    p_corrected: float
    p_holm: float
    verdict: str


def compare_all_results(
    results: pd.DataFrame, candidates: Sequence[str], *, folds: int | None = None, level: float = 0.95,
    unit: str = "score",
) -> tuple[ResultsComparison, ...]:
    """`compare_results` of every pair of the candidates; p and verdicts are adjusted for their number (Holm).

    Raises:
        RunError: as `compare_results` does.
    """
    pairs = [compare_results(results, first, second, folds=folds, level=level, unit=unit)
             for first, second in combinations(candidates, 2)]
    adjusted = holm([pair.p_corrected for pair in pairs])
    return tuple(pair if np.isnan(p) else replace(
        pair, p_holm=float(p), verdict=_verdict(pair.first, pair.second, pair.mean_difference, float(p)))
        for pair, p in zip(pairs, adjusted, strict=True))


def compare_results(
    results: pd.DataFrame, first: str, second: str, *, folds: int | None = None, level: float = 0.95,
    unit: str = "score",
) -> ResultsComparison:
    """First minus second, paired by fold (seeds averaged first), with the plain and the corrected paired t [12].

    t_corrected divides by sqrt(s2_d (1/J + 1/(K-1))): J fold differences, K folds in a repeat, J - 1 degrees of
    freedom. Folds beyond 5 share most of their training images; the plain t is too sure. Where all folds differ alike
    (as a copied table does), their spread cannot be seen: no t, no interval, no verdict.

    Raises:
        RunError: a candidate is unknown, splits are mixed, a cell has no score, or the two were not run on the same
            cells.
    """
    table = results_table(results)
    known = sorted(table["candidate"].unique())
    for name in (first, second):
        if name not in known:
            raise RunError(f"Candidate {name!r} is not in the results, which hold {', '.join(known)}.")
    table = table[table["candidate"].isin([first, second])]
    check_one_sweep(table)
    refuse_undefined(table)
    cells = {name: rows.set_index(["repeat", "fold", "seed"])["score"]
             for name in (first, second) for rows in [table[table["candidate"] == name]]}
    odd = sorted(set(cells[first].index) ^ set(cells[second].index))
    if odd:
        repeat, fold, seed = odd[0]
        lacks = second if odd[0] in cells[first].index else first
        raise RunError(f"fold={fold} seed={seed}{f' repeat={repeat}' if repeat else ''} is missing for {lacks!r}; "
                       "candidates are compared on the same cells only. Run it, or leave the cell out of both.")
    difference = (cells[first] - cells[second]).groupby(level=["repeat", "fold"]).mean()
    count = len(difference)
    k = folds if folds is not None else int(table["fold"].nunique())
    if count < 2 or k < 2:
        raise RunError("Two candidates cannot be compared on one fold; run the other folds.")
    mean, variance = float(difference.mean()), float(difference.var(ddof=1))
    if variance <= ROUNDING**2:
        why = f"all {count} folds differ alike: the spread of the difference cannot be seen, so nothing is tested"
        alike = Estimate(mean, level=level, method="none", target=f"{first} minus {second}, {THE_RECIPE}", unit=unit,
                         runs=len(table), note=why)
        return ResultsComparison(first, second, alike, np.nan, np.nan, count - 1, np.nan, np.nan, np.nan, why)
    factor = 1 / count + 1 / (k - 1)
    plain, corrected = mean / float(np.sqrt(variance / count)), mean / float(np.sqrt(variance * factor))
    p_plain, p_corrected = (2 * float(special.stdtr(count - 1, -abs(t))) for t in (plain, corrected))
    low, high = student_t(mean, variance * factor, count - 1, level=level,
                          bounds=(-1.0, 1.0) if table["score"].between(0, 1).all() else (-np.inf, np.inf))
    estimate = Estimate(mean, low, high, level, f"corrected resampled t, df {count - 1}",
                        f"{first} minus {second}, {THE_RECIPE}", unit, runs=len(table))
    return ResultsComparison(first, second, estimate, plain, corrected, count - 1, p_plain, p_corrected, p_corrected,
                             _verdict(first, second, estimate, p_corrected))


def _verdict(first: str, second: str, difference: Estimate, p_value: float) -> str:
    if p_value < 1 - difference.level:
        return f"{first if difference.value > 0 else second} better"
    return ("not separable with these runs; the interval of the difference is "
            f"{difference.low:.4f} to {difference.high:.4f}")
