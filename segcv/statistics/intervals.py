"""Intervals for the mean over groups. Numbers in brackets are the definitions of the methods page."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy import special

Floats = NDArray[np.float64]
Interval = tuple[float, float]

FEWEST_GROUPS = 5          # below: no interval but the bounded one
FEW_GROUPS = 8             # below: the bounded interval first
LARGEST_SHARE = 0.30       # one group above this share of the weight: warn
DRAWS = 9_999              # (draws + 1) · 2.5 % is whole, so quantiles are order statistics
CHUNK = 1_000
NO_INTERVAL: Interval = (float("nan"), float("nan"))


def student_t(center: float, variance: float, df: float, *, level: float, bounds: Interval = (0.0, 1.0)) -> Interval:
    """center ± t(df) · sqrt(variance), cut to `bounds`; NaN where the degrees of freedom or the variance are unknown.

    >>> low, high = student_t(0.7, 0.00125, 4, level=0.95)
    >>> round(low, 4), round(high, 4)
    (0.6018, 0.7982)
    """
    if not (df > 0 and variance >= 0):
        return NO_INTERVAL
    half = float(special.stdtrit(df, 0.5 + level / 2)) * float(np.sqrt(variance))
    return _cut(center - half, center + half, bounds)


def bootstrap_t(
    groups: Floats, *, level: float, rng: Generator, draws: int = DRAWS, stretch: float = 1.0,
    bounds: Interval = (0.0, 1.0),
) -> Interval:
    """Studentised bootstrap interval of the mean over groups, whole groups drawn, each counting once [4].

    t* = (m* - m) / (s* / sqrt G); a draw whose groups all score alike counts as ±infinity. Each half-width is
    multiplied by `stretch` (sqrt(V / V_group) for the recipe). The groups' order and names do not matter.

    Shapes: `groups` holds one score per group, G of them.
    """
    scores = np.sort(groups)
    size, mean, spread = len(scores), float(np.mean(scores)), float(np.std(scores, ddof=1)) if len(scores) > 1 else 0.0
    if spread == 0:
        return NO_INTERVAL
    t = np.empty(draws)
    for start in range(0, draws, CHUNK):
        stop = min(draws, start + CHUNK)
        drawn = scores[rng.integers(size, size=(stop - start, size))]        # draws x groups
        moved = drawn.mean(axis=1) - mean
        error = drawn.std(axis=1, ddof=1) / np.sqrt(size)
        alike = (drawn.min(axis=1) == drawn.max(axis=1)) | (error == 0)
        t[start:stop] = np.where(alike, np.copysign(np.inf, moved), moved / np.where(alike, 1.0, error))
    t.sort()
    tail = (1 - level) / 2
    lower, upper = _order_statistic(t, tail), _order_statistic(t, 1 - tail)
    half = spread / np.sqrt(size) * stretch
    return _cut(mean - upper * half, mean - lower * half, bounds)


def gaffke(groups: Floats, *, level: float, rng: Generator, draws: int = DRAWS) -> Interval:
    """Interval for the mean of scores in [0, 1] that leans on no shape of distribution [9].

    Its validity for more than one group is a conjecture that no experiment has broken (Learned-Miller & Thomas
    2019). Wide on purpose with few groups.
    """
    scores = np.sort(groups)
    tail = (1 - level) / 2
    above, below = np.append(scores, 1.0), np.append(0.0, scores)
    high, low = np.empty(draws), np.empty(draws)
    for start in range(0, draws, CHUNK):
        stop = min(draws, start + CHUNK)
        weights = rng.standard_exponential((stop - start, len(scores) + 1))
        weights /= weights.sum(axis=1, keepdims=True)                        # draws x (groups + 1)
        high[start:stop] = (weights * above).sum(axis=1)       # not @: its bits change with the number of threads
        low[start:stop] = (weights * below).sum(axis=1)
    high.sort()
    low.sort()
    return _order_statistic(low, tail), _order_statistic(high, 1 - tail)


def hoeffding(mean: float, count: int, *, level: float, bounds: Interval = (0.0, 1.0)) -> Interval:
    """mean ± sqrt(ln(2 / (1 - level)) / (2 count)), cut to `bounds`: `count` independent scores in [0, 1].

    Exact for independent groups and one frozen model. Counted by images of the same groups it is wrong: 20 groups give
    .304 at 95 %, and .030 when they are counted as 2,000 images.

    >>> low, high = hoeffding(0.5, 20, level=0.95)
    >>> round((high - low) / 2, 3), round((hoeffding(0.5, 2_000, level=0.95)[1] - 0.5), 4)
    (0.304, 0.0304)
    """
    if count < 1:
        return NO_INTERVAL
    radius = float(np.sqrt(np.log(2 / (1 - level)) / (2 * count)))
    return _cut(mean - radius, mean + radius, bounds)


def effective_groups(weights: Floats) -> float:
    """1 / sum of squared shares: how many equal groups would weigh like these.

    >>> effective_groups(np.array([1.0, 1.0, 2.0]))
    2.6666666666666665
    """
    share = weights / weights.sum()
    return float(1 / np.sum(share**2))


def interval_cautions(weights: Floats, *, what: str) -> tuple[str, ...]:
    """Why an interval over these groups may be too narrow, one sentence each; empty when nothing speaks against it."""
    count, effective, largest = len(weights), effective_groups(weights), float(weights.max() / weights.sum())
    said = []
    if count < FEWEST_GROUPS:
        said.append(f"{what}: {count} groups are too few for an interval; only the bounded one is given")
    elif count < FEW_GROUPS:
        said.append(f"{what}: only {count} groups; trust the bounded interval first")
    if count >= FEWEST_GROUPS and effective < FEWEST_GROUPS:
        said.append(f"{what}: {count} groups weigh like {effective:.1f}; trust the bounded interval first")
    if count >= FEWEST_GROUPS and largest > LARGEST_SHARE:
        said.append(f"{what}: one group holds {largest:.0%} of the weight")
    return tuple(said)


def score_cautions(group_scores: Floats, group_images: NDArray[np.int64]) -> tuple[str, ...]:
    """What in the group scores makes intervals miss more often than they say [16]."""
    said = []
    if len(group_scores) >= FEWEST_GROUPS:
        median = float(np.median(group_scores))
        spread = 1.4826 * float(np.median(np.abs(group_scores - median)))
        failures = int(np.sum(group_scores < median - 5 * spread)) if spread > 0 else 0
        if failures:
            said.append(f"{failures} group{'s' if failures > 1 else ''} far below the rest (median - 5 MAD): "
                        "failures; the interval may miss")
        if len(np.unique(group_images)) > 1 and len(np.unique(group_scores)) > 1:
            related, p_value = rank_correlation(group_images.astype(float), group_scores)
            if p_value < 0.05:
                better = "better" if related > 0 else "worse"
                said.append(f"larger groups score {better} (rank correlation {related:.2f}): "
                            "intervals of row-weighted means cover 83 to 94 %, not 95 %")
    return tuple(said)


def rank_correlation(first: Floats, second: Floats) -> tuple[float, float]:
    """Spearman's rank correlation (midranks for ties) and its two-sided p-value by Student t with n - 2.

    >>> rank_correlation(np.array([1.0, 2.0, 3.0]), np.array([1.0, 3.0, 2.0]))[0]
    0.5
    """
    one, two = (ranks - ranks.mean() for ranks in map(midranks, (first, second)))
    size = float(np.sqrt(np.sum(one**2) * np.sum(two**2)))
    value = float(np.clip(np.sum(one * two) / size, -1, 1)) if size > 0 else np.nan
    df = len(first) - 2
    if df < 1 or abs(value) == 1:
        return value, 0.0 if abs(value) == 1 else np.nan
    return value, float(2 * special.stdtr(df, -abs(value) * np.sqrt(df / (1 - value**2))))


def midranks(values: Floats) -> Floats:
    """Ranks from 1, ties share the mean of theirs."""
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    middle: Floats = (last - (count - 1) / 2)[place]
    return middle


def _order_statistic(ordered: Floats, quantile: float) -> float:
    place = round(quantile * (len(ordered) + 1)) - 1
    return float(ordered[min(max(place, 0), len(ordered) - 1)])


def _cut(low: float, high: float, bounds: Interval) -> Interval:
    return max(low, bounds[0]), min(high, bounds[1])
