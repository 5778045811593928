"""The first screen: the answer in plain words, and the warnings that matter."""

from __future__ import annotations

from math import isfinite

import pandas as pd

from segcv.reporting.about_leaks import certain_leaks
from segcv.reporting.evidence import Evidence
from segcv.reporting.markdown import SHOWN_NAME
from segcv.reporting.numbers import estimate_text, percent_text, score_text
from segcv.reporting.section import Block, Bullets, Facts, Headline, Paragraph, Section
from segcv.reporting.sentences import say
from segcv.statistics import Estimate, Summary

SECOND_READER = "second reader"          # the rung of the ladder that is a person: the ceiling, not a baseline
MOST = 0.5
SHOWN_PIECES = 2


def answer(evidence: Evidence) -> Section:
    """The number to expect with its interval, for whom, the worst group, and marks that must not be missed."""
    blocks: list[Block] = [Paragraph(mark, strong=True) for mark in marks(evidence)]
    cautions: list[str] = []
    if evidence.summary is not None:
        blocks += _expected(evidence, evidence.summary)
        cautions += [*evidence.torn_levels, *evidence.summary.cautions]
    for result in evidence.results:
        blocks.append(Paragraph(say("results_expect", candidate=result.candidate, folds=result.statistics.folds,
                                    unit=evidence.unit, value=estimate_text(result.mean))))
        cautions += [text for text in result.cautions if text not in cautions]
    if evidence.results:
        blocks.append(Paragraph(say("results_only")))
    if cautions:
        blocks += [Paragraph(say("cautions")), Bullets(tuple(cautions))]
    return Section(say("answer"), tuple(blocks))


def marks(evidence: Evidence) -> tuple[str, ...]:
    """What must be seen before any number: leaks, known groups, no proof, missing runs, look-alikes."""
    said = [say("mark_leaking")] if evidence.leaking else []
    said += [say("mark_known")] if evidence.known_groups else []
    said += [say("mark_unproven", runs=evidence.unproven)] if evidence.unproven else []
    said += [say("mark_unproven_there", runs=evidence.unproven_there)] if evidence.unproven_there else []
    leaks = certain_leaks(evidence)
    said += [say("mark_audit", leaks=leaks)] if leaks else []
    missing, runs = missing_and_runs(evidence)
    if missing:
        said.append(say("mark_missing", missing=missing, all=missing + runs))
    if evidence.images is not None and "group_evidence" in evidence.images:
        alike = near_duplicates(evidence.images)
        if alike:
            said.append(say("mark_duplicates", images=alike))
    if evidence.excluded is not None and evidence.summary is not None and evidence.with_excluded is not None:
        said.append(say("mark_excluded", images=len(evidence.excluded), value=estimate_text(evidence.with_excluded),
                        without=estimate_text(evidence.summary.headline)))
    return (*said, *evidence.marks)


def near_duplicates(images: pd.DataFrame) -> int:
    """How many images are in their group because they look like another image."""
    return int(images["group_evidence"].astype("str").str.startswith("near-duplicate").sum())


def missing_and_runs(evidence: Evidence) -> tuple[int, int]:
    """Numbers of missing and of finished runs, over all candidates."""
    if evidence.summary is not None:
        return len(evidence.summary.missing), evidence.summary.runs
    return sum(len(each.missing) for each in evidence.results), sum(len(each.table) for each in evidence.results)


