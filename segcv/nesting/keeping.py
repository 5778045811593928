"""One fit's outcome as a file, so that a nested evaluation goes on where it was stopped."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from segcv.nesting.ledger import Ledger
from segcv.nesting.protocol import FitCounts, FitOutcome
from segcv.tables import read_json, write_json

OUTCOME = "outcome.json"


def write_outcome(folder: Path, outcome: FitOutcome) -> None:
    """Write the outcome into the fit's folder, last of its files: from now on the fit is made."""
    write_json(folder / OUTCOME, {
        "losses": {group: float(loss) for group, loss in outcome.losses.items()}, "fallback": outcome.fallback,
        "counts": asdict(outcome.counts), "ledger": outcome.ledger.table().to_dict("records"),
    })


def read_outcome(folder: Path) -> FitOutcome | None:
    """The outcome in the folder; None where the fit is not made."""
    if not (folder / OUTCOME).is_file():
        return None
    data = read_json(folder / OUTCOME)
    losses = {group: float("nan") if loss is None else loss for group, loss in data["losses"].items()}
    return FitOutcome(losses, data["fallback"], FitCounts(**data["counts"]), Ledger.of(data["ledger"]))
