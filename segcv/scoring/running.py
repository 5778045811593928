"""All images of one run, from files to tables."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from segcv.scoring.items import score_item
from segcv.scoring.plans import RunPlan
from segcv.scoring.streaming import in_order
from segcv.scoring.tally import Item, Reading
from segcv.scoring.writing import RunScores, writing_scores
from segcv.tables import Progress, quiet


def score_run(plan: RunPlan, reading: Reading, *, run_id: str, out: Path, workers: int = 1,
              progress: Progress = quiet) -> RunScores:
    """The RunScores of a run, its tables written into `out`.

    Images stream through `workers` processes; memory grows by the counts of each image, images x classes, and by
    nothing else, and the tables are the same bytes for any `workers`.

    Raises:
        MaskError, ImageFileError, ScoreError: a file cannot be read or scored; no table is written.
    """
    rows = plan.rows
    columns = (rows[name] for name in ("image_id", "group_id", "source_id", "mask_path", "path"))
    items = (Item(run_id, image_id, group_id, source_id, Path(mask), Path(path))
             for image_id, group_id, source_id, mask, path in zip(*columns, strict=True))
    with writing_scores(out, histograms=reading.keeps_histograms) as writer:
        work = in_order(partial(score_item, reading=reading), items, workers=workers)
        for scored in progress(work, total=len(rows), what=f"scoring fold {plan.fold} seed {plan.seed}"):
            writer.add(scored)
        writer.refuse_misread(reading.labels.n_classes)
        writer.warn()
    return writer.scores()
