"""Sections about what the scores stand beside, and about the runs: baselines, missing cells, how to reproduce."""

from __future__ import annotations

import re

import pandas as pd

from segcv.reporting.answer import SECOND_READER, second_reader
from segcv.reporting.evidence import Evidence
from segcv.reporting.frames import estimates_table, frame_table, mapping_table
from segcv.reporting.numbers import estimate_text, score_text
from segcv.reporting.section import Block, Bullets, Commands, Paragraph, Section, Table, estimate, text
from segcv.reporting.sentences import column, say
from segcv.statistics import Summary


def trivial(evidence: Evidence) -> Section:
    """The ladder from a predictor that looks at nothing to a second reader, then the trivial one fold by fold."""
    summary = evidence.summary
    if summary is None:
        return Section(say("trivial"), (Paragraph(say("no_trivial")),))
    rungs = sorted(summary.ladder, key=lambda rung: rung[0] == SECOND_READER)
    rows = tuple((text(name), estimate(own), text("–") if above is None else estimate(above))
                 for name, own, above in rungs)
    blocks: list[Block] = [
        Table("ladder", (say("rung"), say("rung_score"), say("rung_gain")), rows, say("ladder"),
              "see the note of each"),
        Paragraph(say("ladder_read"))]
    if second_reader(summary) is None:
        blocks.append(Paragraph(say("no_reader")))
    if summary.trivial_folds is None or summary.above_trivial is None:
        return Section(say("trivial"), (*blocks, Paragraph(say("no_trivial"))))
    places = ["repeat", "fold", "seed"]
    both = summary.fold_table[[*places, "miou_pooled", "mdice_pooled"]].merge(
        summary.trivial_folds[[*places, "miou_pooled", "mdice_pooled"]], on=places, suffixes=("", " trivial"))
    both = both.rename(columns={f"{name} trivial": f"{column(name)} trivial"
                                for name in ("miou_pooled", "mdice_pooled")})
    return Section(say("trivial"), (
        *blocks, frame_table(both, name="trivial", title=say("trivial_folds"), why=say("why_run")),
        Paragraph(say("trivial_difference", value=estimate_text(summary.above_trivial)))))


def train(evidence: Evidence) -> Section:
    """The same score on training and held-out images: a wide gap is memory, two low ones are too little training."""
    summary = evidence.summary
    if summary is None or summary.train is None:
        return Section(say("train"), (Paragraph(say("no_train")),))
    named = summary.train.assign(score=summary.train["score"].map(column))
    blocks: list[Block] = [frame_table(named, name="train", title=say("train_table"), why=say("why_run"))]
    blocks += [Paragraph(say("train_gap", gap=score_text(float(rows["gap"].mean())), score=column(str(name))))
               for name, rows in summary.train.groupby("score", sort=True)]
    return Section(say("train"), tuple(blocks))


def leak(evidence: Evidence) -> Section:
    """What the same recipe scores under a split that ignores groups, or what to type to see it."""
    summary = evidence.summary
    if summary is None or summary.leak is None:
        folds = summary.folds if summary is not None else 5
        told = " ".join(evidence.commands[:1]) or "python -m segcv.train -m"
        if not told.startswith("python -m segcv.train"):
            return Section(say("leak"), (Paragraph(say("no_leak_elsewhere")),))
        rest = re.sub(r" (split|split\.folds|fold|seed|repeat)=\S+", "", told)
        listed = ",".join(map(str, range(folds)))
        command = f"{rest} split=random_kfold split.folds={folds} fold={listed}"
        return Section(say("leak"), (Paragraph(say("no_leak")), Commands((command,))))
    gap = summary.leak
    named = ((each.target, each) for each in (gap.random, gap.group, gap.difference))
    return Section(say("leak"), (Paragraph(gap.verdict), estimates_table(
        named, name="leak_gap", title=say("leak_table"), first="what")))


def missing(evidence: Evidence) -> Section:
    """Which cells of repeat x fold x seed are missing, and the commands for them."""
    if evidence.summary is not None:
        summary = evidence.summary
        absent, rest = summary.missing, summary.rest
        whole = say("none_missing", runs=summary.runs, folds=summary.folds, repeats=summary.repeats,
                    seeds=_listed(summary.seeds) + (", one a repeat" if _own_seeds(summary) else ""))
    else:
        absent = pd.concat([each.missing.assign(candidate=each.candidate) for each in evidence.results],
                           ignore_index=True)
        rest = tuple(dict.fromkeys(line for each in evidence.results for line in each.rest))
        table = pd.concat([each.table for each in evidence.results])
        whole = say("none_missing", runs=len(table), folds=table["fold"].nunique(), repeats=table["repeat"].nunique(),
                    seeds=_listed(tuple(sorted(table["seed"].unique()))))
    if absent.empty:
        return Section(say("missing"), (Paragraph(whole),))
    return Section(say("missing"), (frame_table(absent, name="missing", title=say("missing_cells")),
                                    Paragraph(say("run_rest")), Commands(rest)))


def reproduce(evidence: Evidence) -> Section:
    """Model line, settings, software, seeds, fingerprints, and the commands."""
    blocks: list[Block] = [Paragraph(say("model", model=evidence.model))] if evidence.model else []
    level = 0.95
    if evidence.summary is not None:
        summary = evidence.summary
        level = summary.level
        blocks.append(Paragraph(say("run_line", runs=summary.runs, candidate=summary.candidate or "n/a",
                                    folds=summary.folds, repeats=summary.repeats, seeds=_listed(summary.seeds))))
    elif evidence.results:
        level = evidence.results[0].mean.level
    for name, values in (("fingerprints", evidence.fingerprints), ("settings", evidence.settings),
                         ("software", evidence.software)):
        if values:
            blocks.append(mapping_table(values, name=name, title=say(name), columns=("name", "value")))
    if evidence.notes:
        blocks += [Paragraph(say("notes")), Bullets(evidence.notes)]
    if evidence.commands:
        blocks += [Paragraph(say("to_reproduce")), Commands(evidence.commands)]
    blocks.append(Paragraph(say("how_made", level=f"{100 * level:.0f} %")))
    return Section(say("reproduce"), tuple(blocks))


def _own_seeds(summary: Summary) -> bool:
    """Whether each repeat has a seed of its own, so that the grid is not repeats times seeds."""
    return len(summary.seeds) > 1 and summary.runs + len(summary.missing) == summary.folds * summary.repeats


def _listed(numbers: tuple[int, ...]) -> str:
    return ",".join(map(str, numbers))
