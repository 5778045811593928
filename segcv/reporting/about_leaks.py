"""The section about leaks: what the audit of these data and this split found."""

from __future__ import annotations

from segcv.reporting.evidence import Evidence
from segcv.reporting.section import Block, Bullets, Commands, Paragraph, Section
from segcv.reporting.sentences import say

FAIL = "fail"


def audit(evidence: Evidence) -> Section:
    """The findings with what to do, or the command that looks for them."""
    if evidence.findings is None:
        return Section(say("audit"), (Paragraph(say("no_audit")), Commands((evidence.audit_command,))))
    found = evidence.findings
    if found.empty:
        return Section(say("audit"), (Paragraph(say("audit_clean")),))
    blocks: list[Block] = []
    for severity in ("fail", "warn", "note"):
        rows = found[found["severity"].eq(severity)]
        if len(rows):
            blocks += [Paragraph(say(f"audit_{severity}")),
                       Bullets(tuple(f"{check}: {what}. {remedy}" for check, what, remedy in
                                     rows[["check", "what", "remedy"]].itertuples(index=False)))]
    return Section(say("audit"), tuple(blocks))


def certain_leaks(evidence: Evidence) -> int:
    """How many certain leaks the audit found."""
    return 0 if evidence.findings is None else int(evidence.findings["severity"].eq(FAIL).sum())


def said_of_audit(evidence: Evidence) -> str:
    """One sentence for the data card: how many findings of which weight, or that nobody looked."""
    if evidence.findings is None:
        return say("audit_not_run", command=evidence.audit_command)
    if evidence.findings.empty:
        return say("audit_clean")
    found = evidence.findings["severity"].value_counts()
    return say("audit_counts", **{name: int(found.get(name, 0)) for name in ("fail", "warn", "note")})
