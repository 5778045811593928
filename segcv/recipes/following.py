"""What trackers are told of a fit: curves, and what the network says of a few training images."""

from __future__ import annotations

import math
from collections.abc import Callable

import pandas as pd

from segcv.pixels import LabelMap, picture_row
from segcv.tracking import Tell
from segcv.training import EpochInfo, StepInfo

POINTS, PICTURES, SAMPLES = 200, 10, 4          # at most: of a curve of steps, times pictures are made, images in each


class Following:
    """Tells trackers of a run. The samples are fixed: the first image of some training groups, never of others."""

    def __init__(self, tell: Tell, training: pd.DataFrame, *, labels: LabelMap,
                 watch: Callable[[StepInfo], None] | None = None) -> None:
        self.tell, self.samples, self.labels, self.watch = tell, sample_rows(training), labels, watch
        self.last = 0

    def step(self, info: StepInfo) -> None:
        """After a step."""
        if self.watch is not None:
            self.watch(info)
        every = math.ceil(info.steps / POINTS)
        if info.step % every == 0:
            self.tell.numbers({"step/loss": info.loss, "step/lr": info.lr,
                               "step/images_per_second": info.images_per_second}, step=info.step)

    def epoch(self, info: EpochInfo) -> None:
        """After an epoch."""
        self.last = info.step
        row = {f"epoch/{name}": value for name, value in info.row.items() if name != "epoch"}
        self.tell.numbers(row, step=info.step)
        every = math.ceil(info.epochs / PICTURES)
        if self.tell.listens and (info.epoch % every == 0 or info.epoch == info.epochs):
            looks = info.looks(self.samples)
            self.tell.pictures({f"training_images/{look.image_id}": picture_row(
                look.image, look.truth, look.predicted, labels=self.labels) for look in looks}, step=info.step)


def sample_rows(training: pd.DataFrame) -> pd.DataFrame:
    """The first image of up to four training groups, spread over the sorted group ids."""
    first = training.sort_values(["group_id", "image_id"]).drop_duplicates("group_id").reset_index(drop=True)
    count = min(SAMPLES, len(first))
    return first.iloc[[number * len(first) // count for number in range(count)]]
