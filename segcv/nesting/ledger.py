"""Who was used for what: a row per fit and group, written while fits read, and the proof that roles kept apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from segcv.errors import SplitError
from segcv.tables import LEDGER

BASE, CALIBRATION, INNER, OUTER = "B", "C", "V", "O"


@dataclass(slots=True)
class Ledger:
    """Rows of (fit, group, role), added when a fit reads a row of the group."""

    _rows: dict[tuple[str, str, str], tuple[int, int | None, str, int]] = field(default_factory=dict)

    def note(self, fit_id: str, *, role: str, outer: int, inner: int | None, candidate: str,
             groups: Iterable[str]) -> None:
        """The fit has read these rows' groups (one entry per row read) in this role."""
        for group in groups:
            key = (fit_id, group, role)
            read = self._rows[key][3] if key in self._rows else 0
            self._rows[key] = (outer, inner, candidate, read + 1)

    @classmethod
    def of(cls, rows: Iterable[Mapping[str, Any]]) -> Ledger:
        """The ledger whose table has these rows."""
        return cls({(row["fit_id"], row["group_id"], row["role"]): (
            row["outer"], None if row["inner"] == -1 else row["inner"], row["candidate"], row["rows"]) for row in rows})

    def table(self) -> pd.DataFrame:
        """LEDGER, sorted by fit, group and role; inner is -1 for a refit, outer -1 for the delivered model."""
        return LEDGER.check(pd.DataFrame([
            {"fit_id": fit_id, "group_id": group, "role": role, "outer": outer, "inner": -1 if inner is None else inner,
             "candidate": candidate, "rows": rows}
            for (fit_id, group, role), (outer, inner, candidate, rows) in sorted(self._rows.items())
        ], columns=[column.name for column in LEDGER.columns]), where="ledger")


def refuse_shared_groups(ledger: pd.DataFrame) -> None:
    """Return when the ledger proves that every role kept to its own groups.

    Within a fit a group has one role; and within an outer fold no group that was judged outside (O) was in any other
    role, in any fit that led to that judgement.

    Raises:
        SplitError: the first group that played two parts, with both.
    """
    twice = ledger[ledger.duplicated(["fit_id", "group_id"], keep=False)].sort_values(["fit_id", "group_id", "role"])
    if len(twice):
        first = twice[twice["fit_id"].eq(twice["fit_id"].iloc[0]) & twice["group_id"].eq(twice["group_id"].iloc[0])]
        raise SplitError(f"group {first['group_id'].iloc[0]} has the roles {' and '.join(first['role'])} in the fit "
                         f"{first['fit_id'].iloc[0]}; a group plays one part.")
    outside = ledger.loc[ledger["role"].eq(OUTER), ["outer", "group_id"]].drop_duplicates()
    inside = ledger.loc[ledger["role"].ne(OUTER), ["outer", "group_id", "role", "fit_id"]]
    both = outside.merge(inside, on=["outer", "group_id"])
    if len(both):
        first_row = both.sort_values(["outer", "group_id", "role"]).iloc[0]
        raise SplitError(f"group {first_row['group_id']} judged outer fold {first_row['outer']} (role O) and was used "
                         f"before it as {first_row['role']} in the fit {first_row['fit_id']}.")
