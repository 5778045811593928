"""One stored prediction against its mask: read, brought to one size, checked, counted."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segcv.errors import ScoreError
from segcv.metrics import confusion
from segcv.pixels import MAX_PIXELS, LabelMap, PredictedCoding
from segcv.scoring.arrays import read_channels, read_labels
from segcv.scoring.forms import LABELS, PredictionForm
from segcv.scoring.images import ImageScore, score_of_confusion
from segcv.scoring.sizes import NEAREST, check_sizes, nearest

SHOWN = 4                     # values outside the label set that are remembered


@dataclass(frozen=True, slots=True)
class Item:
    """One image of one run: where its mask and its prediction lie."""

    run_id: str
    image_id: str
    group_id: str
    source_id: str
    mask: Path
    prediction: Path


@dataclass(frozen=True, slots=True)
class Reading:
    """How masks and predictions are read and compared; the same for all items of a command."""

    labels: LabelMap
    coding: PredictedCoding
    form: PredictionForm
    size: str = NEAREST
    max_pixels: int = MAX_PIXELS


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """An item's score and what is to be said about it."""

    score: ImageScore
    outside: tuple[int, ...]                 # values predicted that are no class, the first few


def score_item(item: Item, reading: Reading) -> Scored:
    """The score of one item.

    Raises:
        MaskError, ImageFileError, ScoreError: a file cannot be read, or does not hold what was declared.
    """
    labels, form = reading.labels, reading.form
    truth = labels.read(item.mask, max_pixels=reading.max_pixels)
    if form.kind == LABELS:
        stored = read_labels(item.prediction, form, reading.coding, max_pixels=reading.max_pixels)
    else:
        stored = read_channels(item.prediction, form, n_classes=labels.n_classes, max_pixels=reading.max_pixels)
    height, width = truth.shape
    predicted_size = (int(stored.shape[-2]), int(stored.shape[-1]))
    top = math.nan
    try:
        check_sizes(predicted_size, (height, width), rule=reading.size)
        fitted = nearest(stored, height=height, width=width)
        if form.kind != LABELS:
            form.check_values(fitted, truth != labels.void)
            top = mean_top(form.probabilities(fitted))
            fitted = form.class_ids(fitted)
    except ScoreError as error:
        raise ScoreError(f"{item.prediction}: {error}.") from error
    matrix = confusion(truth, fitted, n_classes=labels.n_classes, void=labels.void)
    score = score_of_confusion(
        matrix, run_id=item.run_id, image_id=item.image_id, group_id=item.group_id, source_id=item.source_id,
        mean_top_probability=top, truth_size=(height, width), predicted_size=predicted_size)
    outside = values_outside(truth, fitted, labels) if score.outside_label_set else ()
    return Scored(score, outside)


def mean_top(probabilities: NDArray[np.float32]) -> float:
    """Mean over all pixels of the largest probability; NaN where one is undefined."""
    return float(probabilities.max(axis=0).mean(dtype=np.float64))


def values_outside(truth: NDArray[Any], predicted: NDArray[Any], labels: LabelMap) -> tuple[int, ...]:
    """The most common values predicted on scored pixels that are no class, at most a few."""
    strange = predicted[(truth != labels.void) & ((predicted < 0) | (predicted >= labels.n_classes))]
    values, pixels = np.unique(strange, return_counts=True)
    most = np.argsort(-pixels, kind="stable")[:SHOWN]
    return tuple(int(value) for value in values[most])
