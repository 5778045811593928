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
EQUAL_PIXELS = "equal pixels"            # the kind of pair that is certain
KINDS = {EQUAL_PIXELS: ("the same pixels as a part of a training image", FAIL, "equal blocks of pixels, at one shift"),
         "same ground": ("ground that a training image shows too", WARN, "landmarks that agree on one shift")}


def find(facts: Facts) -> Iterator[Finding]:
    """Fail for shared blocks of equal pixels, warn for shared landmarks; whole copies and look-alikes are left out."""
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
    face = np.arange(len(row))
    if "pixels_hash" in facts.profile.columns:
        content = codes_of(facts.profile["pixels_hash"])
        face = np.unique(content, return_index=True)[1][content]       # the first image of each content
    whole = [np.zeros(0, np.int64)]
    size = len(row)
    if facts.max_distance is not None:
        alike = look_alikes(facts)
        same = alike.face >= 0
        face = np.where(same, alike.face, face)
        whole = [np.minimum(alike.one, alike.other) * size + np.maximum(alike.one, alike.other)]
    a, b = face[pairs["one"]], face[pairs["other"]]
    key = np.minimum(a, b) * size + np.maximum(a, b)
    kept: pd.DataFrame = pairs[(a != b) & ~np.isin(key, np.concatenate(whole))].reset_index(drop=True)
    return kept
