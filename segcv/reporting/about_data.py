"""Sections about the input: data and groups, the split."""

from __future__ import annotations

import pandas as pd

from segcv.reporting.about_leaks import said_of_audit
from segcv.reporting.answer import near_duplicates, short_name
from segcv.reporting.evidence import Evidence
from segcv.reporting.figures import weight_figure
from segcv.reporting.frames import frame_table, mapping_table
from segcv.reporting.numbers import estimate_text, number_text, percent_text
from segcv.reporting.section import Block, Bullets, Paragraph, Section
from segcv.reporting.sentences import say


def data(evidence: Evidence) -> Section:
    """The input line, how groups were formed, their sizes, how alike their images score, class shares by group."""
    blocks: list[Block] = []
    summary = evidence.summary
    if summary is not None:
        profile, images = summary.profile, evidence.images
        blocks.append(Paragraph(say(
            "input", source=evidence.source or "n/a", data_id=evidence.fingerprints.get("data_id", "n/a"),
            images=profile.images if images is None else len(images),
            groups=profile.groups if images is None else images["group_id"].nunique())))
        blocks += _formed(images)
        blocks.append(Paragraph(say(
            "sizes", smallest=profile.smallest, largest=profile.largest, median=number_text(profile.median),
            largest_group=short_name(profile.largest_group), share=percent_text(profile.largest_share),
            effective=f"{profile.effective:.1f}")))
        blocks.append(Paragraph(say("icc", icc=estimate_text(profile.icc), verdict=profile.verdict,
                                    effect=number_text(round(profile.design_effect, 1)))))
        blocks.append(weight_figure(summary))
        blocks += [Paragraph(line) for line in (*_alike(images), said_of_audit(evidence))]
        if evidence.excluded is not None:
            blocks.append(frame_table(evidence.excluded, name="excluded", title=say("excluded_table")))
        if summary.shares is not None:
            shown = summary.shares.assign(group_id=summary.shares["group_id"].replace("", say("all_groups")))
            blocks.append(frame_table(shown, name="class_shares", title=say("shares"), why=say("why_shares"),
                                      formats=dict.fromkeys(summary.class_names, "percent")))
    return Section(say("data"), tuple(blocks))


def split(evidence: Evidence) -> Section:
    """How the folds were cut, and how well they are balanced."""
    blocks: list[Block] = []
    if evidence.split:
        blocks.append(mapping_table(evidence.split, name="split", title="", columns=("setting", "value")))
    if evidence.balance is not None:
        blocks.append(frame_table(evidence.balance, name="balance", title=say("balance"), why=say("why_shares")))
    else:
        blocks.append(Paragraph(say("no_balance")))
    return Section(say("split"), tuple(blocks))


def _alike(images: pd.DataFrame | None) -> list[str]:
    """How many images were tied to another because the two look alike."""
    if images is None or "group_evidence" not in images:
        return []
    alike = near_duplicates(images)
    return [say("alike", images=alike) if alike else say("none_alike")]


def _formed(images: pd.DataFrame | None) -> list[Block]:
    if images is None or "group_evidence" not in images:
        return [Paragraph(say("evidence_unknown"))]
    kind = images["group_evidence"].astype("str").str.replace(r"^near-duplicate of .*", "near-duplicate", regex=True)
    counted = kind.replace("", say("blank")).value_counts().sort_index().sort_values(ascending=False, kind="stable")
    return [Paragraph(say("formed")), Bullets(tuple(f"{name}: {number}" for name, number in counted.items()))]
