"""Which part of the spread is the model, the groups, their interaction, the images; and what would help.

Numbers in brackets are the definitions of the methods page.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from segcv.errors import RunError
from segcv.statistics.anova import (
    Sums,
    Variances,
    drawn_repeated,
    drawn_variances,
    repeated_sums,
    repeated_variances,
    sums_of_squares,
    variances,
)
from segcv.statistics.any_table import Table, table_groups
from segcv.statistics.by_group import GroupScores
from segcv.statistics.estimate import Estimate
from segcv.statistics.intervals import DRAWS
from segcv.statistics.scored import Floats

PARTS = ("group", "model", "interaction", "image", "residual")
MEANING = {
    "group": "groups differ in the mean over models", "model": "networks differ by seed in the mean over their groups",
    "interaction": "a network is good at some groups and not at others", "image": "images of a group differ",
    "residual": "a network is good at some images of a group and not at others",
}
RUN_SEEDS = "one seed and one repeat: not identifiable; run seed=0,1,2 or more repeats"
ALONE = "every group is a fold of its own: not identifiable; use fewer folds than groups"
ONE_IMAGE = "one score in every group: nothing is known about images"
ENOUGH_FOR_SD, ENOUGH_FOR_VARIANCE = 10, 34      # degrees of freedom K(S - 1)


@dataclass(frozen=True, slots=True)
class Components:
    """Signed variances of image scores, each an Estimate with its interval or the reason why there is none.

    Each is unbiased and may come out below zero: `sd` shows max(0, value). `shares` splits the variance of fold scores
    of one seed that these components make expected (`expected_fold_variance`); `observed_fold_sd` is what was seen.
    `columns` counts the passes over all folds (the seeds of one repeat are averaged where there are several repeats);
    with several repeats `model` holds the training sets too, and where each has a partition of its own `group` holds
    the noise of its images, and `interaction` that of images and networks. `precision` says how sure the
    model's spread is.
    """

    group: Estimate
    model: Estimate
    interaction: Estimate
    image: Estimate
    residual: Estimate
    shares: dict[str, Estimate]
    expected_fold_variance: float
    observed_fold_sd: float
    groups: int
    folds: int
    columns: int
    repeats: int
    images: int
    h: float                   # mean of 1/N_g: how much image noise a group's score carries
    model_df: int
    precision: str

    def sd(self, part: str) -> float:
        """Standard deviation of one part, max(0, variance) rooted; NaN where it is not identifiable."""
        value = getattr(self, part).value
        return float(np.sqrt(max(0.0, value))) if np.isfinite(value) else np.nan


def decompose(
    table: Table, *, weighting: Literal["equal_group", "equal_row"] = "equal_group", level: float = 0.95, seed: int = 0,
    draws: int = DRAWS, unit: str = "score",
) -> Components:
    """Components of variance of image scores in closed form, with generalised-pivot intervals [1, 2, 3, 10].

    `table` has columns group, image, score and fold, seed (or run), repeat where known (see `table_groups`); or it is
    GroupScores. `weighting` says how groups count within a fold, for the shares. With one column the model and the
    interaction have no number. Not identifiable in a fold of one group.

    >>> import pandas as pd
    >>> table = pd.DataFrame({"fold": [0, 0, 0, 0, 1, 1, 1, 1], "seed": [0, 1, 0, 1, 0, 1, 0, 1],
    ...     "group": list("aabbccdd"), "image": list("aabbccdd"), "score": [.1, .3, .3, .3, 0, .2, .2, .2]})
    >>> found = decompose(table)
    >>> round(found.interaction.value, 6), round(found.model.value, 6) + 0, round(found.group.value, 6) + 0
    (0.01, 0.0, 0.0)

    Raises:
        RunError: not every group was scored in every column.
    """
    groups = table_groups(table)
    if not groups.complete:
        raise RunError("The components need every group scored in every column: run the missing cells, or leave the "
                       "columns out that lack some.")
    repeats = len(np.unique(groups.repeat))
    groups = groups.independent()
    rng = np.random.default_rng(seed)
    if groups.one_partition:
        signed, drawn, sums = _of_seeds(groups, draws, rng)
        model_df = sums.column_df
    else:
        signed, drawn, model_df = _of_repeats(groups, draws, rng)
    why = _reasons(groups)
    tail = (1 - level) / 2
    count, columns = groups.scores.shape

    def said(place: int, name: str) -> Estimate:
        value = float(signed[place])
        low, high = np.quantile(drawn[:, place], [tail, 1 - tail]) if np.isfinite(drawn[:, place]).all() else (
            np.nan, np.nan)
        note = why.get(name, "")
        if not note and not np.isfinite([value, low, high]).all():
            note = "not identifiable with these groups, folds and seeds"
        return Estimate(value, float(low), float(high), level, "closed form, generalised pivots",
                        f"variance, {name}: {MEANING[name]}", f"{unit}²", groups=count,
                        runs=_networks(groups), undefined=groups.undefined, note=note)

    parts = {name: said(place, name) for place, name in enumerate(PARTS)}
    h = float(np.mean(1 / groups.images)) if groups.image_scores is not None else 0.0
    shares, expected = _shares(groups, signed, drawn, weighting, level, unit)
    return Components(**parts, shares=shares, expected_fold_variance=expected, observed_fold_sd=_fold_sd(groups),
                      groups=count, folds=_folds(groups), columns=columns, repeats=repeats,
                      images=int(groups.images.sum()), h=h, model_df=model_df if columns > 1 else 0,
                      precision=_precision(model_df if columns > 1 else 0))


def _of_seeds(groups: GroupScores, draws: int, rng: np.random.Generator) -> tuple[Floats, Floats, Sums]:
    sums = group_sums(groups)
    found, drawn = variances(sums), drawn_variances(sums, draws=draws, rng=rng)
    signed = _signed(found)
    if groups.scores.shape[1] == 1:                  # what is identifiable together: see _reasons
        together = sums.image / sums.image_df if sums.image_df else 0.0
        noise = together * (sums.image_df / rng.chisquare(sums.image_df, draws)) if sums.image_df else np.zeros(draws)
        row = sums.row / sums.row_df if sums.row_df else np.nan
        rows = row * (sums.row_df / rng.chisquare(sums.row_df, draws)) if sums.row_df else np.full(draws, np.nan)
        signed[[0, 3]] = row - together * sums.h, together if sums.image_df else np.nan
        drawn[:, 0], drawn[:, 3] = rows - noise * sums.h, noise if sums.image_df else np.nan
    elif groups.image_scores is None or sums.image_df == 0:
        signed[3:], drawn[:, 3:] = np.nan, np.nan
    return signed, drawn, sums


def _of_repeats(groups: GroupScores, draws: int, rng: np.random.Generator) -> tuple[Floats, Floats, int]:
    found, of_runs = repeated_variances(groups.scores, groups.fold), repeated_sums(groups.scores, groups.fold)
    signed = np.array([found.group, found.model, found.interaction, np.nan, np.nan])
    drawn = np.full((draws, len(PARTS)), np.nan)
    drawn[:, :3] = drawn_repeated(of_runs, draws=draws, rng=rng)
    if groups.image_scores is not None:
        sums = group_sums(groups)
        if sums.image_df:
            signed[3:] = _signed(variances(sums))[3:]
            drawn[:, 3:] = drawn_variances(sums, draws=draws, rng=rng)[:, 3:]
    return signed, drawn, of_runs.run_df


def group_sums(groups: GroupScores) -> Sums:
    """Sums of squares of complete GroupScores, from their images where they are known."""
    if groups.image_scores is None or groups.image_group is None or groups.image_fold is None:
        return sums_of_squares(groups.scores, group=np.arange(len(groups.scores)), fold=groups.fold[:, 0])
    return sums_of_squares(groups.image_scores, group=groups.image_group, fold=groups.image_fold)


def _signed(found: Variances) -> Floats:
    return np.array([found.group, found.model, found.interaction, found.image, found.residual])


def _reasons(groups: GroupScores) -> dict[str, str]:
    """What is not identifiable, or is identifiable only together with something else."""
    count, columns = groups.scores.shape
    said: dict[str, str] = {}
    lone = groups.image_scores is None or int(groups.images.max(initial=0)) <= 1
    if lone:
        said |= dict.fromkeys(("image", "residual"), ONE_IMAGE)
    if columns == 1:
        said |= {"model": RUN_SEEDS, "interaction": RUN_SEEDS, "residual": RUN_SEEDS,
                 "group": "one column: this holds the interaction with these networks too"}
        if not lone:
            said["image"] = "one column: this holds the residual too"
    if groups.one_partition and len(np.unique(groups.fold[:, 0])) == count:
        said |= dict.fromkeys(("group", "model", "interaction"), ALONE)
    if len(np.unique(groups.repeat)) > 1 and groups.one_partition:
        said |= {"model": "over repeats: training sets and seeds together"}
    if not groups.one_partition:
        said |= {"model": "over repeats: training sets and seeds together",
                 "group": "over repeats: with the noise of its images",
                 "interaction": "over repeats: with the noise of images and networks"}
    return said


def _shares(
    groups: GroupScores, signed: Floats, drawn: Floats, weighting: str, level: float, unit: str,
) -> tuple[dict[str, Estimate], float]:
    """Five parts of the expected variance of fold scores of one seed, which sum to 1 [2]."""
    first = groups.fold[:, groups.repeat == groups.repeat[0]][:, 0]
    size = groups.images.astype(float) if weighting == "equal_row" else np.ones(len(first))
    number = np.unique(first, return_inverse=True)[1]
    w = size / np.bincount(number, weights=size)[number]
    folds = int(number.max()) + 1
    h_group = float(np.sum(w**2)) / folds
    h_image = float(np.sum(w**2 / groups.images)) / folds if groups.image_scores is not None else 0.0
    factor = np.array([h_group, 1.0, h_group, h_image, h_image])
    over_repeats = not groups.one_partition
    if over_repeats:
        factor[3:] = 0.0                             # already inside group and interaction
    known = np.where(np.isnan(signed[3:]), 0.0, signed[3:]) if groups.scores.shape[1] > 1 else signed[3:]
    parts = np.clip(np.append(signed[:3], known), 0, None) * factor
    total = float(parts.sum())
    spread = np.clip(np.concatenate([drawn[:, :3], np.nan_to_num(drawn[:, 3:])], axis=1), 0, None) * factor
    tail = (1 - level) / 2
    identified = bool(np.isfinite(total) and total > 0 and np.isfinite(spread).all())
    why = ("" if identified else RUN_SEEDS if groups.scores.shape[1] == 1 else
           "the components are not identifiable" if not np.isfinite(total) else "all scores are alike")
    whole = spread.sum(axis=1, keepdims=True)
    ratios = np.divide(spread, whole, out=np.zeros_like(spread), where=whole > 0)
    shares = {}
    for place, name in enumerate(PARTS):
        low, high = np.quantile(ratios[:, place], [tail, 1 - tail]) if identified else (np.nan, np.nan)
        inside = over_repeats and name in ("image", "residual")
        shares[name] = Estimate(
            float(parts[place] / total) if identified else np.nan, float(low), float(high), level,
            "expected share, generalised pivots", f"share of the fold variance, {name}", "share",
            groups=len(first), note="counted with the group and the interaction" if inside else why)
    return shares, total


def _fold_sd(groups: GroupScores) -> float:
    """SD over folds of the scores of one seed: the root of the mean variance over columns; NaN with one fold."""
    found = []
    for s in range(groups.scores.shape[1]):
        number = np.unique(groups.fold[:, s], return_inverse=True)[1]
        means = np.bincount(number, weights=groups.scores[:, s]) / np.bincount(number)
        if len(means) > 1:
            found.append(float(np.var(means, ddof=1)))
    return float(np.sqrt(np.mean(found))) if found else np.nan


def _folds(groups: GroupScores) -> int:
    return len(np.unique(groups.fold[:, 0]))


def _networks(groups: GroupScores) -> int:
    return sum(len(np.unique(groups.fold[:, s])) for s in range(groups.scores.shape[1]))


def _precision(df: int) -> str:
    if df == 0:
        return RUN_SEEDS
    if df < ENOUGH_FOR_SD:
        return (f"{df} degrees of freedom: the model's SD is known only roughly; {ENOUGH_FOR_SD} give it within a "
                "factor 1.5 nine times in ten")
    if df < ENOUGH_FOR_VARIANCE:
        return (f"{df} degrees of freedom: the model's SD is known within a factor 1.5 nine times in ten, its variance "
                f"would need {ENOUGH_FOR_VARIANCE}")
    return f"{df} degrees of freedom: the model's variance is known within a factor 1.5 nine times in ten"
