"""Who trains and who is held out in every fold, as bits: folds x images, whatever way the folds were given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from segcv.tables import EXCLUDED, HELD_OUT, TRAIN

_TRAIN, _HELD_OUT, _EXCLUDED = np.uint8(1), np.uint8(2), np.uint8(4)
BIT = {TRAIN: _TRAIN, HELD_OUT: _HELD_OUT, EXCLUDED: _EXCLUDED}
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Fold:
    """One fold: flags over the images in the order of their table. An image may be on both sides; that is a finding."""

    label: str                     # how it is called in sentences: fold 0, test
    number: int
    repeat: int
    train: Flags
    held_out: Flags


@dataclass(frozen=True, slots=True, eq=False)
class Folds:
    """All folds of all repeats."""

    roles: NDArray[np.uint8]       # folds x images, bits of train, held_out, excluded
    labels: tuple[str, ...]        # per fold
    numbers: NDArray[np.int64]     # per fold
    repeats: NDArray[np.int64]     # per fold
    each_once: bool                # is every image meant to be held out once per repeat?
    known_groups: bool = False     # groups lie on both sides on purpose: their past trains, their future is held out
    origin: str = ""               # where the roles come from, in words

    def __len__(self) -> int:
        return len(self.labels)

    def __iter__(self) -> Iterator[Fold]:
        for row, (label, number, repeat) in enumerate(zip(self.labels, self.numbers, self.repeats, strict=True)):
            bits = self.roles[row]
            yield Fold(label, int(number), int(repeat), (bits & _TRAIN) > 0, (bits & _HELD_OUT) > 0)

    @property
    def held_out(self) -> int:
        """Held-out images, counted once per fold."""
        return int(np.count_nonzero(self.roles & _HELD_OUT))

    def held_out_times(self, repeat: int) -> NDArray[np.int64]:
        """How often each image is held out in a repeat."""
        times: NDArray[np.int64] = ((self.roles[self.repeats == repeat] & _HELD_OUT) > 0).sum(axis=0, dtype=np.int64)
        return times

    def excluded_everywhere(self) -> Flags:
        """Images that neither train nor are held out in any fold."""
        used = (self.roles & (_TRAIN | _HELD_OUT)) > 0                 # folds x images
        return np.asarray(~used.any(axis=0), bool)


def folds_of_roles(roles: pd.DataFrame, image_ids: Sequence[str] | pd.Series, *, each_once: bool, origin: str,
                   known_groups: bool = False, labels: Mapping[int, str] | None = None) -> Folds:
    """The Folds of a table with repeat, fold, image_id and role; rows may repeat (a training image drawn twice).

    Every image_id of the table must be among `image_ids`; images without a row have no role.
    """
    keys = roles[["repeat", "fold"]].drop_duplicates().sort_values(["repeat", "fold"]).to_numpy(np.int64)
    index = pd.Index(image_ids)
    column = index.get_indexer(pd.Index(roles["image_id"]))
    width = int(keys[:, 1].max()) + 1 if len(keys) else 1
    row_of = np.full((int(keys[:, 0].max()) + 1 if len(keys) else 1) * width, -1, np.int64)
    row_of[keys[:, 0] * width + keys[:, 1]] = np.arange(len(keys))
    row = row_of[roles["repeat"].to_numpy(np.int64) * width + roles["fold"].to_numpy(np.int64)]
    kinds = pd.Categorical(roles["role"], categories=list(BIT))
    bit = np.array(list(BIT.values()), np.uint8)[kinds.codes]
    bits = np.zeros((len(keys), len(index)), np.uint8)
    for one in BIT.values():
        chosen = bit == one
        bits[row[chosen], column[chosen]] |= one
    many = len(np.unique(keys[:, 0])) > 1
    named = labels or {}
    said = tuple(named.get(int(fold), f"fold {fold}") + (f" of repeat {repeat}" if many else "")
                 for repeat, fold in keys)
    return Folds(bits, said, keys[:, 1], keys[:, 0], each_once, known_groups, origin)
