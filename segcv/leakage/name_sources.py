"""Images whose names say that they come from one source: copies or exports of one picture, tiles of one scene."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from segcv.errors import GroupError
from segcv.groups import name_groups
from segcv.leakage.facts import Facts, codes_of, whole_in_a_group
from segcv.leakage.finding import WARN, Finding
from segcv.leakage.near_duplicates import alike_in_training
from segcv.leakage.touched import touched_by_code
from segcv.leakage.words import pair_texts, share_text, some, where_text

NAME = "name_sources"
PATTERNS = {"roboflow": "exports of one picture", "augmented": "altered copies of one picture",
            "tiles": "tiles of one scene"}
LEAST_TILES = 0.5        # share of names that must be tiles; copies may be few


def find(facts: Facts) -> Iterator[Finding]:
    """Warn for a name source on both sides that no given group holds together and no likeness has shown."""
    assert facts.folds is not None and facts.images is not None
    group = codes_of(facts.images["group_id"])
    shown = alike_in_training(facts)
    for pattern, what in PATTERNS.items():
        sources = _sources(facts.images["image_id"], pattern)
        if sources is None:
            continue
        code = codes_of(sources)
        found = touched_by_code(facts.folds, np.where(whole_in_a_group(code, group), -1, code))
        if not found.cells or bool((found.images <= shown).all()):     # their pixels have said so already
            continue
        torn = sorted(sources.iloc[np.flatnonzero(found.images)].unique().tolist())
        yield Finding(
            NAME, pattern, WARN, f"{share_text(found)} have {what} in training, told by their names ({some(torn)}), "
            f"{where_text(found)}",
            "Names of this form are given to pieces or copies of one picture; what one of them taught, the other is "
            "asked.", f"If the names mean that: python -m segcv.split group.pattern={pattern}",
            evidence=f"name pattern {pattern}", held_out_touched=found.cells, held_out=found.held_out,
            examples=pair_texts(facts, found), measures={"per_fold": found.per_fold, "torn": torn})


def _sources(ids: pd.Series, pattern: str) -> pd.Series | None:
    """The source that names tell by a ready pattern; None where they do not follow it."""
    try:
        sources = name_groups(ids, pattern)
    except GroupError:                       # no name matches
        return None
    named = sources.ne("")
    if pattern == "tiles" and (named.mean() < LEAST_TILES or sources[named].nunique() < 2):
        return None
    return sources
