"""How long work shows that it moves, without printing: the caller hands in what wraps its loops."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, TypeVar

Item = TypeVar("Item")


class Progress(Protocol):
    """Wraps the iterable of a long loop of `total` steps; `what` names the work."""

    def __call__(self, items: Iterable[Item], *, total: int, what: str) -> Iterable[Item]: ...


def quiet(items: Iterable[Item], *, total: int, what: str) -> Iterable[Item]:
    """The Progress that shows nothing."""
    return items
