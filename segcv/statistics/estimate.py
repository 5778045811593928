"""A number that says how sure it is, what it is a number of, and for whom."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isfinite, nan
from typing import Any

THESE_MODELS = "these models"      # conditional on the K·S trained networks; only the groups are random
THE_RECIPE = "the recipe"          # over seeds and training sets as well


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with its interval; where there is none, `note` says why.

    `target` names what is averaged and for whom ("equal_group, these models"), `unit` what the value is a number of
    ("mIoU"), `undefined` how many scored images (or cells, for a class) could not enter it. NaN = undefined.

    Raises:
        ValueError: there is neither an interval nor a note, or the interval is upside down.
    """

    value: float
    low: float = nan
    high: float = nan
    level: float = 0.95
    method: str = ""
    target: str = ""
    unit: str = ""
    groups: int = 0
    runs: int = 0
    undefined: int = 0
    note: str = ""

    def __post_init__(self) -> None:
        if not self.has_interval and not self.note:
            raise ValueError(f"{self.target or 'an estimate'}: no interval, and no note that says why")
        if self.has_interval and self.low > self.high:
            raise ValueError(f"{self.target}: the interval {self.low} to {self.high} is upside down")

    @property
    def has_interval(self) -> bool:
        """Whether both ends are finite."""
        return isfinite(self.low) and isfinite(self.high)

    def with_note(self, note: str) -> Estimate:
        """The same estimate that says one thing more."""
        return replace(self, note=f"{self.note}; {note}" if self.note else note)

    def without_interval(self, why: str) -> Estimate:
        """The same value, refused its interval for the reason `why`."""
        return replace(self, low=nan, high=nan, note=why)

    def to_json(self) -> dict[str, Any]:
        """Plain values for `write_json`; NaN becomes null there."""
        return {name: getattr(self, name) for name in self.__slots__}
