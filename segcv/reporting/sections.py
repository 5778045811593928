"""The parts of a report by name, in reading order. A new part is a function in one of these modules and a line here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from segcv.reporting import (
    about_beside,
    about_data,
    about_external,
    about_leaks,
    about_limits,
    about_runs,
    about_scores,
    about_variance,
)
from segcv.reporting.answer import answer
from segcv.reporting.evidence import Evidence
from segcv.reporting.section import Figure, Section

SECTIONS: dict[str, Callable[[Evidence], Section]] = {
    "answer": answer,
    "data": about_data.data,
    "split": about_data.split,
    "folds": about_scores.folds,
    "averages": about_scores.averages,
    "beside": about_beside.beside,
    "trivial": about_runs.trivial,
    "train": about_runs.train,
    "leak": about_runs.leak,
    "external": about_external.external,
    "audit": about_leaks.audit,
    "variance": about_variance.variance,
    "advice": about_variance.advice,
    "hard": about_scores.hard,
    "features": about_variance.what_goes_with_it,
    "confusion": about_limits.confusion,
    "gallery": about_limits.gallery,
    "labels": about_limits.labels,
    "undefined": about_scores.undefined,
    "limits": about_limits.limits,
    "missing": about_runs.missing,
    "reproduce": about_runs.reproduce,
}
RESULT_SECTIONS = ("answer", "folds", "missing", "reproduce")     # all that a plain table of fold scores supports


def report_sections(evidence: Evidence, *, figures: bool = True) -> tuple[Section, ...]:
    """The sections of this report, in reading order; a results table supports only some, class ids all but one."""
    names = tuple(SECTIONS) if evidence.summary is not None else RESULT_SECTIONS
    kept = evidence.probabilities is not None or evidence.outlines is not None
    absent = {name for name, there in (("beside", kept), ("external", evidence.cohort is not None)) if not there}
    sections = tuple(SECTIONS[name](evidence) for name in names if name not in absent)
    return sections if figures else without_figures(sections)


def without_figures(sections: tuple[Section, ...]) -> tuple[Section, ...]:
    """The same sections without their figures."""
    return tuple(replace(section, blocks=tuple(block for block in section.blocks if not isinstance(block, Figure)))
                 for section in sections)
