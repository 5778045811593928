"""Masks to numbers: exact pixel counts, overlap from counts, averages by name; boundaries; probabilities. Arrays only.

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
from segcv.metrics.boundaries import (
    BorderDistances,
    assd,
    border,
    border_distances,
    hd95_max,
    hd95_pooled,
    masd,
    nsd,
    surface_distances,
)
from segcv.metrics.boundary_bands import band_depth, boundary_iou
from segcv.metrics.boundary_scores import (
    BOUNDARY_METRICS,
    BoundaryMeans,
    boundary_means,
    boundary_scores,
    image_diagonal,
    penalised,
)
from segcv.metrics.counts import Counts, confusion, counts_from_confusion, counts_from_rows, example_counts
from segcv.metrics.overlap import METRICS, Metric, dice, iou, precision, recall
from segcv.metrics.probabilities import auroc, average_precision, brier, ece, probability_histogram
from segcv.metrics.rollups import (
    cells_by_state,
    equal_group,
    equal_row,
    false_alarm_rate,
    group_means,
    group_pooled,
    group_scores,
    lowest_mean,
    miss_rate,
    worst_class_curve,
    worst_class_mean,
    worst_group,
    worst_image_curve,
    worst_image_mean,
)
from segcv.metrics.trivial import majority_class, trivial_counts

__all__ = [
    "AVERAGES", "BOUNDARY_METRICS", "METRICS", "POLICIES", "BorderDistances", "BoundaryMeans", "Counts", "Metric",
    "Policy", "assd", "auroc", "average_precision", "band_depth", "border", "border_distances", "boundary_iou",
    "boundary_means", "boundary_scores", "brier", "cell_scores", "cell_weights", "cells_by_state", "class_scores",
    "confusion", "counts_from_confusion", "counts_from_rows", "dice", "ece", "equal_group", "equal_row",
    "example_counts", "false_alarm_rate", "frequency_weighted_iou", "group_means", "group_pooled", "group_scores",
    "hd95_max", "hd95_pooled", "image_diagonal", "image_scores", "iou", "lowest_mean", "majority_class", "masd",
    "mdice_class", "mdice_image", "mdice_pooled", "micro_dice", "micro_iou", "miou_class", "miou_image", "miou_pooled",
    "miss_rate", "nsd", "penalised", "pixel_accuracy", "policy_span", "pooled_scores", "precision",
    "probability_histogram", "recall", "surface_distances", "trivial_counts", "worst_class_curve", "worst_class_mean",
    "worst_group", "worst_image_curve", "worst_image_mean",
]
