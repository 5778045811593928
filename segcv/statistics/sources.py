"""Where the spread of one candidate's scores comes from, what goes with it, and what to do: all in one place.

Cells are those of the policy `truth`, the same in every column; images without any class are left out and counted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from segcv.metrics import Counts, image_scores
from segcv.statistics.advice import Advice, advise, next_step
from segcv.statistics.by_group import GroupScores, group_pooled_scores, group_scores
from segcv.statistics.components import Components, decompose
from segcv.statistics.diagnosis import Diagnosis, diagnose
from segcv.statistics.estimate import Estimate
from segcv.statistics.groups import GroupProfile
from segcv.statistics.permutation import PermutationTest, folds_differ, groups_differ
from segcv.statistics.pooled import jackknife
from segcv.statistics.scored import Floats, ScoredImages
from segcv.statistics.shift import (
    DecayCurve,
    FeatureTests,
    decay_curve,
    difficulty_stability,
    feature_correlations,
    feature_regression,
    training_distance,
)


@dataclass(frozen=True, slots=True, eq=False)
class Sources:
    """What a sweep says about its own spread.

    `components` maps equal_group, group_pooled and pooled (on pseudo-values) to their Components. Parts that need
    group features are None without them.
    """

    components: dict[str, Components]
    next_step: str
    groups_test: PermutationTest
    folds_test: PermutationTest
    stability: Estimate
    features: FeatureTests | None
    regression: FeatureTests | None
    decay: DecayCurve | None
    diagnoses: tuple[Diagnosis, ...]
    advice: tuple[Advice, ...]


def sources_of(
    scored: ScoredImages, *, metric: str = "iou", level: float = 0.95, seed: int = 0, unit: str = "score",
    features: pd.DataFrame | None = None, train: pd.DataFrame | None = None, trivial: float | None = None,
    profile: GroupProfile | None = None, hold_out: ScoredImages | None = None,
) -> Sources | None:
    """The Sources of one candidate; None where a cell of the sweep is missing or no image has a class.

    `features` is indexed by group_id; `train` has columns train and held_out, one row per run, in one score;
    `hold_out` is the same recipe on a single hold-out.
    """
    def rows(counts: Counts) -> Floats:
        return image_scores(counts, metric=metric, policy="truth")

    groups = group_scores(scored, rows(scored.counts))
    if not len(groups.group_ids) or not groups.complete or groups.image_scores is None:
        return None
    components = {"equal_group": decompose(groups, level=level, seed=seed, unit=unit)}
    added = group_pooled_scores(scored, rows)
    if added.complete and len(added.group_ids) > 1:
        components["group_pooled"] = decompose(added, level=level, seed=seed, unit=unit)
    found = jackknife(scored, rows)
    if len(found.without) > 1 and found.whole and np.isfinite(found.theta).all() and np.isfinite(found.without).all():
        pseudo = GroupScores(found.group_ids, found.pseudo, found.fold, found.repeat, found.images, 0)
        components["pooled"] = decompose(pseudo, level=level, seed=seed, unit=unit)
    main = components["equal_group"]
    groups_test, folds_test = groups_differ(groups, seed=seed), folds_differ(groups, seed=seed)
    stability = difficulty_stability(groups, level=level)
    tests = regression = decay = None
    if features is not None and features.shape[1]:
        tests, regression = feature_correlations(groups, features, seed=seed), feature_regression(groups, features,
                                                                                               level=level)
        if groups.one_partition and len(np.unique(groups.fold[:, 0])) > 1:
            decay = decay_curve(groups, training_distance(groups, features), level=level, unit=unit)
    single = None if hold_out is None else float(np.mean(group_scores(hold_out, rows(hold_out.counts)).means))
    diagnoses = diagnose(groups, components=main, train=train, trivial=trivial, hold_out=single, seed=seed)
    return Sources(
        components, next_step(main), groups_test, folds_test, stability, tests, regression, decay, diagnoses,
        advise(main, diagnoses=diagnoses, groups_test=groups_test, folds_test=folds_test, features=tests,
               stability=stability, effective_groups=profile.effective if profile is not None else None,
               largest_share=profile.largest_share if profile is not None else None))


def group_features(
    images: pd.DataFrame, *, profile: pd.DataFrame | None = None, shares: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Features of groups, indexed by group_id: number of images, class shares, and means over their images.

    Means of the number columns of `images` (metadata; ids and paths are left out) and of brightness, contrast and
    nodata_share of `profile`. `shares` is that of `class_shares`.
    """
    left_out = ["image_id", "group_id", "image_path", "mask_path", "source_id", "group_evidence"]
    table = images[["image_id", "group_id"]].copy()
    for name in images.columns.difference(left_out, sort=False):
        values = pd.to_numeric(images[name].replace("", None), errors="coerce")
        blank = images[name].isna() | images[name].astype("str").eq("")
        if values.notna().any() and (values.notna() | blank).all():
            table[name] = values
    if profile is not None:
        table = table.merge(profile[["image_id", "brightness", "contrast", "nodata_share"]], on="image_id", how="left")
    grouped = table.drop(columns="image_id").groupby("group_id", sort=True)
    found = grouped.mean(numeric_only=True).astype(float)
    found.insert(0, "images", grouped.size().astype(float))
    if shares is not None:
        named = shares[shares["group_id"] != ""].set_index("group_id").drop(columns="labelled_pixels")
        found = found.join(named.add_prefix("share of "))
    return found
