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
    equal_group,
    equal_row,
    false_alarm_rate,
    frequency_weighted_iou,
    group_pooled,
    micro_iou,
    miss_rate,
    pixel_accuracy,
    worst_group,
    worst_image_mean,
)
from segcv.statistics.scored import ScoredImages

WORST_PERCENT = (5, 10, 25)
Labels = NDArray[Any]
GroupAverage = Callable[[Counts, Labels, Policy], float]


def averages_table(scored: ScoredImages, *, metric: str = "iou") -> pd.DataFrame:
    """Every average of the held-out images: one row per name, one column per policy, and their span; in [0, 1].

    Each is computed within a column (a pass over all folds) and then averaged over columns. Where the policy
    has no effect its columns agree. `averaged` says over what.
    """
    source_id = scored.rows["source_id"].to_numpy(dtype=object)
    parts = [(scored.counts.take(inside), scored.group[inside], source_id[inside])
             for s in range(scored.columns) for inside in [scored.column == s]]
    sources = any((source != "").any() for _, _, source in parts)
    prefix = "m" + metric
    named = [(name, text, average) for name, text, average in (
        (f"{prefix}_pooled", "classes, of pixels summed over all images", AVERAGES.get(f"{prefix}_pooled")),
        (f"{prefix}_image", "images, each the mean of its classes", AVERAGES.get(f"{prefix}_image")),
        (f"{prefix}_class", "classes, each the mean over images", AVERAGES.get(f"{prefix}_class")),
    ) if average is not None]
    rows = [{"average": name, "averaged": text, **{
        policy: _over([average(counts, policy=policy) for counts, _, _ in parts]) for policy in POLICIES}}
        for name, text, average in named]
    grouped: tuple[tuple[str, str, GroupAverage], ...] = (
        ("equal_row", "images, each once", lambda c, g, p: equal_row(c, metric=metric, policy=p)),
        ("equal_group", "groups, each the mean of its images",
         lambda c, g, p: equal_group(c, g, metric=metric, policy=p)),
        ("group_pooled", "groups, each from its summed pixels",
         lambda c, g, p: group_pooled(c, g, metric=metric, policy=p)),
        ("worst_group", "the lowest group",
         lambda c, g, p: worst_group(c, g, pooled=False, metric=metric, policy=p)[1]),
        *((f"worst_{percent}_percent", f"the worst {percent} % of the images", _worst(percent, metric))
          for percent in WORST_PERCENT),
    )
    rows += [{"average": name, "averaged": text, **{
        policy: _over([value(counts, group, policy) for counts, group, _ in parts]) for policy in POLICIES}}
        for name, text, value in grouped]
    if sources:
        rows.append({"average": f"{prefix}_source", "averaged": "source images, patches added first", **{
            policy: _over([equal_row(_by_source(counts, group, source), metric=metric, policy=policy)
                           for counts, group, source in parts]) for policy in POLICIES}})
    rows += [{"average": name, "averaged": text,
              **dict.fromkeys(POLICIES, _over([value(counts) for counts, _, _ in parts]))}
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


def _worst(percent: int, metric: str) -> GroupAverage:
    return lambda counts, group, policy: worst_image_mean(counts, percent=percent, metric=metric, policy=policy)


def _by_source(counts: Counts, group: Labels, source: Labels) -> Counts:
    alone = np.array([f"row {row}" for row in range(len(source))], dtype=object)
    named = np.array([f"source {g}/{s}" for g, s in zip(group, source, strict=True)], dtype=object)
    label = np.where(source == "", alone, named)
    return counts.by(np.unique(label, return_inverse=True)[1])


def _over(values: list[float]) -> float:
    defined = np.array([value for value in values if not np.isnan(value)])
    return float(defined.mean()) if len(defined) else float("nan")
