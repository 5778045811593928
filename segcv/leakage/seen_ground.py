"""Pictures across sides that show the same ground, told from pixels alone: equal blocks, or agreeing landmarks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from segcv.groups import overlapping_pairs
from segcv.leakage.facts import Facts, codes_of
from segcv.leakage.finding import FAIL, WARN, Finding
from segcv.leakage.near_duplicates import look_alikes
from segcv.leakage.touched import touched_by_pairs
from segcv.leakage.words import pair_texts, share_text, where_text

NAME = "seen_ground"
EQUAL_PIXELS, SAME_PLACE, SAME_GROUND = "equal pixels", "same place", "same ground"
WHOLE = 0.95             # of the smaller picture; beyond, nothing was shifted: a fixed camera, or an altered copy
KINDS = {EQUAL_PIXELS: ("the same pixels as a part of a training image", FAIL, "equal blocks of pixels, at one shift"),
         SAME_PLACE: ("many of the same pixels in the same place as a training image", WARN, "equal blocks of pixels"),
         SAME_GROUND: ("ground that a training image shows too", WARN, "landmarks that agree on one shift")}


def find(facts: Facts) -> Iterator[Finding]:
    """Fail for equal pixels at a shift, warn in place and for landmarks; what looks alike as a whole is left out."""
    assert facts.folds is not None and facts.looks is not None
    if facts.overlaps is None or not {"blocks", "landmarks"} <= set(facts.looks.columns):
        return
    pairs = facts.once("overlapping_pairs", _pairs)
    for kind, (what, severity, evidence) in KINDS.items():
        mine = pairs[pairs["kind"].eq(kind)]
        one, other = mine["one"].to_numpy(np.int64), mine["other"].to_numpy(np.int64)
        found = touched_by_pairs(facts.folds, one, other)
        if not found.cells:
            continue
        share = float(mine["share"].max())
        yield Finding(
            NAME, kind, severity,
            f"{share_text(found)} show {what}, up to {100 * share:.3g} % of the smaller picture, {where_text(found)}",
            "What is shared was in training with its labels; tiles that were cut with overlap, or flown over twice, "
            "are one place.",
            "Group them before folds are cut: python -m segcv.split does so by group.overlaps=landmarks; with "
            "positions in columns x, y, w, h split=blocks.", evidence=evidence, held_out_touched=found.cells,
            held_out=found.held_out, examples=pair_texts(facts, found, "overlaps"),
            measures={"per_fold": found.per_fold, "pairs": len(mine), "largest_share": share})


def _pairs(facts: Facts) -> pd.DataFrame:
    """The overlapping pairs by row, without those that are copies or look-alikes of each other as a whole."""
    assert facts.looks is not None and facts.profile is not None
    looks = facts.looks.assign(height=facts.profile["height"], width=facts.profile["width"])
    pairs = overlapping_pairs(looks, landmarks=facts.overlaps == "landmarks")
    row = pd.Index(facts.ids)
    pairs["one"], pairs["other"] = row.get_indexer(pd.Index(pairs["first"])), row.get_indexer(pd.Index(pairs["second"]))
    pairs["kind"] = pairs["kind"].mask(pairs["kind"].eq(EQUAL_PIXELS) & pairs["share"].ge(WHOLE), SAME_PLACE)
    whole = np.arange(len(row))
    if "pixels_hash" in facts.profile.columns:
        whole = codes_of(facts.profile["pixels_hash"])
    if facts.max_distance is not None:
        alike = look_alikes(facts).cluster
        whole = np.where(alike >= 0, alike, whole + len(row))
    kept: pd.DataFrame = pairs[whole[pairs["one"]] != whole[pairs["other"]]].reset_index(drop=True)
    return kept
