"""The splitters in the form scikit-learn's cross_validate and friends take."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from segcv.errors import SplitError
from segcv.splits.choices import Choices
from segcv.splits.cutting import cut_roles
from segcv.splits.splitters import SPLITTERS
from segcv.tables import HELD_OUT, TRAIN


@dataclass(frozen=True, slots=True)
class ScikitSplitter:
    """A splitter of SPLITTERS with `split(X, y, groups)` and `get_n_splits`, for scikit-learn and others.

    `y` is read by balanced_group_kfold only: one class per sample, or samples x classes of amounts (pixels). Columns
    that a splitter reads (the time, the place) are taken from `X`, a data frame. Without `groups` there is nothing to
    keep whole, and that is refused. Samples that a splitter excludes are in neither of the two lists.

    >>> cut = ScikitSplitter("group_kfold", folds=2)
    >>> sorted(test.tolist() for _, test in cut.split([0, 0, 0, 0], groups=["a", "a", "b", "b"]))
    [[0, 1], [2, 3]]
    """

    splitter: str = "balanced_group_kfold"
    folds: int | None = 5
    repeats: int = 1
    seed: int = 0
    choices: Choices = field(default_factory=Choices)

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Positions of the training and of the held-out samples, fold by fold, repeat by repeat."""
        if groups is None:
            raise SplitError("groups is None: give the group of each sample, as in cross_validate(..., groups=groups).")
        ids = [f"{place:012d}" for place in range(len(groups))]
        images = pd.DataFrame({"image_id": ids, "group_id": [str(group) for group in groups]})
        if isinstance(X, pd.DataFrame):
            images = images.assign(**{str(name): X[name].to_numpy() for name in X.columns if name not in images})
        needs = self.splitter in SPLITTERS and SPLITTERS[self.splitter].needs_masks
        roles = cut_roles(images, _amounts(ids, y) if needs else None, splitter=self.splitter, folds=self.folds,
                          repeats=self.repeats, seed=self.seed, choices=self.choices)
        for _, rows in roles.groupby(["repeat", "fold"]):
            place: NDArray[np.int64] = np.array([int(image_id) for image_id in rows["image_id"]], np.int64)
            yield place[rows["role"].eq(TRAIN).to_numpy()], place[rows["role"].eq(HELD_OUT).to_numpy()]

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Number of train/held-out pairs that `split` yields."""
        if self.folds is not None:
            return self.folds * self.repeats
        if groups is None:
            raise SplitError(f"how many folds {self.splitter} makes follows from the groups: groups must be given.")
        return sum(1 for _ in self.split(X, y, groups))


def _amounts(ids: list[str], y: Any) -> pd.DataFrame:
    if y is None:
        raise SplitError("balanced_group_kfold balances y, which is None; use group_kfold to balance sizes only.")
    values = np.asarray(y)
    if values.ndim == 1:
        classes = np.unique(values, return_inverse=True)[1]
        if values.dtype.kind == "f" and np.any(values % 1 != 0):
            raise SplitError("y holds numbers that are not classes; use group_kfold, or bin them first.")
        return pd.DataFrame({"image_id": ids, "class_id": classes.astype(np.int64), "pixels": 1})
    samples, columns = values.shape                                                     # samples x classes
    return pd.DataFrame({"image_id": np.repeat(np.asarray(ids, dtype=object), columns),
                         "class_id": np.tile(np.arange(columns), samples), "pixels": values.astype(np.int64).ravel()})
