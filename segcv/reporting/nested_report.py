"""The report of a nested evaluation: the outer score of the whole recipe, and how the choice came about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from segcv.reporting.frames import estimates_table, frame_table
from segcv.reporting.html import html_page
from segcv.reporting.markdown import page
from segcv.reporting.numbers import estimate_text, score_text
from segcv.reporting.section import Block, Bullets, Paragraph, Section
from segcv.reporting.sentences import say
from segcv.reporting.writing import TABLES, csv_text
from segcv.statistics import Estimate
from segcv.tables import write_json, write_text

NESTED_REPORT, NESTED_PAGE, NESTED_SUMMARY = "nested_report.md", "nested_report.html", "summary.json"


@dataclass(frozen=True, slots=True)
class NestedEvidence:
    """What a nested evaluation found, as tables and numbers."""

    name: str
    candidates: tuple[str, ...]
    unit: str                       # what the scores are: mIoU, or 1 - Brier score
    outer: Estimate                 # equal-group mean outside
    bounded: Estimate
    inner_mean: float               # mean inner score of what was chosen
    choices: pd.DataFrame           # repeat, fold, chosen, inner (its inner score), margin, outer, groups, fallback
    inner: pd.DataFrame             # repeat, fold, candidate, inner
    groups: pd.DataFrame            # group_id, score, repeats
    calibration: pd.DataFrame       # measure, before, after; no row: nobody calibrates
    reliability: pd.DataFrame       # bin, pixels, said, right: of the calibrated probabilities
    fallback: str
    fallbacks: tuple[str, ...]      # fit: reason
    counts: Mapping[str, int]       # base_fits, calibrations, fallbacks, planned, folds, inner, repeats, fits
    ledger_rows: int
    others: tuple[str, ...]         # other nested evaluations reported on this split
    fingerprints: Mapping[str, str]


def write_nested_report(folder: Path, evidence: NestedEvidence) -> Path:
    """The path of nested_report.md, written with nested_report.html, tables/*.csv and summary.json."""
    sections = _sections(evidence)
    for section in sections:
        for table in section.tables:
            write_text(folder / TABLES / f"{table.name}.csv", csv_text(table))
    write_json(folder / NESTED_SUMMARY, nested_summary(evidence))
    title = say("nested_title", name=evidence.name)
    write_text(folder / NESTED_PAGE, html_page(title, sections))
    write_text(folder / NESTED_REPORT, page(title, sections))
    return folder / NESTED_REPORT


def nested_summary(evidence: NestedEvidence) -> dict[str, Any]:
    """The report's numbers for programs."""
    return {
        "name": evidence.name, "unit": evidence.unit, "candidates": list(evidence.candidates),
        "exploratory": bool(evidence.others), "outer": evidence.outer.to_json(), "bounded": evidence.bounded.to_json(),
        "inner_mean": evidence.inner_mean, "optimism": evidence.inner_mean - evidence.outer.value,
        "choices": evidence.choices.to_dict("records"), "groups": evidence.groups.to_dict("records"),
        "calibration": evidence.calibration.to_dict("records"), "counts": dict(evidence.counts),
        "fallbacks": list(evidence.fallbacks), "fingerprints": dict(evidence.fingerprints),
    }


def _sections(evidence: NestedEvidence) -> tuple[Section, ...]:
    return (_answer(evidence), _choices(evidence), _calibration(evidence), _ledger(evidence),
            Section(say("nested_limits"), (Bullets((say("nested_limit_model"), say("nested_limit_seed"))),)))


def _answer(evidence: NestedEvidence) -> Section:
    blocks: list[Block] = []
    if evidence.others:
        blocks.append(Paragraph(say("nested_exploratory", others=len(evidence.others),
                                    names=", ".join(evidence.others)), strong=True))
    blocks += [
        Paragraph(say("nested_expect", unit=evidence.unit, value=estimate_text(evidence.outer),
                      groups=evidence.outer.groups, candidates=", ".join(evidence.candidates))),
        Paragraph(say("nested_bounded", value=estimate_text(evidence.bounded), method=evidence.bounded.method)),
        Paragraph(say("nested_optimism", inner=score_text(evidence.inner_mean), outer=score_text(evidence.outer.value),
                      difference=score_text(evidence.inner_mean - evidence.outer.value))),
        estimates_table([("outer score", evidence.outer), ("outer score, bounded", evidence.bounded)],
                        name="outer", title="", first="what"),
    ]
    return Section(say("nested_answer"), tuple(blocks))


def _choices(evidence: NestedEvidence) -> Section:
    names = sorted(evidence.choices["chosen"].unique())
    told = say("nested_stable", name=names[0]) if len(names) == 1 else say("nested_unstable", names=", ".join(names))
    why = "one fit each; the interval over groups is in the answer"
    blocks: list[Block] = [
        Paragraph(told), frame_table(evidence.choices, name="choices", why=why),
        frame_table(evidence.inner, name="inner_scores", title=say("nested_inner"), why=why),
        frame_table(evidence.groups, name="groups", title="", why="one group is one observation")]
    if evidence.fallbacks:
        blocks += [Paragraph(say("nested_fallbacks", number=len(evidence.fallbacks), all=evidence.counts["fits"])),
                   Bullets(evidence.fallbacks)]
    else:
        blocks.append(Paragraph(say("nested_no_fallback", name=evidence.fallback)))
    return Section(say("nested_choices"), tuple(blocks))


def _calibration(evidence: NestedEvidence) -> Section:
    if evidence.calibration.empty:
        return Section(say("nested_calibration"), (Paragraph(say("nested_not_calibrated")),))
    why = "pixels of all held-out groups together"
    return Section(say("nested_calibration"), (
        frame_table(evidence.calibration, name="calibration", why=why),
        frame_table(evidence.reliability, name="reliability", why=why, formats={"pixels": "count"})))


def _ledger(evidence: NestedEvidence) -> Section:
    counts = evidence.counts
    repeats = f", in each of {counts['repeats']} repeats" if counts["repeats"] > 1 else ""
    return Section(say("nested_ledger"), (
        Paragraph(say("nested_proof", rows=evidence.ledger_rows)),
        Paragraph(say("nested_fits", base=counts["base_fits"], calibrations=counts["calibrations"],
                      planned=counts["planned"], folds=counts["folds"], inner=counts["inner"],
                      candidates=len(evidence.candidates), repeats=repeats)),
        Bullets(tuple(f"{name}: {value}" for name, value in evidence.fingerprints.items()))))
