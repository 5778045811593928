"""From the fold, or the role, of each image to a roles table."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from segcv.errors import SplitError
from segcv.tables import EXCLUDED, HELD_OUT, ROLES, TRAIN

SHOWN = 5
Texts = NDArray[np.object_]


def roles_of(images: pd.DataFrame, fold: NDArray[np.int64]) -> pd.DataFrame:
    """The roles (ROLES, repeat 0) when each image is held out in its `fold` and trains in all others."""
    folds = int(fold.max()) + 1
    held_out = np.arange(folds)[:, None] == fold[None]                                  # folds x images
    return roles_table(images, held_out=held_out, excluded=np.full(held_out.shape, "", object))


def roles_table(images: pd.DataFrame, *, held_out: NDArray[np.bool_], excluded: Texts) -> pd.DataFrame:
    """The roles (ROLES, repeat 0): held out where so, else excluded where there is a reason, else training.

    Shapes: `held_out` and `excluded` (the reason, or "") are folds x images.
    """
    folds = len(held_out)
    role = np.where(held_out, HELD_OUT, np.where(excluded != "", EXCLUDED, TRAIN))
    return ROLES.check(pd.DataFrame({
        "repeat": 0,
        "fold": np.repeat(np.arange(folds), len(images)),
        "image_id": np.tile(images["image_id"].to_numpy(dtype=object), folds),
        "group_id": np.tile(images["group_id"].to_numpy(dtype=object), folds),
        "role": role.ravel(),
        "reason": np.where(held_out, "", excluded).ravel(),
    }), where="roles")


def fold_count(folds: int | None, units: pd.DataFrame, what: str) -> int:
    """`folds`, when it can be cut from the `units` (groups or images, one row each).

    Raises:
        SplitError: fewer than 2 folds, or fewer units than folds.
    """
    if folds is None or folds < 2:
        raise SplitError(f"folds={folds}: a split needs at least 2 folds. Type split.folds=5, for example.")
    if len(units) < folds:
        names = ", ".join(map(str, units.index[:SHOWN])) + (", ..." if len(units) > SHOWN else "")
        only = f"is only 1 {what}" if len(units) == 1 else f"are only {len(units)} {what}s"
        cure = (f"Type split.folds={len(units)}, or form more {what}s." if len(units) > 1 else
                "Images that belong together cannot be both trained on and tested on: form more groups.")
        raise SplitError(f"{folds} folds need at least {folds} {what}s; there {only}: {names}. {cure}")
    return folds


def contiguous(weights: NDArray[np.int64], *, parts: int) -> NDArray[np.int64]:
    """Part in 0..parts-1 of each unit in order, parts unbroken, none empty, each near 1/parts of the weight.

    >>> contiguous(np.array([1, 1, 1, 9, 1, 1]), parts=3)
    array([0, 0, 0, 1, 2, 2])
    """
    units, total = len(weights), weights.sum()
    before = np.concatenate([[0], np.cumsum(weights)])                                  # units + 1
    starts = np.zeros(parts + 1, np.int64)
    for part in range(1, parts):
        wanted = np.abs(before * parts - part * total)
        low, high = starts[part - 1] + 1, units - (parts - part)
        starts[part] = low + int(np.argmin(wanted[low:high + 1]))
    starts[parts] = units
    return np.repeat(np.arange(parts), np.diff(starts))
