"""Groups dealt to folds so that every fold holds its share: a greedy start, then the best moves and swaps.

The cost of a partition is the mean over folds and columns of |K x share - 1| (0: every fold holds exactly 1/K of every
column; the last column, the images, weighs as much as all others together), plus the mean over folds of how far their
class shares are from those of all data, summed over classes, plus half the worst deviation beyond what the largest
group makes unavoidable, plus one for each empty (fold, column) cell. It falls with every accepted step, so it ends.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ALL_PAIRS = 120        # up to so many groups every swap is tried; beyond, a sample
SAMPLE = 3000          # swaps tried at a time
PATIENCE = 12          # samples without gain before the search ends
MOST_STEPS = 4000
RESTARTS, RESTARTS_SAMPLED = 20, 2
SLACK = 0.03           # mean cost above the best that the walk may reach


def balanced_folds(amounts: NDArray[np.generic], *, folds: int, rng: Generator, classes: int = 0,
                   strata: Ints | None = None) -> Ints:
    """Fold in 0..folds-1 of each group; every column of `amounts` (groups x columns, >= 0) is spread evenly.

    The first `classes` columns are parts of one whole, the last column is the number of images.
    The number of groups of each of the `strata` (one number per group) differs by one at most between folds.
    Deterministic in the order of the groups and the state of `rng`. Needs at least as many groups as folds and one
    column that is positive everywhere (the number of images); then no fold stays empty.
    """
    mass = np.asarray(amounts, np.float64)
    total = mass.sum(0)
    whole = total[:classes][total[:classes] > 0]
    mass = mass[:, total > 0] / total[total > 0]                                 # groups x columns, columns sum to 1
    weight = np.ones(mass.shape[1])
    weight[-1] = max(1, mass.shape[1] - 1)
    scale = _Scale(folds=folds, weight=weight / weight.sum(), part=whole / max(1.0, whole.sum()),
                   floor=np.maximum(0, mass.max(0) * folds - 1))
    extended = np.hstack([mass, mass > 0])                                       # with the number of groups per cell
    ends: list[tuple[float, Ints]] = []
    for _ in range(RESTARTS if len(mass) <= ALL_PAIRS else RESTARTS_SAMPLED):
        fold = _greedy(mass, folds, strata, rng)
        ends.append((_improve(extended, fold, scale, strata, rng), fold))
    cost, best = min(ends, key=lambda end: end[0])
    if len(mass) <= ALL_PAIRS and sum(_same_partition(best, fold) for _, fold in ends) > 1:
        _wander(extended, best, scale, strata, rng, limit=cost + rng.exponential(SLACK))
    return best


@dataclass(frozen=True, slots=True)
class _Scale:
    folds: int
    weight: Floats     # columns: sums to 1
    part: Floats       # classes: their shares of all pixels
    floor: Floats      # columns: the deviation that the largest group alone forces

    @property
    def columns(self) -> int:
        return len(self.weight)

    def terms(self, load: Floats) -> tuple[Floats, Floats, Floats]:
        """Per fold: its deviations, weighed, its worst avoidable one, its empty cells. `load`: ... x 2 columns."""
        deviation = np.abs(load[..., :self.columns] * self.folds - 1)
        empty = (load[..., self.columns:] < 0.5).astype(np.float64) @ np.ones(self.columns)
        of_class = load[..., :len(self.part)]
        pixels = of_class @ self.part                                            # share of all pixels
        shares = np.abs(of_class - pixels[..., None]) @ self.part / np.maximum(pixels, 1e-300)
        return deviation @ self.weight + shares, np.maximum(deviation - self.floor, 0).max(-1), empty

    def cost(self, total: Floats | float, worst: Floats | float, empty: Floats | float) -> Floats:
        return np.asarray(total / self.folds + 0.5 * worst + empty)


def _greedy(mass: Floats, folds: int, strata: Ints | None, rng: Generator) -> Ints:
    """Heavy groups first (in a random order of near-equals), each into the fold with the least squared load."""
    order = np.argsort(-mass.max(1) * (1 + 0.5 * rng.random(len(mass))), kind="stable")
    noise = 1e-9 * rng.random((len(mass), folds)) / len(mass)
    load = np.zeros((folds, mass.shape[1]))
    fold = np.empty(len(mass), np.int64)
    there = np.zeros((1 if strata is None else int(strata.max()) + 1, folds), np.int64)      # strata x folds
    for group in order:
        growth = 2 * load @ mass[group] + noise[group]                           # of the sum of squares
        if strata is not None:
            count = there[strata[group]]
            growth = np.where(count == count.min(), growth, np.inf)
        fold[group] = int(np.argmin(growth))
        load[fold[group]] += mass[group]
        if strata is not None:
            there[strata[group], fold[group]] += 1
    return fold


def _improve(extended: Floats, fold: Ints, scale: _Scale, strata: Ints | None, rng: Generator) -> float:
    """Cost after the best moves and swaps were made in `fold`, until none of those tried lowers it."""
    with_nothing = np.vstack([extended, np.zeros(extended.shape[1])])      # last row: a move is a swap with it
    n, folds = len(extended), scale.folds
    everything = np.triu_indices(n, 1) if n <= ALL_PAIRS else None
    load = np.stack([extended[fold == k].sum(0) for k in range(folds)])          # folds x 2 columns
    cost = float(_total(scale, load))
    failures = 0
    for _ in range(MOST_STEPS):
        one, other, source, target = _steps(fold, folds, everything, strata, rng)
        change = with_nothing[other] - with_nothing[one]
        after = _cost_after(scale, load, change, source, target)
        best = int(np.argmin(after)) if len(after) else -1
        if best < 0 or after[best] >= cost - 1e-12:
            failures += 1
            if everything is not None or failures >= PATIENCE:
                break
            continue
        failures = 0
        fold[one[best]] = target[best]
        if other[best] < n:
            fold[other[best]] = source[best]
        for k in (source[best], target[best]):
            load[k] = extended[fold == k].sum(0)
        cost = float(_total(scale, load))
    return cost


def _wander(extended: Floats, fold: Ints, scale: _Scale, strata: Ints | None, rng: Generator, *,
            limit: float) -> None:
    """As many random moves and swaps in `fold` as there are groups, none to a cost above `limit`."""
    with_nothing = np.vstack([extended, np.zeros(extended.shape[1])])
    n, everything = len(extended), np.triu_indices(len(extended), 1)
    for _ in range(n):
        load = np.stack([extended[fold == k].sum(0) for k in range(scale.folds)])
        one, other, source, target = _steps(fold, scale.folds, everything, strata, rng)
        after = _cost_after(scale, load, with_nothing[other] - with_nothing[one], source, target)
        open_steps = np.flatnonzero(after <= limit)
        if not len(open_steps):
            return
        step = rng.choice(open_steps)
        fold[one[step]] = target[step]
        if other[step] < n:
            fold[other[step]] = source[step]


def _same_partition(one: Ints, other: Ints) -> bool:
    """Do both put the same groups together, whatever number the folds have?"""
    cells = len(np.unique(np.stack([one, other]), axis=1).T)
    return cells == len(np.unique(one)) == len(np.unique(other))


def _total(scale: _Scale, load: Floats) -> Floats:
    total, worst, empty = scale.terms(load)
    return scale.cost(total.sum(), worst.max(), empty.sum())


def _steps(fold: Ints, folds: int, everything: tuple[NDArray[np.intp], NDArray[np.intp]] | None,
           strata: Ints | None, rng: Generator) -> tuple[Ints, Ints, Ints, Ints]:
    """Groups to exchange (the second may be n: nothing), the fold of the first, and the fold it goes to.

    With strata, only steps after which the groups of each are still dealt evenly.
    """
    n = len(fold)
    if everything is None:
        one, other = rng.integers(n, size=SAMPLE), rng.integers(n, size=SAMPLE)
        mover, goal = rng.integers(n, size=SAMPLE // 4), rng.integers(folds, size=SAMPLE // 4)
    else:
        one, other = (np.asarray(ends, np.int64) for ends in everything)
        mover, goal = np.repeat(np.arange(n), folds), np.tile(np.arange(folds), n)
    apart, moves = fold[one] != fold[other], fold[mover] != goal
    if strata is not None:
        there = np.zeros((int(strata.max()) + 1, folds), np.int64)                  # strata x folds
        np.add.at(there, (strata, fold), 1)
        apart &= strata[one] == strata[other]
        moves &= there[strata[mover], fold[mover]] > there[strata[mover], goal]
    one, other, mover, goal = one[apart], other[apart], mover[moves], goal[moves]
    return (np.concatenate([one, mover]), np.concatenate([other, np.full(len(mover), n)]),
            np.concatenate([fold[one], fold[mover]]), np.concatenate([fold[other], goal]))


def _cost_after(scale: _Scale, load: Floats, change: Floats, source: Ints, target: Ints) -> Floats:
    """Cost of each step: only the two folds it touches are looked at again."""
    total, worst, empty = scale.terms(load)
    total_a, worst_a, empty_a = scale.terms(load[source] + change)
    total_b, worst_b, empty_b = scale.terms(load[target] - change)
    order = np.argsort(-worst, kind="stable")[:3]
    rest = np.zeros(len(source))                                                 # the worst of the untouched folds
    for k in order[::-1]:
        rest = np.where((source != k) & (target != k), worst[k], rest)
    return scale.cost(total.sum() - total[source] - total[target] + total_a + total_b,
                      np.maximum(rest, np.maximum(worst_a, worst_b)),
                      empty.sum() - empty[source] - empty[target] + empty_a + empty_b)
