"""What stands beside a mean: how many cells of which state, the worst images, and sources and groups."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from segcv.errors import ConfigError, ScoreError
from segcv.metrics.averages import Policy, cell_scores, image_scores
from segcv.metrics.counts import Counts
from segcv.metrics.overlap import FloatArray

SHARES_PERCENT = tuple(range(10, 101, 10))      # the worst 10, 20, .. 100 % (Wang et al. 2023)


def cells_by_state(counts: Counts) -> dict[str, int]:
    """Number of cells (image x class): hit (in truth and prediction), missed, false_alarm, absent.

    >>> from segcv.metrics import example_counts
    >>> cells_by_state(example_counts())
    {'hit': 5, 'missed': 0, 'false_alarm': 1, 'absent': 3}
    """
    truth, predicted = counts.truth > 0, counts.predicted > 0
    states = {"hit": truth & predicted, "missed": truth & ~predicted, "false_alarm": ~truth & predicted,
              "absent": ~truth & ~predicted}
    return {state: int(cells.sum()) for state, cells in states.items()}


def miss_rate(counts: Counts) -> float:
    """Share of the cells whose class is in the truth where it is not predicted at all, in [0, 1]; NaN without such.

    >>> from segcv.metrics import example_counts
    >>> miss_rate(example_counts())
    0.0
    """
    cells = cells_by_state(counts)
    return _rate(cells["missed"], cells["missed"] + cells["hit"])


def false_alarm_rate(counts: Counts) -> float:
    """Share of the cells whose class is not in the truth where it is predicted, in [0, 1]; NaN without such.

    >>> from segcv.metrics import example_counts
    >>> false_alarm_rate(example_counts())
    0.25
    """
    cells = cells_by_state(counts)
    return _rate(cells["false_alarm"], cells["false_alarm"] + cells["absent"])


def worst_image_mean(counts: Counts, *, percent: int, metric: str = "iou", policy: Policy = "union") -> float:
    """Mean of the max(1, floor(percent · N / 100)) lowest of the N defined image scores, in [0, 1]; NaN without any.

    >>> from segcv.metrics import example_counts
    >>> round(worst_image_mean(example_counts(), percent=67), 3)          # of 2 of 3 images
    0.554
    """
    return lowest_mean(image_scores(counts, metric=metric, policy=policy), percent)


def worst_class_mean(counts: Counts, *, percent: int, metric: str = "iou", policy: Policy = "union") -> float:
    """Per class the mean of its lowest cells (as `worst_image_mean`), then the mean over classes, in [0, 1].

    >>> from segcv.metrics import example_counts
    >>> round(worst_class_mean(example_counts(), percent=10), 3)          # of 0.8, 0 and 0.75
    0.517
    """
    cells = cell_scores(counts, metric=metric, policy=policy)                         # images x classes
    worst = np.array([lowest_mean(column, percent) for column in cells.T])           # classes
    return float(np.mean(worst[~np.isnan(worst)])) if not np.isnan(worst).all() else float("nan")


def worst_image_curve(counts: Counts, *, metric: str = "iou", policy: Policy = "union") -> FloatArray:
    """`worst_image_mean` at 10, 20, .. 100 percent; its mean is one number that leans to the worst images.

    >>> from segcv.metrics import example_counts
    >>> worst_image_curve(example_counts()).round(3)[[0, 6, 9]].tolist()
    [0.429, 0.554, 0.627]
    """
    return np.array([worst_image_mean(counts, percent=share, metric=metric, policy=policy)
                     for share in SHARES_PERCENT])


def worst_class_curve(counts: Counts, *, metric: str = "iou", policy: Policy = "union") -> FloatArray:
    """`worst_class_mean` at 10, 20, .. 100 percent.

    >>> from segcv.metrics import example_counts
    >>> worst_class_curve(example_counts()).round(3)[[0, 9]].tolist()
    [0.517, 0.613]
    """
    return np.array([worst_class_mean(counts, percent=share, metric=metric, policy=policy)
                     for share in SHARES_PERCENT])


def equal_row(counts: Counts, *, metric: str = "iou", policy: Policy = "union") -> float:
    """Mean over the rows of Counts of each row's mean over classes, in [0, 1]: each image counts once.

    >>> from segcv.metrics import example_counts
    >>> round(equal_row(example_counts()), 3)
    0.627
    """
    return _defined_mean(image_scores(counts, metric=metric, policy=policy))


def group_scores(counts: Counts, groups: ArrayLike, *, pooled: bool, metric: str = "iou",
                 policy: Policy = "union") -> tuple[NDArray[Any], FloatArray]:
    """The distinct groups (sorted) and a score for each, in [0, 1]; NaN where a group has no cell with weight.

    `pooled`: from the group's summed pixels, so that large images weigh more; else the mean of its images' scores.

    >>> from segcv.metrics import example_counts
    >>> names, scores = group_scores(example_counts(), ["a", "a", "b"], pooled=True)
    >>> names.tolist(), scores.round(3).tolist()
    (['a', 'b'], [0.595, 0.775])
    """
    labels = np.asarray(groups)
    if labels.shape != (counts.n_images,):
        raise ScoreError(f"{counts.n_images} images need one group each, not an array of shape {labels.shape}.")
    if pooled:
        return np.unique(labels), image_scores(counts.by(labels), metric=metric, policy=policy)
    return group_means(image_scores(counts, metric=metric, policy=policy), labels)


def group_means(scores: FloatArray, groups: ArrayLike) -> tuple[NDArray[Any], FloatArray]:
    """The distinct groups (sorted) and the mean of the defined scores of each; NaN where a group has none."""
    names, group_of = np.unique(np.asarray(groups), return_inverse=True)
    defined = ~np.isnan(scores)
    number = np.bincount(group_of[defined], minlength=len(names))
    total = np.bincount(group_of[defined], weights=scores[defined], minlength=len(names))
    return names, np.divide(total, number, out=np.full(len(names), np.nan), where=number > 0)


def equal_group(counts: Counts, groups: ArrayLike, *, metric: str = "iou", policy: Policy = "union") -> float:
    """Mean over groups of the mean over their images, in [0, 1]: each group counts once.

    >>> from segcv.metrics import example_counts
    >>> round(equal_group(example_counts(), ["a", "a", "b"]), 3)
    0.664
    """
    return _defined_mean(group_scores(counts, groups, pooled=False, metric=metric, policy=policy)[1])


def group_pooled(counts: Counts, groups: ArrayLike, *, metric: str = "iou", policy: Policy = "union") -> float:
    """Mean over groups of the score of their summed pixels, in [0, 1]: each group counts once, as one image would.

    >>> from segcv.metrics import example_counts
    >>> round(group_pooled(example_counts(), ["a", "a", "b"]), 3)
    0.685
    """
    return _defined_mean(group_scores(counts, groups, pooled=True, metric=metric, policy=policy)[1])


def worst_group(counts: Counts, groups: ArrayLike, *, pooled: bool, metric: str = "iou",
                policy: Policy = "union") -> tuple[Any, float]:
    """The group with the lowest score, and the score (as `group_scores`); the first by name among equals.

    (None, NaN) where no group has a score.

    >>> from segcv.metrics import example_counts
    >>> name, score = worst_group(example_counts(), ["a", "a", "b"], pooled=True)
    >>> name, round(score, 3)
    ('a', 0.595)
    """
    names, scores = group_scores(counts, groups, pooled=pooled, metric=metric, policy=policy)
    if np.isnan(scores).all():
        return None, float("nan")
    lowest = int(np.nanargmin(scores))
    return names[lowest].item(), float(scores[lowest])


def lowest_mean(scores: FloatArray, percent: int) -> float:
    """Mean of the max(1, floor(percent · N / 100)) lowest of the N defined scores; NaN without any."""
    if not 1 <= percent <= 100:
        raise ConfigError(f"percent={percent} must lie in 1..100.")
    defined = np.sort(scores[~np.isnan(scores)])
    return float(defined[:max(1, percent * defined.size // 100)].mean()) if defined.size else float("nan")


def _defined_mean(scores: FloatArray) -> float:
    defined = scores[~np.isnan(scores)]
    return float(defined.mean()) if defined.size else float("nan")


def _rate(part: int, whole: int) -> float:
    return part / whole if whole else float("nan")
