"""From cells (image x class) to one number: averages by name, under a named policy for absent classes.

A cell has a score s and a weight w. The policy says both for cells whose class is in the truth (G > 0), in the
prediction only, or in neither (absent):

    union    w = 1 where the class is in truth or prediction; a false alarm counts 0, an absent cell is left out
    truth    w = 1 where the class is in the truth: the same cells for every model, but blind to false alarms
    zero     w = 1 everywhere, absent scores 0       (to reproduce other tools' numbers)
    one      w = 1 everywhere, absent scores 1       (to reproduce other tools' numbers)

Names follow Wang et al. 2023 (arXiv 2310.19252): pooled (mIoU^D) divides sums over all images, image (mIoU^I) is the
mean over images of the mean over classes, class (mIoU^C) the mean over classes of the mean over images. NaN: no cell
had weight.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, get_args

import numpy as np

from segcv.errors import ConfigError
from segcv.metrics.counts import Counts
from segcv.metrics.overlap import METRICS, FloatArray, iou

Policy = Literal["union", "truth", "zero", "one"]
POLICIES: tuple[Policy, ...] = get_args(Policy)


def cell_weights(counts: Counts, *, policy: Policy = "union") -> FloatArray:
    """Weight of each cell under the policy, images x classes, 0 or 1.

    >>> from segcv.metrics import example_counts
    >>> cell_weights(example_counts(), policy="truth").tolist()
    [[1.0, 1.0, 0.0], [1.0, 0.0, 0.0], [1.0, 0.0, 1.0]]
    """
    if policy not in POLICIES:
        raise ConfigError(f"policy={policy!r} is none of {', '.join(POLICIES)}.")
    if policy == "union":
        return (counts.union > 0).astype(np.float64)
    if policy == "truth":
        return (counts.truth > 0).astype(np.float64)
    return np.ones(counts.tp.shape)


def cell_scores(counts: Counts, *, metric: str = "iou", policy: Policy = "union") -> FloatArray:
    """Score of each cell under the policy, images x classes, in [0, 1]; NaN where the policy gives no weight.

    >>> from segcv.metrics import example_counts
    >>> cell_scores(example_counts(), policy="zero").round(3)[0].tolist()
    [0.857, 0.5, 0.0]
    """
    if metric not in METRICS:
        raise ConfigError(f"metric={metric!r} is none of {', '.join(METRICS)}.")
    scores: FloatArray = METRICS[metric](counts).copy()
    if policy in ("zero", "one"):
        scores[counts.union == 0] = float(policy == "one")
    scores[cell_weights(counts, policy=policy) == 0] = np.nan
    return scores


def image_scores(counts: Counts, *, metric: str = "iou", policy: Policy = "union") -> FloatArray:
    """Mean over the classes of each image, images, in [0, 1]; NaN where an image has no cell with weight.

    >>> from segcv.metrics import example_counts
    >>> image_scores(example_counts()).round(3).tolist()
    [0.679, 0.429, 0.775]
    """
    return _mean(cell_scores(counts, metric=metric, policy=policy), axis=1)


def class_scores(counts: Counts, *, metric: str = "iou", policy: Policy = "union") -> FloatArray:
    """Mean over the images of each class, classes, in [0, 1]; NaN where a class has no cell with weight.

    >>> from segcv.metrics import example_counts
    >>> class_scores(example_counts()).round(3).tolist()
    [0.838, 0.25, 0.75]
    """
    return _mean(cell_scores(counts, metric=metric, policy=policy), axis=0)


def pooled_scores(counts: Counts, *, metric: str = "iou", policy: Policy = "union") -> FloatArray:
    """Score of each class from pixels summed over all images, classes, in [0, 1]; NaN where without weight.

    >>> from segcv.metrics import example_counts
    >>> pooled_scores(example_counts()).round(3).tolist()
    [0.842, 0.333, 0.75]
    """
    return cell_scores(counts.pooled(), metric=metric, policy=policy).reshape(-1)      # one row


def miou_pooled(counts: Counts, *, policy: Policy = "union") -> float:
    """mIoU^D: mean over classes of the IoU of summed pixels, in [0, 1]. Large images and objects dominate.

    >>> from segcv.metrics import example_counts
    >>> round(miou_pooled(example_counts()), 4)
    0.6418
    """
    return _overall(pooled_scores(counts, metric="iou", policy=policy))


def miou_image(counts: Counts, *, policy: Policy = "union") -> float:
    """mIoU^I: mean over images of the mean IoU over their classes, in [0, 1]. Each image counts once.

    >>> from segcv.metrics import example_counts
    >>> round(miou_image(example_counts()), 4)
    0.6274
    """
    return _overall(image_scores(counts, metric="iou", policy=policy))


def miou_class(counts: Counts, *, policy: Policy = "union") -> float:
    """mIoU^C: mean over classes of the mean IoU over images, in [0, 1]. Each class counts once.

    >>> from segcv.metrics import example_counts
    >>> round(miou_class(example_counts()), 4)
    0.6127
    """
    return _overall(class_scores(counts, metric="iou", policy=policy))


def mdice_pooled(counts: Counts, *, policy: Policy = "union") -> float:
    """As `miou_pooled`, of Dice.

    >>> from segcv.metrics import example_counts
    >>> round(mdice_pooled(example_counts()), 3)
    0.757
    """
    return _overall(pooled_scores(counts, metric="dice", policy=policy))


def mdice_image(counts: Counts, *, policy: Policy = "union") -> float:
    """As `miou_image`, of Dice.

    >>> from segcv.metrics import example_counts
    >>> round(mdice_image(example_counts()), 3)
    0.71
    """
    return _overall(image_scores(counts, metric="dice", policy=policy))


def mdice_class(counts: Counts, *, policy: Policy = "union") -> float:
    """As `miou_class`, of Dice.

    >>> from segcv.metrics import example_counts
    >>> round(mdice_class(example_counts()), 3)
    0.701
    """
    return _overall(class_scores(counts, metric="dice", policy=policy))


AVERAGES: dict[str, Callable[..., float]] = {        # (counts, *, policy) -> number; the policy changes each of them
    "miou_pooled": miou_pooled, "miou_image": miou_image, "miou_class": miou_class,
    "mdice_pooled": mdice_pooled, "mdice_image": mdice_image, "mdice_class": mdice_class,
}


def policy_span(counts: Counts, *, average: str) -> tuple[float, float]:
    """Lowest and highest value of a named average over the four policies: what the convention alone decides.

    >>> from segcv.metrics import example_counts
    >>> [round(value, 4) for value in policy_span(example_counts(), average="miou_image")]
    [0.4183, 0.7702]
    """
    if average not in AVERAGES:
        raise ConfigError(f"average={average!r} is none of {', '.join(AVERAGES)}.")
    values = np.array([AVERAGES[average](counts, policy=policy) for policy in POLICIES])
    defined = values[~np.isnan(values)]
    return (float(defined.min()), float(defined.max())) if defined.size else (np.nan, np.nan)


def micro_iou(counts: Counts) -> float:
    """IoU of pixels summed over images and classes, in [0, 1]. A large, easy background lifts it.

    >>> from segcv.metrics import example_counts
    >>> round(micro_iou(example_counts()), 4)
    0.7692
    """
    return _ratio(float(counts.tp.sum()), float(counts.union.sum()))


def micro_dice(counts: Counts) -> float:
    """Dice of pixels summed over images and classes, in [0, 1]; with one label per pixel and all of them in the label
    set this is the pixel accuracy.

    >>> from segcv.metrics import example_counts
    >>> round(micro_dice(example_counts()), 4)
    0.8696
    """
    return _ratio(2.0 * float(counts.tp.sum()), float(counts.truth.sum() + counts.predicted.sum()))


def frequency_weighted_iou(counts: Counts) -> float:
    """Mean of the classes' pooled IoU, weighted by their true pixels, in [0, 1].

    >>> from segcv.metrics import example_counts
    >>> round(frequency_weighted_iou(example_counts()), 4)
    0.7818
    """
    return _by_frequency(counts, iou(counts.pooled())[0])


def pixel_accuracy(counts: Counts) -> float:
    """Share of the valid pixels whose label is right, in [0, 1]. Of a selection of classes: rightly so labelled.

    >>> from segcv.metrics import example_counts
    >>> round(pixel_accuracy(example_counts()), 4)
    0.8696
    """
    return _ratio(float(counts.tp.sum()), float(counts.valid.sum()))


def _by_frequency(counts: Counts, scores: FloatArray) -> float:
    pixels = counts.truth.sum(axis=0)                               # classes
    return _ratio(float(np.nansum(pixels * scores)), float(pixels.sum()))


def _mean(scores: FloatArray, *, axis: int) -> FloatArray:
    """Mean of what is defined; NaN where nothing is."""
    defined = ~np.isnan(scores)
    number = defined.sum(axis=axis)
    total = np.where(defined, scores, 0.0).sum(axis=axis)
    mean: FloatArray = np.full(number.shape, np.nan)
    np.divide(total, number, out=mean, where=number > 0)
    return mean


def _overall(scores: FloatArray) -> float:
    return float(_mean(scores[None], axis=1)[0])


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole > 0 else float("nan")
