"""A saved network's predictions on rows, counted against their masks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from segcv.errors import ScoreError
from segcv.pixels import LabelMap, write_mask
from segcv.prediction import Prediction, predict
from segcv.scoring import ScoreTables, score_image
from segcv.settings import RecipeCommand
from segcv.tables import Progress, quiet
from segcv.training import load_model


def predicted(settings: RecipeCommand, model: Path, rows: pd.DataFrame, *,
              probabilities: bool = False) -> Iterator[Prediction]:
    """The predictions of the network saved in `model`, one per row, in their order."""
    saved = load_model(model)
    found = predict(saved.network, rows, preprocessing=saved.preprocessing, tile=settings.prediction.tile,
                    overlap=settings.prediction.overlap, batch_size=settings.prediction.batch_size,
                    probabilities=probabilities, device=settings.device, threads=settings.threads,
                    precision=settings.trainer.precision, max_pixels=settings.data.max_pixels,
                    channels_last=settings.trainer.channels_last)
    for prediction, image_id in zip(found, rows["image_id"], strict=True):
        if prediction.image_id != image_id:
            raise ScoreError(f"the prediction of {prediction.image_id} came where that of {image_id} belongs.")
        yield prediction


def score_recipe(settings: RecipeCommand, model: Path, rows: pd.DataFrame, *, labels: LabelMap, run_id: str, out: Path,
                 masks: Path | None = None, progress: Progress = quiet, what: str = "scoring images") -> None:
    """Predict the rows with the network saved in `model`; their score tables go to `out`, the masks to `masks`."""
    tables = ScoreTables()
    sources = rows["source_id"] if "source_id" in rows else rows["group_id"].map(lambda _: "")
    places = zip(predicted(settings, model, rows), rows["mask_path"], rows["group_id"], sources, strict=True)
    for prediction, mask_path, group_id, source_id in progress(places, total=len(rows), what=what):
        truth = labels.read(Path(mask_path), max_pixels=settings.data.max_pixels)
        tables.add(score_image(truth, prediction.labels, labels=labels, run_id=run_id, image_id=prediction.image_id,
                               group_id=group_id, source_id=source_id,
                               mean_top_probability=prediction.mean_top_probability))
        if masks is not None:
            write_mask(masks / f"{prediction.image_id}.png", prediction.labels)
    tables.write(out)
