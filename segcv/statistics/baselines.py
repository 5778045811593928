"""What stands beside the score: a predictor that looks at nothing, the training images, and a leaking split."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from segcv.errors import RunError, SegcvWarning
from segcv.metrics import Counts, Policy, image_scores, majority_class, trivial_counts
from segcv.statistics.by_group import GroupScores, group_scores
from segcv.statistics.estimate import THESE_MODELS, Estimate
from segcv.statistics.intervals import FEWEST_GROUPS, NO_INTERVAL, bootstrap_t
from segcv.statistics.scored import Floats, ScoredImages, coded
from segcv.statistics.targets import equal_group_estimates
from segcv.tables import TRAIN


def paired_difference(
    first: GroupScores, second: GroupScores, *, what: str, unit: str, level: float, seed: int, runs: int,
) -> Estimate:
    """Mean over the groups both have of (first - second), each group once, with bootstrap-t over groups."""
    theirs = dict(zip(second.group_ids, second.means, strict=True))
    shared = [(mean, theirs[name]) for name, mean in zip(first.group_ids, first.means, strict=True) if name in theirs]
    difference = np.array([one - other for one, other in shared])
    value = float(difference.mean()) if len(difference) else np.nan
    interval, note = NO_INTERVAL, ""
    if len(difference) < FEWEST_GROUPS:
        note = f"fewer than {FEWEST_GROUPS} groups in both"
    elif np.ptp(difference) == 0:
        note = "all groups differ by the same: the spread over groups cannot be seen"
    else:
        interval = bootstrap_t(difference, level=level, rng=np.random.default_rng(seed), bounds=(-1.0, 1.0))
    return Estimate(value, *interval, level=level, method="bootstrap-t over group differences",
                    target=f"{what}, {THESE_MODELS}", unit=unit, groups=len(difference), runs=runs, note=note)


def trivial_baseline(scored: ScoredImages, masks: pd.DataFrame, roles: pd.DataFrame) -> ScoredImages:
    """The held-out images as scored by a predictor that always says the majority class of that fold's training pixels.

    `masks` is the mask profile, `roles` the roles of all repeats. Same rows as `scored`, so every average and
    difference applies to it.

    Raises:
        RunError: a fold has no labelled training pixel.
    """
    classes = scored.counts.n_classes
    labelled = masks[(masks["class_id"] >= 0) & (masks["class_id"] < classes)]
    number, ids = coded(labelled["image_id"])
    of_image = np.zeros((len(ids) + 1, classes), np.int64)                          # last row: no labelled pixel
    np.add.at(of_image, (number, labelled["class_id"].to_numpy()), labelled["pixels"].to_numpy())
    train = roles[roles["role"] == TRAIN]
    place = pd.Index(ids).get_indexer(train["image_id"].to_numpy(dtype=object))     # -1: the last row
    times = (train["train_count"] if "train_count" in train else pd.Series(1, train.index)).to_numpy(np.int64)
    pixels = {cell: times[at] @ of_image[place[at]] for cell, at in train.groupby(["repeat", "fold"]).indices.items()}
    truth = scored.counts.truth
    tp, fp, fn = np.zeros_like(truth), np.zeros_like(truth), truth.copy()
    fold_of = scored.rows[["repeat", "fold"]].to_numpy(np.int64)                   # rows x 2
    for repeat, fold in np.unique(fold_of, axis=0):
        known = pixels.get((repeat, fold), np.zeros(classes, np.int64))
        if not known.any():
            raise RunError(f"repeat={repeat} fold={fold} has no labelled training pixel in the roles table; "
                           "the roles belong to another split.")
        best = majority_class(known)
        at = np.flatnonzero((fold_of == (repeat, fold)).all(axis=1))
        guessed = trivial_counts(truth[at], class_id=best)
        tp[at], fp[at], fn[at] = guessed.tp, guessed.fp, guessed.fn
    return replace(scored, counts=Counts(tp, fp, fn, scored.counts.valid))


def train_beside_held_out(train: ScoredImages, held_out: ScoredImages, *, policy: Policy = "union") -> pd.DataFrame:
    """Per run the same scores on its training and its held-out images, and their gap; NaN without training scores."""
    rows = []
    for place, at in held_out.rows.groupby(["repeat", "fold", "seed"], sort=True):
        same = (train.rows[["repeat", "fold", "seed"]] == list(place)).all(axis=1).to_numpy()
        outside = held_out.counts.take(at.index.to_numpy())
        inside = train.counts.take(same) if same.any() else None
        for name, metric in (("miou_pooled", "iou"), ("mdice_pooled", "dice")):
            held = float(image_scores(outside.pooled(), metric=metric, policy=policy)[0])
            seen = np.nan
            if inside is not None:
                seen = float(image_scores(inside.pooled(), metric=metric, policy=policy)[0])
            rows.append({**dict(zip(("repeat", "fold", "seed"), place, strict=True)), "score": name, "train": seen,
                         "held_out": held, "gap": seen - held})
    return pd.DataFrame(rows, columns=["repeat", "fold", "seed", "score", "train", "held_out", "gap"])


def baseline_ladder(
    model: GroupScores, *, trivial: GroupScores | None, rungs: Mapping[str, GroupScores], unit: str, level: float,
    seed: int, runs: int,
) -> tuple[tuple[str, Estimate, Estimate | None], ...]:
    """Trivial predictor, existing rules or previous models from the lowest, this model: score and model minus it.

    A model that does not climb above its rungs has learned nothing that they do not know; each difference is paired
    by group.
    """
    below = {**({"trivial predictor": trivial} if trivial is not None else {}), **rungs}
    made = []
    for name, groups in below.items():
        own = equal_group_estimates(groups, unit=unit, target=f"equal_group, {name}", level=level, seed=seed, runs=0)[0]
        gain = paired_difference(model, groups, what=f"this model minus {name}", unit=unit, level=level, seed=seed,
                                 runs=runs)
        made.append((name, own, gain))
    made.sort(key=lambda rung: (rung[0] != "trivial predictor", rung[1].value))
    top = equal_group_estimates(model, unit=unit, target="equal_group, this model", level=level, seed=seed, runs=runs)
    return (*made, ("this model", top[0], None))


SMALL_GAP = 0.02             # a gap that stays within this changed nothing to speak of


@dataclass(frozen=True, slots=True, eq=False)
class LeakGap:
    """The same recipe under a leaking random split and under the group split: both values, and random minus group."""

    random: Estimate
    group: Estimate
    difference: Estimate

    @property
    def reading(self) -> str:
        """flatters, lower (intervals that leave out 0), nothing (all of it within ± .02, a convention), or open."""
        gap = self.difference
        if not gap.has_interval:
            return "open"
        if gap.low > 0 or gap.high < 0:
            return "flatters" if gap.low > 0 else "lower"
        return "nothing" if max(-gap.low, gap.high) <= SMALL_GAP else "open"

    @property
    def verdict(self) -> str:
        """What the gap says, with its interval, in a sentence."""
        gap = self.difference
        if not gap.has_interval:
            return (f"The random split says {gap.value:+.3f} more; {gap.note}, so it is open whether grouping changed "
                    "anything.")
        between = f"{gap.value:+.3f} ({gap.low:+.3f} to {gap.high:+.3f})"
        if self.reading == "flatters":
            return f"The random split flatters by {between}: images of one group leak from training to testing."
        if self.reading == "lower":
            return f"The random split scores lower, {between}: it does not flatter here; look for what else differs."
        if self.reading == "nothing":
            return f"Grouping changed nothing to speak of: {between}. Keep the groups; they cost nothing."
        return (f"Whether grouping changed anything is not settled by these groups: {between}. Groups cost nothing; "
                "more of them, or more seeds, would tell.")


def leak_gap(
    random: ScoredImages, grouped: ScoredImages, *, metric: str = "iou", policy: Policy = "union",
    level: float = 0.95, seed: int = 0,
) -> LeakGap:
    """How much a random split flatters: equal-group means under both splits and their difference, paired by group.

    Raises:
        RunError: the two scored different images.
    """
    ids = [set(each.rows["image_id"]) for each in (random, grouped)]
    odd = sorted(ids[0] ^ ids[1])
    if odd:
        if not ids[0] & ids[1]:
            raise RunError("The random split and the group split scored no image in common; "
                           "give runs on the same data.")
        warnings.warn(f"the random split and the group split scored different images ({len(odd)} such, e.g. {odd[0]}); "
                      "the leak gap compares the groups they share", SegcvWarning, stacklevel=2)
    unit = f"m{metric}".replace("miou", "mIoU").replace("mdice", "mean Dice")
    tables = []
    for each in (random, grouped):
        shared = each.take(each.rows["image_id"].isin(ids[0] & ids[1]).to_numpy())
        tables.append(_by_group_id(shared, image_scores(shared.counts, metric=metric, policy=policy), grouped))
    runs = random.runs + grouped.runs
    estimates = [
        equal_group_estimates(table, unit=unit, target=what, level=level, seed=seed, runs=each.runs)[0]
        for table, what, each in ((tables[0], "equal_group, random split (leaking)", random),
                                  (tables[1], "equal_group, group split", grouped))]
    gap = paired_difference(tables[0], tables[1], what="random split minus group split", unit=unit, level=level,
                            seed=seed, runs=runs)
    return LeakGap(estimates[0], estimates[1], gap)


def _by_group_id(scored: ScoredImages, scores: Floats, grouped: ScoredImages) -> GroupScores:
    """Group scores of `scored` in the groups of `grouped`: a random split tears groups apart, its rows may too."""
    group_of = grouped.rows.drop_duplicates("image_id").set_index("image_id")["group_id"]
    rows = scored.rows.assign(group_id=scored.rows["image_id"].map(group_of))
    names, number = np.unique(rows["group_id"].to_numpy(dtype=object), return_inverse=True)
    moved = replace(scored, rows=rows, group=number.astype(np.int64), group_ids=tuple(map(str, names)))
    return group_scores(moved, scores)