def _expected(evidence: Evidence, summary: Summary) -> list[Block]:
    """The number with what it is a number of; then, under their questions, how sure, beside what, and what to do."""
    headline, bounded = summary.headline, summary.bounded
    models = say("one_model") if summary.runs == 1 else say("many_models", runs=summary.runs)
    first = bounded if summary.bounded_first and summary.target in ("equal_group", "group_pooled") else headline
    sure = (say("sure", low=score_text(first.low), high=score_text(first.high), level=f"{100 * first.level:.0f}")
            if first.has_interval else say("no_interval", why=first.note))
    asked: list[tuple[str, str]] = [("q_sure", (
        say("few_groups", method=bounded.method, target=bounded.target, value=estimate_text(headline),
            usual=headline.method) if first is bounded else
        say("bounded", value=estimate_text(bounded), method=bounded.method, target=bounded.target,
            level=f"{100 * headline.level:.0f}")))]
    asked += [("q_groups", text) for text in _groups(summary)]
    if summary.leak is not None:
        gap = summary.leak.difference
        key = {"flatters": "random_said", "lower": "random_lower", "nothing": "random_nothing"}.get(
            summary.leak.reading, "random_open")
        asked.append(("q_random", say(key, random=estimate_text(summary.leak.random),
                                      difference=estimate_text(gap))))
    if evidence.cohort is not None and evidence.cohort.drop:
        there = evidence.cohort.targets["equal_group"][0]
        asked.append(("q_external", say("external_said", value=estimate_text(there),
                                        difference=estimate_text(evidence.cohort.drop["equal_group"]))))
    asked += [("q_spread", text) for text in _spread(summary)]
    if summary.trivial is not None and summary.above_trivial is not None:
        asked.append(("q_beside", say("above_trivial", trivial=estimate_text(summary.trivial),
                                      difference=estimate_text(summary.above_trivial))))
    reader = second_reader(summary)
    if reader is not None:
        asked.append(("q_beside", say("reader_said", reader=estimate_text(reader[0]),
                                      difference=estimate_text(reader[1]))))
    if summary.metric in ("iou", "dice"):
        asked.append(("q_unit", say(f"unit_{summary.metric}")))
    asked.append(("q_next", _next(summary)))
    facts = {question: " ".join(text for each, text in asked if each == question) for question, _ in asked}
    return [
        Headline(headline.unit, score_text(first.value), sure),
        Paragraph(say("expect_known" if evidence.known_groups else "expect", unit=headline.unit,
                      value=estimate_text(first), groups=headline.groups, weighting=say(summary.target),
                      models=models)),
        Facts(tuple((say(question, unit=headline.unit), text) for question, text in facts.items()))]


def _next(summary: Summary) -> str:
    """What to do next: finish the sweep, or what the spread speaks for."""
    if len(summary.missing):
        return say("next_finish")
    if summary.sources is None:
        return say("no_variance")
    step = summary.sources.next_step.removeprefix("Next: ")
    pieces = [f"{piece.action[:1].upper()}{piece.action[1:]}: {piece.how}." for piece in summary.sources.advice]
    return " ".join([*pieces[:SHOWN_PIECES], say("next_step", step=step[:1].upper() + step[1:])])


def second_reader(summary: Summary) -> tuple[Estimate, Estimate] | None:
    """The second reader's score against the same masks, and this model minus it, where there is one."""
    for name, own, gain in summary.ladder:
        if name == SECOND_READER and gain is not None:
            return own, gain
    return None


def _groups(summary: Summary) -> list[str]:
    """How far single groups lie apart, and the hardest."""
    scores = summary.groups["score"].dropna()
    if not len(scores):
        return []
    worst = summary.groups.iloc[0]
    said = [] if len(scores) < 2 else [say(
        "one_group", low=score_text(float(scores.min())), median=score_text(float(scores.median())),
        high=score_text(float(scores.max())), groups=len(scores))]
    return [*said, say("worst_group", group=short_name(worst["group_id"]), value=score_text(worst["score"]),
                       images=int(worst["images"]))]


def _spread(summary: Summary) -> list[str]:
    """Which part makes most of the spread over folds; nothing where the parts cannot be told apart."""
    if summary.sources is None:
        return []
    shares = summary.sources.components["equal_group"].shares
    known = {name: each for name, each in shares.items() if isfinite(each.value)}
    if len(known) < len(shares):
        return []
    name, most = max(known.items(), key=lambda item: item[1].value)
    between = (f" ({percent_text(most.low)} to {percent_text(most.high)})" if most.has_interval
               else f" ({most.note})")
    key = "spread_mostly" if most.has_interval and most.low > MOST else "spread_largest"
    return [say(key, part=say(f"part_{name}"), share=percent_text(most.value) + between)]


def short_name(name: object) -> str:
    """A name as it may stand in a sentence: shortened in the middle, blank ones said so."""
    shown = str(name)
    if not shown.strip():
        return say("blank")
    return shown if len(shown) <= SHOWN_NAME else f"{shown[:SHOWN_NAME // 2]}…{shown[-SHOWN_NAME // 2 + 1:]}"
