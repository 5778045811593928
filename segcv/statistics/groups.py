"""Who the data are: groups, their sizes, their classes, how alike images of one group score, and who is hard."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special

from segcv.statistics.by_group import GroupScores
from segcv.statistics.estimate import THESE_MODELS, Estimate
from segcv.statistics.intervals import effective_groups
from segcv.statistics.scored import Floats, Ints, ScoredImages

STRONG_ICC = 0.25
WEAK_DESIGN_EFFECT = 2.0
PERCENTILES = (10, 50, 90)
NO_PERCENTILE_INTERVAL = "intervals of percentiles need smoothing and are not given"


@dataclass(frozen=True, slots=True, eq=False)
class GroupProfile:
    """Sizes of the groups, and how strongly images of a group belong together.

    `effective` is the number of equal groups that would weigh like these by images; `verdict` is weak, medium or
    strong grouping by the scores (a convention), or "unknown".
    """

    images: int
    groups: int
    smallest: int
    median: float
    largest: int
    largest_group: str
    largest_share: float
    effective: float
    icc: Estimate
    design_effect: float
    verdict: str


def intraclass_correlation(scores: Floats, group: Ints, *, level: float = 0.95, unit: str = "image score") -> Estimate:
    """Share of the variance of image scores that lies between groups, one-way ANOVA, at most 1 [11].

    (MSB - MSW) / (MSB + (n0 - 1) MSW), n0 = (n - sum N²/n) / (G - 1). Undefined with one group, with one image in
    every group, or when all scores are equal. The interval is Searle's, exact for normal values and equal sizes.

    >>> found = intraclass_correlation(np.array([.1, .1, .5, .5]), np.array([0, 0, 1, 1]))
    >>> found.value
    1.0
    """
    parts = _one_way(scores, group)
    count, images = parts.groups, len(scores)
    target = f"images within groups, {THESE_MODELS}"
    if count < 2 or images == count or not parts.between + parts.within > 0:
        why = "one group" if count < 2 else "one image in every group" if images == count else "all scores are equal"
        return Estimate(np.nan, level=level, method="ANOVA", target=target, unit=unit, groups=count,
                        note=f"undefined: {why}")
    value = float((parts.between - parts.within) / (parts.between + (parts.n0 - 1) * parts.within))
    if parts.within == 0:
        return Estimate(value, level=level, method="ANOVA", target=target, unit=unit, groups=count,
                        note="images of a group score alike: no spread to draw an interval from")
    tail = (1 - level) / 2
    f = parts.between / parts.within
    ends = f / special.fdtri(count - 1, images - count, [1 - tail, tail])
    low, high = (ends - 1) / (ends + parts.n0 - 1)
    return Estimate(value, float(low), float(high), level, "ANOVA, F interval", target, unit, groups=count,
                    note="approximate for groups of unequal size")


def grouping_verdict(icc: float, n0: float) -> str:
    """weak, medium or strong; a convention [11]: strong at ICC >= .25, weak when 1 + (n0 - 1) ICC < 2.

    >>> grouping_verdict(0.3, 5.0), grouping_verdict(0.05, 5.0), grouping_verdict(0.1, 50.0)
    ('strong', 'weak', 'medium')
    """
    if not np.isfinite(icc):
        return "unknown"
    if icc >= STRONG_ICC:
        return "strong"
    return "weak" if 1 + (n0 - 1) * icc < WEAK_DESIGN_EFFECT else "medium"


def group_profile(scored: ScoredImages, image_scores: Floats, *, level: float = 0.95) -> GroupProfile:
    """Profile of the scored images' groups; image scores are averaged over the columns first.

    Shapes: `image_scores` has one number per row of `scored.rows`.
    """
    means = image_means(scored, image_scores)
    sizes = means["group_id"].value_counts().sort_index()
    largest = sizes.idxmax()
    defined = means.dropna(subset=["score"])
    group = np.unique(defined["group_id"].to_numpy(dtype=object), return_inverse=True)[1].astype(np.int64)
    icc = intraclass_correlation(defined["score"].to_numpy(), group, level=level)
    n0 = _one_way(defined["score"].to_numpy(), group).n0 if len(defined) else np.nan
    return GroupProfile(
        images=int(sizes.sum()), groups=len(sizes), smallest=int(sizes.min()), median=float(sizes.median()),
        largest=int(sizes.max()), largest_group=str(largest), largest_share=float(sizes.max() / sizes.sum()),
        effective=effective_groups(sizes.to_numpy().astype(np.float64)), icc=icc,
        design_effect=1 + (n0 - 1) * icc.value, verdict=grouping_verdict(icc.value, n0))


def image_means(scored: ScoredImages, image_scores: Floats) -> pd.DataFrame:
    """Images by id with group_id, fold of the first column, mean score over columns and runs counted; NaN undefined."""
    table = scored.rows[["image_id", "group_id", "fold"]].assign(score=image_scores)
    return table.groupby("image_id", sort=True).agg(
        group_id=("group_id", "first"), fold=("fold", "first"), score=("score", "mean"), runs=("score", "size"),
    ).reset_index()


def group_table(groups: GroupScores) -> pd.DataFrame:
    """Groups from the lowest mean score: group_id, images, score, spread over columns (SD n-1, NaN with one)."""
    spread = pd.DataFrame(groups.scores).std(axis=1, ddof=1).to_numpy()
    table = pd.DataFrame({"group_id": groups.group_ids, "images": groups.images, "score": groups.means,
                          "sd_over_columns": spread, "fold": groups.fold[:, 0] if groups.fold.size else []})
    return table.sort_values(["score", "group_id"], kind="stable").reset_index(drop=True)


def class_shares(masks: pd.DataFrame, images: pd.DataFrame, class_names: tuple[str, ...]) -> pd.DataFrame:
    """Share of the labelled pixels of each group that each class has, and over all groups (last row, group_id "").

    `masks` is the mask profile (image_id, class_id, pixels; class -1 is ignored), `images` has image_id and group_id.
    """
    labelled = masks[masks["class_id"] >= 0].merge(images[["image_id", "group_id"]], on="image_id")
    pixels = labelled.pivot_table(index="group_id", columns="class_id", values="pixels", aggfunc="sum", fill_value=0)
    pixels = pixels.reindex(columns=range(len(class_names)), fill_value=0).sort_index()
    total = pixels.sum().to_frame().T
    total.index = pd.Index([""], name="group_id")
    both = pd.concat([pixels, total])
    shares = both.div(both.sum(axis=1).where(lambda count: count > 0), axis=0)
    shares.columns = list(class_names)
    shares.insert(0, "labelled_pixels", both.sum(axis=1).astype("int64"))
    return shares.rename_axis("group_id").reset_index()


def percentile_estimates(values: Floats, *, of: str, unit: str, level: float, runs: int) -> tuple[Estimate, ...]:
    """P10, P50 and P90 of the defined values, linear interpolation, without interval."""
    defined = values[np.isfinite(values)]
    found = np.percentile(defined, PERCENTILES) if len(defined) else np.full(len(PERCENTILES), np.nan)
    return tuple(
        Estimate(float(value), level=level, method=f"percentile {percent}", target=f"P{percent} over {of}", unit=unit,
                 groups=len(defined) if of == "groups" else 0, runs=runs, undefined=len(values) - len(defined),
                 note=NO_PERCENTILE_INTERVAL)
        for percent, value in zip(PERCENTILES, found, strict=True))


@dataclass(frozen=True, slots=True)
class _OneWay:
    groups: int
    between: float      # MSB
    within: float       # MSW
    n0: float


def _one_way(scores: Floats, group: NDArray[np.int64]) -> _OneWay:
    size = np.bincount(group).astype(float)
    images, count = size.sum(), len(size)
    if count < 2:
        return _OneWay(count, np.nan, np.nan, np.nan)
    means = np.bincount(group, weights=scores) / size
    between = float(np.sum(size * (means - scores.mean()) ** 2)) / (count - 1)
    within = float(np.sum((scores - means[group]) ** 2)) / (images - count) if images > count else np.nan
    return _OneWay(count, between, within, float((images - np.sum(size**2) / images) / (count - 1)))
