"""What the methods promise, simulated: each check gives rows of a table, with the goal and whether it is met."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from validation.generators import (
    FAILURES,
    FOLDS,
    NO_GROUPS,
    NO_MODELS,
    NORMAL,
    PLAIN,
    SKEWED,
    Drawn,
    World,
    draw,
    draw_difference,
)

from segcv.metrics import Counts, image_scores
from segcv.statistics import (
    GroupScores,
    ScoredImages,
    bootstrap_t,
    diagnose,
    drawn_variances,
    fold_differences,
    folds_differ,
    gaffke,
    groups_differ,
    mean_of,
    pooled_estimates,
    row_mean_of,
    student_t,
    sums_of_squares,
    two_sided,
    variances,
)

LEVEL, COLUMNS = .95, 3
DRAWS = 1_999
Interval = tuple[float, float]
Method = Callable[[Drawn, int], Interval]


@dataclass(frozen=True, slots=True)
class Found:
    """One figure: what was simulated, the figure, its Monte-Carlo standard error, the goal, and whether it is met."""

    what: str
    where: str
    figure: str
    error: str
    goal: str
    met: bool | None           # None: shown, no goal


def percent(hits: int, tries: int) -> tuple[str, str]:
    share = hits / tries
    return f"{100 * share:.1f} %", f"{100 * np.sqrt(max(share * (1 - share), .01) / tries):.2f}"


def within(what: str, where: str, hits: int, tries: int, low: float, high: float, *, slack: float,
           goal: bool = True) -> Found:
    """A share that must lie in low..high (per cent), widened by `slack` Monte-Carlo standard errors."""
    share = hits / tries
    error = np.sqrt(max(share * (1 - share), .01) / tries)
    met = bool(low / 100 - slack * error <= share <= high / 100 + slack * error)
    said = f"{low:g} to {high:g} %" + (f" ± {slack:g} errors" if slack else "")
    return Found(what, where, *percent(hits, tries), said, met if goal else None)


def equal_group_recipe(drawn: Drawn, seed: int) -> Interval:
    mean = mean_of(drawn.groups)
    return bootstrap_t(drawn.groups.means, level=LEVEL, rng=np.random.default_rng(seed), draws=DRAWS,
                       stretch=float(np.sqrt(mean.variance / mean.group_variance)))


def equal_group_conditional(drawn: Drawn, seed: int) -> Interval:
    return bootstrap_t(drawn.groups.means, level=LEVEL, rng=np.random.default_rng(seed), draws=DRAWS)


def equal_row_recipe(drawn: Drawn, seed: int) -> Interval:
    mean = row_mean_of(drawn.groups)
    return student_t(mean.value, mean.variance, mean.df, level=LEVEL)


def pooled_recipe(drawn: Drawn, seed: int) -> Interval:
    found = pooled_estimates(scored(drawn, seed), lambda counts: image_scores(counts, metric="iou", policy="union"),
                             unit="mIoU", level=LEVEL)[1]
    return found.low, found.high


def bounded(drawn: Drawn, seed: int) -> Interval:
    return gaffke(drawn.groups.means, level=LEVEL, rng=np.random.default_rng(seed), draws=DRAWS)


def fold_spread(drawn: Drawn, seed: int) -> Interval:
    """The popular one: mean ± t SD / sqrt(K) over folds, the columns averaged."""
    scores = fold_differences(drawn.groups, "equal_group")[0]
    return student_t(float(scores.mean()), float(np.var(scores, ddof=1)) / len(scores), len(scores) - 1, level=LEVEL)


def group_percentile(drawn: Drawn, seed: int) -> Interval:
    """The popular one: percentiles of the mean over redrawn groups."""
    u = drawn.groups.means
    means = u[np.random.default_rng(seed).integers(len(u), size=(DRAWS, len(u)))].mean(axis=1)
    low, high = np.quantile(means, [.025, .975])
    return float(low), float(high)


def scored(drawn: Drawn, seed: int) -> ScoredImages:
    """Exact counts, by group, of two classes: the IoU of an image is its drawn score, and .8 of it."""
    rng = np.random.default_rng(seed)
    groups = drawn.groups
    assert groups.image_scores is not None and groups.image_group is not None
    union = np.ceil(10_000 * rng.lognormal(0, .5, (len(groups.image_scores), 2)))            # px of each class
    start = np.cumsum(drawn.images) - drawn.images
    tp = np.stack([np.add.reduceat(np.rint(score * union[:, [c]]), start, axis=0)
                   for c, score in enumerate((groups.image_scores, .8 * groups.image_scores))], axis=2)
    whole = np.broadcast_to(np.add.reduceat(union, start, axis=0)[:, None, :], tp.shape)
    count, columns, classes = tp.shape
    flat = [part.transpose(1, 0, 2).reshape(-1, classes).astype(np.int64) for part in (tp, whole - tp)]
    group, column = np.tile(np.arange(count), columns), np.repeat(np.arange(columns), count)
    fold = groups.fold.T.reshape(-1)
    names = np.array(groups.group_ids, dtype=object)[group]
    rows = pd.DataFrame({"run_id": column * FOLDS + fold, "repeat": groups.repeat[column], "fold": fold,
                         "seed": column, "image_id": names, "group_id": names, "source_id": ""})
    counts = Counts(flat[0], flat[1], np.zeros_like(flat[0]), (flat[0] + flat[1]).max(axis=1))
    return ScoredImages(rows, counts, ("one", "two"), column, group, groups.group_ids)


@dataclass(frozen=True, slots=True)
class Promise:
    """An interval, for whom it is, and by how many points its coverage may miss 95 %; None: shown only."""

    what: str
    method: Method
    points: float | None
    conditional: bool = False
    of_mean: float = 1.0       # the truth, as a share of the expected image score


PROMISES = (
    Promise("equal-group mean, recipe: bootstrap-t", equal_group_recipe, 1.5),
    Promise("equal-group mean, these models: bootstrap-t", equal_group_conditional, 1.5, True),
    Promise("equal-row mean, recipe: CR2", equal_row_recipe, 2.0),
    Promise("pooled mIoU, recipe: jackknife", pooled_recipe, 2.0, of_mean=.9),
    Promise("equal-group mean, these models: Gaffke", bounded, None, True),
    Promise("popular: fold SD / sqrt(K)", fold_spread, None),
    Promise("popular: group percentile", group_percentile, None, True),
)


def coverage(
    promises: tuple[Promise, ...], *, worlds: tuple[World, ...], groups: tuple[int, ...], tables: int, seed: int,
    slack: float, repeats: bool = False,
) -> list[Found]:
    """How often each interval holds the truth; all intervals see the same tables."""
    found = []
    for world in worlds:
        truth = float(world.mean()[0])
        for count in groups:
            rng = np.random.default_rng([seed, count, len(world.name)])
            hits = dict.fromkeys(promises, 0)
            for table in range(tables):
                drawn = draw(world, groups=count, columns=COLUMNS, rng=rng, repeats=repeats)
                theirs = float(world.mean(drawn.model).mean())
                for promise in promises:
                    low, high = promise.method(drawn, table)
                    hits[promise] += low <= promise.of_mean * (theirs if promise.conditional else truth) <= high
            for promise in promises:
                goal = promise.points is not None and world.failures == 0
                points = promise.points or 1.5
                found.append(within(promise.what, f"{world.name}, {count} groups", hits[promise], tables, 95 - points,
                                    95 + points, slack=slack, goal=goal))
    return found


def crossed(promises: tuple[Promise, ...], *, groups: tuple[int, ...], tables: int, seed: int) -> list[Found]:
    """Three repeats of two seeds each, half of the model variance from the training set that the seeds share."""
    found = []
    for count in groups:
        rng = np.random.default_rng([seed, count])
        hits = dict.fromkeys(promises, 0)
        for table in range(tables):
            drawn = draw(PLAIN, groups=count, columns=COLUMNS, rng=rng, repeats=True, seeds=2, training=PLAIN.sd[1])
            for promise in promises:
                low, high = promise.method(drawn, table)
                hits[promise] += low <= promise.of_mean * PLAIN.mu <= high
        found += [within(f"{promise.what}, two seeds each", f"{PLAIN.name}, {count} groups", hits[promise], tables,
                         93.5, 96.5, slack=0, goal=False) for promise in promises]
    return found


def a_b_tests(*, tables: int, power_tables: int, groups: tuple[int, ...], seed: int, slack: float,
              power_at: int = 50) -> list[Found]:
    """Type I error of the group t with the model term and of the fold t; power at `power_at` groups, delta .02.

    The goal of the power is about each shape of the effect.
    """
    found = []
    for skewed in (False, True):
        for count in groups:
            for delta in (0.0, .02) if count == power_at else (0.0,):
                rng = np.random.default_rng([seed, count, skewed, int(1000 * delta)])
                hits = {"group t with the model term": 0, "fold t": 0, "popular: t over groups alone": 0}
                for _ in range(tables if delta == 0 else power_tables):
                    d = draw_difference(groups=count, columns=COLUMNS, delta=delta, skewed=skewed, rng=rng)
                    mean, folds = mean_of(d), fold_differences(d, "equal_group")[0]
                    hits["group t with the model term"] += two_sided(mean.value, mean.variance, mean.df) < .05
                    hits["fold t"] += two_sided(float(folds.mean()), float(np.var(folds, ddof=1)) / len(folds),
                                                len(folds) - 1) < .05
                    hits["popular: t over groups alone"] += two_sided(mean.value, mean.group_variance,
                                                                      mean.group_df) < .05
                where = f"{'skewed' if skewed else 'normal'} effect, {count} groups"
                if delta == 0:
                    found += [within(f"type I error, {name}", where, number, tables, 3.5, 6.5, slack=slack,
                                     goal=name.startswith("group t")) for name, number in hits.items()]
                else:
                    found.append(_power(hits, where, power_tables, slack))
    return found


def _power(hits: dict[str, int], where: str, tables: int, slack: float) -> Found:
    ours, theirs = hits["group t with the model term"] / tables, hits["fold t"] / tables
    ratio = ours / theirs
    error = ratio * np.sqrt((1 - ours) / (ours * tables) + (1 - theirs) / (theirs * tables))
    return Found("power, group t / fold t, delta .02", f"{where} ({100 * ours:.1f} / {100 * theirs:.1f} %)",
                 f"{ratio:.3f}", f"{error:.3f}", ">= 1.35" + (f" - {slack:g} errors" if slack else ""),
                 bool(ratio >= 1.35 - slack * error))


def component_bias(*, tables: int, groups: tuple[int, ...], seed: int, largest_error: float) -> list[Found]:
    """Mean of each estimated component minus its truth, against three Monte-Carlo standard errors of it."""
    found = []
    names = ("group", "model", "interaction", "image", "residual")
    for count in groups:
        rng = np.random.default_rng([seed, count])
        parts = np.empty((tables, len(names)))
        for table in range(tables):
            drawn = draw(PLAIN, groups=count, columns=COLUMNS, rng=rng).groups
            assert drawn.image_scores is not None and drawn.image_group is not None and drawn.image_fold is not None
            part = variances(sums_of_squares(drawn.image_scores, group=drawn.image_group, fold=drawn.image_fold))
            parts[table] = [getattr(part, name) for name in names]
        truth = np.square(PLAIN.sd)
        bias = parts.mean(axis=0) / truth - 1
        error = parts.std(axis=0, ddof=1) / np.sqrt(tables) / truth
        found += [Found(f"bias of the {name} variance", f"{count} groups", f"{100 * bias[at]:+.2f} %",
                        f"{100 * error[at]:.2f}", f"within 3 errors, those <= {100 * largest_error:g} %",
                        bool(abs(bias[at]) <= 3 * error[at] and error[at] <= largest_error))
                  for at, name in enumerate(names)]
    return found


def pivots(*, tables: int, groups: tuple[int, ...], seed: int, slack: float) -> list[Found]:
    """Coverage of the generalised-pivot intervals of the components (91 to 97 % in the methods)."""
    found = []
    names = ("group", "model", "interaction", "image", "residual")
    for count in groups:
        rng = np.random.default_rng([seed, count])
        hits = np.zeros(len(names), int)
        for _ in range(tables):
            drawn = draw(PLAIN, groups=count, columns=COLUMNS, rng=rng).groups
            assert drawn.image_scores is not None and drawn.image_group is not None and drawn.image_fold is not None
            sums = sums_of_squares(drawn.image_scores, group=drawn.image_group, fold=drawn.image_fold)
            low, high = np.quantile(drawn_variances(sums, draws=499, rng=rng), [.025, .975], axis=0)
            hits += (low <= np.square(PLAIN.sd)) & (np.square(PLAIN.sd) <= high)
        found += [within(f"pivot interval of the {name} variance", f"{count} groups", int(hits[at]), tables, 90, 98,
                         slack=slack, goal=False) for at, name in enumerate(names)]
    return found


def permutations(*, tables: int, groups: tuple[int, ...], seed: int, slack: float) -> list[Found]:
    """Type I error of the two permutation tests where nothing but chance makes groups, or folds, differ."""
    found = []
    for count in groups:
        rng = np.random.default_rng([seed, count])
        hits = [0, 0]
        for table in range(tables):
            hits[0] += groups_differ(draw(NO_GROUPS, groups=count, columns=1, rng=rng).groups, seed=table,
                                     draws=199).p_value < .05
            hits[1] += folds_differ(draw(NO_MODELS, groups=count, columns=1, rng=rng).groups, seed=table,
                                    draws=199).p_value < .05
        found.append(within("type I error, groups differ (images exchanged within the fold)", f"{count} groups",
                            hits[0], tables, 3.5, 6.5, slack=slack))
        found.append(within("type I error, folds differ beyond groups", f"{count} groups", hits[1], tables, 0, 6.5,
                            slack=slack))
    return found


def diagnoses(*, tables: int, groups: int, seed: int) -> list[Found]:
    """How often a rule speaks where nothing was planted, and where one fold lies .1 lower. Conventions: no goal."""
    rng = np.random.default_rng(seed)
    said = {"one_fold_low": 0, "hold_out_high": 0}
    planted = 0
    for table in range(tables):
        drawn = draw(NO_MODELS, groups=groups, columns=COLUMNS, rng=rng).groups
        other = draw(NO_MODELS, groups=groups // FOLDS, columns=1, rng=rng).groups
        rules = {each.rule for each in diagnose(drawn, hold_out=float(other.means.mean()), seed=table, draws=199)}
        for rule in said:
            said[rule] += rule in rules
        lower = _lowered(drawn, .1)
        planted += any(each.rule == "one_fold_low" for each in diagnose(lower, seed=table, draws=199))
    where = f"{groups} groups, nothing planted"
    return [
        within("rule one fold low speaks", where, said["one_fold_low"], tables, 0, 6.5, slack=0, goal=False),
        within("rule single hold-out above the folds speaks", where, said["hold_out_high"], tables, 0, 6.5, slack=0,
               goal=False),
        within("rule one fold low speaks", f"{groups} groups, one fold .1 lower", planted, tables, 50, 100, slack=0,
               goal=False)]


def _lowered(groups: GroupScores, by: float) -> GroupScores:
    scores = groups.scores - by * (groups.fold == 0)
    return GroupScores(groups.group_ids, scores, groups.fold, groups.repeat, groups.images, 0)


WORLDS = (NORMAL, SKEWED)
ALSO_SHOWN = (FAILURES,)
