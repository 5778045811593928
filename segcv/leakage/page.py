"""The findings for a person: one short page for the terminal, and the same with all details as Markdown."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from segcv.leakage.checks import Audit
from segcv.leakage.finding import FAIL, NOTE, WARN, Finding

WIDTH = 116
SIGNS = {FAIL: "error", WARN: "warning", NOTE: "note"}
LACKS = {"folds": "no folds were named", "ledger": "no ledger was named", "runs": "no runs were named",
         "looks": "images were not read", "profile": "images were not read", "masks": "masks were not read",
         "images": "no data were named"}


def audit_page(done: Audit, *, heading: Sequence[str]) -> str:
    """The page: what was looked at, each finding on one line with its reason and its cure, and the verdict."""
    lines = [*heading, ""]
    for finding in done.findings:
        lines.append(f"{SIGNS[finding.severity]}: {finding.check}: {finding.what}")
        if finding.severity != NOTE:
            lines += _inset("why:   ", finding.why_it_matters)
        lines += _inset("do:    ", finding.remedy)
        if finding.examples:
            lines += _inset("e.g.   ", "; ".join(finding.examples[:3]))
    if done.silent:
        lines += ["", *textwrap.wrap(f"Nothing found by: {', '.join(done.silent)}.", WIDTH)]
    if done.skipped:
        why = ", ".join(sorted({LACKS[part] for parts in done.skipped.values() for part in parts}))
        lines += textwrap.wrap(f"Not looked at ({why}): {', '.join(done.skipped)}.", WIDTH)
    return "\n".join([*lines, "", verdict(done)])


def verdict(done: Audit) -> str:
    """One line: what it comes to."""
    counts = {severity: sum(finding.severity == severity for finding in done.findings) for severity in SIGNS}
    told = (f"{counts[FAIL]} certain {'leak' if counts[FAIL] == 1 else 'leaks'}, {counts[WARN]} "
            f"{'warning' if counts[WARN] == 1 else 'warnings'}, {counts[NOTE]} "
            f"{'note' if counts[NOTE] == 1 else 'notes'}")
    return f"{'FAIL' if done.failed else 'PASS'}: {told}"


def audit_markdown(done: Audit, *, heading: Sequence[str]) -> str:
    """The findings with all they hold, as Markdown."""
    parts = ["# Audit", "", *heading, "", f"**{verdict(done)}**", ""]
    for finding in done.findings:
        parts += [f"## {SIGNS[finding.severity]}: {finding.check} ({finding.subject})", "", f"{finding.what}.", "",
                  *_table(finding), ""]
        if finding.examples:
            parts += [*(f"- {example}" for example in finding.examples), ""]
    parts += [f"Nothing found by: {', '.join(done.silent) or 'none'}.", ""]
    if done.skipped:
        parts += ["Not looked at: " + "; ".join(
            f"{name} ({', '.join(LACKS[part] for part in parts_)})" for name, parts_ in done.skipped.items()) + ".", ""]
    return "\n".join(parts)


def _table(finding: Finding) -> list[str]:
    rows = [("why it matters", finding.why_it_matters), ("what to do", finding.remedy),
            ("told by", finding.evidence)]
    if finding.held_out_touched is not None and finding.held_out:
        rows.append(("held-out images touched", f"{finding.held_out_touched} of {finding.held_out} "
                                                f"({100 * finding.share:.3g} %)"))
    return ["| | |", "|---|---|", *(f"| {name} | {text} |" for name, text in rows if text)]


def _inset(head: str, text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=f"    {head}", subsequent_indent=" " * (4 + len(head)),
                         break_long_words=False, break_on_hyphens=False)
