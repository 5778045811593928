"""Groups held out in many combinations: every set of p groups, or sets drawn at random."""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
import pandas as pd
from numpy.random import Generator
from numpy.typing import NDArray

from segcv.errors import SplitError
from segcv.splits.choices import Choices
from segcv.splits.dealing import roles_table
from segcv.splits.group_table import groups_of

MOST_FOLDS = 1000      # each is a network to train
TRIES = 100            # draws until a set of groups comes that was not drawn yet


def leave_p_groups_out(images: pd.DataFrame, *, folds: int | None, rng: Generator, masks: pd.DataFrame | None,
                       choices: Choices) -> pd.DataFrame:
    """Roles with one fold for every set of p (`leave`, 2) groups, these held out; sets in the order of their images.

    Of G groups each is held out in C(G-1, p-1) folds, together with every other.
    """
    table, _ = groups_of(images, None)
    p = 2 if choices.leave is None else choices.leave
    groups, count = len(table), comb(len(table), p) if p > 0 else 0
    if folds is not None:
        raise SplitError(f"folds={folds} has no effect: leave_p_groups_out makes a fold for each set of {p} of the "
                         f"{groups} groups, here {count}. Type split.folds=null.")
    if not 0 < p < groups:
        raise SplitError(f"leave={p}: of {groups} groups between 1 and {groups - 1} can be held out together.")
    if count > MOST_FOLDS:
        raise SplitError(f"leave={p} of {groups} groups makes {count} folds, each a network to train. Draw some of "
                         f"them: split=repeated_holdout split.share={p / groups:.2g} split.folds=20.")
    chosen = np.zeros((count, groups), bool)                                            # folds x groups
    for fold, together in enumerate(combinations(range(groups), p)):
        chosen[fold, list(together)] = True
    return _roles(images, table, chosen)


def repeated_holdout(images: pd.DataFrame, *, folds: int | None, rng: Generator, masks: pd.DataFrame | None,
                     choices: Choices) -> pd.DataFrame:
    """Roles with `folds` draws of whole groups that hold about `share` (.2) of the images, no two draws the same.

    A group may be held out in several folds or in none.
    """
    table, _ = groups_of(images, None)
    share = 0.2 if choices.share is None else choices.share
    if folds is None or folds < 1:
        raise SplitError(f"folds={folds}: repeated_holdout draws at least once. Type split.folds=10, for example.")
    if not 0 < share < 1:
        raise SplitError(f"share={share} must lie between 0 and 1, such as 0.2.")
    if len(table) < 2:
        raise SplitError(f"repeated_holdout needs at least 2 groups; there is only {', '.join(table.index)}.")
    sizes = table["images"].to_numpy(np.int64)
    draws: dict[bytes, NDArray[np.bool_]] = {}
    for _ in range(folds):
        for _ in range(TRIES):
            drawn = drawn_groups(sizes, share=share, rng=rng)
            if drawn.tobytes() not in draws:
                draws[drawn.tobytes()] = drawn
                break
        else:
            raise SplitError(f"of {len(table)} groups only {len(draws)} different sets with about {share:.0%} of the "
                             f"images were drawn. Type split.folds={len(draws)}, or another split.share.")
    return _roles(images, table, np.stack(list(draws.values())))


def drawn_groups(sizes: NDArray[np.int64], *, share: float, rng: Generator) -> NDArray[np.bool_]:
    """Which groups are taken: in random order, each if it brings the images nearer to the share; some, never all."""
    wanted, filled = share * sizes.sum(), 0
    taken = np.zeros(len(sizes), bool)
    for group in rng.permutation(len(sizes)):
        if taken.sum() < len(sizes) - 1 and abs(filled + sizes[group] - wanted) < abs(filled - wanted):
            taken[group] = True
            filled += int(sizes[group])
    if not taken.any():      # every group is more than twice the share: the smallest is nearest
        taken[sizes.argmin()] = True
    return taken


def _roles(images: pd.DataFrame, table: pd.DataFrame, chosen: NDArray[np.bool_]) -> pd.DataFrame:
    place = images["group_id"].map(dict(zip(table.index, range(len(table)), strict=True))).to_numpy(np.int64)
    held_out = chosen[:, place]                                                         # folds x images
    return roles_table(images, held_out=held_out, excluded=np.full(held_out.shape, "", object))
