"""Images that are held out twice in one partition, or never."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from segcv.leakage.facts import Facts
from segcv.leakage.finding import FAIL, SHOWN, WARN, Finding
from segcv.leakage.words import some

NAME = "held_out_once"


def find(facts: Facts) -> Iterator[Finding]:
    """Where folds are a partition: fail for an image held out twice, warn for one that never is (locked ones aside)."""
    assert facts.folds is not None
    if not facts.folds.each_once:
        return
    left_out = facts.folds.excluded_everywhere()
    for repeat in np.unique(facts.folds.repeats):
        times = facts.folds.held_out_times(int(repeat))
        often, never = np.flatnonzero(times > 1), np.flatnonzero((times == 0) & ~left_out)
        if len(often):
            yield Finding(
                NAME, f"repeat {repeat}, held out twice", FAIL,
                f"{len(often)} images are held out in more than one fold of repeat {repeat}: "
                f"{some(facts.ids[often].tolist())}",
                "They count twice in every average over images, and two scores that share images are not two "
                "independent looks.", "Give each image one fold.", evidence="the roles",
                examples=tuple(facts.ids[often[:SHOWN]]))
        if len(never):
            yield Finding(
                NAME, f"repeat {repeat}, never held out", WARN,
                f"{len(never)} of {len(times)} images train and are never held out in repeat {repeat}: "
                f"{some(facts.ids[never].tolist())}",
                "The score is about the other images only; if the easy ones always train, it is too low, if the hard "
                "ones do, too high.", "Give them a fold, or say why they are left out.", evidence="the roles",
                examples=tuple(facts.ids[never[:SHOWN]]))
