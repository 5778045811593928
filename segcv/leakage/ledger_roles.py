"""A unit that chose, calibrated or trained a model and also judged it, told from the ledger of roles."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from segcv.leakage.facts import Facts
from segcv.leakage.finding import FAIL, SHOWN, Finding
from segcv.leakage.words import some

NAME = "ledger_roles"
MEANING = {"B": "base fit", "C": "calibration", "V": "choice of the model", "O": "outer score"}


def find(facts: Facts) -> Iterator[Finding]:
    """Fail for O beside any other role in an outer fold, and for two roles in one fit; other outer folds are free."""
    assert facts.ledger is not None
    ledger = facts.ledger
    outside = ledger.loc[ledger["role"].eq("O"), ["outer", "group_id"]].drop_duplicates()
    inside = ledger[ledger["role"].ne("O")]
    both = outside.merge(inside, on=["outer", "group_id"])
    if len(both):
        cases = both.groupby(["outer", "group_id"])["role"].agg(lambda roles: sorted(set(roles))).reset_index()
        told = [f"{unit} in outer fold {outer} (roles {' and '.join([*roles, 'O'])})"
                for outer, unit, roles in cases.itertuples(index=False)]
        roles = sorted(set(both["role"]))
        yield Finding(
            NAME, "outer", FAIL,
            f"{some(told)}: used for {' and '.join(MEANING[role] for role in roles)} and for the outer score",
            "Whoever helped to make or to choose the model cannot also judge it; the outer score is too good.",
            "Give the unit one part per outer fold: take it out of the inner roles, or out of O.",
            evidence="the ledger", held_out_touched=len(cases), held_out=len(outside), examples=tuple(told[:SHOWN]))
    fits = ledger[ledger["fit_id"].ne("") & ledger["role"].ne("O")].drop_duplicates(["fit_id", "group_id", "role"])
    twice = fits[fits.duplicated(["fit_id", "group_id"], keep=False)]
    if len(twice):
        told = _pairs(twice)
        yield Finding(
            NAME, "fit", FAIL, f"{some(told)}: one unit in two parts of one fit",
            "What is calibrated or chosen on training data of the same fit is tuned to noise the fit has learnt.",
            "Give each unit one role per fit.", evidence="the ledger", examples=tuple(told[:SHOWN]))


def _pairs(twice: pd.DataFrame) -> list[str]:
    return [f"{unit} in {fit} (roles {' and '.join(sorted(rows['role']))})"
            for (fit, unit), rows in twice.groupby(["fit_id", "group_id"])]
