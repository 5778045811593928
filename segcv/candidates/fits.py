"""The fits of an evaluation: made one by one or in a sweep, read back from disk, put together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TextIO

from segcv.candidates.evaluation import Evaluation
from segcv.errors import ConfigError, RunError
from segcv.launching import Job, LocalEngine, failures, sweep, sweep_home
from segcv.nesting import (
    OUTCOME,
    FitOutcome,
    FitPlan,
    NestedResult,
    chosen,
    missing_class,
    read_outcome,
    run_fit,
    run_nested,
    write_outcome,
)
from segcv.runs import RunKey
from segcv.tables import Progress, held, quiet


@dataclass(frozen=True, slots=True)
class Candidate:
    """A candidate by its name."""

    name: str


def make_fit(evaluation: Evaluation, name: str, *, progress: Progress = quiet) -> None:
    """Make the one fit called `name`: repeat-0/outer-0/inner-1/candidate or repeat-0/outer-0/final/candidate."""
    for repeat, plan in evaluation.plans.items():
        for fit in (fit for fold in plan.folds for fit in (*fold.inner, fold.final)):
            for candidate in evaluation.candidates:
                if name == f"repeat-{repeat}/{fit.name}/{candidate}":
                    fitted(evaluation, repeat, fit, candidate, progress=progress)
                    return
    raise ConfigError(f"fit={name} is no fit of this evaluation.")


def fitted(evaluation: Evaluation, repeat: int, fit: FitPlan, candidate: str, *,
           progress: Progress = quiet) -> FitOutcome:
    """The outcome of one fit, made now where it is not there."""
    from segcv.recipes import MajorityPipeline, NetworkPipeline

    folder = evaluation.folder(repeat, fit, candidate)
    folder.mkdir(parents=True, exist_ok=True)
    with held(folder / ".lock", what=f"the fit {fit.name} of {candidate}"):
        if (made := read_outcome(folder)) is not None:
            return made
        study, settings = evaluation.study, evaluation.candidates[candidate]
        key = RunKey(evaluation.settings.name, evaluation.config_id, repeat, fit.outer, settings.seed)
        masks = study.split.masks
        pipeline = NetworkPipeline(candidate, settings, labels=study.labels, masks=masks, repeat=repeat, out=folder,
                                   run_id=key.run_id, progress=progress)
        fallback: Any = MajorityPipeline(settings, labels=study.labels, masks=masks, out=folder, run_id=key.run_id)
        if settings.fallback == "uncalibrated":
            plain = replace(settings, calibration=type(settings.calibration)())
            fallback = NetworkPipeline(candidate, plain, labels=study.labels, masks=masks, repeat=repeat, out=folder,
                                       run_id=key.run_id, progress=progress)
        outcome = run_fit(fit, pipeline, evaluation.rows(repeat, fit), fallback=fallback,
                          unfit=missing_class(masks, study.labels.names, calibrates=pipeline.calibrates))
        write_outcome(folder, outcome)
    return outcome


def sweep_fits(evaluation: Evaluation, fits: Sequence[tuple[int, FitPlan, str]], *, command: Sequence[str],
               shown: TextIO) -> None:
    """Make these fits, several at a time, each by `command` with fit=NAME in a process of its own.

    Fits that are made are left alone.

    Raises:
        RunError: fits failed; each is named with the last lines it said. The others are made.
    """
    settings, jobs = evaluation.settings, []
    for repeat, fit, candidate in fits:
        folder = evaluation.folder(repeat, fit, candidate)
        name = f"repeat-{repeat}/{fit.name}/{candidate}"
        jobs.append(Job(name, (*command, f"fit={name}"), working=folder, result=folder / OUTCOME,
                        shared=evaluation.home, threads=settings.threads))
    states = sweep(jobs, lambda: LocalEngine(slots=settings.slots, threads=settings.threads),
                   home=sweep_home(evaluation.home / "sweeps", jobs), retries=settings.retries, stream=shown)
    if told := failures(states):
        raise RunError(told)


def choice_of(evaluation: Evaluation, repeat: int, outer: int) -> str:
    """The candidate that the inner fits of an outer fold choose."""
    losses: dict[str, dict[str, Any]] = {}
    for fit in next(fold for fold in evaluation.plans[repeat].folds if fold.outer == outer).inner:
        for name in evaluation.candidates:
            losses.setdefault(name, {}).update(outcome_of(evaluation, repeat, fit, name).losses)
    return chosen(losses).candidate


def outcome_of(evaluation: Evaluation, repeat: int, fit: FitPlan, candidate: str) -> FitOutcome:
    """The outcome of a fit that was made."""
    outcome = read_outcome(evaluation.folder(repeat, fit, candidate))
    if outcome is None:
        raise RunError(f"{evaluation.folder(repeat, fit, candidate)} holds no outcome. Type the same command again.")
    return outcome


def result_of(evaluation: Evaluation, repeat: int) -> NestedResult:
    """The result of one outer repeat, from the outcomes on disk; the ledger is held against its rule here."""
    return run_nested(evaluation.plans[repeat], [Candidate(name) for name in evaluation.candidates],
                      lambda fit, candidate: outcome_of(evaluation, repeat, fit, candidate.name))
