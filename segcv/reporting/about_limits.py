"""Sections about classes that are confused, pictures, and what the evaluation cannot say."""

from __future__ import annotations

from segcv.reporting.evidence import Evidence
from segcv.reporting.figures import confusion_figure
from segcv.reporting.frames import frame_table
from segcv.reporting.numbers import estimate_text, score_text
from segcv.reporting.section import Block, Bullets, Gallery, Paragraph, Section
from segcv.reporting.sentences import say


def confusion(evidence: Evidence) -> Section:
    """Which class is taken for which: pixels of each true class by predicted class."""
    if evidence.confusion is None:
        return Section(say("confusion"), (Paragraph(say("no_confusion")),))
    table = evidence.confusion.rename_axis(say("axis_truth")).reset_index()
    return Section(say("confusion"), (
        confusion_figure(evidence.confusion),
        frame_table(table, name="confusion", formats=dict.fromkeys(evidence.confusion.columns, "count"))))


def gallery(evidence: Evidence) -> Section:
    """The worst, median and best images, and those where the truth looks wrong."""
    if not evidence.pictures:
        return Section(say("gallery"), (Paragraph(say("no_gallery")),))
    return Section(say("gallery"), (Gallery("pictures", evidence.pictures),))


def limits(evidence: Evidence) -> Section:
    """What the numbers do not cover, and a paragraph that states design, target, intervals and software."""
    told = [say("limit_known_groups" if evidence.known_groups else "limit_known"), say("limit_sensor"),
            say("limit_labels")]
    if evidence.split.get("name") not in ("time", "known_groups"):
        told.insert(0, say("limit_time"))
    blocks: list[Block] = [Bullets(tuple(told))]
    summary = evidence.summary
    if summary is not None:
        headline = summary.headline
        repeats = say("once") if summary.repeats == 1 else say("times", number=summary.repeats)
        blocks += [Paragraph(say("methods"), strong=False), Paragraph(say(
            "methods_text", folds=summary.folds, groups=summary.profile.groups, images=summary.profile.images,
            repeats=repeats, seeds=", ".join(map(str, summary.seeds)), split=evidence.split.get("name", ""),
            target=summary.target, unit=headline.unit, policy=summary.policy, value=estimate_text(headline),
            method=headline.method, sd=score_text(summary.fold_statistics.sd_over_folds),
            version=evidence.software.get("segcv", "")))]
    return Section(say("limits"), tuple(blocks))
