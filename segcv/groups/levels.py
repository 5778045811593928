"""Coarser id columns: which of them hold whole groups, and which should stay whole themselves."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import pandas as pd

# columns that name one thing out in the world; its images are never independent
ENTITIES = frozenset({
    "patient", "subject", "person", "animal", "specimen", "case", "study", "series", "volume", "slide", "sample",
    "source", "scene", "sequence", "video", "clip", "strip", "flight", "field", "plot", "parcel", "image", "session",
})
_NO_LEVEL = frozenset({"image_id", "group_id", "image_path", "mask_path", "group_evidence"})


@dataclass(frozen=True, slots=True)
class Levels:
    """Id columns coarser than the groups, each fine to coarse."""

    kept: tuple[str, ...] = ()                       # name one thing each, and leave enough groups: they stay whole
    too_few: tuple[tuple[str, int], ...] = ()        # name one thing each, and would leave too few groups: how many
    others: tuple[tuple[str, int], ...] = ()         # other ids that leave enough groups: how many


def names_an_entity(column: str) -> bool:
    """Does the column's name say that it names one thing in the world, as patient_id or slide?"""
    return column.lower().removesuffix("_id").removesuffix("_name") in ENTITIES


def coarser_levels(images: pd.DataFrame, groups: pd.Series, *, least: int, without: Collection[str] = ()) -> Levels:
    """The Levels above the groups of the images ("" where none is given), for folds that take `least` groups.

    A level is a column named for an entity, or ending in _id, in which each group has one value and which puts at
    least two of them together; without any group, every such column with fewer values than images. A column that
    cuts through a level below it is none.

    >>> slides = pd.DataFrame({"patient_id": ["p", "p", "q", "q"], "slide": ["1", "2", "3", "3"]})
    >>> coarser_levels(slides, pd.Series(["1", "2", "3", "3"]), least=2).kept
    ('patient_id',)
    """
    own = pd.Series(groups.astype("str").to_numpy(object), index=images.index)
    found = []
    for column in map(str, images.columns):
        if column in _NO_LEVEL or column in without or not (names_an_entity(column) or column.lower().endswith("_id")):
            continue
        joined = _joined(own, images[column].astype("str").astype(object))
        if joined is not None:
            found.append((int(joined.nunique()), column))
    kept: list[str] = []
    too_few: list[tuple[str, int]] = []
    others: list[tuple[str, int]] = []
    for _, column in sorted(found, key=lambda one: (-one[0], one[1])):
        joined = _joined(own, images[column].astype("str").astype(object))
        if joined is None:                                     # it cuts through a level that is kept, or equals it
            continue
        count = int(joined.nunique())
        if not names_an_entity(column):
            others += [(column, count)] if count >= least else []
        elif count >= least:
            kept.append(column)
            own = joined
        else:
            too_few.append((column, count))
    return Levels(tuple(kept), tuple(too_few), tuple(others))


def _joined(groups: pd.Series, values: pd.Series) -> pd.Series | None:
    """The groups joined by the values of a level; None where it is none."""
    given, filled = groups.ne(""), values.str.strip().ne("")
    pairs = pd.DataFrame({"group": groups, "value": values})[given & filled].drop_duplicates()
    named = values[filled]
    if pairs["group"].duplicated().any() or not 2 <= named.nunique() < len(named):
        return None
    told = groups.map(dict(zip(pairs["group"], pairs["value"], strict=True)))
    joined = ("value " + told.where(told.notna(), values.where(filled))).where(
        told.notna() | (~given & filled), "group " + groups)
    before = groups[given].nunique()
    return joined if not given.any() or joined[given].nunique() < before else None
