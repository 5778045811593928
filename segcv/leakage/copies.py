"""Equal content under different names: what the checks for bytes, pixels and masks share."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from segcv.leakage.facts import Codes, Facts, codes_of
from segcv.leakage.finding import NOTE, SHOWN, WARN, Finding
from segcv.leakage.touched import touched_by_code
from segcv.leakage.words import pair_texts, share_text, some, where_text

WHY = ("The model has seen the very picture it is graded on; what it remembers counts as what it understood.")
CURE = ("Take the copies out of the table, or give them one group: python -m segcv.split with a column group_id, or "
        "with group.near_duplicates=5, which joins equal pictures.")


def content_codes(facts: Facts, column: str, *, without: str | None = None) -> Codes:
    """A code per content of the images that are not flat, -1 for those that are alone or differ nowhere in `without`.

    With `without` only contents count that occur with at least two values of that column: equal pixels in files of
    other bytes, equal masks of other pixels.
    """
    assert facts.profile is not None
    code = codes_of(facts.profile[column])
    if facts.looks is not None:
        code = np.where(facts.looks["flat"].to_numpy(bool), -1, code)
    filled = code >= 0
    size = int(code.max()) + 1 if len(code) else 0
    if without is None:
        several = np.bincount(code[filled], minlength=size) > 1
    else:
        other = codes_of(facts.profile[without])[filled]
        pairs = np.unique(code[filled] * (int(other.max(initial=0)) + 1) + other)
        several = np.bincount(pairs // (int(other.max(initial=0)) + 1), minlength=size) > 1
    return np.where(filled & several[np.maximum(code, 0)], code, -1) if size else code


def copies(facts: Facts, code: Codes, *, check: str, what: str, severity: str, evidence: str,
           why: str = WHY, cure: str = CURE, across_only: bool = False) -> Iterator[Finding]:
    """One finding for copies across sides, else a note when there are any; and a warning where their labels differ."""
    if facts.folds is not None:
        found = touched_by_code(facts.folds, code)
        if found.cells:
            yield Finding(
                check, "train and held-out", severity,
                f"{share_text(found)} have {what} in training, {where_text(found)}{_labels_text(facts, code)}",
                why, cure, evidence=evidence, held_out_touched=found.cells, held_out=found.held_out,
                examples=pair_texts(facts, found), measures={"per_fold": found.per_fold})
            return
    rows = np.flatnonzero(code >= 0) if not across_only else code[:0]
    if len(rows):
        names = [" = ".join(facts.ids[rows[code[rows] == one]][:3].tolist()) for one in np.unique(code[rows])[:SHOWN]]
        other = _labels_text(facts, code)
        yield Finding(
            check, "all images", WARN if other else NOTE,
            f"{len(rows)} images share {what} with another{', on one side of every fold' if facts.folds else ''}: "
            f"{some(names)}{other}",
            "They count several times in averages over images, and folds cut without groups would tear them.", cure,
            evidence=evidence, examples=tuple(names))


def labels_differ(facts: Facts, code: Codes) -> NDArray[np.int64]:
    """A row of each content that occurs with different masks."""
    assert facts.profile is not None
    rows = np.flatnonzero(code >= 0)
    labels = codes_of(facts.profile["labels_hash"])
    width = int(labels.max(initial=0)) + 1
    pairs, first = np.unique(code[rows] * width + labels[rows], return_index=True)
    again = np.flatnonzero(pairs[1:] // width == pairs[:-1] // width) + 1
    return np.asarray(rows[first[again]], np.int64)


def _labels_text(facts: Facts, code: Codes) -> str:
    assert facts.profile is not None
    if "labels_hash" not in facts.profile.columns:
        return ""
    rows = labels_differ(facts, code)
    if not len(rows):
        return ""
    return (f"; {len(rows)} of these pictures come with different masks (such as {facts.ids[rows[0]]}): one of the two "
            "answers is wrong")
