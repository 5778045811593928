"""Which held-out images are reached from training, by a shared code or by pairs of images."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from segcv.leakage.facts import Codes
from segcv.leakage.folds import Flags, Fold, Folds

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Touched:
    """Held-out images that training reaches."""

    per_fold: dict[str, int]                  # by the label of the fold, folds without any included
    held_out: int                             # all held-out images, counted once per fold
    images: Flags                             # touched in at least one fold
    examples: tuple[tuple[str, int, int], ...]          # fold, held-out row, training row

    @property
    def cells(self) -> int:
        """Touched images, counted once per fold."""
        return sum(self.per_fold.values())

    @property
    def folds(self) -> list[str]:
        """Labels of the folds with any."""
        return [label for label, count in self.per_fold.items() if count]


def touched_by_code(folds: Folds, code: Codes) -> Touched:
    """Held-out images whose code (>= 0) a training image of the fold has too."""
    size = int(code.max()) + 1 if len(code) else 0

    def found() -> Iterator[tuple[Fold, Flags, Ints]]:
        for fold in folds:
            first = np.full(size + 1, -1, np.int64)
            rows = np.flatnonzero(fold.train & (code >= 0))[::-1]
            first[code[rows]] = rows                                   # the first training row of each code
            partner = first[code]                                      # code -1 reads the last cell, which is -1
            yield fold, fold.held_out & (partner >= 0) & (partner != np.arange(len(code))), partner

    return _touched(folds, found())


def touched_by_pairs(folds: Folds, one: Ints, other: Ints) -> Touched:
    """Held-out images that a pair links to a training image of the fold."""
    ends, partners = np.concatenate([one, other]), np.concatenate([other, one])

    def found() -> Iterator[tuple[Fold, Flags, Ints]]:
        for fold in folds:
            crossing = np.flatnonzero(fold.held_out[ends] & fold.train[partners])[::-1]
            partner = np.full(folds.roles.shape[1], -1, np.int64)
            partner[ends[crossing]] = partners[crossing]
            yield fold, partner >= 0, partner

    return _touched(folds, found())


def touched_by_links(folds: Folds, node: Ints, one: Ints, other: Ints) -> Touched:
    """Held-out images whose node (>= 0) is linked to the node of a training image; links go both ways.

    A link of a node with itself reaches the other images of that node.
    """
    ends, partners = np.concatenate([one, other]), np.concatenate([other, one])

    def found() -> Iterator[tuple[Fold, Flags, Ints]]:
        for fold in folds:
            first = np.full(len(node), -1, np.int64)
            rows = np.flatnonzero(fold.train & (node >= 0))[::-1]
            first[node[rows]] = rows                                   # the first training row of each node
            reached = np.full(len(node), -1, np.int64)
            open_ends = np.flatnonzero(first[partners] >= 0)[::-1]
            reached[ends[open_ends]] = first[partners[open_ends]]
            partner = np.where(node >= 0, reached[np.maximum(node, 0)], -1)
            yield fold, fold.held_out & (partner >= 0) & (partner != np.arange(len(node))), partner

    return _touched(folds, found())


def _touched(folds: Folds, found: Iterator[tuple[Fold, Flags, Ints]]) -> Touched:
    per_fold: dict[str, int] = {}
    images = np.zeros(folds.roles.shape[1], bool)
    examples: list[tuple[str, int, int]] = []
    for fold, flags, partner in found:
        per_fold[fold.label] = int(np.count_nonzero(flags))
        images |= flags
        examples += [(fold.label, int(row), int(partner[row])) for row in np.flatnonzero(flags)[:3]]
    return Touched(per_fold, folds.held_out, images, tuple(examples))
