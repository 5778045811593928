"""The split and the scores of a sweep, each run's of exactly the images that its fold holds out."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict
from pathlib import Path

import pandas as pd

from segcv.errors import RunError, SplitError
from segcv.runs import RunRecord
from segcv.scoring import read_confusion, read_scores, scored_ids
from segcv.splits import Split, fold_roles, read_split
from segcv.sweeps.choosing import Sweep
from segcv.sweeps.excluding import without


def split_of(record: RunRecord) -> Split:
    """The split a run was made under, checked to be the same still."""
    split = read_split(Path(record.split_folder))
    if split.split_id != record.split_id:
        raise SplitError(f"{split.folder} is now split {split.split_id}; the runs were made under {record.split_id}. "
                         "Bring the old split folder back, or run again.")
    return split


def scores_of(runs: Path, sweep: Sweep, split: Split) -> pd.DataFrame:
    """The scores of all runs of a sweep, each of exactly the images that its fold of the split holds out."""
    tables = []
    held_out: dict[tuple[int, int], set[str]] = {}
    for record in sweep:
        scores = read_scores(runs / record.run_id)
        cell = (record.repeat, record.fold)
        if cell not in held_out:
            roles = fold_roles(split, *cell)
            held_out[cell] = set(scored_ids(roles[roles["role"] == "held_out"]))
        wrong = set(scores["image_id"].unique()) ^ held_out[cell]
        if wrong or set(scores["run_id"].unique()) != {record.run_id}:
            raise RunError(f"{runs / record.run_id}: its scores are not those of the images that fold "
                           f"{record.fold} holds out ({len(wrong)} differ{': ' + min(wrong) if wrong else ''}). Delete "
                           "this run's folder and run it again.")
        tables.append(scores)
    return pd.concat(tables, ignore_index=True)


def train_scores_of(runs: Path, sweep: Sweep) -> pd.DataFrame | None:
    """The scores on training images, where every run has them; shown beside, never used by statistics."""
    folders = [runs / record.run_id / "train_scores" for record in sweep]
    if not all(folder.is_dir() for folder in folders):
        return None
    return pd.concat([read_scores(folder) for folder in folders], ignore_index=True)


def table_of(sweep: Sweep) -> pd.DataFrame:
    """The run records as a table."""
    return pd.DataFrame([{key: value for key, value in asdict(record).items() if key != "environment"}
                         for record in sweep])


def confusion_of(runs: Path, sweep: Sweep, class_names: Sequence[str], *,
                 left_out: Collection[str] = ()) -> pd.DataFrame:
    """Pixels by true and predicted class over all runs; a last column `no class` where something else was predicted."""
    cells = pd.concat([without(read_confusion(runs / record.run_id), left_out).groupby(["truth", "predicted"])["pixels"]
                       .sum() for record in sweep])
    table: pd.DataFrame = cells.groupby(level=["truth", "predicted"]).sum().unstack("predicted", fill_value=0)
    wanted = [*range(len(class_names)), *([-1] if -1 in table.columns else [])]
    table = table.reindex(index=range(len(class_names)), columns=wanted, fill_value=0)
    table.index = pd.Index(class_names)
    table.columns = pd.Index([*class_names, *(["no class"] if -1 in wanted else [])])
    return table
