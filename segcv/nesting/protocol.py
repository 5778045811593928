"""The fits themselves: rows handed out by role, read under the ledger's eye, judged once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Protocol, TypeVar

import pandas as pd

from segcv.errors import ScoreError, SplitError
from segcv.nesting.choosing import Choice, Loss, chosen
from segcv.nesting.ledger import BASE, CALIBRATION, INNER, OUTER, Ledger, refuse_shared_groups
from segcv.nesting.plan import FitPlan, NestedPlan, OuterPlan, Parts

Candidate = TypeVar("Candidate", bound="Named")


class RoleRows:
    """The rows of one role in one fit: all that a pipeline can reach. Reading them writes the ledger.

    `read()` hands out the rows. A pipeline that opens files later tells with `seen` which it really opened; until then
    rows taken by `table` count as not read.
    """

    def __init__(self, rows: pd.DataFrame, *, role: str, note: Callable[[str, Iterable[str]], None]) -> None:
        self._rows, self.role, self._note = rows, role, note

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups of this role, in the order of the rows."""
        return tuple(self._rows["group_id"].drop_duplicates())

    def read(self) -> pd.DataFrame:
        """The rows; from now on they count as read."""
        self._note(self.role, self._rows["group_id"])
        return self._rows.copy()

    def table(self) -> pd.DataFrame:
        """The rows as names of files to open; say with `seen` which were opened."""
        return self._rows.copy()

    def seen(self, image_ids: Iterable[str]) -> None:
        """These images were opened.

        Raises:
            SplitError: one of them is not among the rows of this role.
        """
        group_of = dict(zip(self._rows["image_id"], self._rows["group_id"], strict=True))
        opened = list(image_ids)
        strange = sorted(set(opened) - set(group_of))
        if strange:
            raise SplitError(f"a fit opened {strange[0]} as {self.role}, which is not among the rows it was given "
                             f"({len(strange)} such images).")
        self._note(self.role, (group_of[image_id] for image_id in opened))


class Named(Protocol):
    """Something with a name, as a candidate has one."""

    @property
    def name(self) -> str:
        """What it is called in tables."""


class Pipeline(Protocol):
    """A candidate: preprocessing, model and calibration, judged as one. It keeps nothing from one fit to the next."""

    @property
    def name(self) -> str:
        """What the candidate is called in tables."""

    @property
    def calibrates(self) -> bool:
        """Does it learn anything on C? One that does not needs no C."""

    def fit(self, base: RoleRows, *, fit_id: str) -> Any:
        """Preprocessing and model, fitted on the rows of B."""

    def calibrate(self, model: Any, calibration: RoleRows, *, fit_id: str) -> Any:
        """The model with calibration and thresholds fitted on the rows of C."""

    def losses(self, composite: Any, judged: RoleRows, *, fit_id: str) -> Mapping[str, Loss]:
        """Group -> mean loss of the frozen composite on the group's rows, each predicted once."""


Unfit = Callable[[pd.DataFrame, pd.DataFrame], str]         # rows of B, rows of C -> why they do not do, or ""


@dataclass(frozen=True, slots=True)
class FitCounts:
    """What it cost: fits of preprocessing and model on B, calibrations on C, answers by the fallback."""

    base_fits: int = 0
    calibrations: int = 0
    fallbacks: int = 0

    def __add__(self, other: FitCounts) -> FitCounts:
        return FitCounts(self.base_fits + other.base_fits, self.calibrations + other.calibrations,
                         self.fallbacks + other.fallbacks)


@dataclass(frozen=True, slots=True)
class FitOutcome:
    """What one fit came to; plain values, so that it can lie on disk between two starts of the command."""

    losses: dict[str, Loss]                  # judged group -> loss
    fallback: str                            # why the fallback answered instead; "" when the candidate did
    counts: FitCounts
    ledger: Ledger = field(default_factory=Ledger)


@dataclass(frozen=True, slots=True)
class OuterResult:
    """One outer fold: what was chosen inside, and what it got outside."""

    outer: int
    choice: Choice
    losses: dict[str, Loss]                  # outer group -> loss
    fallback: str


@dataclass(frozen=True, slots=True)
class NestedResult:
    """The outer estimate of the whole recipe, and how it came about."""

    folds: tuple[OuterResult, ...]
    counts: FitCounts
    ledger: pd.DataFrame                     # LEDGER

    @property
    def losses(self) -> dict[tuple[int, str], Loss]:
        """(outer fold, group) -> loss."""
        return {(fold.outer, group): loss for fold in self.folds for group, loss in fold.losses.items()}

    @property
    def mean_loss(self) -> Loss:
        """Equal-group mean: the sum of all outer group losses divided by their number, never a mean of fold means."""
        losses = self.losses
        return sum(losses.values(), start=Fraction(0)) / len(losses)

    @property
    def optimism(self) -> Loss:
        """Outer mean loss minus the mean inner loss of what was chosen: what reporting the best inner score hides."""
        total = sum((fold.choice.totals[fold.choice.candidate] for fold in self.folds), start=Fraction(0))
        return self.mean_loss - total / sum(fold.choice.groups for fold in self.folds)


