"""Sections about classes that are confused, pictures, and what the evaluation cannot say."""

from __future__ import annotations

import pandas as pd

from segcv.reporting.evidence import Evidence, fold_score
from segcv.reporting.figures import confusion_figure
from segcv.reporting.frames import frame_table
from segcv.reporting.numbers import estimate_text, score_text
from segcv.reporting.section import Block, Bullets, Commands, Format, Gallery, Paragraph, Section, Table
from segcv.reporting.sentences import column, say
from segcv.statistics import Summary

SOFTWARE = ("segcv", "python", "torch", "numpy", "scipy")


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
    return Section(say("gallery"), (Paragraph(say("gallery_read")),
                                    Gallery("pictures", evidence.pictures, evidence.legend)))


def labels(evidence: Evidence) -> Section:
    """Images whose truth looks wrong, to be looked at and labelled again, and how to leave them out."""
    found = evidence.suspects
    if found is None or found.empty:
        return Section(say("labels"), (Paragraph(say("no_suspects" if found is not None else "suspects_unknown")),))
    again: tuple[Block, ...] = (
        (Paragraph(say("suspects_next")), Commands((evidence.exclude_command,))) if evidence.exclude_command else ())
    return Section(say("labels"), (Paragraph(say("suspects_read", images=len(found))), suspects_table(found), *again))


def suspects_table(found: pd.DataFrame) -> Table:
    """The images whose truth looks wrong, with what speaks for it."""
    numbers: dict[str, Format] = {"fold": "count", "score": "score", "sure": "number", "specks": "number",
                                  "ragged": "number"}
    return frame_table(found, name="relabel", title=say("suspects"), why=say("why_one_image"), formats=numbers)


def limits(evidence: Evidence) -> Section:
    """What the numbers do not cover, and a paragraph that states design, target, intervals and software."""
    told = [say("limit_known_groups" if evidence.known_groups else "limit_known"), say("limit_sensor"),
            say("limit_labels")]
    if evidence.split.get("name") not in ("time", "known_groups"):
        told.insert(0, say("limit_time"))
    blocks: list[Block] = [Bullets(tuple(told))]
    summary = evidence.summary
    if summary is not None:
        blocks += [Paragraph(say("methods")), Paragraph(methods(evidence, summary))]
    return Section(say("limits"), tuple(blocks))


def methods(evidence: Evidence, summary: Summary) -> str:
    """Design, target, intervals and software as sentences of a paper."""
    headline, versions = summary.headline, evidence.software
    design = "leaking" if evidence.leaking else "known" if evidence.known_groups else "groups"
    said = [
        say("methods_design", folds=summary.folds, groups=summary.profile.groups, images=summary.profile.images,
            repeats=say("once") if summary.repeats == 1 else say("times", number=summary.repeats),
            seeds=", ".join(map(str, summary.seeds)), split=evidence.split.get("name", "n/a"),
            design=say(f"methods_{design}")),
        say("methods_target", target=summary.target, unit=headline.unit, policy=summary.policy,
            value=estimate_text(headline), method=headline.method or "n/a", bounded=estimate_text(summary.bounded),
            bound=summary.bounded.method or "n/a", score=column(fold_score(summary)),
            sd=score_text(summary.fold_statistics.sd_over_folds), mean=score_text(summary.fold_statistics.mean))]
    if summary.recipe.has_interval:
        said.append(say("methods_recipe", value=estimate_text(summary.recipe), method=summary.recipe.method))
    if evidence.excluded is not None and evidence.with_excluded is not None:
        said.append(say("methods_excluded", images=len(evidence.excluded), value=estimate_text(evidence.with_excluded)))
    shown = ", ".join(f"{name} {versions[name]}" for name in SOFTWARE if name in versions)
    ids = ", ".join(f"{name} {value}" for name, value in evidence.fingerprints.items() if name != "recipe_id")
    return " ".join([*said, say("methods_software", software=shown or "segcv", ids=ids or "n/a")])
