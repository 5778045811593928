"""Sections about the held-out scores: folds, averages, percentiles and worst, undefined cells."""

from __future__ import annotations

import numpy as np
import pandas as pd

from segcv.reporting.evidence import Evidence, fold_score
from segcv.reporting.figures import groups_figure, ladder_figure, profile_figure, strip_figure
from segcv.reporting.frames import estimates_table, frame_table
from segcv.reporting.numbers import estimate_text, score_text
from segcv.reporting.section import Block, Paragraph, Section
from segcv.reporting.sentences import column, say
from segcv.statistics import Summary, fold_summary

OVER_FOLDS = ["score", "mean", "sd_over_folds", "standard_error", "low", "P10", "P50", "P90", "high", "folds",
              "undefined", "sd_over_seeds", "sd_over_repeats"]


def folds(evidence: Evidence) -> Section:
    """The per-fold table with each class, then mean, SD (n-1), minimum and maximum over folds."""
    blocks: list[Block] = []
    if evidence.summary is not None:
        summary = evidence.summary
        blocks.append(strip_figure(summary))
        blocks += _folds(summary.fold_table, summary.fold_summary)
        note = say("fold_interval", score=column(fold_score(summary)), value=estimate_text(summary.fold_mean),
                   method=summary.fold_mean.method, note=summary.fold_mean.note)
        blocks += [Paragraph(note),
                   estimates_table(summary.classes.items(), name="classes", title=say("by_class"), first="class")]
    for result in evidence.results:
        table = result.table[["candidate", "repeat", "fold", "seed", "score"]]
        suffix = result.candidate if len(evidence.results) > 1 else ""
        blocks += _folds(table, fold_summary(table, ["score"]), suffix=suffix)
        blocks.append(Paragraph(say("fold_interval", score=evidence.unit, value=estimate_text(result.mean),
                                    method=result.mean.method, note=result.mean.note)))
    return Section(say("folds"), tuple(blocks))


def averages(evidence: Evidence) -> Section:
    """Every average under its name and policy, the span over policies, and the Estimates of the four targets."""
    if evidence.summary is None:
        return Section(say("averages"), ())
    summary = evidence.summary
    table = summary.averages
    named = table[table["average"].isin([f"m{summary.metric}_{kind}" for kind in ("pooled", "image", "class")])]
    numbers = named[["union", "truth", "zero", "one"]].to_numpy(dtype=float)
    blocks: list[Block] = [
        Paragraph(say("averages_policy", policy=summary.policy)),
        frame_table(table, name="averages", title=say("averages_by_policy"), why=say("why_averages"))]
    if np.isfinite(numbers).any():
        low, high = (score_text(float(end(numbers))) for end in (np.nanmin, np.nanmax))
        blocks.append(Paragraph(say("span_over", prefix=summary.headline.unit, low=low, high=high)))
    listed = ((each.target, each) for estimates in summary.targets.values() for each in estimates)
    blocks.append(ladder_figure(summary))
    blocks.append(estimates_table(listed, name="estimates", title=say("targets"), first="target"))
    return Section(say("averages"), tuple(blocks))


def hard(evidence: Evidence) -> Section:
    """P10, P50 and P90 over images and groups, then groups and images from the worst, with their ids."""
    if evidence.summary is None:
        return Section(say("hard"), ())
    summary = evidence.summary
    return Section(say("hard"), (
        groups_figure(summary), profile_figure(summary),
        estimates_table(((each.target, each) for each in summary.percentiles), name="percentiles",
                        title=say("percentiles"), first="percentile"),
        frame_table(summary.groups, name="groups", title=say("worst_groups"), why=say("why_one_group"),
                    formats={"fold": "count"}),
        frame_table(_defined_first(summary), name="images", title=say("worst_images"), why=say("why_one_image"))))


def undefined(evidence: Evidence) -> Section:
    """Counts of hit, missed, falsely seen and absent cells of each class, and images without a score."""
    if evidence.summary is None:
        return Section(say("undefined"), ())
    blocks: list[Block] = [frame_table(evidence.summary.undefined, name="undefined", title=say("undefined_cells"),
                                       why=say("why_rates"))]
    images = evidence.summary.headline.undefined
    blocks.append(Paragraph(say("undefined_images", images=images)))
    return Section(say("undefined"), tuple(blocks))


def _folds(table: pd.DataFrame, over: pd.DataFrame, *, suffix: str = "") -> list[Block]:
    end = f"_{suffix}" if suffix else ""
    fold = table.groupby(["repeat", "fold"])[over["score"].tolist()].mean().astype(float)      # seeds averaged
    spread = {f"P{percent}": fold.quantile(percent / 100).to_numpy() for percent in (10, 50, 90)}
    named = over.assign(**spread)[OVER_FOLDS].assign(score=over["score"].map(column))
    return [frame_table(table, name=f"folds{end}", title=say("by_fold"), why=say("why_run")),
            frame_table(named, name=f"over_folds{end}", title=say("over_folds"), why=say("why_over_folds")),
            Paragraph(f"{say('sd_note')} {say('sd_unknown')}")]


def _defined_first(summary: Summary) -> pd.DataFrame:
    """Images from the lowest score, those without one last."""
    return summary.images[["image_id", "group_id", "fold", "score", "runs"]]
