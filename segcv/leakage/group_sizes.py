"""What the groups allow at best: one that is too large for a fold, classes that too few of them have."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from segcv.leakage.contents import class_pixels, groups_with
from segcv.leakage.facts import Facts, codes_of
from segcv.leakage.finding import NOTE, WARN, Finding
from segcv.leakage.words import some

NAME = "group_sizes"


def find(facts: Facts) -> Iterator[Finding]:
    """Warn for a giant group and for classes in one group only, note classes in fewer groups than folds."""
    assert facts.images is not None and facts.masks is not None
    group = codes_of(facts.images["group_id"])
    if (group < 0).any():
        return
    names = facts.images["group_id"].iloc[np.unique(group, return_index=True)[1]].tolist()
    folds = len(facts.folds) // len(np.unique(facts.folds.repeats)) if facts.folds is not None else 0
    yield from _giants(facts, group, names, folds)
    yield from _rare_classes(facts, group, names, folds)


def _giants(facts: Facts, group: np.ndarray, names: list[str], folds: int) -> Iterator[Finding]:
    count = np.bincount(group)
    parted = facts.folds is not None and facts.folds.each_once and folds < len(names)
    limit = 1 / folds if parted else 0.5
    giant = np.flatnonzero(count > limit * len(group))
    if len(giant) and len(names) > 1:
        told = [f"{names[one]} ({count[one]} of {len(group)}, {100 * count[one] / len(group):.0f} %)" for one in giant]
        yield Finding(
            NAME, "giant group", WARN,
            f"{some(told)} {'is' if len(giant) == 1 else 'are'} larger than {f'1/{folds}' if parted else 'half'} of "
            "the images",
            "No cut balances the folds: the fold that holds it out is scored on little else, and trained on little "
            "that is like it.", "Report the score per group and as the mean over groups; a finer column group_id helps "
            "only where its parts are independent.", evidence="the group column", examples=tuple(told[:3]),
            measures={"largest_share": float(count.max() / len(group))})


def _rare_classes(facts: Facts, group: np.ndarray, names: list[str], folds: int) -> Iterator[Finding]:
    has = groups_with(group, class_pixels(facts))                                   # groups x classes
    groups = has.sum(axis=0)
    alone = [(int(c), names[int(has[:, c].argmax())]) for c in np.flatnonzero(groups == 1)]
    if alone and len(names) > 1:
        told = [f"class {_class(facts, c)} occurs in group {name} only" for c, name in alone]
        yield Finding(
            NAME, "class in one group", WARN, some(told),
            "Where that group is held out the class was never trained, in all other folds its score is undefined.",
            "Leave the class out of the mean, or bring more groups that have it.", evidence="the masks",
            examples=tuple(told[:3]))
    few = [f"class {_class(facts, c)} in {count}" for c, count in enumerate(groups) if 1 < count < folds]
    if few and facts.folds is not None and facts.folds.each_once and folds <= len(names):
        yield Finding(
            NAME, "class in few groups", NOTE, f"classes in fewer groups than the {folds} folds: {some(few)}",
            "In the folds without them their score is undefined, and the mean over folds is over fewer folds.",
            f"Use at most {min(int(count) for count in groups if count > 1)} folds, or judge these classes over all "
            "images together.", evidence="the masks", examples=tuple(few[:3]))


def _class(facts: Facts, class_id: int) -> str:
    name = facts.class_names[class_id] if class_id < len(facts.class_names) else ""
    return f"{class_id} ({name})" if name and name != str(class_id) else str(class_id)
