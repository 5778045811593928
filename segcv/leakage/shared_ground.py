"""Tiles across sides that show the same ground, or lie side by side."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from segcv.leakage.facts import Facts
from segcv.leakage.finding import FAIL, WARN, Finding
from segcv.leakage.overlap_seen import shared_pixels_agree
from segcv.leakage.places import Places, guesses_of, places_of
from segcv.leakage.touched import Ints, touched_by_pairs
from segcv.leakage.words import pair_texts, share_text, some, where_text
from segcv.splits import near_pairs, shared_areas

NAME = "shared_ground"
CURE = ("Hold out blocks of ground: python -m segcv.split split=blocks (columns x, y, w, h, or GeoTIFFs), or whole "
        "sources: group.pattern=tiles, or a column group_id.")


def find(facts: Facts) -> Iterator[Finding]:
    """Fail for held-out tiles that overlap a training tile, warn for those that touch one.

    Where sizes are not given but taken for pixels, the shared pixels of some pairs are compared: only when they agree
    it is certain, and when they do not, positions are no pixels and say nothing.
    """
    assert facts.folds is not None
    places = places_of(facts)
    if places is None:
        yield from _guessed(facts)
        return
    near, overlapping = near_pairs(places.ground, 0), near_pairs(places.ground, None)   # pairs x 2; near ones may touch
    if not places.cells and len(overlapping):
        seen = None if places.sure else shared_pixels_agree(facts, places, overlapping)
        if seen is False:
            return
        yield from _overlap(facts, places, overlapping, severity=WARN if seen is None and not places.sure else FAIL)
    size = len(places.rows)
    touching = near if places.cells else near[~np.isin(near @ (size, 1), overlapping @ (size, 1))]
    found = touched_by_pairs(facts.folds, places.rows[touching[:, 0]], places.rows[touching[:, 1]])
    if found.cells:
        yield Finding(
            NAME, "neighbours", WARN,
            f"{share_text(found)} lie side by side with a training tile, {where_text(found)}",
            "What lies beside is lit, grown and labelled alike, and a building or field goes on across the border: new "
            "ground is farther away than that.", CURE, evidence=places.evidence, held_out_touched=found.cells,
            held_out=found.held_out, examples=pair_texts(facts, found), measures={"per_fold": found.per_fold})


def _guessed(facts: Facts) -> Iterator[Finding]:
    """Fail where plain numbers in names are positions of tiles that overlap, as their pixels show."""
    for places in guesses_of(facts):
        overlapping = near_pairs(places.ground, None)
        if len(overlapping) and shared_pixels_agree(facts, places, overlapping):
            yield from _overlap(facts, places, overlapping, severity=FAIL)
            return


def _overlap(facts: Facts, places: Places, pairs: Ints, *, severity: str) -> Iterator[Finding]:
    assert facts.folds is not None
    found = touched_by_pairs(facts.folds, places.rows[pairs[:, 0]], places.rows[pairs[:, 1]])
    if not found.cells:
        return
    fraction = _fraction_seen(facts, places, pairs)
    name = dict(zip(places.rows.tolist(), places.names, strict=True))
    sources = sorted({name[row] for row in np.flatnonzero(found.images).tolist()} - {""})
    what = f" of {some(sources)}" if sources else ""
    yield Finding(
        NAME, "overlap", severity,
        f"{share_text(found)}{what} overlap ground that training has seen, up to {100 * fraction.max():.3g} % of a "
        f"tile, {where_text(found)}",
        "The shared ground is in training pixel by pixel, with its labels; the score on it is a memory.", CURE,
        evidence=places.evidence, held_out_touched=found.cells, held_out=found.held_out,
        examples=pair_texts(facts, found, "overlaps"),
        measures={"per_fold": found.per_fold, "shared_fraction": float(fraction.max()),
                  "mean_shared_fraction": float(fraction[fraction > 0].mean())})


def _fraction_seen(facts: Facts, places: Places, pairs: Ints) -> NDArray[np.float64]:
    """Per rectangle, the largest share of it that one training tile covers in a fold that holds it out."""
    assert facts.folds is not None
    area, whole = shared_areas(places.ground, pairs), _areas(places)
    most = np.zeros(len(places.rows))
    for fold in facts.folds:
        held_out, train = fold.held_out[places.rows], fold.train[places.rows]
        for one, other in (pairs.T, pairs.T[::-1]):
            crossing = held_out[one] & train[other]
            np.maximum.at(most, one[crossing], area[crossing] / whole[one[crossing]])
    return most


def _areas(places: Places) -> NDArray[np.float64]:
    area: NDArray[np.float64] = (places.ground.high - places.ground.low).prod(axis=1)
    return area
