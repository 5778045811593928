"""Single linkage over verified links that never glues given groups into one giant by looks alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from segcv.groups.links import NEAR


@dataclass(frozen=True, slots=True)
class Link:
    """A pair of images that ties two given groups."""

    first: str
    second: str
    groups: tuple[str, str]
    kind: str
    how: str

    def __str__(self) -> str:
        return f"{self.groups[0]} and {self.groups[1]} ({self.first} and {self.second}, {self.how})"


@dataclass(frozen=True, slots=True)
class Joined:
    """What the links made of the rows: component per row, what linked it first, links between given groups."""

    component: list[int]                # least row of the component, per row
    names: list[tuple[str, ...]]        # given groups in the row's component, sorted
    evidence: list[str]                 # "near-duplicate of b (flipped ...)", "overlap with b"; "" for none
    kind: list[str]                     # of that link; "" for none
    turned: list[bool]                  # was that a turned copy?
    joined: list[Link] = field(default_factory=list)
    kept_apart: list[Link] = field(default_factory=list)


def join(image_ids: Sequence[str], labels: Sequence[str], links: pd.DataFrame, *, largest: float) -> Joined:
    """Link rows by `links` (see `links_between`), in their order; rows with the same label (not "") are one group.

    Identical images and overlaps always join. Look-alikes join two given groups only while the joined group has at
    most `largest` rows; a row without label joins whatever it is linked to first.
    """
    parent = list(range(len(image_ids)))
    first_of: dict[str, int] = {}
    for row, label in enumerate(labels):
        if label:
            parent[row] = first_of.setdefault(label, row)
    size = np.bincount([_root(parent, row) for row in range(len(parent))], minlength=len(parent)).tolist()
    names = {row: {label} for label, row in first_of.items()}      # given groups per root
    place = {image_id: row for row, image_id in enumerate(image_ids)}
    evidence, kinds, turned = [""] * len(parent), [""] * len(parent), [False] * len(parent)
    joined: list[Link] = []
    refused: list[tuple[int, int, Link]] = []
    columns = (links[name].tolist() for name in ("first", "second", "kind", "turn", "how"))
    for first, second, kind, turn, how in zip(*columns, strict=True):
        one, other = place[first], place[second]
        a, b = _root(parent, one), _root(parent, other)
        if a != b and a in names and b in names:
            link = Link(first, second, (min(names[a]), min(names[b])), kind, how)
            if kind == NEAR and size[a] + size[b] > largest:
                refused.append((a, b, link))
                continue
            joined.append(link)
        for row, linked in ((one, second), (other, first)):
            if not evidence[row]:
                evidence[row], kinds[row], turned[row] = _words(linked, kind, turn), kind, bool(turn)
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
    return Joined(roots, [tuple(sorted(names.get(root, ()))) for root in roots], evidence, kinds, turned, joined,
                  list(apart.values()))


def _words(image_id: str, kind: str, turn: str) -> str:
    if kind == "overlap":
        return f"overlap with {image_id}"
    return f"near-duplicate of {image_id}{turn and f' ({turn})'}"


def _root(parent: list[int], row: int) -> int:
    while parent[row] != row:
        parent[row] = parent[parent[row]]
        row = parent[row]
    return row
