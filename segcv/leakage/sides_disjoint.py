"""An image that is trained on and held out in the same fold."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from segcv.leakage.facts import Facts
from segcv.leakage.finding import FAIL, SHOWN, Finding
from segcv.leakage.words import some

NAME = "sides_disjoint"


def find(facts: Facts) -> Iterator[Finding]:
    """Fail when a fold lists one image on both sides."""
    assert facts.folds is not None
    counts: dict[str, int] = {}
    examples: list[str] = []
    for fold in facts.folds:
        both = np.flatnonzero(fold.train & fold.held_out)
        if len(both):
            counts[fold.label] = len(both)
            examples += [f"{fold.label}: {facts.ids[row]}" for row in both[:SHOWN]]
    if counts:
        told = some([f"{label} ({count})" for label, count in counts.items()])
        yield Finding(
            NAME, "image_id", FAIL, f"the same image is trained on and held out in {told}",
            "The model is graded on pictures whose answers it was shown; the score says nothing of new ones.",
            "Take each image out of one of the two lists, or cut the folds anew: python -m segcv.split",
            evidence="the roles list it twice", held_out_touched=sum(counts.values()),
            held_out=facts.folds.held_out, examples=tuple(examples[:SHOWN]))
