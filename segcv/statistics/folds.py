"""The per-fold table and what is said over folds and over seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from segcv.metrics import Policy, dice, image_scores, iou
from segcv.statistics.estimate import THE_RECIPE, Estimate
from segcv.statistics.intervals import student_t
from segcv.statistics.scored import ScoredImages

PLACES = ["repeat", "fold", "seed"]
FEW_FOLDS = 5
SHARED_TRAINING = "folds share training images, so this interval covers about 88 %, not 95 %"
CORRECTED = "variance corrected for training images shared by folds and repeats (Nadeau & Bengio)"


def fold_table(scored: ScoredImages, *, policy: Policy = "union") -> pd.DataFrame:
    """One row per run: its place, images, groups, and its scores in [0, 1]; NaN where undefined.

    `miou_pooled` and `mdice_pooled` divide pixels summed over the fold, `miou_image` is the mean over its images;
    then `iou <class>` and `dice <class>` of each class, from summed pixels.
    """
    rows = scored.rows
    run = rows.groupby(PLACES, sort=True).ngroup().to_numpy()
    counts = scored.counts.by(run)
    places = rows.groupby(PLACES, sort=True)
    table = places.agg(images=("image_id", "nunique"), groups=("group_id", "nunique")).reset_index()
    table["miou_pooled"] = image_scores(counts, metric="iou", policy=policy)
    table["mdice_pooled"] = image_scores(counts, metric="dice", policy=policy)
    per_image = image_scores(scored.counts, metric="iou", policy=policy)
    table["miou_image"] = pd.Series(per_image).groupby(run).mean().to_numpy()       # NaN images are left out
    for name, scores in (("iou", iou(counts)), ("dice", dice(counts))):
        for number, label in enumerate(scored.class_names):
            table[f"{name} {label}"] = scores[:, number]
    return table


@dataclass(frozen=True, slots=True, eq=False)
class FoldStatistics:
    """What is said of one score over folds and over seeds; SDs divide by n - 1, NaN = unknown.

    A fold's value is its mean over seeds; with repeats each repeat's folds count. `standard_error` =
    sd_over_folds / sqrt(folds). A column's value is its mean over folds; `sd_over_seeds` is the SD of these within
    a repeat, `sd_over_repeats` that of the repeats' means.
    """

    mean: float
    sd_over_folds: float
    standard_error: float
    low: float
    high: float
    folds: int
    undefined: int
    sd_over_seeds: float
    seeds: int
    sd_over_repeats: float
    repeats: int


def fold_statistics(places: pd.DataFrame, scores: pd.Series) -> FoldStatistics:
    """Mean, SD (n-1), standard error, minimum and maximum over folds, and the SD over seeds and over repeats.

    Shapes: `places` has columns repeat, fold, seed; `scores` has the same rows.

    >>> places = pd.DataFrame({"repeat": 0, "fold": [0, 1, 2, 3, 4], "seed": 0})
    >>> said = fold_statistics(places, pd.Series([.60, .70, .65, .80, .75]))
    >>> round(said.mean, 6), round(said.sd_over_folds, 6), round(said.standard_error, 6), said.sd_over_seeds
    (0.7, 0.079057, 0.035355, nan)
    """
    return _statistics(places, pd.DataFrame({"score": scores.to_numpy(dtype=float)}))["score"]


def _statistics(places: pd.DataFrame, scores: pd.DataFrame) -> dict[str, FoldStatistics]:
    """`fold_statistics` of every column of `scores`."""
    table = pd.concat([places[PLACES].reset_index(drop=True), scores.reset_index(drop=True)], axis=1)
    table = table.sort_values(PLACES)
    names = list(scores.columns)
    fold = table.groupby(["repeat", "fold"])[names].mean()
    within = table.groupby(["repeat", "seed"])[names].mean().groupby(level="repeat").var(ddof=1)
    repeat = fold.groupby(level="repeat").mean()
    seeds = int(table["seed"].nunique())
    return {name: _of_one(fold[name], within[name].dropna(), repeat[name], seeds) for name in names}


def _of_one(fold: pd.Series, within: pd.Series, repeat: pd.Series, seeds: int) -> FoldStatistics:
    defined = fold.dropna()
    sd = float(defined.std(ddof=1)) if len(defined) > 1 else np.nan
    return FoldStatistics(
        mean=float(defined.mean()) if len(defined) else np.nan, sd_over_folds=sd,
        standard_error=sd / float(np.sqrt(len(defined))) if len(defined) > 1 else np.nan,
        low=float(defined.min()) if len(defined) else np.nan, high=float(defined.max()) if len(defined) else np.nan,
        folds=len(defined), undefined=len(fold) - len(defined),
        sd_over_seeds=float(np.sqrt(within.mean())) if len(within) else np.nan, seeds=seeds,
        sd_over_repeats=float(repeat.std(ddof=1)) if len(repeat) > 1 else np.nan, repeats=len(repeat))


def fold_summary(table: pd.DataFrame, columns: Sequence[str] | None = None) -> pd.DataFrame:
    """`fold_statistics` of every score column of a fold table: one row per score, named in `score`."""
    names = columns if columns is not None else [
        name for name in table.columns if name not in (*PLACES, "run_id", "images", "groups", "candidate")]
    said = [{"score": name, **{part: getattr(found, part) for part in FoldStatistics.__slots__}}
            for name, found in _statistics(table, table[list(names)].astype(float)).items()]
    return pd.DataFrame(said)


def fold_estimate(statistics: FoldStatistics, *, unit: str, level: float) -> Estimate:
    """The mean over folds with Student t over folds: what a table of fold scores alone can say of the recipe.

    The interval is cut to [0, 1] where all scores lie there; distances and percentages do not. With repeats the
    folds' variance is corrected by (1/J + 1/(K-1)), J folds in all, K in a repeat [12].
    """
    count = statistics.folds
    target, method = f"mean over folds, {THE_RECIPE}", f"Student t over {count} folds, df {count - 1}"
    runs = count * statistics.seeds
    if count < 2 or not statistics.sd_over_folds > 0:
        why = f"{count} fold{'' if count == 1 else 's'}: the spread over folds is unknown" if count < 2 else \
            "all folds score alike: the spread over folds cannot be seen"
        return Estimate(statistics.mean, level=level, method=method, target=target, unit=unit, runs=runs,
                        undefined=statistics.undefined, note=why)
    variance, note = statistics.standard_error**2, SHARED_TRAINING
    in_repeat = count / statistics.repeats
    if statistics.repeats > 1 and in_repeat > 1:
        variance, note = statistics.sd_over_folds**2 * (1 / count + 1 / (in_repeat - 1)), CORRECTED
    low, high = student_t(statistics.mean, variance, count - 1, level=level,
                          bounds=(0.0, 1.0) if statistics.low >= 0 and statistics.high <= 1 else (-np.inf, np.inf))
    return Estimate(statistics.mean, low, high, level, method, target, unit, runs=runs, undefined=statistics.undefined,
                    note=note)


def fold_cautions(statistics: FoldStatistics) -> tuple[str, ...]:
    """What makes fold-level statements less sure than they look."""
    said = []
    if statistics.seeds == 1 and statistics.repeats == 1:
        said.append("a single seed: spread over seeds unknown (n/a); run seed=0,1,2")
    folds = statistics.folds // max(1, statistics.repeats)
    if 1 < folds < FEW_FOLDS:
        said.append(f"only {folds} folds (n={statistics.folds}): the interval over folds is wide")
    return tuple(said)
