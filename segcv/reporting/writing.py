"""A report on disk: cv_report.md for people, tables/*.csv and summary.json for programs."""

from __future__ import annotations

import csv
import io
from dataclasses import fields, is_dataclass
from math import isfinite
from pathlib import Path
from typing import Any

import pandas as pd

from segcv.reporting.answer import marks
from segcv.reporting.evidence import Evidence
from segcv.reporting.figures import rendered
from segcv.reporting.frames import estimates_table
from segcv.reporting.html import html_page
from segcv.reporting.markdown import page
from segcv.reporting.section import Cell, Section, Table
from segcv.reporting.sections import report_sections
from segcv.reporting.sentences import in_language, say
from segcv.statistics import Estimate, FoldStatistics, ResultsSummary, Summary
from segcv.tables import replacing, write_json, write_text

REPORT, SUMMARY, TABLES = "cv_report.md", "summary.json", "tables"
PAGE, FIGURES, RELABEL = "cv_report.html", "figures", "relabel.csv"


def write_report(folder: Path, evidence: Evidence, *, html: bool = False, language: str = "en") -> Path:
    """The path of cv_report.md, written with tables/*.csv and summary.json; same evidence, same bytes.

    With `html` also cv_report.html, and figures/ as SVG, PNG and CSV. The tables and figures of an earlier report in
    the same folder are replaced; other files are left alone.
    """
    with in_language(language):
        return _written(folder, evidence, html)


def _written(folder: Path, evidence: Evidence, html: bool) -> Path:
    sections = report_sections(evidence, figures=html)
    candidate = evidence.summary.candidate if evidence.summary is not None else ""
    title = say("title_of", candidate=candidate) if candidate else say("title")
    written = {f"{_file_name(table.name)}.csv": table for section in sections for table in section.tables}
    if evidence.summary is not None:
        written["paper.csv"] = estimates_table(paper_rows(evidence.summary), name="paper", title="", first="class")
    for name, table in written.items():
        write_text(folder / TABLES / name, csv_text(table))
    for path in sorted((folder / TABLES).glob("*.csv")):
        if path.name not in written:
            path.unlink()
    drawn = write_figures(folder, sections)
    if html:
        write_text(folder / PAGE, html_page(title, sections, drawn=drawn))
    else:
        (folder / PAGE).unlink(missing_ok=True)
    if evidence.summary is not None:
        write_text(folder / TABLES / "paper.tex", paper_table(evidence.summary))
    if evidence.kept is None or evidence.kept.resolve() != (folder / RELABEL).resolve():      # else it is the user's
        write_list(folder / RELABEL, evidence.suspects)
    write_json(folder / SUMMARY, summary_json(evidence))
    write_text(folder / REPORT, page(title, sections))
    return folder / REPORT


def write_list(path: Path, suspects: pd.DataFrame | None) -> None:
    """Write the images to look at; without them no list of an earlier report stays."""
    if suspects is None:
        path.unlink(missing_ok=True)
    else:
        write_text(path, suspects.to_csv(index=False, lineterminator="\n"))


def write_figures(folder: Path, sections: tuple[Section, ...]) -> dict[str, str]:
    """name -> SVG of every figure, with figures/NAME.svg, .png and .csv; those of an earlier report are removed."""
    names, drawn = set(), {}
    for figure in (figure for section in sections for figure in section.figures):
        svg, png = rendered(figure)
        drawn[figure.name] = svg
        place = folder / FIGURES / _file_name(figure.name)
        write_text(place.with_suffix(".svg"), svg)
        with replacing(place.with_suffix(".png")) as beside:
            beside.write_bytes(png)
        write_text(place.with_suffix(".csv"), figure.data.to_csv(index=False, lineterminator="\n"))
        names.add(place.name)
    for path in sorted((folder / FIGURES).glob("*.*")):
        if path.stem not in names:
            path.unlink()
    return drawn


