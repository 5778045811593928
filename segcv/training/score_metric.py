"""The scores of this library inside somebody's training loop, as torchmetrics has it. Needs the extra torchmetrics."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from segcv.errors import ConfigError, MissingExtra, ScoreError, SegcvWarning
from segcv.metrics import (
    AVERAGES,
    POLICIES,
    Counts,
    Policy,
    confusion,
    counts_from_confusion,
    frequency_weighted_iou,
    micro_iou,
    pixel_accuracy,
)

try:
    from torchmetrics import Metric
    from torchmetrics.utilities.distributed import gather_all_tensors
except ImportError as error:
    raise MissingExtra("ScoreMetric needs torchmetrics: pip install 'segcv[torchmetrics]'") from error

UNAFFECTED = {"micro_iou": micro_iou, "frequency_weighted_iou": frequency_weighted_iou,
              "pixel_accuracy": pixel_accuracy}                       # averages that no policy changes


class ScoreMetric(Metric):
    """A named average of segmentation scores, for `update`, `compute`, `reset` in a loop, Lightning's included.

    What is kept is one row of whole-number counts per image, under its id. Processes hand over all their rows, so an
    image that a sampler gave to two of them (to fill up the last batch) counts once.

    >>> metric = ScoreMetric(n_classes=2, average="miou_pooled")
    >>> metric.update(torch.tensor([[[0, 1]]]), torch.tensor([[[1, 1]]]), ["a"])
    >>> round(float(metric.compute()), 3)      # class 0: a false alarm, 0; class 1: 1 of 2
    0.25
    """

    is_differentiable = False
    higher_is_better = True
    full_state_update = False
    plot_lower_bound, plot_upper_bound = 0.0, 1.0
    records: Any

    def __init__(self, *, n_classes: int, void: int | None = 255, average: str = "miou_image",
                 policy: Policy = "union", **options: Any) -> None:
        """`void`: truth value that is not scored; `average`: which number `compute` gives; `options`: of a Metric."""
        super().__init__(dist_sync_fn=options.pop("dist_sync_fn", _gathered), **options)
        if average not in AVERAGES and average not in UNAFFECTED:
            raise ConfigError(f"average={average!r} is none of {', '.join([*AVERAGES, *UNAFFECTED])}.")
        if policy not in POLICIES:
            raise ConfigError(f"policy={policy!r} is none of {', '.join(POLICIES)}.")
        if average in UNAFFECTED and policy != "union":
            raise ConfigError(f"policy={policy!r} has no effect on {average}.")
        self.n_classes, self.void, self.average, self.policy = n_classes, void, average, policy
        self.add_state("records", default=[], dist_reduce_fx="cat")    # flat int64, see `_record`

    def update(self, predictions: Tensor, truth: Tensor, image_ids: Sequence[str]) -> None:
        """Count a batch: class ids N x H x W, or probabilities or logits N x classes x H x W; truth N x H x W.

        Raises:
            ScoreError: the shapes do not fit, or there is not one id per image.
            MaskError: the truth holds a value that is neither a class nor `void`.
        """
        if isinstance(image_ids, str) or len(image_ids) != len(truth):
            raise ScoreError(f"{len(truth)} images need one id each, the same in every process and epoch; "
                             f"found {image_ids!r}.")
        if predictions.ndim == truth.ndim + 1 and predictions.shape[1] == self.n_classes:
            predictions = predictions.argmax(dim=1)
        if predictions.shape != truth.shape or truth.ndim != 3:
            raise ScoreError(f"predictions of shape {tuple(predictions.shape)} do not fit a truth of "
                             f"{tuple(truth.shape)}: class ids are N x H x W, channels N x {self.n_classes} x H x W.")
        for image_id, predicted, true in zip(image_ids, _array(predictions), _array(truth), strict=True):
            matrix = confusion(true, predicted, n_classes=self.n_classes, void=self.void)
            self.records.append(torch.from_numpy(_record(str(image_id), matrix)).to(self.device))

    def compute(self) -> Tensor:
        """The average over all images handed in by all processes, each once; NaN where nothing is defined."""
        _, counts = self.counts()
        value = (UNAFFECTED[self.average](counts) if self.average in UNAFFECTED
                 else AVERAGES[self.average](counts, policy=self.policy))
        return torch.tensor(value, dtype=torch.float64, device=self.device).to(self.dtype)

    def counts(self) -> tuple[list[str], Counts]:
        """The image ids, sorted, and their Counts: of this process, or inside `sync_context()` of all.

        Warns when an id came twice with other counts; the first is kept, of the lowest process.
        """
        parts = self.records if isinstance(self.records, list) else [self.records]
        rows: dict[str, NDArray[np.int64]] = {}
        differ = []
        for part in parts:
            for image_id, row in _rows(part.cpu().numpy(), self.n_classes):
                if not np.array_equal(rows.setdefault(image_id, row), row):
                    differ.append(image_id)
        if differ:
            warnings.warn(f"{len(differ)} images came twice with other predictions ({differ[0]}); the first counts. "
                          "Was reset() forgotten between epochs?", SegcvWarning, stacklevel=2)
        ids = sorted(rows)
        table = np.array([rows[image_id] for image_id in ids], np.int64).reshape(-1, 3 * self.n_classes + 1)
        tp, fp, fn = (table[:, part * self.n_classes:(part + 1) * self.n_classes] for part in range(3))
        return ids, Counts(tp, fp, fn, table[:, -1])


def _array(values: Tensor) -> NDArray[Any]:
    found: NDArray[Any] = values.detach().cpu().numpy()
    return found


def _record(image_id: str, matrix: NDArray[np.int64]) -> NDArray[np.int64]:
    """One image as whole numbers: bytes in its id, the id in words of 8, tp, fp and fn of each class, valid."""
    name = image_id.encode()
    words = np.frombuffer(name + bytes(-len(name) % 8), np.int64)
    counts = counts_from_confusion(matrix)
    return np.concatenate([[len(name)], words, counts.tp[0], counts.fp[0], counts.fn[0], counts.valid])


def _rows(records: NDArray[np.int64], n_classes: int) -> Iterator[tuple[str, NDArray[np.int64]]]:
    at = 0
    while at < len(records):
        length = int(records[at])
        words = -(-length // 8)
        end = at + 1 + words + 3 * n_classes + 1
        yield records[at + 1:at + 1 + words].tobytes()[:length].decode(), records[at + 1 + words:end]
        at = end


def _gathered(records: Tensor, group: Any = None) -> list[Tensor]:
    """The records of every process; whole numbers also where a process has none."""
    found: list[Tensor] = gather_all_tensors(records.to(torch.int64), group)
    return found
