"""The averages side by side, under their names and policies: one set of counts, many numbers called mIoU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from segcv.metrics import (
    AVERAGES,
    POLICIES,
    Counts,
    Policy,
    cells_by_state,
    equal_row,
    false_alarm_rate,
    frequency_weighted_iou,
    group_means,
    image_scores,
    lowest_mean,
    micro_iou,
    miss_rate,
    pixel_accuracy,
)
from segcv.statistics.scored import Floats, ScoredImages

WORST_PERCENT = (5, 10, 25)
Labels = NDArray[Any]
ALL, LOWEST = 100, 0


def averages_table(scored: ScoredImages, *, metric: str = "iou") -> pd.DataFrame:
    """Every average of the held-out images: one row per name, one column per policy, and their span; in [0, 1].

    Each is computed within a column (a pass over all folds) and then averaged over columns. Where the policy
    has no effect its columns agree. `averaged` says over what.
    """
    source_id = scored.rows["source_id"].to_numpy(dtype=object)
    parts = [_Column(scored.counts.take(inside), scored.group[inside], source_id[inside], metric)
             for s in range(scored.columns) for inside in [scored.column == s]]
    sources = any((part.source != "").any() for part in parts)
    prefix = "m" + metric
    named = [(name, text, average) for name, text, average in (
        (f"{prefix}_pooled", "classes, of pixels summed over all images", AVERAGES.get(f"{prefix}_pooled")),
        (f"{prefix}_image", "images, each the mean of its classes", AVERAGES.get(f"{prefix}_image")),
        (f"{prefix}_class", "classes, each the mean over images", AVERAGES.get(f"{prefix}_class")),
    ) if average is not None]
    rows = [{"average": name, "averaged": text, **{
        policy: _over([average(part.counts, policy=policy) for part in parts]) for policy in POLICIES}}
        for name, text, average in named]
    grouped: tuple[tuple[str, str, Callable[[_Column, Policy], Floats], int], ...] = (
        ("equal_row", "images, each once", lambda part, policy: part.images[policy], ALL),
        ("equal_group", "groups, each the mean of its images", lambda part, policy: part.groups[policy], ALL),
        ("group_pooled", "groups, each from its summed pixels", lambda part, policy: part.summed[policy], ALL),
        ("worst_group", "the lowest group", lambda part, policy: part.groups[policy], LOWEST),
        *((f"worst_{percent}_percent", f"the worst {percent} % of the images",
           lambda part, policy: part.images[policy], percent) for percent in WORST_PERCENT),
    )
    rows += [{"average": name, "averaged": text, **{
        policy: _over([_of(scores(part, policy), percent) for part in parts]) for policy in POLICIES}}
        for name, text, scores, percent in grouped]
    if sources:
        rows.append({"average": f"{prefix}_source", "averaged": "source images, patches added first", **{
            policy: _over([equal_row(part.by_source, metric=metric, policy=policy) for part in parts])
            for policy in POLICIES}})
    rows += [{"average": name, "averaged": text,
              **dict.fromkeys(POLICIES, _over([value(part.counts) for part in parts]))}
             for name, text, value in (
                 ("micro_iou", "pixels of all images and classes", micro_iou),
                 ("frequency_weighted_iou", "classes, weighted by true pixels", frequency_weighted_iou),
                 ("pixel_accuracy", "pixels", pixel_accuracy))]
    table = pd.DataFrame(rows, columns=["average", "averaged", *POLICIES])
    table["span"] = table[list(POLICIES)].max(axis=1) - table[list(POLICIES)].min(axis=1)
    return table


def undefined_table(scored: ScoredImages) -> pd.DataFrame:
    """Cells (run x image) of each class by state: hit, missed, false_alarm, absent (undefined), with both rates."""
    rows = []
    for number, name in enumerate(scored.class_names):
        counts = scored.counts.take(classes=[number])
        rows.append({"class": name, **cells_by_state(counts), "miss_rate": miss_rate(counts),
                     "false_alarm_rate": false_alarm_rate(counts)})
    return pd.DataFrame(rows)


class _Column:
    """The images of one pass over the folds, and each score that several averages share, computed once."""

    def __init__(self, counts: Counts, group: Labels, source: Labels, metric: str) -> None:
        self.counts, self.group, self.source = counts, group, source
        summed = counts.by(group)
        self.images = {policy: image_scores(counts, metric=metric, policy=policy) for policy in POLICIES}
        self.groups = {policy: group_means(scores, group)[1] for policy, scores in self.images.items()}
        self.summed = {policy: image_scores(summed, metric=metric, policy=policy) for policy in POLICIES}

    @property
    def by_source(self) -> Counts:
        """One row per source image, patches added; an image without a source stays alone."""
        alone = np.array([f"row {row}" for row in range(len(self.source))], dtype=object)
        named = np.array([f"source {g}/{s}" for g, s in zip(self.group, self.source, strict=True)], dtype=object)
        return self.counts.by(np.unique(np.where(self.source == "", alone, named), return_inverse=True)[1])


def _of(scores: Floats, percent: int) -> float:
    """The mean of the lowest so many per cent of the defined scores; the lowest one alone."""
    if percent == LOWEST:
        return float(np.nanmin(scores)) if np.isfinite(scores).any() else float("nan")
    if percent != ALL:
        return lowest_mean(scores, percent)
    defined = scores[~np.isnan(scores)]
    return float(defined.mean()) if len(defined) else float("nan")


def _over(values: list[float]) -> float:
    defined = np.array([value for value in values if not np.isnan(value)])
    return float(defined.mean()) if len(defined) else float("nan")
