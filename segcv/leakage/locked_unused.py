"""Groups that were locked away, and are in use all the same."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from segcv.leakage.facts import Facts
from segcv.leakage.finding import FAIL, SHOWN, Finding
from segcv.leakage.words import some

NAME = "locked_unused"


def find(facts: Facts) -> Iterator[Finding]:
    """Fail when a locked group trains or is held out in any fold."""
    assert facts.folds is not None and facts.images is not None
    group = facts.images["group_id"]
    used = group.isin(facts.locked_groups).to_numpy() & ~facts.folds.excluded_everywhere()
    if used.any():
        names = sorted(set(group[used]))
        yield Finding(
            NAME, "locked groups", FAIL, f"{int(used.sum())} images of locked groups are in use: {some(names)}",
            "A locked cohort is for one look at the very end; each use before that spends it.",
            "Take their images out of training and of the held-out lists.", evidence="split.locked_groups",
            examples=tuple(facts.ids[np.flatnonzero(used)[:SHOWN]]))
