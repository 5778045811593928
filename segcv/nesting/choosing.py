"""The choice among candidates from their inner losses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from segcv.errors import ScoreError

Loss = float | Fraction


@dataclass(frozen=True, slots=True)
class Choice:
    """Which candidate has the least summed inner loss, and by how much."""

    candidate: str
    totals: dict[str, Loss]            # candidate -> loss summed over inner groups, in declared order
    groups: int                        # inner groups that were summed

    @property
    def margin(self) -> Loss | None:
        """How much worse, per inner group, the next candidate was; 0: a tie, the first was taken; None: alone."""
        others = [total for name, total in self.totals.items() if name != self.candidate]
        return (min(others) - self.totals[self.candidate]) / self.groups if others else None

    @property
    def inner_mean(self) -> Loss:
        """Mean inner loss of the chosen candidate: too good, because it was chosen for being least."""
        return self.totals[self.candidate] / self.groups


def chosen(losses: Mapping[str, Mapping[str, Loss]]) -> Choice:
    """The candidate (in declared order) with the least sum over inner groups of `losses`[candidate][group].

    Raises:
        ScoreError: candidates were judged on different groups, or a loss is NaN.
    """
    first = next(iter(losses))
    for name, by_group in losses.items():
        if set(by_group) != set(losses[first]):
            other = sorted(set(by_group) ^ set(losses[first]))
            raise ScoreError(f"candidates {first} and {name} were judged on different groups ({', '.join(other[:3])} "
                             "by one only); they cannot be compared.")
        undefined = sorted(group for group, loss in by_group.items() if loss != loss)
        if undefined:
            raise ScoreError(f"candidate {name} has no loss on group {undefined[0]}: nothing in it can be scored. Lock "
                             "the group (split.locked_groups) or judge by another loss.")
    totals = {name: sum((by_group[group] for group in sorted(by_group)), start=Fraction(0))
              for name, by_group in losses.items()}
    return Choice(min(totals, key=lambda name: totals[name]), totals, len(losses[first]))
