"""How findings say numbers and names, the same in all of them."""

from __future__ import annotations

from collections.abc import Sequence

from segcv.leakage.facts import Facts
from segcv.leakage.finding import SHOWN
from segcv.leakage.touched import Touched


def some(names: Sequence[str], shown: int = SHOWN) -> str:
    """The first names, and how many more there are."""
    more = f" and {len(names) - shown} more" if len(names) > shown else ""
    return ", ".join(names[:shown]) + more


def share_text(touched: Touched) -> str:
    """6 of 12 held-out images (50 %)."""
    percent = 100 * touched.cells / touched.held_out if touched.held_out else 0.0
    return f"{touched.cells} of {touched.held_out} held-out images ({percent:.3g} %)"


def where_text(touched: Touched) -> str:
    """in fold 0 (6 images) and fold 1 (6 images)."""
    counts = [f"{label} ({touched.per_fold[label]})" for label in touched.folds]
    return "in " + some(counts)


def pair_texts(facts: Facts, touched: Touched, link: str = "beside") -> tuple[str, ...]:
    """The examples of what is touched, as sentences of two images."""
    ids = facts.ids
    return tuple(f"{label}: {ids[row]} {link} {ids[partner]}" for label, row, partner in touched.examples[:SHOWN])
