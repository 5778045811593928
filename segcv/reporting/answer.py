"""The first screen: the answer in plain words, and the warnings that matter."""

from __future__ import annotations

from segcv.reporting.about_leaks import certain_leaks
from segcv.reporting.evidence import Evidence
from segcv.reporting.markdown import SHOWN_NAME
from segcv.reporting.numbers import estimate_text, score_text
from segcv.reporting.section import Block, Bullets, Paragraph, Section
from segcv.reporting.sentences import say
from segcv.statistics import Summary


def answer(evidence: Evidence) -> Section:
    """The number to expect with its interval, for whom, the worst group, and marks that must not be missed."""
    blocks: list[Block] = [Paragraph(mark, strong=True) for mark in marks(evidence)]
    cautions: list[str] = []
    if evidence.summary is not None:
        blocks += [Paragraph(text) for text in _expected(evidence.summary, evidence.known_groups)]
        cautions += evidence.summary.cautions
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
    leaks = certain_leaks(evidence)
    said += [say("mark_audit", leaks=leaks)] if leaks else []
    missing, runs = missing_and_runs(evidence)
    if missing:
        said.append(say("mark_missing", missing=missing, all=missing + runs))
    if evidence.images is not None and "group_evidence" in evidence.images:
        alike = int(evidence.images["group_evidence"].astype("str").str.startswith("near-duplicate").sum())
        if alike:
            said.append(say("mark_duplicates", images=alike))
    return (*said, *evidence.marks)


def missing_and_runs(evidence: Evidence) -> tuple[int, int]:
    """Numbers of missing and of finished runs, over all candidates."""
    if evidence.summary is not None:
        return len(evidence.summary.missing), evidence.summary.runs
    return sum(len(each.missing) for each in evidence.results), sum(len(each.table) for each in evidence.results)


def _expected(summary: Summary, known_groups: bool) -> list[str]:
    headline, bounded = summary.headline, summary.bounded
    models = say("one_model") if summary.runs == 1 else say("many_models", runs=summary.runs)
    first = bounded if summary.bounded_first and summary.target in ("equal_group", "group_pooled") else headline
    said = [say("expect_known" if known_groups else "expect", unit=headline.unit, value=estimate_text(first),
                groups=headline.groups, weighting=say(summary.target), models=models)]
    if first is bounded:
        said.append(say("few_groups", method=bounded.method, target=bounded.target, value=estimate_text(headline),
                        usual=headline.method))
    else:
        said.append(say("bounded", value=estimate_text(bounded), method=bounded.method, target=bounded.target))
    said.append(say("recipe", value=estimate_text(summary.recipe)))
    if len(summary.groups):
        worst = summary.groups.iloc[0]
        said.append(say("worst_group", group=short_name(worst["group_id"]), value=score_text(worst["score"]),
                        images=int(worst["images"])))
    if summary.trivial is not None and summary.above_trivial is not None:
        said.append(say("above_trivial", trivial=estimate_text(summary.trivial),
                        difference=estimate_text(summary.above_trivial)))
    if summary.leak is not None:
        gap = summary.leak.difference
        key = "random_said" if gap.value > 0 and not (gap.has_interval and gap.low <= 0) else "random_less"
        said.append(say(key, random=estimate_text(summary.leak.random), difference=estimate_text(gap)))
    return said


def short_name(name: object) -> str:
    """A name as it may stand in a sentence: shortened in the middle, blank ones said so."""
    shown = str(name)
    if not shown.strip():
        return say("blank")
    return shown if len(shown) <= SHOWN_NAME else f"{shown[:SHOWN_NAME // 2]}…{shown[-SHOWN_NAME // 2 + 1:]}"
