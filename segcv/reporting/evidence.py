"""Everything a report is made from: what statistics says, and what the command knows of data, split and runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from segcv.reporting.section import Picture
from segcv.statistics import Cohort, Estimate, Plan, ResultsSummary, Summary


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """The tables, Estimates, settings and notes of one report.

    Either `summary` (scores of images) or `results` (a plain table of fold scores) is there. `images` has image_id,
    group_id and group_evidence; `balance` is printed as it is; `marks` are set in bold at the top (a split that leaks
    or knows its groups, and missing cells, mark the report by themselves); `commands` reproduce the runs; mappings are
    printed as tables.
    """

    summary: Summary | None = None
    results: tuple[ResultsSummary, ...] = ()
    unit: str = "score"                      # what the scores of `results` are called
    source: str = ""                         # the table or folders the data came from
    images: pd.DataFrame | None = None
    balance: pd.DataFrame | None = None
    findings: pd.DataFrame | None = None     # FINDINGS of the audit of these data and this split, if there was one
    probabilities: pd.DataFrame | None = None        # calibration and ranking, one row per run
    outlines: pd.DataFrame | None = None     # boundary metrics, one row per run and metric
    cohort: Cohort | None = None             # frozen models on groups that no fold was cut from
    cohort_named: bool = True                # whether the user said that these are an external cohort
    split: Mapping[str, Any] = field(default_factory=dict)
    leaking: bool = False
    known_groups: bool = False               # trained on the past of the groups that were tested
    unproven: int = 0                        # runs from elsewhere that may have been trained on what they are scored on
    unproven_there: int = 0                  # the same, of runs on the external cohort
    model: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    software: Mapping[str, str] = field(default_factory=dict)
    fingerprints: Mapping[str, str] = field(default_factory=dict)
    commands: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    confusion: pd.DataFrame | None = None    # pixels, true classes x predicted ones, over all runs
    pictures: tuple[Picture, ...] = ()       # for the gallery
    legend: tuple[tuple[str, str], ...] = () # class name and #rrggbb in which the pictures show it
    excluded: pd.DataFrame | None = None     # image_id and reason of scored images that are left out of all numbers
    with_excluded: Estimate | None = None    # the headline with them
    kept: Path | None = None                 # the list they were read from, which no report overwrites
    audit_command: str = "python -m segcv.audit runs=runs"
    torn_levels: tuple[str, ...] = ()        # what is known of coarser ids that training and testing share
    exclude_command: str = ""                # makes this report without the images of its list of suspects
    suspects: pd.DataFrame | None = None     # images whose truth looks wrong: image_id, group_id, ..., reason
    features: pd.DataFrame | None = None     # numbers of the groups, indexed by group_id, to draw scores against
    planned: Plan | None = None              # what more groups and seeds would show: half-widths of the interval,
    compared: Plan | None = None             # and smallest differences of two such recipes, whose effect varies over
    effect_sd: float = 0.03                  # groups by this SD

    def __post_init__(self) -> None:
        if (self.summary is None) == (not self.results):
            raise ValueError("a report needs a summary of scores, or of results tables, and not both")


def fold_score(summary: Summary) -> str:
    """The column of the fold table whose mean and SD over folds are told: pixels summed over a fold, not the headline's
    average."""
    return "mdice_pooled" if summary.metric == "dice" else "miou_pooled"
