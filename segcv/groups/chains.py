"""How wide clusters of look-alikes are: single linkage can lead from one scene to another in small steps."""

from __future__ import annotations

import warnings
from collections import defaultdict

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from segcv.errors import SegcvWarning
from segcv.groups.hamming import diameter
from segcv.groups.joining import Joined
from segcv.groups.links import OVERLAP
from segcv.groups.turns import SIDE, turned_hashes

SHOWN = 5


def warn_chains(found: Joined, ids: list[str], looks: pd.DataFrame, max_distance: int) -> None:
    """Warn of clusters without given group, made of look-alikes only, that are wider than `max_distance` bits."""
    look_of = looks.set_index("image_id")
    members: dict[int, list[int]] = defaultdict(list)
    for row, root in enumerate(found.component):
        if found.kind[row] and not found.names[row]:
            members[root].append(row)
    chains = []
    for rows in members.values():
        if any(found.kind[row] == OVERLAP for row in rows):
            continue
        bits, one, other = diameter(_same_way_up(look_of.loc[[ids[row] for row in rows]],
                                                 any(found.turned[row] for row in rows)))
        if bits > max_distance:
            chains.append((bits, f"{len(rows)} images from {ids[rows[one]]} to {ids[rows[other]]} "
                                 f"(diameter {bits} bits)"))
    if chains:
        chains.sort(key=lambda chain: (-chain[0], chain[1]))
        more = f" and {len(chains) - SHOWN} more" if len(chains) > SHOWN else ""
        warnings.warn(f"look-alikes form chains wider than the threshold of {max_distance} bits: "
                      f"{', '.join(text for _, text in chains[:SHOWN])}{more}. Each is kept as one group; if they are "
                      f"different scenes, lower group.near_duplicates={max_distance}.", SegcvWarning, stacklevel=3)


def _same_way_up(looks: pd.DataFrame, turned: bool) -> NDArray[np.uint64]:
    """Hashes of a cluster; where copies were turned, each in the turn in which it is nearest to the first."""
    hashes = looks["phash"].to_numpy(np.uint64)
    if not turned:
        return hashes
    thumbnails = np.frombuffer(b"".join(looks["thumbnail"]), np.uint8).reshape(len(looks), SIDE, SIDE)
    each = turned_hashes(thumbnails)                                                   # images x turns
    nearest = np.bitwise_count(each ^ hashes[0]).argmin(1)
    return np.where(nearest == 0, hashes, each[np.arange(len(each)), nearest])
