"""A plain table of scores, one number per fold and seed, from any tool: it supports fold-level statements only."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import special

from segcv.errors import RunError, SegcvWarning, TableError
from segcv.statistics.complete import check_complete, check_one_sweep, own_seeds, rest_commands
from segcv.statistics.estimate import THE_RECIPE, Estimate
from segcv.statistics.folds import FoldStatistics, fold_cautions, fold_estimate, fold_statistics
from segcv.statistics.intervals import student_t
from segcv.tables import Column, Schema, read_csv

RESULTS = Schema(
    "results",
    (
        Column("candidate"), Column("repeat", "integer", required=False), Column("fold", "integer"),
        Column("seed", "integer"), Column("split_id", required=False), Column("data_id", required=False),
        Column("config_id", required=False), Column("score", "number", blank=True),
    ),
    key=("candidate", "repeat", "fold", "seed"), extra=True,
)


@dataclass(frozen=True, slots=True, eq=False)
class ResultsSummary:
    """What a table of fold scores says of one candidate; `statistics` holds the SDs, `missing` the absent cells."""

    candidate: str
    mean: Estimate
    statistics: FoldStatistics
    table: pd.DataFrame
    missing: pd.DataFrame
    rest: tuple[str, ...]
    cautions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ResultsComparison:
    """Paired difference of two candidates on the same folds, first minus second.

    `t_plain` is the paired t on folds; `t_corrected` corrects its variance for shared training images (Nadeau &
    Bengio 2003). `mean_difference` carries the corrected interval.
    """

    first: str
    second: str
    mean_difference: Estimate
    t_plain: float
    t_corrected: float
    degrees_of_freedom: int
    p_plain: float
    p_corrected: float
    verdict: str


def read_results(path: Path, *, score: str | None = None) -> tuple[pd.DataFrame, str]:
    """The results table in a CSV file, and the name of its score, which becomes the column `score`.

    A column `model` is taken as the candidate where there is none, a missing seed or repeat as 0. Without `score` the
    one column that is not a place, a name or an id is the score.

    Raises:
        TableError: there is no such file, no column or several that could be the score, or a value is no number.
    """
    if not path.is_file():
        raise TableError(f"{path}: there is no such file (results table).")
    table = read_csv(path)
    if "candidate" not in table and "model" in table:
        table = table.rename(columns={"model": "candidate"})
    for column, value in (("candidate", "candidate"), ("seed", "0")):
        table = table if column in table else table.assign(**{column: value})
    places = [column.name for column in RESULTS.columns if column.name != "score"]
    others = [name for name in table.columns if name not in places]
    name = score if score is not None else others[0] if len(others) == 1 else "score"
    if name not in table.columns:
        found = ", ".join(others) or "none"
        raise TableError(f"{path}: which column is the score? Besides fold, seed, candidate and ids it has {found}. "
                         "Call the one to report `score`, or keep one only.")
    return results_table(table.rename(columns={name: "score"}), where=str(path)), name


def results_table(table: pd.DataFrame, *, where: str = "results") -> pd.DataFrame:
    """The checked results table; a missing column `repeat` is repeat 0."""
    with_repeat = table if "repeat" in table else table.assign(repeat=0)
    return RESULTS.check(with_repeat, where=where)


def summarise_results(
    results: pd.DataFrame, *, folds: int | None = None, repeats: int | None = None, seeds: Sequence[int] | None = None,
    level: float = 0.95, unit: str = "score", allow_missing: bool = False,
) -> tuple[ResultsSummary, ...]:
    """One summary per candidate of a results table (candidate, fold, seed, score; repeat and ids where known).

    The asked grid is `folds` x `repeats` x `seeds`; where not given it is what the whole table holds. Warns of a
    single seed and of few folds.

    Raises:
        RunError: a cell is missing or twice, or data, splits or settings are mixed.
    """
    table = results_table(results)
    if table.empty:
        raise RunError("The results table has no row; run one fold first: python -m segcv.train fold=0")
    check_one_sweep(table)
    grid_folds = folds if folds is not None else int(table["fold"].max()) + 1
    grid_repeats = repeats if repeats is not None else int(table["repeat"].max()) + 1
    grid_seeds = sorted(set(seeds)) if seeds is not None else sorted(table["seed"].unique())
    summaries = []
    for candidate, rows in table.groupby("candidate", sort=True):
        missing = check_complete(rows, folds=grid_folds, repeats=grid_repeats, seeds=grid_seeds,
                                 allow_missing=allow_missing, own=seeds is None and own_seeds(rows))
        said = fold_statistics(rows, rows["score"])
        cautions = fold_cautions(said)
        if len(missing):
            cautions = (f"{len(missing)} of {len(missing) + len(rows)} runs are missing", *cautions)
        summaries.append(ResultsSummary(
            str(candidate), fold_estimate(said, unit=unit, level=level), said,
            rows.sort_values(["repeat", "fold", "seed"]).reset_index(drop=True), missing, rest_commands(missing),
            cautions))
    for text in dict.fromkeys(text for summary in summaries for text in summary.cautions):
        warnings.warn(text, SegcvWarning, stacklevel=2)
    return tuple(summaries)


def compare_results(
    results: pd.DataFrame, first: str, second: str, *, folds: int | None = None, level: float = 0.95,
    unit: str = "score",
) -> ResultsComparison:
    """First minus second, paired by fold (seeds averaged first), with the plain and the corrected paired t [12].

    t_corrected divides by sqrt(s2_d (1/J + 1/(K-1))): J fold differences, K folds in a repeat, J - 1 degrees of
    freedom. Folds beyond 5 share most of their training images; the plain t is too sure.

    Raises:
        RunError: a candidate is unknown, splits are mixed, or the two were not run on the same cells.
    """
    table = results_table(results)
    known = sorted(table["candidate"].unique())
    for name in (first, second):
        if name not in known:
            raise RunError(f"Candidate {name!r} is not in the results, which hold {', '.join(known)}.")
    table = table[table["candidate"].isin([first, second])]
    check_one_sweep(table)
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
    factor = 1 / count + 1 / (k - 1)
    plain, corrected = _ratio(mean, variance / count), _ratio(mean, variance * factor)
    p_plain, p_corrected = (2 * float(special.stdtr(count - 1, -abs(t))) for t in (plain, corrected))
    low, high = student_t(mean, variance * factor, count - 1, level=level, bounds=(-1.0, 1.0))
    estimate = Estimate(mean, low, high, level, f"corrected resampled t, df {count - 1}",
                        f"{first} minus {second}, {THE_RECIPE}", unit, runs=len(table))
    if p_corrected < 1 - level:
        verdict = f"{first if mean > 0 else second} better"
    else:
        verdict = f"not separable with these runs; the interval of the difference is {low:.4f} to {high:.4f}"
    return ResultsComparison(first, second, estimate, plain, corrected, count - 1, p_plain, p_corrected, verdict)


def _ratio(mean: float, variance: float) -> float:
    if variance > 0:
        return mean / float(np.sqrt(variance))
    return 0.0 if mean == 0 else float(np.copysign(np.inf, mean))