RunOne = Callable[[FitPlan, Candidate], FitOutcome]


def run_fit(plan: FitPlan, pipeline: Pipeline, rows: pd.DataFrame, *, fallback: Pipeline,
            unfit: Unfit | None = None) -> FitOutcome:
    """Fit on B, calibrate on C, judge once; each step is given the rows of its role only.

    `rows` has image_id and group_id. Where B, or C of a candidate that calibrates, is empty, or `unfit` gives a reason
    (a class is missing), the declared `fallback` is fitted on B and C together and answers instead; nothing is filled
    from the judged groups.
    """
    fit_id = f"{plan.name}/{pipeline.name}"
    ledger = Ledger()

    def handed(groups: Sequence[str], role: str) -> RoleRows:
        def note(role: str, read: Iterable[str]) -> None:
            ledger.note(fit_id, role=role, outer=plan.outer, inner=plan.inner, candidate=pipeline.name, groups=read)
        order = {group: place for place, group in enumerate(groups)}
        mine = rows[rows["group_id"].isin(order)]
        mine = mine.sort_values("group_id", key=lambda names: names.map(order), kind="stable").reset_index(drop=True)
        return RoleRows(mine, role=role, note=note)

    parts = plan.parts
    reason = _unfit(parts, rows, unfit, calibrates=pipeline.calibrates)
    judged = handed(parts.judged, INNER if plan.inner is not None else OUTER)
    if reason:
        both = handed((*parts.base, *parts.calibration), BASE)
        composite, counts, answering = fallback.fit(both, fit_id=fit_id), FitCounts(fallbacks=1), fallback
    else:
        model = pipeline.fit(handed(parts.base, BASE), fit_id=fit_id)
        composite = pipeline.calibrate(model, handed(parts.calibration, CALIBRATION), fit_id=fit_id)
        counts, answering = FitCounts(base_fits=1, calibrations=int(pipeline.calibrates)), pipeline
    losses = dict(answering.losses(composite, judged, fit_id=fit_id)) if parts.judged else {}
    if set(losses) != set(parts.judged):
        other = sorted(set(losses) ^ set(parts.judged))
        raise ScoreError(f"{fit_id}: losses were asked for {len(parts.judged)} groups and came for {len(losses)} "
                         f"(first difference: {other[0]}).")
    return FitOutcome(losses, reason, counts, ledger)


def run_nested(plan: NestedPlan, candidates: Sequence[Candidate], run: RunOne[Candidate]) -> NestedResult:
    """Every inner fit, the choice, one refit per outer fold, each outer group judged once.

    `run` makes one fit (`run_fit` with its rows) or takes it from where it lies. Candidates are in declared order; of
    equal ones the first is chosen.

    Raises:
        SplitError: the ledger of what was read shows a group in two roles.
    """
    folds, counts, tables = [], FitCounts(), []
    for fold in plan.folds:
        result, cost, ledger = run_fold(fold, candidates, run)
        folds.append(result)
        tables.append(ledger)
        counts += cost
    ledger = pd.concat(tables, ignore_index=True)
    refuse_shared_groups(ledger)
    return NestedResult(tuple(folds), counts, ledger)


def run_fold(fold: OuterPlan, candidates: Sequence[Candidate],
             run: RunOne[Candidate]) -> tuple[OuterResult, FitCounts, pd.DataFrame]:
    """One outer fold: its result, what it cost, and its LEDGER. For the delivered model nobody is judged outside."""
    if not candidates:
        raise SplitError("no candidate was given; name at least one.")
    names = [candidate.name for candidate in candidates]
    if len(set(names)) != len(names):
        raise SplitError(f"candidates {', '.join(names)} share a name; give each its own.")
    losses: dict[str, dict[str, Loss]] = {name: {} for name in names}
    outcomes = []
    for inner in fold.inner:
        for candidate in candidates:
            outcomes.append(run(inner, candidate))
            losses[candidate.name] |= outcomes[-1].losses
    choice = chosen(losses)
    outcomes.append(run(fold.final, candidates[names.index(choice.candidate)]))
    result = OuterResult(fold.outer, choice, dict(outcomes[-1].losses), outcomes[-1].fallback)
    ledger = pd.concat([outcome.ledger.table() for outcome in outcomes], ignore_index=True)
    return result, sum((outcome.counts for outcome in outcomes), start=FitCounts()), ledger


def _unfit(parts: Parts, rows: pd.DataFrame, unfit: Unfit | None, *, calibrates: bool) -> str:
    if not parts.base:
        return "no group is left for the base fit (B)"
    if calibrates and not parts.calibration:
        return "no group is left for the calibration (C)"
    if unfit is None:
        return ""
    base, calibration = (rows[rows["group_id"].isin(groups)] for groups in (parts.base, parts.calibration))
    return unfit(base, calibration)
