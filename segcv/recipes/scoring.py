"""A saved network's predictions on rows, counted against their masks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
from numpy.typing import NDArray

from segcv.errors import ScoreError
from segcv.pixels import LabelMap, predicted_coding, write_mask
from segcv.prediction import Prediction, predict
from segcv.scoring import (
    ImageScore,
    PredictionForm,
    Reading,
    ScoreTables,
    Stitcher,
    place_of,
    score_image,
    scored_ids,
)
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
    """Predict the rows with the network saved in `model`; their score tables go to `out`, the masks to `masks`.

    Patches that overlap in their source are put together on it (mean of probabilities, then the largest) and scored
    once, under their source_id.
    """
    rows = rows if "source_id" in rows else rows.assign(source_id="")
    named = rows.assign(scored_id=scored_ids(rows))
    alone = named["scored_id"].eq(named["image_id"])
    truth_of = partial(labels.read, max_pixels=settings.data.max_pixels)
    tables = ScoreTables()

    def scores() -> Iterator[tuple[ImageScore | None, Prediction]]:
        images, patches = named[alone], _in_order(named[~alone])
        for prediction, row in zip(predicted(settings, model, images), images.to_dict("records"), strict=True):
            yield score_image(truth_of(Path(row["mask_path"])), prediction.labels, labels=labels, run_id=run_id,
                              image_id=prediction.image_id, group_id=row["group_id"], source_id=row["source_id"],
                              mean_top_probability=prediction.mean_top_probability), prediction
        yield from _sources(predicted(settings, model, patches, probabilities=True) if len(patches) else iter(()),
                            patches, truth_of, labels, run_id)

    for score, prediction in progress(scores(), total=len(rows), what=what):
        if score is not None:
            tables.add(score)
        if masks is not None:
            write_mask(masks / f"{prediction.image_id}.png", prediction.labels)
    tables.write(out)


def _in_order(patches: pd.DataFrame) -> pd.DataFrame:
    """Overlapping patches with their place, source by source from top to bottom."""
    places = pd.Series([place_of(row) for _, row in patches.iterrows()], index=patches.index, dtype=object)
    return patches.assign(place=places).sort_values(["scored_id", "place", "image_id"], ignore_index=True)


def _sources(predictions: Iterator[Prediction], patches: pd.DataFrame, truth_of: Callable[[Path], NDArray[Any]],
             labels: LabelMap, run_id: str) -> Iterator[tuple[ImageScore | None, Prediction]]:
    """The predictions of overlapping patches, and with the last one of each source the score of that source."""
    reading = Reading(labels, predicted_coding(labels, values="ids"), PredictionForm("probabilities"), histograms=False)
    for source_id, inside in patches.groupby("scored_id", sort=True):
        stitcher = Stitcher(str(source_id), tuple(inside["place"]), reading)
        for row in inside.to_dict("records"):
            prediction = next(predictions)
            assert prediction.probabilities is not None
            stitcher.add(row["image_id"], row["place"], truth_of(Path(row["mask_path"])), prediction.probabilities)
            last = row["image_id"] == inside["image_id"].iloc[-1]
            yield stitcher.scored(run_id=run_id, group_id=row["group_id"]).score if last else None, prediction
