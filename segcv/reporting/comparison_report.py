"""The report of a comparison: who is better, worse or not separable, what could have been seen, and at what price."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from segcv.reporting.comparison_figures import differences_figure, ranks_figure
from segcv.reporting.frames import estimates_table, frame_table, mapping_table
from segcv.reporting.html import html_page
from segcv.reporting.markdown import page
from segcv.reporting.numbers import UNDEFINED, estimate_text, score_text
from segcv.reporting.section import (
    Block,
    Bullets,
    Gallery,
    Headline,
    Paragraph,
    Picture,
    Section,
    Table,
    count,
    estimate,
    number,
    text,
)
from segcv.reporting.sections import without_figures
from segcv.reporting.sentences import in_language, say
from segcv.reporting.writing import TABLES, csv_text, write_figures
from segcv.statistics import CandidatesComparison, Comparison, Pair, ResultsComparison
from segcv.tables import write_json, write_text

COMPARISON, PAGE, SUMMARY = "comparison.md", "comparison.html", "summary.json"
MOST_HEADLINES = 3


@dataclass(frozen=True, slots=True, eq=False)
class ComparisonEvidence:
    """What a comparison is reported from: of runs (`found`), or of plain tables of fold scores (`results`).

    `unproven` names candidates of which nothing shows that they were not trained on the images compared.
    """

    found: CandidatesComparison | None = None
    results: tuple[ResultsComparison, ...] = ()
    groups: Mapping[str, pd.DataFrame] = field(default_factory=dict)     # pair -> group_id, difference, lowest first
    changed: Mapping[str, pd.DataFrame] = field(default_factory=dict)    # pair -> images that changed most
    gate: Mapping[str, str] = field(default_factory=dict)                # candidate -> what the gate said
    unproven: tuple[str, ...] = ()                                       # candidates
    pictures: Mapping[str, tuple[Picture, ...]] = field(default_factory=dict)      # pair -> images that changed most
    legend: tuple[tuple[str, str], ...] = ()                             # class name and #rrggbb
    fingerprints: Mapping[str, str] = field(default_factory=dict)


def pair_name(first: str, second: str) -> str:
    """What a pair is called in tables and file names."""
    return f"{first} minus {second}"


def write_comparison(folder: Path, evidence: ComparisonEvidence, *, html: bool = False, language: str = "en") -> Path:
    """The path of comparison.md, written with tables/*.csv and summary.json; with `html` comparison.html and figures.

    Same evidence, same bytes.
    """
    with in_language(language):
        sections = _sections(evidence)
        if not html:
            sections = without_figures(sections)
        for section in sections:
            for table in section.tables:
                write_text(folder / TABLES / f"{_file(table.name)}.csv", csv_text(table))
        drawn = write_figures(folder, sections)
        if html:
            write_text(folder / PAGE, html_page(say("compare_title"), sections, drawn=drawn))
        else:
            (folder / PAGE).unlink(missing_ok=True)
        write_json(folder / SUMMARY, comparison_json(evidence))
        write_text(folder / COMPARISON, page(say("compare_title"), sections))
    return folder / COMPARISON


def comparison_json(evidence: ComparisonEvidence) -> dict[str, Any]:
    """The comparison's numbers for programs; undefined is null in the file."""
    data: dict[str, Any] = {"gate": dict(evidence.gate), "held_out_not_proven": list(evidence.unproven)}
    if evidence.found is not None:
        found = evidence.found
        data |= {"candidates": list(found.names), "metric": found.metric, "target": found.target, "level": found.level,
                 "split_id": found.split_id, "data_id": found.data_id, "policy": "truth",
                 "scores": {name: each.to_json() for name, each in found.scores.items()},
                 "ranks": found.ranks.to_dict("records"), "images_without_class": found.without_class,
                 "pairs": [_pair_json(pair) for pair in found.pairs]}
    if evidence.results:
        data["pairs"] = [{
            "first": one.first, "second": one.second, "mean_difference": one.mean_difference.value,
            "difference": one.mean_difference.to_json(), "t_plain": one.t_plain, "t_corrected": one.t_corrected,
            "degrees_of_freedom": one.degrees_of_freedom, "p_plain": one.p_plain, "p_corrected": one.p_corrected,
            "p_holm": one.p_holm, "verdict": one.verdict} for one in evidence.results]
    return data


def _pair_json(pair: Pair) -> dict[str, Any]:
    whole = _comparison_json(pair.overall) | {"p_holm": pair.p_holm, "verdict": pair.verdict}
    whole["weighted"] = None if pair.weighted is None else _comparison_json(pair.weighted)
    whole["false_alarms"] = None if pair.false_alarms is None else _comparison_json(pair.false_alarms)
    whole["classes"] = {name: _comparison_json(each) | {
        "p_holm": pair.class_p_holm[name], "verdict": pair.class_verdicts[name]} for name, each in pair.classes.items()}
    return whole


def _comparison_json(found: Comparison) -> dict[str, Any]:
    return {"first": found.first, "second": found.second, "mean_difference": found.difference.value,
            "difference": found.difference.to_json(), "p_value": found.p_value, "df": found.df,
            "these_models": found.these_models.to_json(), "sign_flip_p": found.sign_flip_p,
            "fold_t": found.fold_t.to_json(), "fold_p": found.fold_p, "corrected_t": found.corrected_t.to_json(),
            "corrected_p": found.corrected_p, "detectable": found.detectable, "power": found.power,
            "binds": found.binds, "groups": found.groups, "columns": found.columns}


def _sections(evidence: ComparisonEvidence) -> tuple[Section, ...]:
    if evidence.found is None:
        return (_of_results(evidence),)
    return (_answer(evidence), _candidates(evidence.found), _classes(evidence.found), _alarms(evidence.found),
            _where(evidence), *_changed(evidence), _tests(evidence.found))


def _answer(evidence: ComparisonEvidence) -> Section:
    assert evidence.found is not None
    blocks: list[Block] = []
    if evidence.unproven:
        blocks.append(Paragraph(say("compare_unproven", names=", ".join(evidence.unproven)), strong=True))
    blocks += [Paragraph(say("compare_gate", name=name, said=said), strong=True)
               for name, said in evidence.gate.items()]
    if len(evidence.found.pairs) <= MOST_HEADLINES:
        blocks += [_headline(pair) for pair in evidence.found.pairs]
    rows = []
    for pair in evidence.found.pairs:
        one = pair.overall
        rows.append((text(pair_name(one.first, one.second)), text(pair.verdict), estimate(one.difference),
                     number(pair.p_holm), number(one.detectable), text(one.binds), count(one.groups),
                     count(one.columns)))
        blocks.append(Paragraph(say("compare_pair", first=one.first, second=one.second, verdict=pair.verdict,
                                    unit=one.difference.unit, value=estimate_text(one.difference),
                                    detectable=score_text(one.detectable), power=f"{100 * one.power:.0f}")
                                + f" {_next(one)}".rstrip()))
    blocks.append(Table("pairs", ("pair", "verdict", "difference", "p (Holm)", "smallest difference seen",
                                  "what limits", "groups", "columns"), tuple(rows),
                        why="too few groups or one column: see the tests"))
    weighted = [pair.weighted for pair in evidence.found.pairs if pair.weighted is not None]
    if weighted:
        blocks.append(Table("weighted", ("pair", "difference", "p", "verdict"), tuple(
            (text(pair_name(one.first, one.second)), estimate(one.difference), number(one.p_value), text(one.verdict))
            for one in weighted), say("compare_weighted"), "too few groups"))
    blocks.append(Paragraph(say("compare_policy", images=evidence.found.without_class)))
    return Section(say("compare_answer"), tuple(blocks))


def _headline(pair: Pair) -> Headline:
    """The difference with its interval and the verdict."""
    one = pair.overall
    shown = one.these_models if one.frozen else one.difference
    sure = (say("compare_sure", low=f"{shown.low:+.3f}", high=f"{shown.high:+.3f}", level=f"{100 * shown.level:.0f}")
            if shown.has_interval else say("no_interval", why=shown.note))
    value = f"{shown.value:+.3f}" if isfinite(shown.value) else UNDEFINED
    return Headline(f"{pair_name(one.first, one.second)}, {shown.unit}", value, f"{sure} {pair.verdict}.")


def _next(one: Comparison) -> str:
    """What would show a smaller difference."""
    if one.frozen or one.binds not in ("groups", "models"):
        return ""
    return say(f"compare_next_{one.binds}", first=one.first, second=one.second)


def _candidates(found: CandidatesComparison) -> Section:
    ranks = {name: "percent" for name in found.ranks.columns if name != "candidate"}
    return Section(say("compare_candidates"), (
        estimates_table(found.scores.items(), name="candidates", title="", first="candidate"),
        ranks_figure(found.ranks),
        frame_table(found.ranks, name="ranks", title=say("compare_ranks"), why=say("compare_ranks_why"),
                    formats=ranks)))     # type: ignore[arg-type]


def _classes(found: CandidatesComparison) -> Section:
    rows = [(text(pair_name(pair.overall.first, pair.overall.second)), text(name), estimate(each.difference),
             number(pair.class_p_holm[name]), number(each.detectable), text(pair.class_verdicts[name]))
            for pair in found.pairs for name, each in pair.classes.items()]
    return Section(say("compare_classes"), (
        Table("classes", ("pair", "class", "difference", "p (Holm)", "smallest difference seen", "verdict"),
              tuple(rows), why="too few groups, or one column"),))


def _alarms(found: CandidatesComparison) -> Section:
    rows = []
    for pair in found.pairs:
        listed = ([("all classes", pair.false_alarms)] if pair.false_alarms is not None else []) + list(
            pair.class_false_alarms.items())
        rows += [(text(pair_name(pair.overall.first, pair.overall.second)), text(name), estimate(each.difference),
                  number(each.p_value)) for name, each in listed]
    if not rows:
        return Section(say("compare_alarms"), (Paragraph(say("compare_no_alarms")),))
    return Section(say("compare_alarms"), (
        Paragraph(say("compare_alarms_why")),
        Table("false_alarms", ("pair", "class", "difference of rates", "p"), tuple(rows),
              why="too few groups, or one column")))


def _where(evidence: ComparisonEvidence) -> Section:
    assert evidence.found is not None
    own = {pair_name(pair.overall.first, pair.overall.second): pair.overall for pair in evidence.found.pairs}
    blocks: list[Block] = []
    for name, table in evidence.groups.items():
        if name in own and len(table):
            blocks.append(differences_figure(table, own[name], name=name))
        blocks.append(frame_table(table, name=f"groups {name}", title=say("compare_groups", pair=name),
                                  why="one group is one observation"))
    for name, table in evidence.changed.items():
        blocks.append(frame_table(table, name=f"images {name}", title=say("compare_images", pair=name),
                                  why="one image is one observation"))
    return Section(say("compare_where"), tuple(blocks))


def _changed(evidence: ComparisonEvidence) -> tuple[Section, ...]:
    """Pictures of the images that changed most, pair by pair."""
    blocks: list[Block] = []
    for name, pictures in evidence.pictures.items():
        blocks += [Paragraph(say("compare_images", pair=name)), Gallery(name, pictures, evidence.legend)]
    return (Section(say("gallery"), (Paragraph(say("compare_pictures")), *blocks)),) if blocks else ()


def _tests(found: CandidatesComparison) -> Section:
    rows = []
    for pair in found.pairs:
        one = pair.overall
        listed = (("of the recipes", one.difference, one.p_value, "valid"),
                  ("of these trained models", one.these_models, one.sign_flip_p, "valid, for these models only"),
                  ("t over folds", one.fold_t, one.fold_p, "folds share training images: too sure with seeds"),
                  ("corrected resampled t", one.corrected_t, one.corrected_p, "valid, low power"))
        rows += [(text(pair_name(one.first, one.second)), text(name), estimate(each), number(p), text(each.method),
                  text(said)) for name, each, p, said in listed]
    return Section(say("compare_tests"), (
        Table("tests", ("pair", "test", "difference", "p", "method", "how to read it"), tuple(rows),
              why="not given with these runs"),
        Bullets(tuple(sorted({each.note for pair in found.pairs
                              for each in (pair.overall.difference, pair.overall.these_models) if each.note})))))


def _of_results(evidence: ComparisonEvidence) -> Section:
    blocks: list[Block] = []
    for one in evidence.results:
        blocks += [
            Paragraph(say("compare_results", first=one.first, second=one.second, verdict=one.verdict,
                          value=estimate_text(one.mean_difference))),
            mapping_table({"t, plain (too sure: folds share training images)": _known(one.t_plain),
                           "t, corrected (Nadeau & Bengio)": _known(one.t_corrected),
                           "degrees of freedom": one.degrees_of_freedom, "p, plain": _known(one.p_plain),
                           "p, corrected": _known(one.p_corrected),
                           f"p, corrected, among {len(evidence.results)} pairs (Holm)": _known(one.p_holm)},
                          name=pair_name(one.first, one.second), title="", columns=("what", "value"))]
    blocks.append(Paragraph(say("results_only")))
    return Section(say("compare_answer"), tuple(blocks))


def _known(number: float) -> str:
    return "n/a" if np.isnan(number) else f"{number:.4f}"


def changed_images(first: pd.DataFrame, second: pd.DataFrame, *, shown: int = 20) -> pd.DataFrame:
    """The images whose score changed most: image_id, group_id, both scores, difference; the largest changes first.

    Both tables have image_id, group_id and score (mean over columns) of the same images.
    """
    both = first.merge(second[["image_id", "score"]], on="image_id", suffixes=("_first", "_second"))
    both["difference"] = both["score_first"] - both["score_second"]
    order = np.argsort(-both["difference"].abs().fillna(-1.0).to_numpy(), kind="stable")
    return both.iloc[order][["image_id", "group_id", "score_first", "score_second", "difference"]].head(
        shown).reset_index(drop=True)


def _file(name: str) -> str:
    return "".join(sign if sign.isalnum() or sign in "-_." else "_" for sign in name)[:120]
