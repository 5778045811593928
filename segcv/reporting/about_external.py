"""The section about an external cohort: what frozen models score there, and what was lost since cross-validation."""

from __future__ import annotations

from segcv.reporting.evidence import Evidence
from segcv.reporting.frames import estimates_table
from segcv.reporting.numbers import estimate_text
from segcv.reporting.section import Block, Paragraph, Section
from segcv.reporting.sentences import say


def external(evidence: Evidence) -> Section:
    """Intervals over groups for these models, Hoeffding's beside, the drop, and for whom all this is valid."""
    found = evidence.cohort
    if found is None:
        return Section(say("external"), (Paragraph(say("no_external")),))
    blocks: list[Block] = [
        Paragraph(say("external_is", networks=found.networks, groups=found.groups, images=found.images,
                      valid=found.valid_for), strong=True),
        estimates_table(((each.target, each) for estimates in found.targets.values() for each in estimates),
                        name="external", title=say("external_table"), first="target")]
    if evidence.unproven_there:
        blocks.insert(0, Paragraph(say("mark_unproven_there", runs=evidence.unproven_there), strong=True))
    if found.drop:
        blocks += [Paragraph(say("external_drop", value=estimate_text(found.drop["equal_group"]))),
                   estimates_table(((each.target, each) for each in found.drop.values()), name="external_drop",
                                   title=say("external_drops"), first="what")]
    blocks += [Paragraph(note) for note in dict.fromkeys(
        each.note for estimates in found.targets.values() for each in estimates if each.has_interval and each.note)]
    if not evidence.cohort_named:
        blocks.insert(0, Paragraph(say("without_folds_is")))
    return Section(say("external" if evidence.cohort_named else "without_folds"), tuple(blocks))
