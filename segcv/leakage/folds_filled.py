"""A fold with nothing to train on, or nothing to judge by."""

from __future__ import annotations

from collections.abc import Iterator

from segcv.leakage.facts import Facts
from segcv.leakage.finding import FAIL, Finding
from segcv.leakage.words import some

NAME = "folds_filled"


def find(facts: Facts) -> Iterator[Finding]:
    """Fail when a fold lacks training images or held-out images."""
    assert facts.folds is not None
    empty = [f"{fold.label} has no {what} image" for fold in facts.folds
             for what, flags in (("training", fold.train), ("held-out", fold.held_out)) if not flags.any()]
    if empty:
        yield Finding(
            NAME, "folds", FAIL, some(empty),
            "An empty side gives a fold without a model or without a score, and the average is over other folds than "
            "it claims.", "Fill the fold, or use fewer: python -m segcv.split split.folds=N",
            evidence="the roles", examples=tuple(empty))
