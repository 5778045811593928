"""Single linkage over verified look-alikes that never glues given groups into one giant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd


@dataclass(frozen=True, slots=True)
class Link:
    """A pair of look-alikes that touches two given groups."""

    first: str
    second: str
    groups: tuple[str, str]
    distance: int
    turn: str
    identical: bool

    def __str__(self) -> str:
        how = "identical" if self.identical else f"{self.distance} bits apart{self.turn and ', ' + self.turn}"
        return f"{self.groups[0]} and {self.groups[1]} ({self.first} and {self.second}, {how})"


@dataclass(frozen=True, slots=True)
class Joined:
    """What the links made of the rows: component per row, the partner that linked it, links between given groups."""

    component: list[int]                # least row of the component, per row
    names: list[tuple[str, ...]]        # given groups in the row's component, sorted
    partner: list[str]                  # what it was linked to first: "near-duplicate of b (flipped ...)"; "" for none
    turned: list[bool]                  # was that a turned copy?
    joined: list[Link] = field(default_factory=list)
    kept_apart: list[Link] = field(default_factory=list)


def join(image_ids: Sequence[str], labels: Sequence[str], pairs: pd.DataFrame, *, largest: float) -> Joined:
    """Link rows by `pairs`, nearest first; rows with the same label (not "") are one group from the start.

    Identical images always join. Other look-alikes join two given groups only while the joined group has at most
    `largest` rows; a row without label joins whatever it is nearest to. The pairs come sorted (near_duplicate_pairs).
    """
    parent = list(range(len(image_ids)))
    first_of: dict[str, int] = {}
    for row, label in enumerate(labels):
        if label:
            parent[row] = first_of.setdefault(label, row)
    size = np.bincount([_root(parent, row) for row in range(len(parent))], minlength=len(parent)).tolist()
    names = {row: {label} for label, row in first_of.items()}      # given groups per root
    place = {image_id: row for row, image_id in enumerate(image_ids)}
    partner, turned = [""] * len(parent), [False] * len(parent)
    joined: list[Link] = []
    refused: list[tuple[int, int, Link]] = []
    columns = (pairs[name].tolist() for name in ("first", "second", "distance", "turn", "identical"))
    for first, second, distance, turn, identical in zip(*columns, strict=True):
        one, other = place[first], place[second]
        a, b = _root(parent, one), _root(parent, other)
        if a != b and a in names and b in names:
            link = Link(first, second, (min(names[a]), min(names[b])), distance, turn, identical)
            if not identical and size[a] + size[b] > largest:
                refused.append((a, b, link))
                continue
            joined.append(link)
        for row, linked in ((one, second), (other, first)):
            if not partner[row]:
                partner[row], turned[row] = _alike(linked, turn), bool(turn)
        if a != b:
            low, high = min(a, b), max(a, b)
            parent[high] = low
            size[low] += size[high]
            if high in names:
                names[low] = names.get(low, set()) | names.pop(high)
    roots = [_root(parent, row) for row in range(len(parent))]
    apart: dict[tuple[int, int], Link] = {}
    for a, b, link in refused:
        ends = _root(parent, a), _root(parent, b)
        if ends[0] != ends[1]:
            apart.setdefault((min(ends), max(ends)), link)
    return Joined(roots, [tuple(sorted(names.get(root, ()))) for root in roots], partner, turned, joined,
                  list(apart.values()))


def _alike(image_id: str, turn: str) -> str:
    return f"near-duplicate of {image_id}{turn and f' ({turn})'}"


def _root(parent: list[int], row: int) -> int:
    while parent[row] != row:
        parent[row] = parent[parent[row]]
        row = parent[row]
    return row
