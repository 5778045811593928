"""The scores of all runs of one candidate in the shape that statistics works on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from segcv.errors import RunError, TableError
from segcv.metrics import Counts, counts_from_rows
from segcv.tables import SCORES

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
PLACE = ("repeat", "fold", "seed")


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
    table = SCORES.check(scores, where="scores")
    if table.empty:
        raise RunError("There are no scores to report; run one fold first: python -m segcv.train fold=0")
    if runs is not None:
        table = _placed(table.drop(columns=[name for name in PLACE if name in table]), runs)
    if "repeat" not in table:
        table["repeat"] = 0
    absent = [name for name in PLACE if name not in table]
    if absent:
        raise TableError(f"scores: column {absent[0]} is missing. Join the runs: each row needs repeat, fold and seed.")
    head = table.drop_duplicates(["run_id", "image_id"])[
        ["run_id", *PLACE, "image_id", "group_id", "source_id"]].astype(dict.fromkeys(PLACE, "int64"))
    _refuse_torn(table)
    head = head.sort_values(["repeat", "seed", "fold", "image_id"], kind="stable").reset_index(drop=True)
    order = pd.MultiIndex.from_frame(head[["run_id", "image_id"]])
    row = order.get_indexer(pd.MultiIndex.from_frame(table[["run_id", "image_id"]]))
    _, classes, counts = counts_from_rows(
        row, table["class_id"], tp=table["tp"], fp=table["fp"], fn=table["fn"], valid=table["valid"])
    group_ids, group = np.unique(head["group_id"].to_numpy(dtype=object), return_inverse=True)
    return ScoredImages(head, counts, _names(classes, class_names),
                        head.groupby(["repeat", "seed"], sort=True).ngroup().to_numpy().astype(np.int64),
                        group.astype(np.int64), tuple(map(str, group_ids)))


def _placed(table: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    place = runs.assign(repeat=runs.get("repeat", 0))[["run_id", *PLACE]]
    unknown = sorted(set(table["run_id"]) - set(place["run_id"].astype("str")))
    if unknown:
        raise TableError(f"scores: run {unknown[0]} is not in the runs table ({len(unknown)} such runs).")
    return table.merge(place.assign(run_id=place["run_id"].astype("str")), on="run_id", how="left", validate="m:1")


def _refuse_torn(table: pd.DataFrame) -> None:
    for one, several, what in (("image_id", ["group_id"], "is in two groups"),
                               ("run_id", list(PLACE), "is in two places")):
        pairs = table[[one, *several]].drop_duplicates()
        torn = pairs[pairs[one].duplicated(keep=False)]
        if len(torn):
            name = torn[one].iloc[0]
            found = torn.loc[torn[one] == name, several].astype("str").agg(" ".join, axis=1).tolist()
            raise RunError(f"{one} {name} {what}: {found[0]} and {found[1]}. The runs come from different splits.")
    head = table[["run_id", *PLACE, "image_id"]].drop_duplicates()
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
