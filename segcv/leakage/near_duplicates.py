"""Look-alikes across sides: pictures whose hashes are near and whose thumbnails agree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from segcv.groups import near_duplicate_pairs
from segcv.leakage.copies import content_codes
from segcv.leakage.facts import Facts, codes_of
from segcv.leakage.finding import WARN, Finding
from segcv.leakage.touched import Ints, touched_by_code, touched_by_links
from segcv.leakage.words import pair_texts, share_text, where_text

NAME = "near_duplicates"


def find(facts: Facts) -> Iterator[Finding]:
    """Warn for held-out images with a verified near-duplicate in training."""
    assert facts.folds is not None
    if facts.max_distance is None:
        return
    alike = look_alikes(facts)
    found = touched_by_links(facts.folds, alike.face, alike.one, alike.other)
    if found.cells:
        yield Finding(
            NAME, "train and held-out", WARN,
            f"{share_text(found)} have a near-duplicate in training, {where_text(found)}{_turned_text(facts, alike)}",
            "Neighbouring frames, bursts and altered copies are no new pictures: the score on them is the score of a "
            "memory.",
            "Group them before folds are cut: python -m segcv.split with group.near_duplicates="
            f"{facts.max_distance}, better with a column that names the clip or site.",
            evidence=f"perceptual hashes within {facts.max_distance} bits, verified on thumbnails",
            held_out_touched=found.cells, held_out=found.held_out, examples=pair_texts(facts, found),
            measures={"per_fold": found.per_fold, "pairs": len(alike.one), "turned_pairs": int(alike.turned.sum())})


def _turned_text(facts: Facts, alike: LookAlikes) -> str:
    """How many of them are flipped or turned copies."""
    assert facts.folds is not None
    if not alike.turned.any():
        return ""
    upright = touched_by_links(facts.folds, alike.face, alike.one[~alike.turned], alike.other[~alike.turned])
    every = touched_by_links(facts.folds, alike.face, alike.one, alike.other)
    more = every.cells - upright.cells
    return f"; {more} of them only flipped or turned" if more else ""


@dataclass(frozen=True, slots=True, eq=False)
class LookAlikes:
    """Links between faces; a face stands for all images that are identical to it."""

    face: Ints          # per image: the row of its face, -1 for flat images
    one: Ints           # rows of faces; a link of a face with itself: its images are equal to the eye, not in pixels
    other: Ints
    turned: NDArray[np.bool_]       # per link: only after a flip or quarter turn

    @property
    def cluster(self) -> Ints:
        """Per image the number of its cluster by single linkage; -1 for flat images."""
        size = len(self.face)
        graph = coo_matrix((np.ones(len(self.one), np.int8), (self.one, self.other)), shape=(size, size))
        component = connected_components(graph, directed=False)[1]
        return np.where(self.face >= 0, component[np.maximum(self.face, 0)], -1).astype(np.int64)


def look_alikes(facts: Facts) -> LookAlikes:
    """The verified near-duplicates among all images."""
    return facts.once("look_alikes", _look_alikes)


def _look_alikes(facts: Facts) -> LookAlikes:
    assert facts.looks is not None and facts.profile is not None and facts.max_distance is not None
    content = "pixels_hash" if "pixels_hash" in facts.profile.columns else "image_hash"
    pixels = facts.profile[content]
    pairs = near_duplicate_pairs(facts.looks.assign(image_hash=pixels), max_distance=facts.max_distance,
                                 turns=facts.turns)
    row = pd.Index(facts.ids)
    first, second = row.get_indexer(pd.Index(pairs["first"])), row.get_indexer(pd.Index(pairs["second"]))
    same = pairs["identical"].to_numpy(bool)
    face = np.where(facts.looks["flat"].to_numpy(bool), -1, np.arange(len(row)))
    face[second[same]] = first[same]
    code = codes_of(pixels)
    odd = np.unique(first[same][code[first[same]] != code[second[same]]])      # faces of more than one content
    turned = pairs["turn"].to_numpy(object)[~same] != ""
    return LookAlikes(face, np.concatenate([first[~same], odd]).astype(np.int64),
                      np.concatenate([second[~same], odd]).astype(np.int64),
                      np.concatenate([turned, np.zeros(len(odd), bool)]).astype(bool))


def alike_in_training(facts: Facts) -> NDArray[np.bool_]:
    """Images that have a copy or a near-duplicate in training in a fold that holds them out."""
    assert facts.folds is not None
    found = np.zeros(len(facts.ids), bool)
    if facts.profile is not None:
        content = "pixels_hash" if "pixels_hash" in facts.profile.columns else "image_hash"
        found |= touched_by_code(facts.folds, content_codes(facts, content)).images
        if facts.looks is not None and facts.max_distance is not None:
            alike = look_alikes(facts)
            found |= touched_by_links(facts.folds, alike.face, alike.one, alike.other).images
    return found
