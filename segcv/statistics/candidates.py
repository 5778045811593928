"""Two or more candidates on the same images: who is better, by how much, at which class, and at the price of what.

Cells are those of the policy `truth`, the same for every candidate; what that policy cannot see, classes predicted in
images that do not have them, is tested beside it, and nobody is better whose false alarms are worse.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd

from segcv.errors import ConfigError, RunError
from segcv.metrics import METRICS, Counts, Policy, image_scores
from segcv.statistics.by_group import GroupScores, group_difference, group_pooled_scores, group_scores
from segcv.statistics.comparison import Asked, Comparison, compare_difference, comparison_of, verdict_of
from segcv.statistics.estimate import Estimate
from segcv.statistics.pooled import pooled_difference, pooled_estimates
from segcv.statistics.resampling import RANK_DRAWS, drawn_groups, drawn_means, group_sums_of
from segcv.statistics.scored import Floats, ScoredImages, scored_images
from segcv.statistics.targets import equal_group_estimates, equal_row_estimates
from segcv.statistics.weighted import compare_weighted

POLICY: Policy = "truth"
MADE_WORSE = "{name} scores higher, but its false alarms are worse: not better"
NOT_TESTED = "{name} scores higher, but has more false alarms, and too few groups to test them: not better"


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """The scores of all runs of one candidate, and the split and data they were made under."""

    name: str
    scored: ScoredImages
    split_id: str
    data_id: str


@dataclass(frozen=True, slots=True)
class Pair:
    """One pair of candidates, overall and by class; false alarms beside it (rates: lower is better).

    `weighted` is the overall difference when images count by given weights; the verdict is that of `overall`.
    `p_holm` is adjusted over the pairs, `class_p_holm` over classes and pairs. The verdicts use the adjusted values.
    """

    overall: Comparison
    p_holm: float
    false_alarms: Comparison | None
    verdict: str
    classes: dict[str, Comparison]
    class_p_holm: dict[str, float]
    class_false_alarms: dict[str, Comparison]
    class_verdicts: dict[str, str]
    weighted: Comparison | None = None


@dataclass(frozen=True, slots=True, eq=False)
class CandidatesComparison:
    """Every pair, the candidates' own scores (policy truth, these models), and who ranks where in redrawn groups.

    `ranks` has one row per candidate: its score, and the share of draws of groups in which it came first, second, ...
    """

    names: tuple[str, ...]
    metric: str
    target: str
    level: float
    split_id: str
    data_id: str
    scores: dict[str, Estimate]
    pairs: tuple[Pair, ...]
    ranks: pd.DataFrame
    without_class: int         # images x columns without any class in the truth, left out


def candidate(
    name: str, scores: pd.DataFrame, runs: pd.DataFrame, *, class_names: Sequence[str] | None = None,
) -> Candidate:
    """One candidate from its scores table and its runs (run_id, repeat, fold, seed, split_id, data_id).

    Raises:
        RunError: its runs mix splits or data.
    """
    found = {}
    for column in ("split_id", "data_id"):
        ids = sorted(map(str, runs[column].unique())) if column in runs else [""]
        if len(ids) > 1:
            raise RunError(f"The runs of candidate {name} have several {column}: {', '.join(ids)}. "
                           "Compare runs of one.")
        found[column] = ids[0]
    return Candidate(name, scored_images(scores, runs=runs, class_names=class_names), **found)


def compare_candidates(
    candidates: Sequence[Candidate], *, metric: str = "iou", target: str = "equal_group", level: float = 0.95,
    power: float = 0.8, seed: int = 0, draws: int = RANK_DRAWS, weights: pd.Series | None = None,
) -> CandidatesComparison:
    """All pairs of candidates, paired by group, with Holm-adjusted p-values and rank probabilities.

    `weights` (by image_id) opens a comparison beside in which images count by what they are worth.

    Raises:
        ConfigError: fewer than two candidates, two of one name, an unknown metric or target.
        RunError: the candidates have different splits (both ids are named), images, folds, or numbers of columns.
    """
    _check(candidates, metric, target)
    unit = {"iou": "mIoU", "dice": "mean Dice"}.get(metric, f"mean {metric}")

    def row_scores(counts: Counts) -> Floats:
        return image_scores(counts, metric=metric, policy=POLICY)

    def scores_of(one: Candidate, two: Candidate, kind: str, drawn: bool, number: int | None = None) -> Comparison:
        asked = Asked((one.name, two.name), target, kind, level, power, seed, drawn=drawn)
        return _compared(*_scored(one, two, number), row_scores, asked)

    def alarms_of(one: Candidate, two: Candidate, number: int | None = None) -> Comparison | None:
        weighting = "equal_row" if target in ("equal_row", "pooled") else "equal_group"
        asked = Asked((one.name, two.name), weighting, "false-alarm rate", level, power, seed, True, False)
        parts = _scored(one, two, number)
        return _compared(*parts, false_alarms, asked) if (parts[0].counts.truth == 0).any() else None

    def weighted_of(one: Candidate, two: Candidate) -> Comparison | None:
        if weights is None:
            return None
        tables = [group_scores(each.scored, row_scores(each.scored.counts)) for each in (one, two)]
        return compare_weighted(group_difference(tables[0], tables[1], names=(one.name, two.name)), weights,
                                Asked((one.name, two.name), "weighted", unit, level, power, seed))

    pairs = []
    for one, two in combinations(candidates, 2):
        named = list(enumerate(one.scored.class_names))
        pairs.append((
            scores_of(one, two, unit, True), alarms_of(one, two),
            {name: scores_of(one, two, metric, False, number) for number, name in named
             if (one.scored.counts.truth[:, number] > 0).any()},
            {name: found for number, name in named for found in [alarms_of(one, two, number)] if found is not None}))
    adjusted = holm([overall.p_value for overall, *_ in pairs])
    of_classes = holm([each.p_value for _, _, classes, _ in pairs for each in classes.values()])
    said, place = [], 0
    for (overall, alarms, classes, class_alarms), p_holm in zip(pairs, adjusted, strict=True):
        p_class = dict(zip(classes, of_classes[place:place + len(classes)], strict=True))
        place += len(classes)
        said.append(Pair(
            overall, float(p_holm), alarms, guarded_verdict(overall, float(p_holm), alarms, level=level), classes,
            {name: float(p) for name, p in p_class.items()}, class_alarms,
            {name: guarded_verdict(each, float(p_class[name]), class_alarms.get(name), level=level)
             for name, each in classes.items()},
            weighted_of(*(each for each in candidates if each.name in (overall.first, overall.second)))))
    scores = {each.name: _own(each.scored, row_scores, target, unit, level, seed) for each in candidates}
    first = candidates[0]
    return CandidatesComparison(
        tuple(each.name for each in candidates), metric, target, level, first.split_id, first.data_id, scores,
        tuple(said), rank_probabilities(candidates, row_scores, target=target, draws=draws, seed=seed),
        int(np.sum(~np.isfinite(row_scores(first.scored.counts)))))


def _scored(one: Candidate, two: Candidate, number: int | None) -> tuple[ScoredImages, ScoredImages]:
    if number is None:
        return one.scored, two.scored
    return one.scored.of_class(number), two.scored.of_class(number)


def _compared(one: ScoredImages, two: ScoredImages, rows: Callable[[Counts], Floats], asked: Asked) -> Comparison:
    if asked.target == "pooled":
        return comparison_of(*pooled_difference(one, two, rows, names=asked.names), asked)
    tables = [group_pooled_scores(each, rows) if asked.target == "group_pooled" else
              group_scores(each, rows(each.counts)) for each in (one, two)]
    return compare_difference(group_difference(tables[0], tables[1], names=asked.names), asked)


def guarded_verdict(comparison: Comparison, p_holm: float, alarms: Comparison | None, *, level: float) -> str:
    """The verdict by the adjusted p-value; a winner whose false alarms are worse is none."""
    names, value = (comparison.first, comparison.second), comparison.difference.value
    said = verdict_of(names, value, p_holm, comparison.detectable, level=level, frozen=comparison.frozen,
                      unit=comparison.difference.unit)
    if alarms is None or not (p_holm < 1 - level and value != 0):
        return said
    winner = names[0] if value > 0 else names[1]
    more = alarms.difference.value if value > 0 else -alarms.difference.value
    if more > 0 and alarms.p_value < 1 - level:
        return MADE_WORSE.format(name=winner)
    if more > 0 and not np.isfinite(alarms.p_value):
        return NOT_TESTED.format(name=winner)
    return said


def false_alarms(counts: Counts) -> Floats:
    """Of the classes an image does not have, the share that is predicted in it; NaN where it has all of them."""
    absent = counts.truth == 0
    number = absent.sum(axis=1)
    alarms = (absent & (counts.predicted > 0)).sum(axis=1)
    rates: Floats = np.divide(alarms, number, out=np.full(len(number), np.nan), where=number > 0)
    return rates


def holm(p_values: Sequence[float]) -> Floats:
    """Holm's step-down adjustment, in the order given; NaN (no test) stays NaN and is not counted.

    >>> holm([.01, .04, .03]).tolist()
    [0.03, 0.06, 0.06]
    """
    values = np.asarray(p_values, dtype=float)
    known = np.flatnonzero(np.isfinite(values))
    order = known[np.argsort(values[known], kind="stable")]
    adjusted = np.full(len(values), np.nan)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(values[order] * np.arange(len(order), 0, -1)))
    return adjusted


def rank_probabilities(
    candidates: Sequence[Candidate], score: Callable[[Counts], Floats], *, target: str, draws: int = RANK_DRAWS,
    seed: int = 0,
) -> pd.DataFrame:
    """Share of draws of groups in which a candidate takes each rank; every draw is the same for all of them.

    About these models: their seeds are not redrawn. Ties share the ranks they span.
    """
    names = sorted({name for each in candidates for name in each.scored.group_ids})
    sums = [group_sums_of(each.scored, score(each.scored.counts)) for each in candidates]
    count = len(candidates)
    times = np.zeros((count, count))
    for weights in drawn_groups(len(names), draws=draws, rng=np.random.default_rng(seed)):
        means = np.stack([drawn_means(each, weights, targets=(target,), score=score)[target] for each in sums], axis=1)
        above = (means[:, None, :] > means[:, :, None]).sum(axis=2)                 # draws x candidates: who is better
        tied = (means[:, None, :] == means[:, :, None]).sum(axis=2)
        for rank in range(count):
            share = ((above <= rank) & (rank < above + tied)) / np.maximum(1, tied)
            times[:, rank] += share.sum(axis=0)
    table = pd.DataFrame(times / draws, columns=[f"rank {rank + 1}" for rank in range(count)])
    table.insert(0, "candidate", [each.name for each in candidates])
    return table


def _own(scored: ScoredImages, rows: Callable[[Counts], Floats], target: str, unit: str, level: float,
         seed: int) -> Estimate:
    if target == "pooled":
        return pooled_estimates(scored, rows, unit=unit, level=level)[0]
    if target == "equal_row":
        return equal_row_estimates(group_scores(scored, rows(scored.counts)), unit=unit, level=level,
                                   runs=scored.runs)[0]
    groups: GroupScores = (group_pooled_scores(scored, rows) if target == "group_pooled" else
                           group_scores(scored, rows(scored.counts)))
    return equal_group_estimates(groups, unit=unit, target=target, level=level, seed=seed, runs=scored.runs)[0]


def _check(candidates: Sequence[Candidate], metric: str, target: str) -> None:
    if metric not in METRICS:
        raise ConfigError(f"metric={metric} is not known; use one of {', '.join(METRICS)}.")
    if target not in ("equal_group", "equal_row", "group_pooled", "pooled"):
        raise ConfigError(f"target={target} is not known; use equal_group, equal_row, group_pooled or pooled.")
    names = [each.name for each in candidates]
    if len(names) < 2 or len(set(names)) < len(names):
        raise ConfigError(f"A comparison needs two or more candidates of different names, not {', '.join(names)}.")
    first = candidates[0]
    for other in candidates[1:]:
        for what, column in (("splits", "split_id"), ("data", "data_id")):
            mine, theirs = getattr(first, column), getattr(other, column)
            if mine != theirs:
                raise RunError(f"Different {what}: {column} {mine} of {first.name} and {column} {theirs} of "
                               f"{other.name}. A difference would mix the candidates with the {what}; run both under "
                               "the same.")
        if first.scored.class_names != other.scored.class_names:
            raise RunError(f"{first.name} scores the classes {', '.join(first.scored.class_names)}, {other.name} "
                           f"{', '.join(other.scored.class_names)}. Score both under one label map.")
        key = ["repeat", "fold", "image_id"]
        one, two = (set(each.scored.rows[key].drop_duplicates().itertuples(index=False, name=None))
                    for each in (first, other))
        if one != two:
            image = min(one ^ two)
            raise RunError(f"Different images: {image[2]} (repeat={image[0]} fold={image[1]}) was scored for "
                           f"{first.name if image in one else other.name} only; {len(one ^ two)} such. split_id "
                           f"{first.split_id} and {other.split_id}. Score the same images with both.")
        _same_truth(first, other)


def _same_truth(first: Candidate, other: Candidate) -> None:
    """The true pixels of an image do not depend on the model; where they do, the masks were different."""
    tables = []
    for each in (first, other):
        at = np.unique(each.scored.rows["image_id"].to_numpy(dtype=object), return_index=True)
        tables.append((at[0], each.scored.counts.truth[at[1]]))
    odd = (tables[0][1] != tables[1][1]).any(axis=1)
    if odd.any():
        raise RunError(f"Image {tables[0][0][int(np.flatnonzero(odd)[0])]} has other true pixels for {first.name} than "
                       f"for {other.name}: they were scored against different masks.")
