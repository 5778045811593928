"""How evenly the folds hold images and classes, beside the best that any cut of these groups could do."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from segcv.leakage.contents import class_pixels, groups_with
from segcv.leakage.facts import Facts, codes_of
from segcv.leakage.finding import WARN, Finding
from segcv.leakage.words import some

NAME = "fold_balance"
SLACK = 0.5              # a fold may hold so much more or less than its even share, beyond what the groups force
Floats = NDArray[np.float64]


def find(facts: Facts) -> Iterator[Finding]:
    """Warn for folds whose size is avoidably uneven, and for classes that a fold tests and never trained, or lacks
    although enough groups have them."""
    assert facts.folds is not None and facts.masks is not None
    pixels = class_pixels(facts)                                                    # images x classes
    yield from _untrained(facts, pixels)
    if facts.folds.each_once and not facts.folds.known_groups:
        yield from _uneven(facts, pixels)


def _untrained(facts: Facts, pixels: Floats) -> Iterator[Finding]:
    assert facts.folds is not None
    told = []
    for fold in facts.folds:
        trained, asked = (pixels[flags].sum(axis=0) for flags in (fold.train, fold.held_out))
        told += [f"class {c} in {fold.label}" for c in np.flatnonzero((trained == 0) & (asked > 0))]
    several = _groups_with(facts, pixels)
    avoidable = [text for text in told if several is None or several[int(text.split()[1])] > 1]
    if avoidable:
        yield Finding(
            NAME, "untrained class", WARN, f"held out and never trained: {some(avoidable)}",
            "Its score is 0 whatever the model, and pulls the mean of the fold down.",
            "Cut folds that spread the class: python -m segcv.split split=balanced_group_kfold", evidence="the masks",
            examples=tuple(avoidable[:3]))


def _uneven(facts: Facts, pixels: Floats) -> Iterator[Finding]:
    assert facts.folds is not None and facts.images is not None
    repeat = facts.folds.repeats == facts.folds.repeats[0]
    held_out = np.stack([fold.held_out for fold, first in zip(facts.folds, repeat, strict=True) if first])
    held_out = held_out[held_out.any(axis=1)]                                       # empty folds are another finding
    folds = len(held_out)
    amounts = np.hstack([np.ones((len(pixels), 1)), pixels])                        # images x (number, classes)
    used = np.asarray(held_out.any(axis=0), bool)
    amounts = amounts[used]
    load = held_out[:, used].astype(np.float64) @ amounts
    total = load.sum(axis=0)
    deviation = np.abs(folds * load / np.where(total > 0, total, 1) - 1)            # folds x columns
    group = codes_of(facts.images["group_id"])[used]
    group = np.arange(len(group)) if (group < 0).any() else group
    if len(np.unique(group)) <= folds:                                              # one group each: no choice was made
        return
    floor = _floor(amounts, group, folds)
    names = ["images", *(f"pixels of class {c}" for c in range(pixels.shape[1]))]
    worst = deviation.max(axis=0)
    bad = np.flatnonzero((worst > floor + SLACK) & (total > 0))
    bad = bad[:1] if len(bad) and bad[0] == 0 else _avoidably_empty(load, total, facts, pixels, folds)
    if len(bad):
        told = [f"{names[c]}: {folds * load[:, c].min() / total[c]:.2f} to {folds * load[:, c].max() / total[c]:.2f} "
                f"times the even share, where {1 + floor[c]:.2f} can be had" for c in bad]
        yield Finding(
            NAME, "uneven folds", WARN, some(told),
            "Folds of unequal content give scores that differ for that reason alone, and a mean that weighs a few "
            "images like many.", "Cut them evenly: python -m segcv.split split=balanced_group_kfold",
            evidence="counts of images and pixels, beside the floor that the largest group sets",
            examples=tuple(told[:3]), measures={"worst": float(worst[bad].max()), "floor": float(floor[bad[0]])})


def _avoidably_empty(load: Floats, total: Floats, facts: Facts, pixels: Floats, folds: int) -> NDArray[np.int64]:
    """Columns of classes that a fold lacks although at least as many groups as folds have them."""
    several = _groups_with(facts, pixels)
    if several is None:
        return np.zeros(0, np.int64)
    lacking = (load[:, 1:] == 0).any(axis=0) & (total[1:] > 0) & (several >= folds)
    return np.flatnonzero(lacking) + 1


def _groups_with(facts: Facts, pixels: Floats) -> NDArray[np.int64] | None:
    """Number of groups that have each class; None where images lack a group."""
    assert facts.images is not None
    group = codes_of(facts.images["group_id"])
    return None if (group < 0).any() else np.asarray(groups_with(group, pixels).sum(axis=0), np.int64)


def _floor(amounts: Floats, group: NDArray[np.int64], folds: int) -> Floats:
    """What the largest group makes unavoidable, per column."""
    share = np.stack([np.bincount(group, weights=column) for column in amounts.T], axis=1)
    largest = share.max(axis=0) / np.maximum(share.sum(axis=0), 1)
    return np.asarray(np.maximum(folds * largest - 1, 0.0), np.float64)
