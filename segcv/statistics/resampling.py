"""Draws of whole groups, shared by everything that is compared: one table of weights, multiplied by what adds up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from segcv.metrics import Counts
from segcv.statistics.scored import Floats, Ints, ScoredImages

CHUNK = 1_000
RANK_DRAWS = 10_000


@dataclass(frozen=True, slots=True, eq=False)
class GroupSums:
    """All that a redrawn mean needs of each group: what adds up over its images.

    `score` and `images` are groups x columns (sum of defined image scores, and how many they are); `tp`, `fp`, `fn`
    groups x columns x classes.
    """

    score: Floats
    images: Floats
    tp: Ints
    fp: Ints
    fn: Ints


def group_sums_of(scored: ScoredImages, image_scores: Floats) -> GroupSums:
    """The sums of each group in each column, from counts and one score per row (NaN: undefined, left out)."""
    groups, columns, classes = len(scored.group_ids), scored.columns, scored.counts.n_classes
    cell = scored.group * columns + scored.column
    defined = np.isfinite(image_scores)

    def added(values: Floats) -> Floats:
        total = np.bincount(cell, weights=values, minlength=groups * columns).astype(np.float64)
        return total.reshape(groups, columns)

    order = np.argsort(cell, kind="stable")
    present, start = np.unique(cell[order], return_index=True)

    def pixels(values: Ints) -> Ints:
        total = np.zeros((groups * columns, classes), np.int64)
        total[present] = np.add.reduceat(values[order], start, axis=0)
        return total.reshape(groups, columns, classes)

    return GroupSums(added(np.where(defined, image_scores, 0.0)), added(defined.astype(float)),
                     pixels(scored.counts.tp), pixels(scored.counts.fp), pixels(scored.counts.fn))


def drawn_groups(groups: int, *, draws: int, rng: Generator) -> Iterator[Floats]:
    """How often each group is in a draw of `groups` groups with replacement: chunks of draws x groups."""
    for start in range(0, draws, CHUNK):
        size = min(CHUNK, draws - start)
        picked = rng.integers(groups, size=(size, groups)) + groups * np.arange(size)[:, None]
        yield np.bincount(picked.reshape(-1), minlength=size * groups).reshape(size, groups).astype(float)


def drawn_means(
    sums: GroupSums, weights: Floats, *, targets: tuple[str, ...], score: Callable[[Counts], Floats],
) -> dict[str, Floats]:
    """The means of redrawn groups, one per row of `weights` (draws x groups), averaged over columns.

    `targets`: equal_group, equal_row, group_pooled, pooled. `score` gives one number per row of Counts.
    """
    found = {}
    groups, columns, classes = sums.tp.shape
    if "equal_group" in targets:
        number: Floats = sums.images.sum(axis=1)
        mean = sums.score.sum(axis=1) / np.maximum(1, number)
        found["equal_group"] = _weighted(weights, mean, number > 0)
    if "group_pooled" in targets:
        tp, fp, fn = (part.reshape(groups * columns, classes) for part in (sums.tp, sums.fp, sums.fn))
        each = _scored(tp, fp, fn, score).reshape(groups, columns)
        seen = np.isfinite(each.sum(axis=1))
        found["group_pooled"] = _weighted(weights, np.where(seen, each.mean(axis=1), 0.0), seen)
    if "equal_row" in targets:
        top, bottom = product(weights, sums.score), product(weights, sums.images)   # draws x columns
        found["equal_row"] = np.divide(top, bottom, out=np.full(top.shape, np.nan), where=bottom > 0).mean(axis=1)
    if "pooled" in targets:
        shape = (len(weights) * columns, classes)
        tp, fp, fn = (product(weights, part.reshape(groups, -1).astype(float)).astype(np.int64).reshape(shape)
                      for part in (sums.tp, sums.fp, sums.fn))
        found["pooled"] = _scored(tp, fp, fn, score).reshape(len(weights), columns).mean(axis=1)
    return found


def product(weights: Floats, values: Floats) -> Floats:
    """`weights` (draws x groups, whole numbers) times `values`, the same bits at any number of threads.

    Values are brought to whole multiples of a power of two so small that every sum is exact below 2^53: then the
    order of summing does not matter. What is lost is below 2^-52 of the largest possible sum.
    """
    largest = float(np.max(np.abs(values), initial=0.0)) * float(weights.sum(axis=1).max(initial=1.0))
    if largest == 0 or not np.isfinite(largest):
        return weights @ values
    scale = 2.0 ** (52 - int(np.ceil(np.log2(largest))))
    exact: Floats = weights @ np.rint(values * scale) / scale
    return exact


def _scored(tp: Ints, fp: Ints, fn: Ints, score: Callable[[Counts], Floats]) -> Floats:
    return score(Counts(tp, fp, fn, (tp + fp + fn).max(axis=1, initial=0)))


def _weighted(weights: Floats, values: Floats, there: NDArray[np.bool_]) -> Floats:
    bottom = product(weights, there.astype(float))
    means: Floats = np.divide(product(weights, np.where(there, values, 0.0)), bottom, out=np.full(len(weights), np.nan),
                              where=bottom > 0)
    return means
