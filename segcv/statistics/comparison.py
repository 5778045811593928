"""Two candidates on the same groups: the paired difference, a valid test, and the smallest difference one could see.

Numbers in brackets are the definitions of the methods page.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from segcv.errors import RunError
from segcv.statistics.any_table import Table, table_groups
from segcv.statistics.by_group import GroupScores, group_difference
from segcv.statistics.estimate import THE_RECIPE, THESE_MODELS, Estimate
from segcv.statistics.intervals import FEWEST_GROUPS, NO_INTERVAL, bootstrap_t, student_t
from segcv.statistics.scored import Floats
from segcv.statistics.spread import Mean, Spread, binding, detectable_difference, effect_spread, mean_of, row_mean_of

FLIPS = 9_999
EXACT_UP_TO = 12           # groups: all 2^G signs are fewer than the draws
BOUNDS = (-1.0, 1.0)
BY_SIZE = ("equal_row", "weighted")      # groups count by their images, or by what these are worth
FOLDS_SHARE = "folds share training images; shown for readers who expect it"
CORRECTED = "variance corrected for shared training images (Nadeau & Bengio); low power"
ONE_EACH = "one frozen model each: valid for these models, nothing is known about the recipes"
ONLY_FOLDS = "one seed: only the folds say something about the recipes; run seed=0,1,2 for more power"


@dataclass(frozen=True, slots=True)
class Asked:
    """What a comparison is asked: who, by which weighting, in which unit, how sure; `drawn`: these models by draws."""

    names: tuple[str, str] = ("A", "B")
    target: str = "equal_group"
    unit: str = "score"
    level: float = 0.95
    power: float = 0.8
    seed: int = 0
    lower_is_better: bool = False
    drawn: bool = True


@dataclass(frozen=True, slots=True)
class Comparison:
    """First minus second on the same groups, images and folds.

    `difference` is the statement about the recipes and `p_value` its two-sided test: a t over groups with the model
    term with two or more columns, the paired t over folds with one. `these_models` is about these two sets of
    networks only, with a sign-flip test over groups. `fold_t` and `corrected_t` stand beside for readers who expect
    them. `detectable` is the smallest true difference these runs had found 8 times in 10 (`power`); `binds` says
    whether "groups" or "models" limit it ("unknown" with one column). Of one frozen model each (`frozen`) only
    `these_models` is known, and `difference` repeats it.
    """

    first: str
    second: str
    difference: Estimate
    p_value: float
    df: float
    these_models: Estimate
    sign_flip_p: float
    fold_t: Estimate
    fold_p: float
    corrected_t: Estimate
    corrected_p: float
    detectable: float
    power: float
    binds: str
    spread: Spread             # of the difference: what `plan` takes
    groups: int
    columns: int
    frozen: bool
    verdict: str


def compare(
    table_a: Table, table_b: Table, *, names: tuple[str, str] = ("A", "B"), target: str = "equal_group",
    unit: str = "score", level: float = 0.95, power: float = 0.8, seed: int = 0, lower_is_better: bool = False,
) -> Comparison:
    """The comparison of two candidates scored on the same images in the same folds and columns [5, 6, 10, 12].

    Tables as in `table_groups`. `target` is equal_group, or equal_row, where each image counts once.

    >>> import pandas as pd
    >>> rows = [(f, s, g, .5 + .02 * g + .01 * ((3 * g + 2 * s) % 5)) for f in range(2) for s in range(2)
    ...         for g in range(f, 10, 2)]
    >>> a = pd.DataFrame(rows, columns=["fold", "seed", "group", "score"]).assign(image=lambda t: t["group"])
    >>> b = a.assign(score=a["score"] - .1 + .01 * ((a["group"] * 7 + a["seed"]) % 3))
    >>> compare(a, b, names=("new", "old")).verdict
    'new better'

    Raises:
        RunError: the two were not scored on the same images, groups, folds and columns.
    """
    difference = group_difference(table_groups(table_a), table_groups(table_b), names=names)
    return compare_difference(difference, Asked(names, target, unit, level, power, seed, lower_is_better))


def compare_difference(difference: GroupScores, asked: Asked) -> Comparison:
    """`compare` of differences of group scores that are already formed."""
    if asked.target not in ("equal_group", "equal_row", "group_pooled"):
        raise RunError(f"target={asked.target}: differences of group scores are compared by equal_group, group_pooled "
                       "or equal_row; pooled scores by their pseudo-values.")
    mean = row_mean_of(difference) if asked.target == "equal_row" else mean_of(difference)
    return comparison_of(difference, mean, fold_differences(difference, asked.target), asked)


def comparison_of(difference: GroupScores, mean: Mean, fold_scores: Sequence[Floats], asked: Asked,
                  weight: Floats | None = None) -> Comparison:
    """The comparison of two candidates from their differences and the mean difference with its variances.

    `fold_scores` holds, for each repeat, the difference of each fold, seeds averaged; `weight` is what the groups
    weigh where they count by size, their numbers of images when not given.
    """
    names, target, unit, level = asked.names, asked.target, asked.unit, asked.level
    count, columns = difference.scores.shape
    frozen = all(len(np.unique(difference.fold[:, s])) == 1 for s in range(columns)) and columns == 1
    first, second = names
    what = f"{first} minus {second}, {target}"
    few = f"fewer than {FEWEST_GROUPS} groups: no test"
    by_fold, per_repeat = np.concatenate(fold_scores), float(np.mean([len(each) for each in fold_scores]))

    def said(interval: tuple[float, float], method: str, whom: str, note: str) -> Estimate:
        why = note if not np.isfinite(interval).all() else ""
        return Estimate(mean.value, *interval, level=level, method=method, target=f"{what}, {whom}", unit=unit,
                        groups=count, runs=columns, undefined=difference.undefined, note=why)

    these, method, sign_p = _these_models(difference, mean, asked, weight)
    these_said = said(these, method, THESE_MODELS, few if count < FEWEST_GROUPS else "all groups differ by the same")
    number = len(by_fold)
    fold_t, fold_p = _fold_test(by_fold, 1 / number, what, "paired t over folds", level, unit, FOLDS_SHARE)
    corrected_t, corrected_p = _fold_test(by_fold, 1 / number + 1 / max(1.0, per_repeat - 1), what,
                                          "corrected resampled t", level, unit, CORRECTED)
    if frozen:
        main = these_said.with_note(ONE_EACH)
        variance, df, p_value = mean.group_variance, mean.group_df, sign_p
    elif columns >= 2:
        variance, df = mean.variance, mean.df
        p_value = two_sided(mean.value, variance, df) if count >= FEWEST_GROUPS else np.nan
        interval = student_t(mean.value, variance, df, level=level, bounds=BOUNDS) if count >= FEWEST_GROUPS else \
            NO_INTERVAL
        main = said(interval, f"t over groups with the model term, df {df:.1f}", THE_RECIPE, few)
    else:
        main, p_value, df = fold_t.with_note(ONLY_FOLDS), fold_p, float(number - 1)
        variance = float(np.var(by_fold, ddof=1)) / number if number > 1 else np.nan
    spread = effect_spread(difference)
    detectable = np.nan
    if count >= FEWEST_GROUPS:
        detectable = detectable_difference(variance, df, level=level, power=asked.power)
    return Comparison(
        first=first, second=second, difference=main, p_value=p_value, df=df, these_models=these_said,
        sign_flip_p=sign_p, fold_t=fold_t, fold_p=fold_p, corrected_t=corrected_t, corrected_p=corrected_p,
        detectable=detectable, power=asked.power,
        binds="groups" if frozen else binding(spread, groups=count, columns=columns),
        spread=spread, groups=count, columns=columns, frozen=frozen,
        verdict=verdict_of(names, mean.value, p_value, detectable, level=level, frozen=frozen,
                           lower_is_better=asked.lower_is_better, unit=unit))


def verdict_of(
    names: tuple[str, str], value: float, p_value: float, detectable: float, *, level: float, frozen: bool = False,
    lower_is_better: bool = False, unit: str = "score",
) -> str:
    """The comparison in words: one is better, or what is the smallest difference that could have been seen."""
    whom = " (these models, not their recipes)" if frozen else ""
    if p_value < 1 - level and value != 0:
        return f"{names[0] if (value > 0) != lower_is_better else names[1]} better{whom}"
    if not np.isfinite(p_value):
        return f"not separable: fewer than {FEWEST_GROUPS} groups or two folds, no test is valid"
    return (f"not separable with these runs{whom}; the smallest difference you could have seen is "
            f"{detectable:.3f} {unit}")


def sign_flip(differences: Floats, *, rng: np.random.Generator, draws: int = FLIPS) -> float:
    """Two-sided p-value of the mean when every group's difference may change its sign; exact for few groups.

    >>> sign_flip(np.array([.1, .2, .3, .4, .5]), rng=np.random.default_rng(0))
    0.0625
    """
    count = len(differences)
    seen = abs(float(differences.sum())) * (1 - 1e-12)
    if count <= EXACT_UP_TO:
        signs = 1 - 2 * ((np.arange(2**count)[:, None] >> np.arange(count)) & 1)                # 2^groups x groups
        return float(np.mean(np.abs(signs @ differences) >= seen))
    beyond = 0
    for start in range(0, draws, 1_000):
        signs = 1 - 2 * rng.integers(2, size=(min(1_000, draws - start), count), dtype=np.int8)
        beyond += int(np.sum(np.abs(signs @ differences) >= seen))
    return (1 + beyond) / (draws + 1)


def two_sided(value: float, variance: float, df: float) -> float:
    """p-value of `value` against 0 by t; 1 where both are 0, 0 where only the variance is; NaN where unknown."""
    if variance == 0:
        return 1.0 if value == 0 else 0.0
    if not (variance > 0 and df > 0):
        return np.nan
    return float(2 * special.stdtr(df, -abs(value) / np.sqrt(variance)))


def fold_differences(difference: GroupScores, target: str, weight: Floats | None = None) -> list[Floats]:
    """Mean difference of each fold, seeds averaged; one array per repeat. `weight` as in `comparison_of`."""
    found = []
    if weight is None:
        weight = difference.images.astype(float) if target in BY_SIZE else np.ones(len(difference.images))
    for r in np.unique(difference.repeat):
        at = np.flatnonzero(difference.repeat == r)
        number = np.unique(difference.fold[:, at[0]], return_inverse=True)[1]
        mean = difference.scores[:, at].mean(axis=1)
        found.append(np.bincount(number, weights=weight * mean) / np.bincount(number, weights=weight))
    return found


def _these_models(difference: GroupScores, mean: Mean, asked: Asked,
                  weight: Floats | None) -> tuple[tuple[float, float], str, float]:
    count, target, level = len(difference.images), asked.target, asked.level
    if count < FEWEST_GROUPS:
        return NO_INTERVAL, "none", np.nan
    size = difference.images.astype(float) if weight is None else weight
    share = size / size.sum() * count if target in BY_SIZE else np.ones(count)
    sign_p = sign_flip(share * difference.means, rng=np.random.default_rng(asked.seed))
    if asked.drawn and target in ("equal_group", "group_pooled"):
        return bootstrap_t(difference.means, level=level, rng=np.random.default_rng(asked.seed), bounds=BOUNDS), \
            "bootstrap-t over group differences", sign_p
    method = "CR2 over groups" if target in BY_SIZE else "delete-one-group jackknife" if target == "pooled" else \
        "t over groups"
    interval = student_t(mean.value, mean.group_variance, mean.group_df, level=level, bounds=BOUNDS)
    return interval, f"{method}, df {mean.group_df:.1f}", sign_p


def _fold_test(
    scores: Floats, factor: float, what: str, method: str, level: float, unit: str, note: str,
) -> tuple[Estimate, float]:
    count = len(scores)
    value = float(scores.mean())
    variance = float(np.var(scores, ddof=1)) * factor if count > 1 else np.nan
    low, high = student_t(value, variance, count - 1, level=level, bounds=BOUNDS)
    why = note if count > 1 else "one fold: the spread over folds is unknown"
    return Estimate(value, low, high, level, f"{method}, df {count - 1}", f"{what}, {THE_RECIPE}", unit, runs=count,
                    note=why), two_sided(value, variance, count - 1)
