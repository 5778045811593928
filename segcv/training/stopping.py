"""Early stopping, on groups cut from the training groups and handed in by the caller."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from segcv.errors import ConfigError, TrainingError
from segcv.metrics import confusion, counts_from_confusion, miou_pooled
from segcv.pixels import LabelMap
from segcv.training.data import NetworkInput, Pair
from segcv.training.looking import looks
from segcv.training.models import Network


@dataclass(frozen=True, slots=True)
class Stopping:
    """Stop when the inner mIoU has not risen for `patience` epochs; the weights of the best epoch are kept.

    `rows` are the inner hold-out: whole groups taken out of this fold's training groups, never the held-out fold.
    """

    rows: pd.DataFrame
    patience: int = 5


def refuse_overlap(stopping: Stopping, rows: pd.DataFrame) -> None:
    """Do nothing if the inner and the training rows share neither image nor group.

    Raises:
        ConfigError: the patience is below one epoch.
        TrainingError: they share one, or there is no inner row.
    """
    inner = stopping.rows
    if stopping.patience < 1:
        raise ConfigError(f"patience={stopping.patience} must be 1 epoch or more.")
    if inner.empty:
        raise TrainingError("Early stopping needs an inner hold-out of the training groups, and it is empty. Raise its "
                            "share, or train a fixed number of epochs.")
    for column in ("image_id", "group_id"):
        if column in inner.columns and column in rows.columns:
            both = sorted(set(inner[column]) & set(rows[column]))
            if both:
                raise TrainingError(f"{column} {both[0]} is in the training rows and in the inner hold-out that "
                                    f"decides when to stop ({len(both)} shared). Cut whole groups out of the "
                                    "training rows.")


def inner_miou(network: Network, rows: pd.DataFrame, *, read: Callable[[Path, Path], Pair], labels: LabelMap,
               to_input: NetworkInput) -> float:
    """Pooled mIoU over whole images, in [0, 1], of the network in evaluation mode; it is back in training mode after.

    Raises:
        TrainingError: no class has a labelled pixel.
    """
    matrices = [confusion(one.truth, one.predicted, n_classes=labels.n_classes, void=labels.void)
                for one in looks(network, rows, read=read, to_input=to_input)]
    score = miou_pooled(counts_from_confusion(np.stack(matrices)))
    if np.isnan(score):
        raise TrainingError("The inner hold-out has no labelled pixel, so it cannot decide when to stop. Choose "
                            "another share or seed for it, or train a fixed number of epochs.")
    return score
