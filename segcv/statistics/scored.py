"""The scores of all runs of one candidate in the shape that statistics works on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from segcv.errors import RunError, TableError
from segcv.metrics import Counts, counts_from_rows
from segcv.tables import SCORES

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
PLACE = ("repeat", "fold", "seed")
_LONG = replace(SCORES, key=())        # repeated rows are refused when they are counted


@dataclass(frozen=True, slots=True, eq=False)
class ScoredImages:
    """Exact counts of every scored image of every run.

    `rows` has one row per run x image (run_id, repeat, fold, seed, image_id, group_id, source_id), sorted by
    repeat, seed, fold and image_id; `counts` has the same rows. `column` numbers the passes over all folds: one
    per repeat and seed.
    """

    rows: pd.DataFrame
    counts: Counts
    class_names: tuple[str, ...]
    column: Ints              # rows -> 0..columns-1
    group: Ints               # rows -> index into group_ids
    group_ids: tuple[str, ...]

    @property
    def columns(self) -> int:
        """Passes over all folds: repeats x seeds."""
        return int(self.column.max()) + 1 if len(self.column) else 0

    @property
    def runs(self) -> int:
        """Number of trained networks."""
        return int(self.rows["run_id"].nunique())

    @property
    def repeats(self) -> int:
        """Number of partitions."""
        return int(self.rows["repeat"].nunique())

    @property
    def seeds(self) -> int:
        """Number of seeds."""
        return int(self.rows["seed"].nunique())

    @property
    def folds(self) -> int:
        """Number of folds scored, within a repeat."""
        return int(self.rows["fold"].nunique())

    def take(self, chosen: NDArray[np.bool_]) -> ScoredImages:
        """The rows where `chosen` is true; groups and columns keep their numbers."""
        return ScoredImages(self.rows[chosen].reset_index(drop=True), self.counts.take(chosen), self.class_names,
                            self.column[chosen], self.group[chosen], self.group_ids)

    def added(self) -> ScoredImages:
        """One row per run and group, the counts of its images added: all that pooled scores need."""
        run = pd.factorize(self.rows["run_id"])[0].astype(np.int64)
        _, first, cell = np.unique(run * len(self.group_ids) + self.group, return_index=True, return_inverse=True)
        rows = self.rows.take(first).reset_index(drop=True)
        return ScoredImages(rows.assign(image_id=rows["group_id"]), self.counts.by(cell), self.class_names,
                            self.column[first], self.group[first], self.group_ids)

    def of_class(self, number: int) -> ScoredImages:
        """The same rows with the counts of one class only."""
        return ScoredImages(self.rows, self.counts.take(classes=[number]), (self.class_names[number],), self.column,
                            self.group, self.group_ids)


def scored_images(
    scores: pd.DataFrame, *, runs: pd.DataFrame | None = None, class_names: Sequence[str] | None = None,
) -> ScoredImages:
    """The scores table with repeat, fold and seed, sorted and counted; the order of its rows does not matter.

    repeat, fold and seed are columns of `scores`, or of `runs` (one row per run_id). Classes are named by their id
    unless `class_names` gives one name for each.

    Raises:
        TableError: a column is missing, or a run is not in `runs`.
        ScoreError: an image lacks a class or has it twice.
        RunError: an image is in two groups, a run in two places, or there is no row.
    """
    table = _LONG.check(scores, where="scores")
    if table.empty:
        raise RunError("There are no scores to report; run one fold first: python -m segcv.train fold=0")
    run_of, run_ids = coded(table["run_id"])
    image_of, image_ids = coded(table["image_id"])
    group_of, group_ids = coded(table["group_id"])
    places = _places(table, run_of, run_ids, runs)
    number, pair = np.unique(run_of * len(image_ids) + image_of, return_inverse=True)      # run x image
    _refuse_torn(image_of, group_of, image_ids, group_ids)
    first = np.zeros(len(number), np.int64)
    first[pair[::-1]] = np.arange(len(table))[::-1]                                        # a pair's first row
    head = pd.DataFrame({"run_id": run_ids[run_of[first]], **{name: places[name].to_numpy()[run_of[first]]
                                                              for name in PLACE},
                         "image_id": image_ids[image_of[first]], "group_id": group_ids[group_of[first]],
                         "source_id": table["source_id"].to_numpy(dtype=object)[first]})
    order = np.lexsort((image_of[first], head["fold"], head["seed"], head["repeat"]))
    head = head.iloc[order].reset_index(drop=True)
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    _, classes, counts = counts_from_rows(
        place[pair], table["class_id"], tp=table["tp"], fp=table["fp"], fn=table["fn"], valid=table["valid"],
        names=head["image_id"])
    _refuse_twice(head)
    return ScoredImages(head, counts, _names(classes, class_names),
                        head.groupby(["repeat", "seed"], sort=True).ngroup().to_numpy().astype(np.int64),
                        group_of[first][order], tuple(map(str, group_ids)))


def coded(values: pd.Series) -> tuple[Ints, NDArray[Any]]:
    """The place of each value among the distinct ones, which are sorted."""
    codes, names = pd.factorize(values, sort=True)
    return codes.astype(np.int64), np.asarray(names, dtype=object)


def _places(table: pd.DataFrame, run_of: Ints, run_ids: NDArray[Any], runs: pd.DataFrame | None) -> pd.DataFrame:
    """repeat, fold and seed of each run, in the order of `run_ids`; from `runs`, or from the columns of the table."""
    if runs is None:
        absent = [name for name in ("fold", "seed") if name not in table]
        if absent:
            raise TableError(f"scores: column {absent[0]} is missing. Join the runs: each row needs repeat, fold and "
                             "seed.")
        given = pd.DataFrame({"run": run_of, **{name: table[name].astype("int64") if name in table else 0
                                                for name in PLACE}}).drop_duplicates()
        several = given[given["run"].duplicated(keep=False)].head(2)
        if len(several):
            found = several[list(PLACE)].astype("str").agg(" ".join, axis=1).tolist()
            raise RunError(f"run_id {run_ids[several['run'].iloc[0]]} is in two places: {found[0]} and {found[1]}. "
                           "The runs come from different splits.")
        return given.sort_values("run").reset_index(drop=True)
    place = runs.assign(repeat=runs.get("repeat", 0), run_id=runs["run_id"].astype("str"))[["run_id", *PLACE]]
    unknown = sorted(set(run_ids) - set(place["run_id"]))
    if unknown:
        raise TableError(f"scores: run {unknown[0]} is not in the runs table ({len(unknown)} such runs).")
    if place["run_id"].duplicated().any():
        raise TableError(f"runs: {place.loc[place['run_id'].duplicated(), 'run_id'].iloc[0]} is listed twice.")
    return place.set_index("run_id").loc[list(run_ids)].astype("int64").reset_index()


def _refuse_torn(image_of: Ints, group_of: Ints, image_ids: NDArray[Any], group_ids: NDArray[Any]) -> None:
    own = np.zeros(len(image_ids), np.int64)
    own[image_of] = group_of
    torn = own[image_of] != group_of
    if torn.any():
        image = image_of[torn][0]
        found = group_ids[np.unique(group_of[image_of == image])]
        raise RunError(f"image_id {image_ids[image]} is in two groups: {found[0]} and {found[1]}. The runs come from "
                       "different splits.")


def _refuse_twice(head: pd.DataFrame) -> None:
    again = head[head.duplicated([*PLACE, "image_id"])]
    if len(again):
        raise RunError(f"Image {again['image_id'].iloc[0]} was scored twice for fold={again['fold'].iloc[0]} "
                       f"seed={again['seed'].iloc[0]}: two runs fill one cell. Keep one.")


def _names(classes: Ints, class_names: Sequence[str] | None) -> tuple[str, ...]:
    if class_names is None:
        return tuple(f"class {number}" for number in classes)
    if len(classes) and int(classes.max()) >= len(class_names):
        raise TableError(f"scores hold class {classes.max()}, and there are {len(class_names)} class names.")
    return tuple(class_names[number] for number in classes)
