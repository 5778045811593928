"""All images of one run, from files to tables."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pandas as pd

from segcv.scoring.items import score_item
from segcv.scoring.patches import place_of, scored_ids
from segcv.scoring.plans import RunPlan
from segcv.scoring.stitching import Patch, Source, score_source
from segcv.scoring.streaming import in_order
from segcv.scoring.tally import Item, Reading, Scored
from segcv.scoring.writing import RunScores, writing_scores
from segcv.tables import Progress, quiet

UNITS_PER_PROCESS = 4         # fewer are scored sooner than a process starts


def score_run(plan: RunPlan, reading: Reading, *, run_id: str, out: Path, workers: int = 1,
              progress: Progress = quiet) -> RunScores:
    """The RunScores of a run, its tables written into `out`.

    Images stream through `workers` processes; memory grows by the counts of each image, images x classes, and by
    nothing else, and the tables are the same bytes for any `workers`.

    Raises:
        MaskError, ImageFileError, ScoreError: a file cannot be read or scored; no table is written.
    """
    units = units_of(plan.rows, run_id)
    processes = min(workers, len(units) // UNITS_PER_PROCESS)
    with writing_scores(out, histograms=reading.keeps_histograms) as writer:
        work = in_order(partial(_score, reading=reading), units, workers=processes)
        for scored in progress(work, total=len(units), what=f"scoring fold {plan.fold} seed {plan.seed}"):
            writer.add(scored)
        writer.refuse_misread(reading.labels.n_classes)
        writer.warn()
    return writer.scores()


def units_of(rows: pd.DataFrame, run_id: str) -> list[Item | Source]:
    """What is scored as one, sorted by id: an image, or a source whose patches overlap.

    Raises:
        ScoreError: overlapping patches cannot be put together; see `scored_ids`.
    """
    rows = rows if "plane" in rows else rows.assign(plane=-1)
    ordered = rows.assign(scored_id=scored_ids(rows)).sort_values(["scored_id", "image_id"], kind="stable")
    alone = ordered[ordered["scored_id"].eq(ordered["image_id"])]
    columns = (alone[name] for name in ("image_id", "group_id", "source_id", "mask_path", "path", "plane"))
    units: dict[str, Item | Source] = {
        image_id: Item(run_id, image_id, group_id, source_id, Path(mask), Path(path), int(plane))
        for image_id, group_id, source_id, mask, path, plane in zip(*columns, strict=True)}
    for source_id, inside in ordered[~ordered["scored_id"].isin(units)].groupby("scored_id", sort=True):
        patches = sorted((Patch(row["image_id"], place_of(row), Path(row["mask_path"]), Path(row["path"]))
                          for _, row in inside.iterrows()), key=lambda patch: (patch.place, patch.image_id))
        units[str(source_id)] = Source(run_id, str(source_id), str(inside["group_id"].iloc[0]), tuple(patches))
    return [units[scored_id] for scored_id in sorted(units)]


def _score(unit: Item | Source, reading: Reading) -> Scored:
    return score_source(unit, reading) if isinstance(unit, Source) else score_item(unit, reading)
