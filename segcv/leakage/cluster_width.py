"""Chains of look-alikes: clusters whose ends are no longer alike."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from segcv.groups import diameter
from segcv.leakage.facts import Facts, codes_of, whole_in_a_group
from segcv.leakage.finding import NOTE, Finding
from segcv.leakage.near_duplicates import look_alikes
from segcv.leakage.words import some

NAME = "cluster_width"
EXACT = 2000             # members up to which every pair is compared; beyond, the width is a lower bound


def find(facts: Facts) -> Iterator[Finding]:
    """Note clusters of near-duplicates wider than the threshold that links them, where no given group holds them."""
    assert facts.looks is not None
    if facts.max_distance is None:
        return
    alike = look_alikes(facts)
    cluster = alike.cluster
    hashes = facts.looks["phash"].to_numpy(np.uint64)
    linked = np.unique(np.concatenate([alike.one, alike.other]))
    assert facts.images is not None
    linked = linked[~whole_in_a_group(cluster[linked], codes_of(facts.images["group_id"])[linked])]
    order = linked[np.argsort(cluster[linked], kind="stable")]
    chains = []
    for rows in np.split(order, np.flatnonzero(np.diff(cluster[order])) + 1):
        if len(rows) > 2:
            bits, one, other = _width(hashes[rows])
            if bits > facts.max_distance:
                chains.append((bits, f"{len(rows)} images from {facts.ids[rows[one]]} to {facts.ids[rows[other]]} "
                                     f"({bits} bits)"))
    if chains:
        chains.sort(key=lambda chain: (-chain[0], chain[1]))
        yield Finding(
            NAME, "chains", NOTE,
            f"{len(chains)} chains of near-duplicates are wider than {facts.max_distance} bits: "
            f"{some([text for _, text in chains], 3)}",
            "Each neighbour looks like the next, the ends do not: one slow pan, or scenes that were linked by chance. "
            "Grouped by their looks they are one group.",
            f"Look at the ends; if they are different scenes, lower group.near_duplicates={facts.max_distance}.",
            evidence="perceptual hashes", examples=tuple(text for _, text in chains[:3]),
            measures={"chains": len(chains), "widest_bits": chains[0][0]})


def _width(hashes: NDArray[np.uint64]) -> tuple[int, int, int]:
    """Largest distance within the cluster, and one pair that has it; of large clusters, from one end to the other."""
    if len(hashes) <= EXACT:
        return diameter(hashes)
    one = int(np.bitwise_count(hashes ^ hashes[0]).argmax())
    distance = np.bitwise_count(hashes ^ hashes[one])
    return int(distance.max()), one, int(distance.argmax())
