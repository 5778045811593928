"""Everything statistics says of one candidate, in one call: tables, Estimates, cautions."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from segcv.errors import ConfigError, SegcvWarning
from segcv.metrics import METRICS, POLICIES, Counts, Policy, image_scores
from segcv.statistics.averages import averages_table, undefined_table
from segcv.statistics.baselines import (
    LeakGap,
    baseline_ladder,
    leak_gap,
    paired_difference,
    train_beside_held_out,
    trivial_baseline,
)
from segcv.statistics.by_group import group_pooled_scores, group_scores
from segcv.statistics.complete import check_complete, check_one_sweep, rest_commands
from segcv.statistics.design import SHARED, design_of, of_these_models
from segcv.statistics.estimate import Estimate
from segcv.statistics.folds import (
    FoldStatistics,
    fold_cautions,
    fold_estimate,
    fold_statistics,
    fold_summary,
    fold_table,
)
from segcv.statistics.groups import (
    GroupProfile,
    class_shares,
    group_profile,
    group_table,
    image_means,
    percentile_estimates,
)
from segcv.statistics.intervals import interval_cautions, score_cautions
from segcv.statistics.pooled import pooled_estimates
from segcv.statistics.scored import Floats, Ints, ScoredImages, scored_images
from segcv.statistics.sources import Sources, group_features, sources_of
from segcv.statistics.targets import equal_group_estimates, equal_row_estimates, weights_of

TARGETS = ("equal_group", "equal_row", "group_pooled", "pooled")
UNITS = {"iou": "mIoU", "dice": "mean Dice"}
HEADLINE = {"iou": "miou_pooled", "dice": "mdice_pooled"}


@dataclass(frozen=True, slots=True, eq=False)
class Summary:
    """What the scores of one candidate say. Tables are data frames with NaN for undefined; every Estimate has an
    interval or a note.

    `targets` maps each of the four weightings to its Estimates, the one to quote first; `headline` is the declared
    one, `bounded_first` says whether to read its bounded interval first. `classes` holds the pooled score of each
    class for these models. `sources` says where the spread comes from and what to do (None while cells are missing),
    `ladder` holds the baselines from the lowest rung: name, score, and this model minus it (None for the model).
    Parts whose tables were not given are None.
    """

    candidate: str
    metric: str
    policy: str
    target: str
    level: float
    folds: int
    repeats: int
    seeds: tuple[int, ...]
    runs: int
    class_names: tuple[str, ...]
    headline: Estimate
    bounded: Estimate
    recipe: Estimate
    targets: dict[str, tuple[Estimate, ...]]
    classes: dict[str, Estimate]
    fold_table: pd.DataFrame
    fold_summary: pd.DataFrame
    fold_mean: Estimate
    fold_statistics: FoldStatistics
    averages: pd.DataFrame
    undefined: pd.DataFrame
    profile: GroupProfile
    groups: pd.DataFrame
    images: pd.DataFrame
    percentiles: tuple[Estimate, ...]
    shares: pd.DataFrame | None
    trivial: Estimate | None
    above_trivial: Estimate | None
    trivial_folds: pd.DataFrame | None
    train: pd.DataFrame | None
    leak: LeakGap | None
    sources: Sources | None
    ladder: tuple[tuple[str, Estimate, Estimate | None], ...]
    missing: pd.DataFrame
    rest: tuple[str, ...]
    bounded_first: bool
    cautions: tuple[str, ...]


def summarise(
    scores: pd.DataFrame, runs: pd.DataFrame, *, folds: int, repeats: int = 1, seeds: Sequence[int] = (0,),
    class_names: Sequence[str] | None = None, images: pd.DataFrame | None = None, masks: pd.DataFrame | None = None,
    roles: pd.DataFrame | None = None, train_scores: pd.DataFrame | None = None,
    leaking: tuple[pd.DataFrame, pd.DataFrame] | None = None, metric: str = "iou", policy: Policy = "union",
    target: str = "equal_group", level: float = 0.95, seed: int = 0, allow_missing: bool = False,
    overrides: str = "", command: str = "python -m segcv.train", own: bool = False, profile: pd.DataFrame | None = None,
    weights: pd.Series | None = None, rungs: Mapping[str, tuple[pd.DataFrame, pd.DataFrame]] | None = None,
    hold_out: tuple[pd.DataFrame, pd.DataFrame] | None = None,
) -> Summary:
    """The Summary of one candidate from its scores table and its runs (run_id, candidate, repeat, fold, seed, ids).

    The asked grid is `folds` x `repeats` x `seeds` (`own`: each repeat has its own seed); one run alone is reported as
    a first look. Optional tables open their parts: `masks` and `images` the class shares, `masks` and `roles` the
    trivial baseline, `train_scores` the training scores, `leaking` (scores, runs of the same recipe under a random
    split) the leak gap, `profile` (of the images) more group features, `weights` (by image_id) a weighted mean beside
    the targets, `rungs` (scores, runs by name: an existing rule, a previous model) further baselines, `hold_out`
    (scores, runs of the same recipe on a single hold-out of whole groups) the rule that sets it against the folds.
    `overrides` (what was typed for these runs) completes the `command` for the rest. The order of rows does not matter;
    the same `seed` gives the same bytes. Cautions are also warned, once each.

    Raises:
        ConfigError: an unknown metric, policy or target, or a level outside 0.5 to 1.
        RunError: cells are missing, or data, splits or settings are mixed.
        TableError, ScoreError: the tables do not fit together.
    """
    _check_choices(metric, policy, target, level)
    check_one_sweep(runs)
    if "candidate" in runs and runs["candidate"].nunique() > 1:
        names = ", ".join(sorted(runs["candidate"].unique()))
        raise ConfigError(f"A summary is about one candidate; these runs hold {names}.")
    missing = check_complete(runs, folds=folds, repeats=repeats, seeds=seeds, allow_missing=allow_missing,
                             overrides=overrides, command=command, own=own)
    scored = scored_images(scores, runs=runs, class_names=class_names)
    unit = UNITS.get(metric, f"mean {metric}")

    def row_scores(counts: Counts) -> Floats:
        return image_scores(counts, metric=metric, policy=policy)

    per_image = row_scores(scored.counts)
    by_group = group_scores(scored, per_image)
    pooled_groups = group_pooled_scores(scored, row_scores)
    equal = equal_group_estimates(by_group, unit=unit, target="equal_group", level=level, seed=seed, runs=scored.runs)
    added = equal_group_estimates(pooled_groups, unit=unit, target="group_pooled", level=level, seed=seed,
                                  runs=scored.runs)
    targets: dict[str, tuple[Estimate, ...]] = {
        "equal_group": equal, "equal_row": equal_row_estimates(by_group, unit=unit, level=level, runs=scored.runs),
        "group_pooled": added, "pooled": pooled_estimates(scored, row_scores, unit=unit, level=level)}
    if weights is not None:
        targets["weighted"] = equal_row_estimates(by_group, unit=unit, level=level, runs=scored.runs,
                                                  weights=weights_of(by_group, weights))
    design = design_of(scored, images if missing.empty else None)
    if design.torn_groups:
        targets = of_these_models(targets)
    folds_said = fold_table(scored, policy=policy)
    headline_column = HEADLINE.get(metric, HEADLINE["iou"])
    fold_said = fold_statistics(folds_said, folds_said[headline_column])
    by_image = image_means(scored, per_image)
    percentiles = (
        *percentile_estimates(by_image["score"].to_numpy(), of="images", unit=unit, level=level, runs=scored.runs),
        *percentile_estimates(by_group.means, of="groups", unit=unit, level=level, runs=scored.runs))
    trivial = trivial_folds = above = guessed_groups = None
    if masks is not None and roles is not None:
        guessed = trivial_baseline(scored, masks, roles)
        guessed_groups = group_scores(guessed, row_scores(guessed.counts))
        trivial = equal_group_estimates(guessed_groups, unit=unit, target="equal_group, trivial predictor", level=level,
                                        seed=seed, runs=0)[0]
        above = paired_difference(by_group, guessed_groups, what="model minus trivial predictor", unit=unit,
                                  level=level, seed=seed, runs=scored.runs)
        trivial_folds = fold_table(guessed, policy=policy)
    train = None
    if train_scores is not None:
        seen = scored_images(train_scores, runs=runs, class_names=class_names)
        train = train_beside_held_out(seen, scored, policy=policy)
    leak = None
    if leaking is not None:
        leak = leak_gap(scored_images(leaking[0], runs=leaking[1], class_names=class_names), scored, metric=metric,
                        policy=policy, level=level, seed=seed)
    fold_mean = fold_estimate(fold_said, unit=unit, level=level)
    if design.torn_groups:
        fold_mean = fold_mean.without_interval(SHARED)
    grouping = group_profile(scored, per_image, level=level)
    shares = class_shares(masks, images, scored.class_names) if masks is not None and images is not None else None
    sources = None
    if not len(missing) and not design.torn_groups:
        of_score = None if train is None else train[train["score"] == HEADLINE.get(metric, HEADLINE["iou"])]
        sources = sources_of(
            scored, metric=metric, level=level, seed=seed, unit=unit, train=of_score,
            features=group_features(images, profile=profile, shares=shares) if images is not None else None,
            trivial=trivial.value if trivial is not None else None, profile=grouping,
            hold_out=None if hold_out is None else scored_images(hold_out[0], runs=hold_out[1],
                                                                 class_names=class_names))
    lower = {name: group_scores(each, row_scores(each.counts)) for name, (table, made) in (rungs or {}).items()
             for each in [scored_images(table, runs=made, class_names=class_names)]}
    rest = rest_commands(missing, overrides=overrides, command=command)
    cautions = (*_cautions(len(missing), scored, fold_said, by_group.means, by_group.images), *design.cautions())
    for text in cautions:
        warnings.warn(text, SegcvWarning, stacklevel=2)
    return Summary(
        candidate=str(runs["candidate"].iloc[0]) if "candidate" in runs else "",
        metric=metric, policy=policy, target=target, level=level, folds=folds, repeats=repeats,
        seeds=tuple(sorted(set(map(int, seeds)))), runs=scored.runs,
        class_names=scored.class_names, headline=targets[target][0],
        bounded=(added if target == "group_pooled" else equal)[2], recipe=targets[target][-1], targets=targets,
        classes=_class_estimates(scored, metric, level), fold_table=folds_said, fold_summary=fold_summary(folds_said),
        fold_mean=fold_mean, fold_statistics=fold_said,
        averages=averages_table(scored, metric=metric), undefined=undefined_table(scored),
        profile=grouping, groups=group_table(by_group),
        images=by_image.sort_values(["score", "image_id"], kind="stable").reset_index(drop=True),
        percentiles=percentiles, shares=shares, sources=sources,
        ladder=baseline_ladder(by_group, trivial=guessed_groups, rungs=lower, unit=unit, level=level, seed=seed,
                               runs=scored.runs),
        trivial=trivial, above_trivial=above, trivial_folds=trivial_folds, train=train, leak=leak,
        missing=missing, rest=rest,
        bounded_first=_bounded_first(target, by_group.images), cautions=cautions)


def _class_estimates(scored: ScoredImages, metric: str, level: float) -> dict[str, Estimate]:
    """Score of each class from pooled pixels, for these models."""
    added = scored.added()

    def one(number: int) -> Estimate:
        return pooled_estimates(added.of_class(number), lambda counts: METRICS[metric](counts)[:, 0], unit=metric,
                                level=level, what=f"pooled, {scored.class_names[number]}", of_one_class=True)[0]

    return {name: one(number) for number, name in enumerate(scored.class_names)}


def _bounded_first(target: str, images: Ints) -> bool:
    """Whether the bounded interval is the one to read: few groups, few effective ones, or a dominant one."""
    weights = images.astype(float) if target in ("equal_row", "pooled") else np.ones(len(images))
    return len(weights) == 0 or bool(interval_cautions(weights, what=target))


def _cautions(missing: int, scored: ScoredImages, folds: FoldStatistics, means: Floats, sizes: Ints) -> tuple[str, ...]:
    said = []
    if missing:
        said.append(f"{missing} of {missing + scored.runs} runs are missing: this is not the whole cross-validation")
    said += fold_cautions(folds)
    said += interval_cautions(np.ones(len(means)), what="equal-group mean") if len(means) else []
    if len(means):
        by_rows = interval_cautions(sizes.astype(float), what="row-weighted mean")
        said += [text for text in by_rows if "too few" not in text]
        said += score_cautions(means, sizes)
    return tuple(dict.fromkeys(said))


def _check_choices(metric: str, policy: str, target: str, level: float) -> None:
    for name, found, known in (
        ("metric", metric, tuple(METRICS)), ("policy", policy, POLICIES), ("target", target, TARGETS),
    ):
        if found not in known:
            raise ConfigError(f"{name}={found} is not known; use one of {', '.join(known)}.")
    if not 0.5 <= level < 1:
        raise ConfigError(f"level={level} is no confidence level; use e.g. 0.95.")
