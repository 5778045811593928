"""Masks to numbers: exact pixel counts, overlap metrics from counts, averages by name. Arrays in, arrays out.

    counts = counts_from_confusion(confusion(truth, prediction, n_classes=3, void=255))
    iou(counts)             # images x classes, NaN where a class is in neither mask
    miou_image(counts)      # one number, under the policy for absent classes that it names

Compiled code is loaded when the first mask is counted, not on import.
"""

from segcv.metrics.averages import (
    AVERAGES,
    POLICIES,
    Policy,
    cell_scores,
    cell_weights,
    class_scores,
    frequency_weighted_dice,
    frequency_weighted_iou,
    image_scores,
    mdice_class,
    mdice_image,
    mdice_pooled,
    micro_dice,
    micro_iou,
    miou_class,
    miou_image,
    miou_pooled,
    pixel_accuracy,
    policy_span,
    pooled_scores,
)
from segcv.metrics.counts import Counts, confusion, counts_from_confusion, counts_from_rows
from segcv.metrics.overlap import METRICS, Metric, dice, iou, precision, recall
from segcv.metrics.rollups import (
    cells_by_state,
    equal_group,
    equal_row,
    false_alarm_rate,
    group_pooled,
    group_scores,
    miss_rate,
    worst_class_curve,
    worst_class_mean,
    worst_group,
    worst_image_curve,
    worst_image_mean,
)
from segcv.metrics.trivial import majority_class, trivial_counts

__all__ = [
    "AVERAGES", "METRICS", "POLICIES", "Counts", "Metric", "Policy", "cell_scores", "cell_weights", "cells_by_state",
    "class_scores", "confusion", "counts_from_confusion", "counts_from_rows", "dice", "equal_group", "equal_row",
    "false_alarm_rate", "frequency_weighted_dice", "frequency_weighted_iou", "group_pooled", "group_scores",
    "image_scores", "iou", "majority_class", "mdice_class", "mdice_image", "mdice_pooled", "micro_dice", "micro_iou",
    "miou_class", "miou_image", "miou_pooled", "miss_rate", "pixel_accuracy", "policy_span", "pooled_scores",
    "precision", "recall", "trivial_counts", "worst_class_curve", "worst_class_mean", "worst_group",
    "worst_image_curve", "worst_image_mean",
]
