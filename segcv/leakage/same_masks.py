"""Masks that agree in every pixel although their images differ: copies that were brightened, blurred or recoloured."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from segcv.leakage.copies import content_codes, copies
from segcv.leakage.facts import Facts
from segcv.leakage.finding import WARN, Finding
from segcv.leakage.folds import Flags

NAME = "same_masks"
LEAST_CLASSES = 2        # in a mask, for its equality to mean anything
WHY = ("Two masks that agree in every pixel are rarely drawn twice: the pictures are altered copies, and the model is "
       "graded on answers it was given.")
CURE = "Look at the pairs; give copies one group_id, or take them out of the table."


def find(facts: Facts) -> Iterator[Finding]:
    """Warn for equal masks of two or more classes across sides, where the pictures differ."""
    assert facts.profile is not None
    if not {"pixels_hash", "labels_hash"} <= set(facts.profile.columns):
        return
    code = content_codes(facts, "labels_hash", without="pixels_hash")
    code = np.where(_many_classes(facts), code, -1)
    yield from copies(facts, code, check=NAME, what="a mask equal to theirs, under another picture,", severity=WARN,
                      evidence="equal hashes of the decoded masks", why=WHY, cure=CURE, across_only=True)


def _many_classes(facts: Facts) -> Flags:
    """Which masks hold more than one class."""
    assert facts.masks is not None and facts.images is not None
    filled = facts.masks[(facts.masks["pixels"] > 0) & (facts.masks["class_id"] >= 0)]
    classes = filled.groupby("image_id").size()
    return np.asarray(facts.images["image_id"].map(classes).fillna(0).to_numpy() >= LEAST_CLASSES, bool)
