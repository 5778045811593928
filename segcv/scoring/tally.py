"""The pixels of one scored image, counted as they come: whole, by windows, or stitched from patches."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segcv.errors import ConfigError
from segcv.metrics import BOUNDARY_METRICS, boundary_scores, confusion, probability_histogram
from segcv.pixels import MAX_PIXELS, LabelMap, PredictedCoding
from segcv.scoring.forms import LABELS, PredictionForm
from segcv.scoring.histograms import sparse_bins
from segcv.scoring.images import ImageScore, score_of_confusion
from segcv.scoring.sizes import NEAREST

SHOWN = 4                     # values outside the label set that are remembered
DISTANCES = ("hd95_max", "hd95_pooled", "assd", "masd")


@dataclass(frozen=True, slots=True)
class Item:
    """One image of one run: where its mask and its prediction lie."""

    run_id: str
    image_id: str
    group_id: str
    source_id: str
    mask: Path
    prediction: Path
    plane: int = -1               # of a volume; -1: the file is one image


@dataclass(frozen=True, slots=True)
class Reading:
    """How masks and predictions are read and compared; the same for all items of a command.

    `metrics`: boundary metrics to add to the scores; distances and `tolerance` in the units of `spacing` (the distance
    of pixel centres down and across). `histograms`: keep those of probabilities. `volume_rows`: the axis of a volume,
    x or y, that the rows of masks follow.
    """

    labels: LabelMap
    coding: PredictedCoding
    form: PredictionForm
    size: str = NEAREST
    max_pixels: int = MAX_PIXELS
    metrics: tuple[str, ...] = ()
    spacing: tuple[float, float] = (1.0, 1.0)
    tolerance: float | None = None
    histograms: bool = True
    volume_rows: str | None = None

    def __post_init__(self) -> None:
        if self.volume_rows not in (None, "x", "y"):
            raise ConfigError(f"volume_rows={self.volume_rows} is not known; rows of masks follow x or y.")
        strange = [name for name in self.metrics if name not in BOUNDARY_METRICS]
        if strange:
            raise ConfigError(f"metrics={strange[0]} is not known; beside the counts there are "
                              f"{', '.join(BOUNDARY_METRICS)}.")
        with_tolerance = [name for name in self.metrics if name.startswith("nsd")]
        if with_tolerance and self.tolerance is None:
            raise ConfigError(f"{with_tolerance[0]} needs tolerance=DISTANCE, in the units of spacing: how far an "
                              "outline may be off and still count as right.")
        if self.tolerance is not None and not with_tolerance:
            raise ConfigError(f"tolerance={self.tolerance} has an effect with metrics=[nsd] or [nsd_surface] only.")
        if self.spacing != (1.0, 1.0) and not set(self.metrics) - {"boundary_iou"}:
            raise ConfigError(f"spacing={list(self.spacing)} has an effect with metrics of distance only.")
        if min(self.spacing) <= 0 or (self.tolerance is not None and self.tolerance < 0):
            raise ConfigError(f"spacing={list(self.spacing)} and tolerance={self.tolerance} must not be negative.")

    @property
    def keeps_histograms(self) -> bool:
        """Are there probabilities, and are their histograms kept?"""
        return self.histograms and self.form.kind != LABELS


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """An item's score and what is to be said about it."""

    score: ImageScore
    outside: tuple[int, ...]                 # values predicted that are no class, the first few
    bins: NDArray[np.int64] | None           # of the histogram, see `sparse_bins`


class Tally:
    """Adds up the parts of one image; what it holds does not grow with their number."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        n_classes = reading.labels.n_classes
        self._matrix = np.zeros((n_classes, n_classes + 1), np.int64)
        self._histogram = np.zeros((n_classes + 1, 2, 256), np.int64) if reading.keeps_histograms else None
        self._top, self._pixels = 0.0, 0
        self._outside: set[int] = set()

    def add_labels(self, truth: NDArray[Any], predicted: NDArray[Any]) -> None:
        """Count a part whose prediction is class ids; both H x W.

        Raises:
            MaskError, ScoreError: see `confusion`.
        """
        labels = self._reading.labels
        matrix = confusion(truth, predicted, n_classes=labels.n_classes, void=labels.void)
        self._matrix += matrix
        if matrix[:, -1].any():
            strange = predicted[(truth != labels.void) & ((predicted < 0) | (predicted >= labels.n_classes))]
            self._outside |= set(np.unique(strange)[:SHOWN].tolist())

    def add_channels(self, truth: NDArray[Any], channels: NDArray[Any]) -> NDArray[np.integer[Any]]:
        """Count a part whose prediction is probabilities or logits, channels x H x W; its class ids, H x W.

        Raises:
            ScoreError: there is no number, or no probability, on a pixel that counts.
        """
        form, void = self._reading.form, self._reading.labels.void
        form.check_values(channels, truth != void)
        probabilities = form.probabilities(channels)
        self._top += float(probabilities.max(axis=0).sum(dtype=np.float64))
        self._pixels += truth.size
        if self._histogram is not None:
            self._histogram += probability_histogram(truth, probabilities, void=void)
        ids = form.class_ids(channels)
        self.add_labels(truth, ids)
        return ids

    def scored(self, item: Item, *, truth_size: tuple[int, int], predicted_size: tuple[int, int],
               metrics: dict[str, NDArray[np.float64]] | None = None) -> Scored:
        """The score of what was counted."""
        top = self._top / self._pixels if self._pixels else float("nan")
        score = score_of_confusion(
            self._matrix, run_id=item.run_id, image_id=item.image_id, group_id=item.group_id,
            source_id=item.source_id, mean_top_probability=top, truth_size=truth_size, predicted_size=predicted_size,
            metrics=metrics)
        bins = None if self._histogram is None else sparse_bins(self._histogram)
        return Scored(score, tuple(sorted(self._outside)[:SHOWN]), bins)


def outline_scores(truth: NDArray[Any], predicted: NDArray[Any], reading: Reading) -> dict[str, NDArray[np.float64]]:
    """The asked boundary metrics of one image, each an array of classes; infinite where one object is missing."""
    if not reading.metrics:
        return {}
    return boundary_scores(truth, predicted, n_classes=reading.labels.n_classes, void=reading.labels.void,
                           names=reading.metrics, tolerance=reading.tolerance, spacing=reading.spacing)
