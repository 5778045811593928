"""What a program left, scored as predictions from anywhere are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from segcv.errors import ScoreError
from segcv.pixels import write_mask
from segcv.scoring import Reading, check_file, find_predictions, plan_runs, refuse_overlaps, score_run
from segcv.tables import Progress, quiet

WHY = ("class ids cannot be averaged. Leave probabilities and say trainer.kind=probabilities, which are put together "
       "on their source before they are counted; or predict patches that do not overlap")


def score_left(where: str, images: pd.DataFrame, roles: pd.DataFrame, reading: Reading, *, candidate: str, repeat: int,
               fold: int, seed: int, run_id: str, out: Path, workers: int = 1, progress: Progress = quiet) -> None:
    """Score the predictions in `where` (see `find_predictions`) of the images that the fold holds out, into `out`.

    Labels are also written to `out`/masks as class ids, for pictures. `images` is the whole images table, `roles` of
    the whole split.

    Raises:
        ScoreError: one is missing, belongs to another image, has another size than its mask, or cannot be read.
    """
    found = find_predictions(where, kind=reading.form.kind)
    plans = plan_runs(found, images, roles=roles, where=where, name=candidate, repeat=repeat, fold=fold, seed=seed)
    plan = next(plan for plan in plans if plan.fold == fold)
    if plan.left_alone:
        raise ScoreError(f"{plan.left_alone} predictions in {where} are of images that fold {fold} does not hold out. "
                         "Predict the images of {test_csv} only, or say where their predictions are: "
                         "trainer.predictions='test/{image_id}.png'")
    labels = reading.labels
    if reading.form.kind == "labels":
        refuse_overlaps(plan.rows, why=WHY)
    for path in plan.rows["path"]:
        check_file(Path(path), reading.form, n_classes=labels.n_classes)
    score_run(plan, reading, run_id=run_id, out=out, workers=workers, progress=progress)
    stored = np.uint8 if labels.n_classes <= 255 else np.uint16
    for image_id, path, plane in zip(plan.rows["image_id"], plan.rows["path"], plan.rows["plane"], strict=True):
        if reading.form.kind == "labels" and plane < 0 and not path.endswith((".npy", ".npz")):
            ids = reading.coding.read(Path(path), max_pixels=reading.max_pixels)
            write_mask(out / "masks" / f"{image_id}.png", ids.astype(stored))
