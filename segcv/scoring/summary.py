"""The scores of one run as named numbers and as a short text: averages under their names, and what stands beside."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segcv.metrics import (
    BOUNDARY_METRICS,
    METRICS,
    Counts,
    boundary_means,
    cells_by_state,
    class_scores,
    equal_group,
    false_alarm_rate,
    frequency_weighted_iou,
    group_pooled,
    group_scores,
    image_diagonal,
    image_scores,
    majority_class,
    mdice_class,
    mdice_image,
    mdice_pooled,
    micro_dice,
    micro_iou,
    miou_class,
    miou_image,
    miou_pooled,
    miss_rate,
    pixel_accuracy,
    policy_span,
    pooled_scores,
    trivial_counts,
    worst_group,
    worst_image_curve,
    worst_image_mean,
)
from segcv.scoring.histograms import probability_scores
from segcv.scoring.tally import DISTANCES
from segcv.scoring.writing import RunScores

FloatArray = NDArray[np.float64]

POLICY = "union"
AVERAGES = {"pooled_miou": ("miou_pooled", miou_pooled), "mean_of_image_miou": ("miou_image", miou_image),
            "mean_of_class_miou": ("miou_class", miou_class), "pooled_mdice": ("mdice_pooled", mdice_pooled),
            "mean_of_image_mdice": ("mdice_image", mdice_image), "mean_of_class_mdice": ("mdice_class", mdice_class)}


def summary_of(scores: RunScores, *, class_names: Sequence[str], in_mean: Sequence[int] | None = None,
               majority: int | None = None, spacing: tuple[float, float] = (1.0, 1.0)) -> dict[str, Any]:
    """Every number of one run by name, for programs; NaN where undefined.

    Means go over the classes `in_mean` (None: all) and leave out cells whose class is in neither mask (policy union);
    `n_*_in_mean` count what is left. `majority`: the most common class of the training pixels, for the trivial
    predictor; None takes that of the scored pixels, which flatters it. Distances that are infinite because one object
    is missing count in means as the image's diagonal (in units of `spacing`), and how many they are stands beside.
    """
    counts = scores.counts
    chosen = list(range(counts.n_classes)) if in_mean is None else sorted(in_mean)
    means = counts.take(classes=chosen)
    of_training = majority is not None
    guess = majority if majority is not None else majority_class(counts.truth)
    trivial = trivial_counts(counts.truth, class_id=guess).take(classes=chosen)
    per_image = image_scores(means)
    pooled = pooled_scores(means)
    numbers: dict[str, Any] = {
        "n_images_scored": counts.n_images, "n_pixels_scored": int(counts.valid.sum()),
        "policy": POLICY, "classes": list(class_names), "classes_in_mean": chosen,
        "n_classes_in_mean": int((~np.isnan(pooled)).sum()), "n_images_in_mean": int((~np.isnan(per_image)).sum()),
    }
    numbers |= {name: average(means) for name, (_, average) in AVERAGES.items()}
    numbers |= {"micro_iou": micro_iou(means), "micro_dice": micro_dice(means),
                "frequency_weighted_iou": frequency_weighted_iou(means), "pixel_accuracy": pixel_accuracy(counts)}
    numbers["span_over_policies"] = {name: policy_span(means, average=average)
                                     for name, (average, _) in AVERAGES.items()}
    numbers |= {"miss_rate": miss_rate(means), "false_alarm_rate": false_alarm_rate(means),
                "cells": cells_by_state(means)}
    numbers["trivial"] = {"class_id": guess, "of": "training pixels" if of_training else "scored pixels",
                          **{name: average(trivial) for name, (_, average) in AVERAGES.items()},
                          "pixel_accuracy": pixel_accuracy(trivial_counts(counts.truth, class_id=guess))}
    for name in METRICS:
        cells = METRICS[name](counts)                                       # images x classes
        numbers[f"pooled_{name}_per_class"] = pooled_scores(counts, metric=name).tolist()
        numbers[f"mean_{name}_per_class_over_images"] = class_scores(counts, metric=name).tolist()
        if name in ("iou", "dice"):
            numbers[f"{name}_per_image_and_class"] = cells.tolist()
    numbers |= _rollups(scores, means)
    numbers["n_images_in_mean_per_class"] = (counts.union > 0).sum(axis=0).tolist()
    if scores.histogram is not None:
        numbers |= probability_scores(scores.histogram)
    for name, values in scores.metrics.items():
        numbers |= _outlines(name, values, scores, chosen, spacing)
    numbers |= {"image_ids": list(scores.image_ids), "miou_per_image": per_image.tolist(),
                "mdice_per_image": image_scores(means, metric="dice").tolist()}
    return numbers


def _rollups(scores: RunScores, means: Counts) -> dict[str, Any]:
    """The mIoU by group and by source (patches added first), and of the worst images."""
    groups, by_group = group_scores(means, scores.group_ids, pooled=False)
    _, pooled = group_scores(means, scores.group_ids, pooled=True)
    own = [f"source {source}" if source else f"image {image}"
           for source, image in zip(scores.source_ids, scores.image_ids, strict=True)]
    worst, lowest = worst_group(means, scores.group_ids, pooled=False)
    curve = worst_image_curve(means)
    return {
        "n_groups": len(groups), "equal_group_miou": equal_group(means, scores.group_ids),
        "group_pooled_miou": group_pooled(means, scores.group_ids), "worst_group": worst, "worst_group_miou": lowest,
        "miou_per_group": dict(zip(groups.tolist(), by_group.tolist(), strict=True)),
        "pooled_miou_per_group": dict(zip(groups.tolist(), pooled.tolist(), strict=True)),
        "n_sources": len(set(own)), "equal_source_miou": group_pooled(means, own),
        "worst_images_miou": {str(percent): worst_image_mean(means, percent=percent) for percent in (5, 10, 25)},
        "mean_over_worst_quantiles_miou": float(curve.mean()),
    }


def _outlines(name: str, values: FloatArray, scores: RunScores, chosen: Sequence[int],
              spacing: tuple[float, float]) -> dict[str, Any]:
    """A boundary metric: its cells (inf as text), means over images, and of how many cells one side was missing."""
    diagonals = np.array([image_diagonal((int(height), int(width)), spacing=spacing) for height, width in scores.sizes])
    means = boundary_means(values, scores.counts, penalty=diagonals)
    kept = means.mean[list(chosen)]
    return {
        f"{name}_per_image_and_class": [["inf" if math.isinf(cell) else cell for cell in row] for row in
                                        values.tolist()],
        f"mean_{name}_per_class_over_images": means.mean.tolist(),
        f"mean_{name}": float(np.nanmean(kept)) if not np.isnan(kept).all() else math.nan,
        f"n_{name}_missed_per_class": means.missed.tolist(),
        f"n_{name}_false_alarm_per_class": means.false_alarms.tolist(),
        f"n_{name}_both_empty_per_class": means.both_empty.tolist(),
    }


def summary_text(numbers: dict[str, Any]) -> str:
    """The short table of a run for the terminal; `numbers` from `summary_of`, or from JSON with None for NaN."""
    names, chosen = numbers["classes"], set(numbers["classes_in_mean"])
    wide = max(len("class"), *(len(name) for name in names))
    lines = [f"{'class':<{wide}}  pooled IoU  pooled Dice  images"]
    for number, name in enumerate(names):
        out = "" if number in chosen else "  not in the means"
        lines.append(f"{name:<{wide}}  {_shown(numbers['pooled_iou_per_class'][number]):>10}  "
                     f"{_shown(numbers['pooled_dice_per_class'][number]):>11}  "
                     f"{numbers['n_images_in_mean_per_class'][number]:>6}{out}")
    low, high = numbers["span_over_policies"]["pooled_miou"]
    per_low, per_high = numbers["span_over_policies"]["mean_of_image_miou"]
    trivial = numbers["trivial"]
    lines += [
        f"mIoU of summed pixels {_shown(numbers['pooled_miou'])} over {numbers['n_classes_in_mean']} of {len(chosen)} "
        f"classes; {_shown(low)} to {_shown(high)} by how absent classes count (here: left out)",
        f"mean over images of their mIoU {_shown(numbers['mean_of_image_miou'])} over {numbers['n_images_in_mean']} of "
        f"{numbers['n_images_scored']} images; {_shown(per_low)} to {_shown(per_high)}",
        f"mean over {numbers['n_groups']} groups {_shown(numbers['equal_group_miou'])}; the worst, "
        f"{numbers['worst_group']}: {_shown(numbers['worst_group_miou'])}",
        f"missed where present {_shown(numbers['miss_rate'])}, seen where absent "
        f"{_shown(numbers['false_alarm_rate'])} (share of image x class cells)",
        f"always {names[trivial['class_id']]}, the most common class of the {trivial['of']}: mIoU of summed pixels "
        f"{_shown(trivial['pooled_miou'])}, mean over images {_shown(trivial['mean_of_image_miou'])}",
    ]
    if "ece" in numbers:
        ranks = ", ".join(f"{name} {_shown(value)}" for name, value in zip(names, numbers["auroc_per_class"],
                                                                         strict=True))
        lines.append(f"calibration error {_shown(numbers['ece'])}, Brier {_shown(numbers['brier'])}; AUROC {ranks} "
                     "(chance 0.500)")
    lines += [f"{name} {_shown(numbers[f'mean_{name}'])}, mean over classes of the mean over images; one side missing "
              f"in {sum(numbers[f'n_{name}_missed_per_class'])} + {sum(numbers[f'n_{name}_false_alarm_per_class'])} "
              f"cells (missed + false alarm){', counted as the image diagonal' if name in DISTANCES else ', counted 0'}"
              for name in BOUNDARY_METRICS if f"mean_{name}" in numbers]
    return "\n".join(lines)


def _shown(value: float | None) -> str:
    return "n/a" if value is None or math.isnan(value) else f"{value:.3f}"
