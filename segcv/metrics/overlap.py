"""Overlap metrics: functions from Counts to images x classes, all with the same four states of a cell.

    hit            truth and prediction have the class    the formula
    missed         only the truth has it                  0
    false alarm    only the prediction has it             0
    absent         neither has it                         NaN: undefined, neither a success nor a failure

So precision of a missed and recall of a falsely seen class are 0 and not undefined: the cells of all metrics are the
same, and what a mean leaves out is one choice (the policy of the averages) for all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segcv.metrics.counts import Counts

FloatArray = NDArray[np.float64]
Metric = Callable[[Counts], FloatArray]


def iou(counts: Counts) -> FloatArray:
    """Intersection over union (Jaccard), images x classes, in [0, 1]; NaN where neither mask has the class.

    >>> iou(Counts([[6, 1, 0]], [[1, 0, 0]], [[0, 1, 0]], [8])).round(3).tolist()
    [[0.857, 0.5, nan]]
    """
    return _share(counts.tp, counts.union, counts)


def dice(counts: Counts) -> FloatArray:
    """Dice coefficient (F1 of pixels) = 2 tp / (truth + predicted), images x classes, in [0, 1]; NaN where absent.

    >>> dice(Counts([[6, 1, 0]], [[1, 0, 0]], [[0, 1, 0]], [8])).round(3).tolist()
    [[0.923, 0.667, nan]]
    """
    return _share(2 * counts.tp, counts.truth + counts.predicted, counts)


def precision(counts: Counts) -> FloatArray:
    """Share of the predicted pixels that are right, images x classes, in [0, 1]; missed 0, absent NaN.

    >>> from segcv.metrics import example_counts
    >>> precision(example_counts()).round(3)[1].tolist()          # class 1 is a false alarm, 2 absent
    [1.0, 0.0, nan]
    """
    return _share(counts.tp, counts.predicted, counts)


def recall(counts: Counts) -> FloatArray:
    """Share of the true pixels that are found, images x classes, in [0, 1]; false alarm 0, absent NaN.

    >>> from segcv.metrics import example_counts
    >>> recall(example_counts()).round(3)[1].tolist()
    [0.857, 0.0, nan]
    """
    return _share(counts.tp, counts.truth, counts)


METRICS: dict[str, Metric] = {"iou": iou, "dice": dice, "precision": precision, "recall": recall}


def _share(part: NDArray[Any], whole: NDArray[Any], counts: Counts) -> FloatArray:
    scores: FloatArray = np.where(counts.union > 0, 0.0, np.nan)    # images x classes
    np.divide(part, whole, out=scores, where=whole > 0)
    return scores
