"""The ways to deal images to folds, by name in SPLITTERS: one function each, all with the same signature."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import pandas as pd
from numpy.random import Generator

from segcv.splits.choices import Choices
from segcv.splits.drawn import leave_p_groups_out, repeated_holdout
from segcv.splits.in_time import known_groups, time_ordered
from segcv.splits.kfold import balanced_group_kfold, group_kfold, leave_one_group_out, random_kfold
from segcv.splits.on_ground import blocks

TIMES = frozenset({"time_column", "gap_days"})
GROUND = frozenset({"buffer_px", "buffer_m", "ground_column"})


class Cut(Protocol):
    """A way to cut: the roles of one repeat (ROLES, its repeat being 0), every image once per fold."""

    def __call__(self, images: pd.DataFrame, *, folds: int | None, rng: Generator,
                 masks: pd.DataFrame | None, choices: Choices) -> pd.DataFrame: ...


@dataclass(frozen=True, slots=True)
class Splitter:
    """A way to cut and what it promises; calling it cuts one repeat."""

    cut: Cut
    leaking: bool = False           # groups may lie on both sides; every score made with it is marked
    known_groups: bool = False      # groups lie on both sides, earlier images train, later ones are held out; marked
    seeded: bool = True             # another seed gives other folds
    counts_folds: bool = True       # the number of folds is chosen; False: it follows from the groups
    held_out_once: bool = True      # every image is held out in exactly one fold of a repeat
    needs_masks: bool = False       # reads the labels (never pixels of images, never scores) of all images
    reads: frozenset[str] = frozenset()      # the Choices it reads; any other is refused

    @property
    def whole_groups(self) -> bool:
        """No group is ever on two sides of a fold."""
        return not (self.leaking or self.known_groups)

    @property
    def reads_time(self) -> bool:
        """Images must have a time."""
        return "time_column" in self.reads

    @property
    def reads_ground(self) -> bool:
        """Images must have a place."""
        return "ground_column" in self.reads

    def __call__(self, images: pd.DataFrame, *, folds: int | None, rng: Generator,
                 masks: pd.DataFrame | None, choices: Choices | None = None) -> pd.DataFrame:
        return self.cut(images, folds=folds, rng=rng, masks=masks, choices=choices or Choices())


SPLITTERS: dict[str, Splitter] = {
    "group_kfold": Splitter(group_kfold, reads=frozenset({"stratify"})),
    "balanced_group_kfold": Splitter(balanced_group_kfold, needs_masks=True,
                                     reads=frozenset({"balance_on", "stratify"})),
    "leave_one_group_out": Splitter(leave_one_group_out, seeded=False, counts_folds=False),
    "leave_p_groups_out": Splitter(leave_p_groups_out, seeded=False, counts_folds=False, held_out_once=False,
                                   reads=frozenset({"leave"})),
    "repeated_holdout": Splitter(repeated_holdout, held_out_once=False, reads=frozenset({"share"})),
    "time": Splitter(time_ordered, seeded=False, held_out_once=False, reads=TIMES),
    "known_groups": Splitter(known_groups, known_groups=True, seeded=False, held_out_once=False, reads=TIMES),
    "blocks": Splitter(blocks, seeded=False, reads=GROUND),
    "random_kfold": Splitter(random_kfold, leaking=True),
}
