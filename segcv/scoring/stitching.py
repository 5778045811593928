"""Overlapping patches put together on their source, so that each of its pixels counts once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segcv.errors import ScoreError
from segcv.scoring.arrays import open_prediction
from segcv.scoring.forms import PROBABILITIES, PredictionForm
from segcv.scoring.patches import Place
from segcv.scoring.sizes import check_sizes
from segcv.scoring.tally import Item, Reading, Scored, Tally, outline_scores


@dataclass(frozen=True, slots=True)
class Patch:
    """A patch of a source: where it lies in it, and where its mask and its prediction lie."""

    image_id: str
    place: Place
    mask: Path
    prediction: Path


@dataclass(frozen=True, slots=True)
class Source:
    """A source image of one run that is scored from overlapping patches, in the order of their places."""

    run_id: str
    source_id: str
    group_id: str
    patches: tuple[Patch, ...]


class Stitcher:
    """Puts the patches of one source together band by band: mean of probabilities where they overlap, then counted.

    Patches come from top to bottom (see `Place`); rows above the newest patch are final, counted and let go, so memory
    is that of one row of patches. Pixels that no patch covers are not scored.
    """

    def __init__(self, source_id: str, places: tuple[Place, ...], reading: Reading) -> None:
        form = PredictionForm(PROBABILITIES, threshold=reading.form.threshold)
        self._reading = replace(reading, form=form)
        self._tally = Tally(self._reading)
        self._source_id = source_id
        self._left = min(place.x for place in places)
        self._width = max(place.x + place.w for place in places) - self._left
        self._top = self._first = min(place.y for place in places)
        self._sums = np.zeros((reading.labels.n_classes, 0, self._width), np.float32)
        self._times = np.zeros((0, self._width), np.uint16)
        self._truth = np.zeros((0, self._width), np.uint16)
        self._kept: list[tuple[NDArray[Any], NDArray[Any]]] = []          # rows of truth and prediction, for outlines

    def add(self, image_id: str, place: Place, truth: NDArray[Any], probabilities: NDArray[np.float32]) -> None:
        """Add a patch: class ids H x W and probabilities classes x H x W.

        Raises:
            ScoreError: the patch has not the size that its place says, or its mask differs from that of another patch.
        """
        if truth.shape != (place.h, place.w):
            raise ScoreError(f"{image_id}: its mask is {truth.shape[0]}x{truth.shape[1]} (height x width), and the "
                             f"table says h={place.h}, w={place.w}.")
        self._count_above(place.y)
        self._grow(place.y + place.h)
        rows = slice(place.y - self._top, place.y - self._top + place.h)
        window = rows, slice(place.x - self._left, place.x - self._left + place.w)
        covered = self._times[window] > 0
        differ = covered & (self._truth[window] != truth)
        if differ.any():
            row, column = np.argwhere(differ)[0]
            raise ScoreError(f"{image_id}: its mask differs from that of another patch of source {self._source_id} in "
                             f"{int(differ.sum())} pixels that both show, first at x={place.x + column}, "
                             f"y={place.y + row}. One pixel has one truth: correct the masks or the places.")
        self._truth[window] = truth
        self._sums[:, window[0], window[1]] += probabilities
        self._times[window] += np.uint16(1)

    def scored(self, *, run_id: str, group_id: str) -> Scored:
        """The score of the whole source, under its own id; no patch may follow."""
        self._count_above(self._top + len(self._times))
        size = self._top - self._first, self._width
        item = Item(run_id, self._source_id, group_id, self._source_id, Path(), Path())
        metrics = {}
        if self._reading.metrics:
            truth, predicted = (np.concatenate(rows) for rows in zip(*self._kept, strict=True))
            metrics = outline_scores(truth, predicted, self._reading)
        return self._tally.scored(item, truth_size=size, predicted_size=size, metrics=metrics)

    def _grow(self, bottom: int) -> None:
        more = bottom - self._top - len(self._times)
        if more > 0:
            self._sums = np.pad(self._sums, ((0, 0), (0, more), (0, 0)))
            self._times = np.pad(self._times, ((0, more), (0, 0)))
            self._truth = np.pad(self._truth, ((0, more), (0, 0)))

    def _count_above(self, row: int) -> None:
        """Count the rows above `row`, which no patch reaches any more."""
        done = max(0, min(row - self._top, len(self._times)))
        if done:
            times = self._times[:done]
            truth = np.where(times > 0, self._truth[:done], np.uint16(self._reading.labels.void))
            mean = self._sums[:, :done] / np.maximum(times, 1).astype(np.float32)
            self._keep(truth, self._tally.add_channels(truth, mean))
            self._sums, self._times = self._sums[:, done:].copy(), self._times[done:].copy()
            self._truth = self._truth[done:].copy()
            self._top += done
        if self._top < row:                                              # rows that no patch shows
            void = np.full((row - self._top, self._width), self._reading.labels.void, np.uint16)
            self._keep(void, void)
            self._top = row

    def _keep(self, truth: NDArray[Any], predicted: NDArray[Any]) -> None:
        if self._reading.metrics:
            self._kept.append((truth, predicted.astype(np.uint16)))


def score_source(source: Source, reading: Reading) -> Scored:
    """The score of one source from stored probabilities or logits of its patches.

    Raises:
        MaskError, ImageFileError, ScoreError: a file cannot be read, or the patches do not fit together.
    """
    stitcher = Stitcher(source.source_id, tuple(patch.place for patch in source.patches), reading)
    for patch in source.patches:
        truth = reading.labels.read(patch.mask, max_pixels=reading.max_pixels)
        height, width = truth.shape
        with open_prediction(patch.prediction, reading.form, reading.coding, n_classes=reading.labels.n_classes,
                             max_pixels=reading.max_pixels) as prediction:
            try:
                check_sizes(prediction.shape, (height, width), rule=reading.size)
                channels = prediction.read(slice(0, height), slice(0, width), height=height, width=width)
                reading.form.check_values(channels, truth != reading.labels.void)
            except ScoreError as error:
                raise ScoreError(f"{patch.prediction}: {error}.") from error
        stitcher.add(patch.image_id, patch.place, truth, reading.form.probabilities(channels))
    return stitcher.scored(run_id=source.run_id, group_id=source.group_id)