def paper_table(summary: Summary) -> str:
    """The class scores and the primary number as a LaTeX table."""
    lines = [r"\begin{tabular}{lrr}", r"\toprule", rf"class & score & {100 * summary.level:.0f}\,\% interval \\",
             r"\midrule"]
    for name, each in paper_rows(summary):
        value = f"{each.value:.3f}" if isfinite(each.value) else "n/a"
        sure = f"{each.low:.3f} to {each.high:.3f}" if each.has_interval else "n/a"
        lines.append(rf"{_latex(name)} & {value} & {sure} \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def paper_rows(summary: Summary) -> list[tuple[str, Estimate]]:
    """Each class, then the primary number, as a paper's table lists them."""
    return [*summary.classes.items(), (f"{summary.headline.unit} ({summary.target})", summary.headline)]


def _latex(name: str) -> str:
    signs = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    return "".join(signs.get(sign, f"\\{sign}" if sign in "&%$#_{}" else sign) for sign in name)


def csv_text(table: Table) -> str:
    """The table with full numbers; columns of intervals get `low` and `high`, undefined is blank."""
    wide = [any(row[place].has_interval for row in table.rows) for place in range(len(table.columns))]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([name for place, label in enumerate(table.columns)
                     for name in ([label, f"{label} low", f"{label} high"] if wide[place] else [label])])
    for row in table.rows:
        writer.writerow([value for place, cell in enumerate(row) for value in
                         ([_plain(cell), _number(cell.low), _number(cell.high)] if wide[place] else [_plain(cell)])])
    return out.getvalue()


def summary_json(evidence: Evidence) -> dict[str, Any]:
    """The report's numbers for programs; undefined numbers are null in the file."""
    head: dict[str, Any] = {"marks": list(marks(evidence)), "leaking": evidence.leaking,
                            "known_groups": evidence.known_groups, "held_out_not_proven": evidence.unproven,
                            "external_held_out_not_proven": evidence.unproven_there,
                            "fingerprints": dict(evidence.fingerprints), "model": evidence.model,
                            "external": _json(evidence.cohort)}
    tail = {"notes": list(evidence.notes), "settings": dict(evidence.settings), "software": dict(evidence.software),
            "commands": list(evidence.commands)}
    if evidence.excluded is not None and evidence.with_excluded is not None:
        head["excluded"] = {"images": _records(evidence.excluded),
                            "headline_with_them": evidence.with_excluded.to_json()}
    if evidence.summary is not None:
        return {**head, **_scores_json(evidence.summary), **tail}
    results = [_results_json(each) for each in evidence.results]
    first = results[0] if len(results) == 1 else {}
    return {**head, "unit": evidence.unit, **first, "candidates": results, **tail}


def _scores_json(summary: Summary) -> dict[str, Any]:
    return {
        "candidate": summary.candidate, "metric": summary.metric, "policy": summary.policy, "target": summary.target,
        "level": summary.level, "runs": summary.runs, "grid": {
            "folds": summary.folds, "repeats": summary.repeats, "seeds": list(summary.seeds)},
        "headline": summary.headline.to_json(), "bounded": summary.bounded.to_json(),
        "recipe": summary.recipe.to_json(),
        "folds": _folds_json(summary.fold_statistics) | {"interval": summary.fold_mean.to_json()},
        "targets": {name: [each.to_json() for each in estimates] for name, estimates in summary.targets.items()},
        "classes": {name: each.to_json() for name, each in summary.classes.items()},
        "averages": _records(summary.averages), "undefined": _records(summary.undefined),
        "groups": {"images": summary.profile.images, "groups": summary.profile.groups,
                   "smallest": summary.profile.smallest, "largest": summary.profile.largest,
                   "largest_group": summary.profile.largest_group, "largest_share": summary.profile.largest_share,
                   "effective": summary.profile.effective, "icc": summary.profile.icc.to_json(),
                   "design_effect": summary.profile.design_effect, "verdict": summary.profile.verdict},
        "percentiles": [each.to_json() for each in summary.percentiles],
        "worst_group": _records(summary.groups.head(1))[0] if len(summary.groups) else None,
        "trivial": summary.trivial.to_json() if summary.trivial is not None else None,
        "above_trivial": summary.above_trivial.to_json() if summary.above_trivial is not None else None,
        "leak_gap": {"random": summary.leak.random.to_json(), "group": summary.leak.group.to_json(),
                     "difference": summary.leak.difference.to_json()} if summary.leak is not None else None,
        "sources": _json(summary.sources),
        "ladder": [{"name": name, "score": _json(score), "model_minus_it": _json(gain)}
                   for name, score, gain in summary.ladder],
        "missing": _records(summary.missing), "rest": list(summary.rest), "cautions": list(summary.cautions),
    }


def _json(value: Any) -> Any:
    """Dataclasses, frames, tuples and mappings of statistics as plain JSON values."""
    if isinstance(value, pd.DataFrame):
        return _records(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: _json(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, dict):
        return {str(name): _json(each) for name, each in value.items()}
    return [_json(each) for each in value] if isinstance(value, list | tuple) else value


def _results_json(result: ResultsSummary) -> dict[str, Any]:
    return {"candidate": result.candidate,
            "folds": _folds_json(result.statistics) | {"interval": result.mean.to_json()},
            "missing": _records(result.missing), "rest": list(result.rest), "cautions": list(result.cautions)}


def _folds_json(said: FoldStatistics) -> dict[str, Any]:
    return {"mean": said.mean, "sd": said.sd_over_folds, "standard_error": said.standard_error, "min": said.low,
            "max": said.high, "n": said.folds, "undefined": said.undefined, "sd_over_seeds": said.sd_over_seeds,
            "seeds": said.seeds, "sd_over_repeats": said.sd_over_repeats, "repeats": said.repeats}


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(name): value for name, value in row.items()} for row in table.to_dict("records")]


def _plain(cell: Cell) -> str:
    return cell.value if isinstance(cell.value, str) else _number(cell.value)


def _number(value: float) -> str:
    if not isfinite(value):
        return ""
    return str(int(value)) if value == int(value) and abs(value) < 2**53 else repr(float(value))


def _file_name(name: str) -> str:
    return "".join(sign if sign.isalnum() or sign in "-_." else "_" for sign in name).lstrip(".")[:100]
