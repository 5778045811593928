"""Probabilities kept as histograms: what calibration, ranking and thresholds need, long after the pixels are gone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from segcv.errors import ScoreError
from segcv.metrics import Counts, auroc, average_precision, brier, ece
from segcv.tables import HISTOGRAMS

HISTOGRAMS_FILE = "histograms.parquet"
TOP = -1                        # the class_id of the largest probability's rows
LEVELS = 256


def sparse_bins(histogram: NDArray[np.int64]) -> NDArray[np.int64]:
    """The bins of a histogram (classes + 1, the last the largest probability, x wrong, right x 256) that are not empty:
    rows of class_id, level, wrong, right, sorted; the largest probability first.
    """
    n_classes = len(histogram) - 1
    ordered = np.roll(histogram, 1, axis=0)                        # (top, classes) x 2 x 256
    row, level = np.nonzero(ordered.sum(axis=1))
    bins = np.stack([row - 1, level, ordered[row, 0, level], ordered[row, 1, level]], axis=1)
    assert n_classes > 0 and (row[:1] == 0).all()
    return bins.astype(np.int64)


def histogram_rows(run_id: str, image_id: str, bins: NDArray[np.int64]) -> pd.DataFrame:
    """HISTOGRAMS: the bins of one image."""
    return pd.DataFrame({"run_id": run_id, "image_id": image_id, "class_id": bins[:, 0], "level": bins[:, 1],
                         "wrong": bins[:, 2], "right": bins[:, 3]})


def read_histograms(folder: Path) -> pd.DataFrame | None:
    """The histograms of the run in `folder`; None where its predictions were class ids."""
    path = folder / HISTOGRAMS_FILE
    return HISTOGRAMS.read(path) if path.is_file() else None


def histogram_of(table: pd.DataFrame, *, n_classes: int, image_ids: Sequence[str] | None = None) -> NDArray[np.int64]:
    """The summed histogram of all rows, or of some images: (classes + 1) x wrong, right x 256, as metrics takes it.

    Raises:
        ScoreError: the table holds another class or level.
    """
    rows = table if image_ids is None else table[table["image_id"].isin(list(image_ids))]
    class_id, level = rows["class_id"].to_numpy(), rows["level"].to_numpy()
    if ((class_id < TOP) | (class_id >= n_classes) | (level < 0) | (level >= LEVELS)).any():
        raise ScoreError(f"the histograms table holds classes {class_id.min()}..{class_id.max()} and levels "
                         f"{level.min()}..{level.max()}; there are {n_classes} classes and {LEVELS} levels.")
    histogram = np.zeros((n_classes + 1, 2, LEVELS), np.int64)
    place = np.where(class_id == TOP, n_classes, class_id)
    for side, name in enumerate(("wrong", "right")):
        np.add.at(histogram[:, side], (place, level), rows[name].to_numpy())
    return histogram


def probability_scores(histogram: NDArray[np.int64]) -> dict[str, float | list[float]]:
    """What a summed histogram says of the probabilities, by name; NaN where a class is never, or always, the truth.

    `ece` of the largest probability, `ece_per_class`, `brier`, `auroc_per_class` (chance 0.5) and
    `average_precision_per_class` (chance: the class's share of the pixels, `share_per_class`).
    """
    classes = histogram[:-1]
    number = classes.sum(axis=(1, 2))
    share = np.divide(classes[:, 1].sum(axis=1), number, out=np.full(len(classes), np.nan), where=number > 0)
    return {"ece": ece(histogram[-1]), "brier": brier(histogram), "ece_per_class": [ece(row) for row in classes],
            "auroc_per_class": [auroc(row) for row in classes],
            "average_precision_per_class": [average_precision(row) for row in classes],
            "share_per_class": share.tolist()}


def threshold_counts(row: NDArray[np.int64]) -> Counts:
    """Counts of one class at each threshold k/255, k = 0..255 (rows): its pixels are those of probability >= k/255.

    `row`: wrong, right x 256, a class row of a histogram. `iou(threshold_counts(row))` is the curve over thresholds.

    >>> row = np.zeros((2, 256), np.int64)
    >>> row[0, 100], row[1, 200] = 3, 5          # three background pixels at 100/255, five of the class at 200/255
    >>> counts = threshold_counts(row)
    >>> counts.fp[[0, 100, 101], 0].tolist(), counts.fn[[200, 201], 0].tolist()
    ([3, 3, 0], [0, 5])
    """
    above = row[:, ::-1].cumsum(axis=1)[:, ::-1]                   # wrong, right x thresholds: pixels at or above
    wrong, right = above
    total = int(row[1].sum())
    valid = np.full(LEVELS, int(row.sum()))
    return Counts(right[:, None], wrong[:, None], total - right[:, None], valid)
