"""Ledgers of roles: which unit was used for the base fit (B), calibration (C), choice (V) and outer score (O)."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from segcv.errors import SplitError
from segcv.tables import LEDGER, read_csv

LEDGER_ROLES = frozenset("BCVO")
_SYNONYMS = {"outer": ("outer", "outer_fold", "fold"), "group_id": ("group_id", "unit", "group")}


def is_ledger(path: Path) -> bool:
    """Is the file a ledger of roles: one of B, C, V, O per unit and outer fold?"""
    if path.suffix.lower() == ".parquet":
        return True
    if path.suffix.lower() != ".csv" or not path.is_file():
        return False
    frame = read_csv(path)
    return "role" in frame.columns and len(frame) > 0 and set(frame["role"].str.strip()) <= LEDGER_ROLES


def read_ledger(path: Path) -> pd.DataFrame:
    """fit_id, outer, group_id, role of a ledger; fit_id is "" where the file does not say which fit.

    Raises:
        SplitError: a column is missing or blank, or a role is none of B, C, V, O.
    """
    if not path.is_file():
        raise SplitError(f"roles={path}: there is no such file.")
    frame = LEDGER.read(path).astype("str") if path.suffix.lower() == ".parquet" else read_csv(path)
    found = {"role": "role"} | {name: next((one for one in names if one in frame.columns), "")
                                for name, names in _SYNONYMS.items()}
    missing = [name for name, column in found.items() if column not in frame.columns]
    if missing:
        raise SplitError(f"{path}: a ledger has group_id, outer and role; {missing[0]} is missing among "
                         f"{', '.join(frame.columns)}.")
    ledger = pd.DataFrame({name: frame[column].str.strip() for name, column in found.items()})
    ledger["fit_id"] = frame["fit_id"].str.strip() if "fit_id" in frame.columns else ""
    strange = sorted(set(ledger["role"]) - LEDGER_ROLES)
    if strange:
        raise SplitError(f"{path}: role {strange[0]!r} is none of B (base fit), C (calibration), V (choice), O (outer "
                         "score).")
    several = ledger["fit_id"].str.extract(r"^repeat-(\d+)/", expand=False)
    if several.nunique() > 1:                # outer folds of other repeats are other folds
        ledger["outer"] = ledger["outer"] + " of repeat " + several
    blank = [name for name in ("group_id", "outer") if ledger[name].eq("").any()]
    if blank:
        raise SplitError(f"{path}: {blank[0]} is blank in {int(ledger[blank[0]].eq('').sum())} of {len(ledger)} rows.")
    return ledger
