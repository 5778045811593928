"""Where images lie on the ground: from the columns x, y, w, h, else their georeference, else their names."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from segcv.groups import Places as Told
from segcv.groups import places_by_columns, places_by_georeference, places_by_names, places_by_numbers
from segcv.leakage.facts import Facts, codes_of
from segcv.splits import Ground


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """Rectangles of the images that have a place, and how that is known."""

    ground: Ground
    rows: NDArray[np.int64]          # of the images table, in the order of the rectangles
    names: list[str]                 # of the ground, per rectangle
    cells: bool                      # positions are numbers of cells in a grid: neighbours are known, overlap is not
    sure: bool                       # the rectangles are given; else they follow if positions are pixels
    evidence: str


def places_of(facts: Facts) -> Places | None:
    """The Places, or None where neither columns nor files nor names tell them."""
    assert facts.images is not None
    told = (places_by_columns(facts.images, facts.profile) or places_by_georeference(facts.images, facts.georeferences)
            or places_by_names(facts.images, facts.profile))
    return None if told is None else _places(told)


def guesses_of(facts: Facts) -> list[Places]:
    """What two plain numbers in the names may mean, where nothing else tells places; to be seen from the pixels."""
    assert facts.images is not None
    return [] if facts.profile is None else [_places(told) for told in places_by_numbers(facts.images, facts.profile)]


def _places(told: Told) -> Places:
    table, names = told.table, told.table["ground"]
    low, size = table[["x", "y"]].to_numpy(np.float64), table[["w", "h"]].to_numpy(np.float64)
    frame = np.maximum(codes_of(names), 0) + (names.astype("str") != "").to_numpy()
    ground = Ground(low, low + size, frame, float(table["pixel_size"].max() / 2))
    return Places(ground, table.index.to_numpy(np.int64), names.tolist(), told.cells, told.sure, told.evidence)
