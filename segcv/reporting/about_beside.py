"""The section beside the overlap scores: probabilities and outlines, where the runs kept them."""

from __future__ import annotations

from segcv.reporting.evidence import Evidence
from segcv.reporting.frames import frame_table
from segcv.reporting.section import Block, Paragraph, Section
from segcv.reporting.sentences import say


def beside(evidence: Evidence) -> Section:
    """Calibration, ranking and outlines run by run, each with what it is to be read against."""
    blocks: list[Block] = []
    if evidence.probabilities is not None:
        blocks += [Paragraph(say("probabilities_read")),
                   frame_table(evidence.probabilities, name="probabilities", title=say("probabilities"),
                               why=say("why_run"))]
    if evidence.outlines is not None:
        numbers = evidence.outlines.columns.difference(["repeat", "fold", "seed", "metric", "missed", "false_alarm"])
        blocks += [Paragraph(say("outlines_read")),
                   frame_table(evidence.outlines, name="outlines", title=say("outlines"), why=say("why_run"),
                               formats=dict.fromkeys(map(str, numbers), "number"))]
    return Section(say("beside"), tuple(blocks) or (Paragraph(say("no_beside")),))
