"""What a check has to say: one Finding per subject, and the table and JSON they are written as."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from segcv.tables import FINDINGS, write_json

FAIL, WARN, NOTE = "fail", "warn", "note"      # a certain leak; a suspicion; good to know
SEVERITIES = (FAIL, WARN, NOTE)
SHOWN = 5                                      # examples kept in a finding


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was found. `what` is a sentence with its numbers; `remedy` is what to do, or to type."""

    check: str
    subject: str                     # what the finding is about: a level, a pair of sides, a run
    severity: str
    what: str
    why_it_matters: str
    remedy: str
    evidence: str = ""               # how it was told
    held_out_touched: int | None = None        # held-out images, counted once per fold
    held_out: int | None = None                # all held-out images, counted once per fold
    examples: tuple[str, ...] = ()
    measures: Mapping[str, Any] = field(default_factory=dict)      # plain numbers, for other programs

    @property
    def share(self) -> float:
        """Share of the held-out images that are touched, in [0, 1]; NaN where that is not the question."""
        if self.held_out_touched is None or not self.held_out:
            return float("nan")
        return self.held_out_touched / self.held_out

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self) | {"share": self.share, "examples": list(self.examples), "measures": dict(self.measures)}


def findings_table(findings: Sequence[Finding]) -> pd.DataFrame:
    """FINDINGS, in the order given."""
    return FINDINGS.check(pd.DataFrame([
        {"check": one.check, "subject": one.subject, "severity": one.severity, "what": one.what,
         "why_it_matters": one.why_it_matters, "evidence": one.evidence, "remedy": one.remedy,
         "held_out_touched": one.held_out_touched, "held_out": one.held_out, "share": one.share,
         "examples": "; ".join(one.examples)}
        for one in findings], columns=[column.name for column in FINDINGS.columns]), where="findings")


def write_findings(folder: Path, findings: Sequence[Finding]) -> None:
    """Write findings.csv and findings.json into `folder`."""
    FINDINGS.write(findings_table(findings), folder / "findings.csv")
    write_json(folder / "findings.json", [one.to_json() for one in findings])
