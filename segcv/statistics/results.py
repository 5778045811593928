"""A plain table of scores, one number per fold and seed, from any tool: it supports fold-level statements only."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from segcv.errors import RunError, SegcvWarning, TableError
from segcv.statistics.complete import SHOWN, check_complete, check_one_sweep, own_seeds, rest_commands
from segcv.statistics.estimate import Estimate
from segcv.statistics.folds import FoldStatistics, fold_cautions, fold_estimate, fold_statistics
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
SHARE = re.compile(r"iou|dice|jaccard|accura|precision|recall|f1|auroc|auc", re.IGNORECASE)
FACTS = re.compile(r"(n|num|number|count)_\w+|\w+_count|images|groups|seconds|epochs?", re.IGNORECASE)   # no scores
UNDEFINED = ("nan", "na", "n/a", "none", "null")        # how tools write a score that is not defined


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


def read_results(path: Path, *, score: str | None = None) -> tuple[pd.DataFrame, str]:
    """The results table in a CSV file, and the name of its score, which becomes the column `score`.

    A column `model` is taken as the candidate where there is none, a missing seed or repeat as 0. Without `score` the
    one column that is not a place, a name, an id or a number of things (n_test, seconds) is the score.

    Raises:
        TableError: there is no such file, no column or several that could be the score, a value is no number, or
            fractions and percentages are mixed.
    """
    if not path.is_file():
        raise TableError(f"{path}: there is no such file (results table).")
    table = read_csv(path)
    if "candidate" not in table and "model" in table:
        table = table.rename(columns={"model": "candidate"})
    for column, value in (("candidate", "candidate"), ("seed", "0")):
        table = table if column in table else table.assign(**{column: value})
    places = [column.name for column in RESULTS.columns if column.name != "score"]
    others = [name for name in table.columns if name not in places and not FACTS.fullmatch(name)]
    name = score if score is not None else others[0] if len(others) == 1 else "score"
    if name not in table.columns:
        found = ", ".join(others) or "none"
        raise TableError(f"{path}: which column is the score? Besides fold, seed, candidate and ids it has {found}. "
                         "Call the one to report `score`, or keep one only.")
    table = table.rename(columns={name: "score"})
    table["score"] = table["score"].mask(table["score"].str.strip().str.lower().isin(UNDEFINED), "")
    checked = results_table(table, where=str(path))
    _refuse_mixed_scales(checked, name, path)
    return checked, name


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
        RunError: a cell is missing, twice or without a score, or data, splits or settings are mixed.
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
                                 allow_missing=allow_missing, own=seeds is None and own_seeds(rows),
                                 of=str(candidate) if table["candidate"].nunique() > 1 else "")
        if not allow_missing:
            refuse_undefined(rows)
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


def _refuse_mixed_scales(table: pd.DataFrame, name: str, path: Path) -> None:
    """A share such as IoU is below 1, or in percent throughout; a distance may be anything."""
    if not SHARE.search(name):
        return
    above, below = table[table["score"] > 1], table[(table["score"] > 0) & (table["score"] <= 1)]
    if len(above) and len(below):
        raise TableError(f"{path}: {name} is a fraction in some rows (row {below.index[0] + 1}: "
                         f"{below['score'].iloc[0]:g}) and above 1, as if in percent, in others (row "
                         f"{above.index[0] + 1}: {above['score'].iloc[0]:g}; {len(above)} of {len(table)} rows). Write "
                         "all of them as fractions.")


def refuse_undefined(rows: pd.DataFrame) -> None:
    """Nothing, when every cell of the table has a score.

    Raises:
        RunError: one has none; the cells are named.
    """
    without = rows[rows["score"].isna()]
    if len(without):
        cells = [f"fold={row['fold']} seed={row['seed']} repeat={row['repeat']} ({row['candidate']})"
                 for _, row in without.iterrows()]
        more = f" and {len(cells) - SHOWN} more" if len(cells) > SHOWN else ""
        raise RunError(f"{', '.join(cells[:SHOWN])}{more} {'has' if len(cells) == 1 else 'have'} no score (blank or "
                       f"nan), as if missing: the mean of the other {len(rows) - len(cells)} cells is not the mean of "
                       f"all {len(rows)}. Run again what is missing (or report what is there: allow_missing=true).")
