"""Tests by exchanging scores, without training again: do groups differ, do folds differ beyond their groups? [15]"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.random import Generator

from segcv.statistics.any_table import Table, table_groups
from segcv.statistics.scored import Floats, Ints

DRAWS = 999
CELLS = 500_000              # scores exchanged at a time
NOT_LEAKAGE = "It says nothing about leakage."


@dataclass(frozen=True, slots=True)
class PermutationTest:
    """A p-value and the sentence that says what was exchangeable; NaN p-value: `note` says why there is none."""

    question: str
    statistic: float
    p_value: float
    draws: int
    groups: int
    folds: int
    exchangeable: str
    note: str = ""

    @property
    def answer(self) -> str:
        """The test in one sentence, with what was exchangeable."""
        if self.note:
            return f"{self.question} No test: {self.note}."
        return f"{self.question} p = {self.p_value:.4f} ({self.draws} permutations). {self.exchangeable} {NOT_LEAKAGE}"


def groups_differ(table: Table, *, seed: int = 0, draws: int = DRAWS) -> PermutationTest:
    """Are groups different? Images are shuffled within the fold over its groups; statistic: between-group SS.

    Scores are averaged over columns first; over repeats only those of the first partition are used.
    """
    groups = table_groups(table)
    question = "Do groups differ, beyond what their images do by chance?"
    said = "Exchangeable were the images within a fold (its networks are the same for all of them)."
    count, folds = len(groups.group_ids), len(np.unique(groups.fold[:, 0]))
    if groups.image_scores is None or groups.image_group is None or groups.image_fold is None:
        return PermutationTest(question, np.nan, np.nan, 0, count, folds, said, "one score in every group")
    group, fold = groups.image_group, groups.image_fold
    if (np.bincount(group) == 1).all() or len(np.unique(fold)) == count:
        why = "one image in every group" if (np.bincount(group) == 1).all() else "every group is a fold of its own"
        return PermutationTest(question, np.nan, np.nan, 0, count, folds, said, why)
    y = groups.image_scores[:, groups.repeat == groups.repeat[0]].mean(axis=1)
    order = np.argsort(fold, kind="stable")
    y, group, fold = y[order] - y.mean(), group[order], fold[order]
    size = np.bincount(group)
    bounds = np.flatnonzero(np.diff(fold, prepend=fold[0] - 1, append=fold[-1] + 1))
    parts = [slice(start, stop) for start, stop in pairwise(bounds)]
    seen, beyond = _between(y[None], group, size)[0], 0
    rng = np.random.default_rng(seed)
    for rows in chunks(draws, len(y)):
        shuffled = np.concatenate([permuted(y[part], rows, rng) for part in parts], axis=1)
        beyond += int(np.sum(_between(shuffled, group, size) >= seen * (1 - 1e-12)))
    return PermutationTest(question, float(seen), (1 + beyond) / (draws + 1), draws, count, folds, said)


def folds_differ(table: Table, *, seed: int = 0, draws: int = DRAWS) -> PermutationTest:
    """Do folds differ beyond their groups? Whole groups are shuffled over the folds; statistic: between-fold SS.

    Each group counts once, with its mean over columns; over repeats the first partition is tested.
    """
    groups = table_groups(table)
    question = "Do folds differ, beyond what their groups do by chance?"
    said = "Exchangeable were whole groups over the folds, each fold keeping its number of groups."
    fold = np.unique(groups.fold[:, 0], return_inverse=True)[1]
    count, folds = len(fold), int(fold.max()) + 1
    if folds < 2 or folds == count:
        why = "one fold" if folds < 2 else "every group is a fold of its own"
        return PermutationTest(question, np.nan, np.nan, 0, count, folds, said, why)
    u = groups.scores[:, groups.repeat == groups.repeat[0]].mean(axis=1)
    u, size = u - u.mean(), np.bincount(fold)
    seen, beyond = _between(u[None], fold, size)[0], 0
    rng = np.random.default_rng(seed)
    for rows in chunks(draws, count):
        beyond += int(np.sum(_between(permuted(u, rows, rng), fold, size) >= seen * (1 - 1e-12)))
    return PermutationTest(question, float(seen), (1 + beyond) / (draws + 1), draws, count, folds, said)


def _between(values: Floats, label: Ints, size: Ints) -> Floats:
    """Sum over labels of (sum of values)² / size, one per row of `values`."""
    order = np.argsort(label, kind="stable")
    start = np.cumsum(size) - size
    sums = np.add.reduceat(values[:, order], start, axis=1)                         # rows x labels
    total: Floats = np.sum(sums**2 / size, axis=1)
    return total


def permuted(values: Floats, rows: int, rng: Generator) -> Floats:
    """`rows` orders of the values, each row shuffled on its own."""
    drawn: Floats = rng.permuted(np.broadcast_to(values, (rows, len(values))), axis=1)
    return drawn


def chunks(draws: int, width: int) -> list[int]:
    """Numbers of draws that sum to `draws`, each small enough for rows of `width` numbers."""
    step = max(1, CELLS // max(1, width))
    return [min(step, draws - start) for start in range(0, draws, step)]


