"""A group on both sides of a fold, at the level that was given and at every coarser one."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from segcv.groups import names_an_entity
from segcv.leakage.facts import Codes, Facts, codes_of, whole_in_a_group
from segcv.leakage.finding import FAIL, NOTE, WARN, Finding
from segcv.leakage.touched import Touched, touched_by_code
from segcv.leakage.words import pair_texts, share_text, some, where_text

NAME = "groups_whole"
WHY = ("Images of one group look alike beyond what they share with new ones: a model that has seen the group is graded "
       "on what it knows, and the score is too high for a new group.")


def find(facts: Facts) -> Iterator[Finding]:
    """Fail for groups that were given, warn for coarser ids that only may be meant; silent where all are whole."""
    assert facts.folds is not None and facts.images is not None
    seen: list[Codes] = []
    for column, severity, evidence in _levels(facts):
        code = codes_of(facts.images[column])
        if any(np.array_equal(code, other) for other in seen):         # the same groups under another name
            continue
        seen.append(code)
        found = touched_by_code(facts.folds, code)
        if found.cells:
            name = facts.group_column if column == "group_id" else column
            yield _finding(facts, name, column, code, found, severity, evidence)


def _finding(facts: Facts, name: str, column: str, code: Codes, found: Touched, severity: str,
             evidence: str) -> Finding:
    assert facts.folds is not None and facts.images is not None
    torn = _torn(facts, code)
    listed = sorted(facts.images[column].iloc[torn].unique().tolist())
    what = (f"{name} {some(listed)} {'is' if len(listed) == 1 else 'are'} on both sides {where_text(found)}: "
            f"{share_text(found)} have their own group in training")
    if facts.folds.known_groups and column == "group_id":
        return Finding(NAME, name, NOTE, f"{what}, as a split for known groups wants it",
                       "The score is about later images of the same groups, and says nothing of new groups.",
                       "For new groups: python -m segcv.split split=time", evidence=evidence,
                       held_out_touched=found.cells, held_out=found.held_out, examples=pair_texts(facts, found),
                       measures={"torn": listed, "per_fold": found.per_fold})
    cure = ("Cut folds of whole groups: python -m segcv.split" if column == "group_id" else
            f"Cut folds of whole {column}: python -m segcv.split group.level={column}")
    return Finding(NAME, name, severity, what, WHY, cure, evidence=evidence, held_out_touched=found.cells,
                   held_out=found.held_out, examples=pair_texts(facts, found),
                   measures={"torn": listed, "per_fold": found.per_fold})


def _torn(facts: Facts, code: Codes) -> Codes:
    """A row of each group that is on both sides of some fold."""
    assert facts.folds is not None
    size = int(code.max()) + 2
    torn = np.zeros(size, bool)
    for fold in facts.folds:
        train, held_out = (np.bincount(code[flags] + 1, minlength=size) > 0 for flags in (fold.train, fold.held_out))
        torn |= train & held_out
    torn[0] = False                                                    # blank
    names, first = np.unique(code, return_index=True)
    return np.asarray(first[torn[names + 1]], np.int64)


def _levels(facts: Facts) -> Iterator[tuple[str, str, str]]:
    """Columns to look at, the severity when one is cut, and why it counts."""
    assert facts.images is not None
    images = facts.images
    if images["group_id"].ne("").any():
        yield "group_id", FAIL, _how(images)
    finest = codes_of(images["group_id"])
    for column in images.columns:
        if column in ("image_id", "group_id", facts.group_column, "image_path", "mask_path", "group_evidence"):
            continue
        if column in facts.declared_levels:
            yield column, FAIL, "declared as a level"
        elif (severity := _meant(str(column))) is not None and _is_level(codes_of(images[column]), finest):
            yield column, severity, f"column {column}, whose values hold whole groups"


def _how(images: pd.DataFrame) -> str:
    if "group_evidence" not in images.columns:
        return "the group column"
    return "groups by " + some(sorted(set(images["group_evidence"].str.replace(r"( of |;).*", "", regex=True))))


def _meant(column: str) -> str | None:
    """Fail where a column's name says that it names one thing in the world, warn for other ids, None for the rest."""
    if names_an_entity(column):
        return FAIL
    return WARN if column.lower().endswith("_id") else None


def _is_level(code: Codes, finest: Codes) -> bool:
    """Does the column group images, without being finer than the groups, or one value for all?"""
    if (code < 0).all():
        return False
    filled = code >= 0
    values = len(np.unique(code[filled]))
    if values < 2 or values == int(filled.sum()):
        return False
    grouped = filled & (finest >= 0)
    return bool(whole_in_a_group(finest[grouped], code[grouped]).all())          # each group within one value
