"""What a splitter may be told besides the number of folds; what it does not read is refused, not ignored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

from segcv.errors import SplitError

TIME = "time"        # the column read where time_column is not said


@dataclass(frozen=True, slots=True)
class Choices:
    """Choices that some splitters read; None or empty: not said."""

    balance_on: Sequence[str] = ()       # columns whose values are spread evenly, beside class pixels and images
    stratify: str | None = None          # column whose values' groups are dealt evenly, to within one
    leave: int | None = None             # groups held out together; not said: 2
    share: float | None = None           # of the images, held out in each draw; not said: 0.2
    time_column: str | None = None       # year-month-day, maybe with a clock time; not said: time
    gap_days: float | None = None        # training ends so long before the first held-out image
    buffer_px: float | None = None       # training images this near held-out ground are excluded; x, y, w, h in px
    buffer_m: float | None = None        # or in metres, which says that x, y, w, h are metres
    ground_column: str | None = None     # x and y count within its values; all: they are of one ground

    @property
    def time(self) -> str:
        """The column that holds the time."""
        return self.time_column if self.time_column is not None else TIME

    def said(self) -> dict[str, object]:
        """The choices that were made."""
        return {entry.name: getattr(self, entry.name) for entry in fields(self)
                if getattr(self, entry.name) not in (None, (), [])}


def refuse_without_effect(choices: Choices, reads: frozenset[str], splitter: str) -> None:
    """Refuse a choice that the splitter does not read.

    Raises:
        SplitError: it names the choice, and what the splitter reads.
    """
    unread = [name for name in choices.said() if name not in reads]
    if unread:
        known = f"it reads {', '.join(f'split.{name}' for name in sorted(reads))}" if reads else "leave it out"
        raise SplitError(f"split.{unread[0]}={choices.said()[unread[0]]} has no effect with split={splitter}; {known}.")
