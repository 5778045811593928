"""Is the sweep whole, and is it one sweep? A mean over nine cells is not the mean over ten."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from segcv.errors import RunError

SHOWN = 12        # missing cells named one by one; more are counted


def own_seeds(runs: pd.DataFrame) -> bool:
    """Whether every repeat that was run has one seed, and no two the same: a new partition with a new seed each.

    >>> own_seeds(pd.DataFrame({"repeat": [0, 0, 1, 1], "fold": [0, 1, 0, 1], "seed": [0, 0, 1, 1]}))
    True
    """
    columns = runs[["repeat", "seed"]].drop_duplicates() if "repeat" in runs else runs[["seed"]].assign(repeat=0)
    return bool(columns["repeat"].nunique() > 1 and columns["repeat"].is_unique and columns["seed"].is_unique)


def asked_columns(runs: pd.DataFrame, *, repeats: int, seeds: Sequence[int],
                  own: bool) -> tuple[tuple[int, int], ...]:
    """The passes (repeat, seed) of a grid: each repeat with each seed, or, with `own`, each with its own seed, a
    repeat that was not run with the one of its number, or else the next that is free."""
    if not own:
        return tuple((r, s) for r in range(repeats) for s in sorted(set(map(int, seeds))))
    known = dict(zip(map(int, runs["repeat"]), map(int, runs["seed"]), strict=True))
    columns: list[tuple[int, int]] = []
    for r in range(repeats):
        taken = {*known.values(), *(s for _, s in columns)}
        free = r if r not in taken else next(s for s in range(repeats + len(taken) + 1) if s not in taken)
        columns.append((r, known.get(r, free)))
    return tuple(columns)


def missing_cells(runs: pd.DataFrame, *, folds: int, repeats: int = 1, seeds: Sequence[int] = (0,),
                  own: bool = False) -> pd.DataFrame:
    """The cells (repeat, fold, seed) of the asked grid that no run fills, in that order.

    A table without a column `repeat` is repeat 0. With `own` each repeat has its own seed, see `own_seeds`.

    >>> runs = pd.DataFrame({"fold": [0, 1], "seed": [0, 0]})
    >>> missing_cells(runs, folds=3).to_dict("records")
    [{'repeat': 0, 'fold': 2, 'seed': 0}]
    """
    repeat = runs["repeat"] if "repeat" in runs else [0] * len(runs)
    there = set(zip(map(int, repeat), map(int, runs["fold"]), map(int, runs["seed"]), strict=True))
    columns = asked_columns(runs, repeats=repeats, seeds=seeds, own=own)
    cells = sorted((r, k, s) for r, s in columns for k in range(folds))
    absent = [cell for cell in cells if cell not in there]
    return pd.DataFrame(absent, columns=["repeat", "fold", "seed"], dtype="int64")


def rest_commands(missing: pd.DataFrame, *, overrides: str = "",
                  command: str = "python -m segcv.train") -> tuple[str, ...]:
    """What to type for the missing cells: as few commands as cover them exactly; `overrides` are appended to each.

    >>> cells = pd.DataFrame({"repeat": [0, 0], "fold": [1, 2], "seed": [0, 0]})
    >>> rest_commands(cells)
    ('python -m segcv.train -m fold=1,2',)
    """
    folds_of: dict[tuple[int, int], tuple[int, ...]] = {}
    cells = missing[["repeat", "fold", "seed"]].sort_values(["repeat", "seed", "fold"])
    for repeat, fold, seed in cells.itertuples(index=False):
        folds_of[int(repeat), int(seed)] = (*folds_of.get((int(repeat), int(seed)), ()), int(fold))
    seeds_of: dict[tuple[int, tuple[int, ...]], list[int]] = {}
    for (repeat, seed), folds in folds_of.items():
        seeds_of.setdefault((repeat, folds), []).append(seed)
    repeats_of: dict[tuple[tuple[int, ...], tuple[int, ...]], list[int]] = {}
    for (repeat, folds), seeds in seeds_of.items():
        repeats_of.setdefault((folds, tuple(seeds)), []).append(repeat)
    said = []
    for (folds, seeds_), repeats in repeats_of.items():
        settings = [f"fold={_listed(folds)}"]
        settings += [f"seed={_listed(seeds_)}"] if seeds_ != (0,) else []
        settings += [f"repeat={_listed(repeats)}"] if repeats != [0] else []
        many = any("," in setting for setting in settings)
        said.append(f"{command} {'-m ' if many else ''}{' '.join(settings)} {overrides}".rstrip())
    return tuple(said)


def check_complete(
    runs: pd.DataFrame, *, folds: int, repeats: int = 1, seeds: Sequence[int] = (0,), allow_missing: bool = False,
    overrides: str = "", command: str = "python -m segcv.train", own: bool = False, of: str = "",
) -> pd.DataFrame:
    """The missing cells of a sweep that may be reported: none, or those of a first look, or those that are allowed.

    A single finished run, of a single candidate, is a first look and passes with the rest listed. `own` as in
    `missing_cells`; `of` names the candidate where there are several.

    Raises:
        RunError: cells are missing, some are there twice, or a cell lies outside the asked grid.
    """
    cells = pd.DataFrame({"repeat": runs.get("repeat", 0), "fold": runs["fold"],
                          "seed": runs["seed"]}).astype("int64")
    twice = cells[cells.duplicated()]
    if len(twice):
        raise RunError(f"{_cell(twice.iloc[0], repeats)} is there more than once for one candidate; "
                       "keep one of the runs, or give them different candidate names.")
    columns = asked_columns(cells, repeats=repeats, seeds=seeds, own=own)
    outside = cells[(cells["fold"] >= folds) | ~pd.MultiIndex.from_frame(cells[["repeat", "seed"]]).isin(columns)]
    if len(outside):
        raise RunError(f"{_cell(outside.iloc[0], repeats)} was run but not asked for: the report is about {folds} "
                       f"folds, {repeats} repeat{'s' if repeats > 1 else ''} and seed={_listed(sorted(seeds))}. "
                       "Ask for it as well, or take the run away.")
    missing = missing_cells(cells, folds=folds, repeats=repeats, seeds=seeds, own=own)
    if len(missing) and not allow_missing and (len(cells) != 1 or of):
        named = ", ".join(_cell(row, repeats) for _, row in missing.head(SHOWN).iterrows())
        more = f" and {len(missing) - SHOWN} more" if len(missing) > SHOWN else ""
        raise RunError(f"{f'{of}: ' if of else ''}{named}{more} {'is' if len(missing) == 1 else 'are'} missing: "
                       f"{len(cells)} of {folds * len(columns)} runs are there, and their mean is not the mean of all. "
                       f"Run the rest: {' ; '.join(rest_commands(missing, overrides=overrides, command=command))} "
                       "(or report what is there, marked: allow_missing=true).")
    return missing


def check_one_sweep(runs: pd.DataFrame) -> None:
    """Nothing, when all runs share one data_id, one split_id and, within a candidate, one config_id.

    Raises:
        RunError: two are mixed; both are named.
    """
    for column, what, cure in (
        ("data_id", "data", "Train the older runs again on the data as it is now"),
        ("split_id", "splits", "Aggregate one split at a time"),
    ):
        if column in runs:
            _refuse_mixed(runs, column, f"These runs used different {what}", cure)
    if "config_id" in runs:
        candidates = runs.groupby("candidate", sort=True) if "candidate" in runs else [("the candidate", runs)]
        for candidate, rows in candidates:
            _refuse_mixed(rows, "config_id", f"Runs of candidate {candidate!r} used different settings",
                          "Give each setting its own candidate name")


def _refuse_mixed(runs: pd.DataFrame, column: str, what: str, cure: str) -> None:
    found = sorted(map(str, runs[column].unique()))
    if len(found) > 1:
        first, second = (runs[runs[column].astype("str") == name].iloc[0] for name in found[:2])
        raise RunError(f"{what}: {column} {found[0]} (e.g. {_cell(first, 1)}) and {column} {found[1]} "
                       f"(e.g. {_cell(second, 1)}){f' and {len(found) - 2} more' if len(found) > 2 else ''}. "
                       f"Scores of one are not comparable with scores of the other. {cure}.")


def _cell(row: pd.Series, repeats: int) -> str:
    repeat = f"repeat={int(row['repeat'])} " if repeats > 1 else ""
    return f"{repeat}fold={int(row['fold'])} seed={int(row['seed'])}"


def _listed(numbers: Sequence[int]) -> str:
    return ",".join(str(int(number)) for number in numbers)
