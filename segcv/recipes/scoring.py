"""A saved network's predictions on rows, counted against their masks."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from segcv.errors import ScoreError
from segcv.pixels import LabelMap, write_mask
from segcv.prediction import predict
from segcv.scoring import ScoreTables, score_image
from segcv.settings import TrainCommand
from segcv.tables import Progress, quiet
from segcv.training import load_model


def score_recipe(settings: TrainCommand, model: Path, rows: pd.DataFrame, *, labels: LabelMap, run_id: str, out: Path,
                 masks: Path | None = None, progress: Progress = quiet, what: str = "scoring images") -> None:
    """Predict the rows with the network saved in `model`; their score tables go to `out`, the masks to `masks`."""
    saved = load_model(model)
    tables = ScoreTables()
    predictions = predict(saved.network, rows, preprocessing=saved.preprocessing, tile=settings.prediction.tile,
                          overlap=settings.prediction.overlap, batch_size=settings.prediction.batch_size,
                          device=settings.device, threads=settings.threads, precision=settings.trainer.precision,
                          max_pixels=settings.data.max_pixels, channels_last=settings.trainer.channels_last)
    sources = rows["source_id"] if "source_id" in rows else rows["group_id"].map(lambda _: "")
    places = zip(predictions, rows["image_id"], rows["mask_path"], rows["group_id"], sources, strict=True)
    for prediction, image_id, mask_path, group_id, source_id in progress(places, total=len(rows), what=what):
        if prediction.image_id != image_id:
            raise ScoreError(f"the prediction of {prediction.image_id} came where that of {image_id} belongs.")
        truth = labels.read(Path(mask_path), max_pixels=settings.data.max_pixels)
        tables.add(score_image(truth, prediction.labels, labels=labels, run_id=run_id, image_id=image_id,
                               group_id=group_id, source_id=source_id,
                               mean_top_probability=prediction.mean_top_probability))
        if masks is not None:
            write_mask(masks / f"{image_id}.png", prediction.labels)
    tables.write(out)
