"""python -m segcv.nested candidates=[a,b]: choose a recipe inside the training groups, judge the choice outside."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from segcv.config import as_dict, command, composed, overrides, progress_bar
from segcv.errors import ConfigError, RunError
from segcv.settings import NestedCommand

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from segcv.launching import Job
    from segcv.nesting import FitOutcome, FitPlan, NestedPlan, NestedResult
    from segcv.reporting import NestedEvidence
    from segcv.study import Study

NOT_PART_OF_THE_CONFIG = ("candidates", "splits", "cache", "workers", "device", "slots", "retries", "fit", "level",
                          "nested", "name", "seed")
FALLBACKS = ("majority", "uncalibrated")


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A nested evaluation: where it lies, its candidates in declared order, and what each outer repeat plans."""

    home: Path
    config_id: str
    settings: NestedCommand
    candidates: dict[str, NestedCommand]
    study: Study
    plans: dict[int, NestedPlan]               # repeat -> plan

    def folder(self, repeat: int, fit: FitPlan, candidate: str) -> Path:
        """Where the files of one fit lie."""
        return self.home / "fits" / f"repeat-{repeat}" / fit.name / candidate


@dataclass(frozen=True, slots=True)
class Candidate:
    """A candidate by its name."""

    name: str


@command("nested")
def main(settings: NestedCommand) -> None:
    """Make every fit that is not made, then report; or, as a job of that, make one fit."""
    evaluation = opened(settings)
    if settings.fit is not None:
        make_fit(evaluation, settings.fit)
        return
    for repeat, plan in evaluation.plans.items():
        swept(evaluation, [(repeat, fit, name) for fold in plan.folds for fit in fold.inner
                           for name in evaluation.candidates])
        chosen_fits = [(repeat, fold.final, choice_of(evaluation, repeat, fold.outer)) for fold in plan.folds]
        swept(evaluation, chosen_fits)
    results = {repeat: result_of(evaluation, repeat) for repeat in evaluation.plans}
    for repeat, result in results.items():
        write_runs(evaluation, repeat, result)
    report(evaluation, results)


def opened(settings: NestedCommand) -> Evaluation:
    """The evaluation that the settings describe; everything that can be refused is refused here."""
    refuse_settings(settings)
    candidates = candidate_settings(settings)
    from segcv.nesting import balanced_inner_folds, drawn_halves, plan_nested
    from segcv.study import open_study
    from segcv.tables import fingerprint

    study = open_study(settings.data, settings.group, settings.split, splits=Path(settings.splits),
                       cache=Path(settings.cache), workers=settings.workers, progress=progress_bar)
    tried = {name: {key: value for key, value in as_dict(one).items() if key not in NOT_PART_OF_THE_CONFIG}
             for name, one in candidates.items()}
    for config in tried.values():
        config["data"] = {"data_id": study.split.data_id, "nodata": settings.data.nodata}
        config["split"], config["group"] = {"split_id": study.split.split_id}, {}
    config_id = fingerprint([list(tried), tried, settings.seed], length=8)
    images, masks, roles = study.split.images, study.split.masks, study.split.roles
    plans = {}
    for repeat in sorted(roles["repeat"].unique().tolist()):
        here = roles[roles["repeat"].eq(repeat)]
        sides = {role: {fold: sorted(part.loc[part["fold"].eq(fold), "group_id"].unique())
                        for fold in sorted(part["fold"].unique().tolist())}
                 for role in ("train", "held_out") for part in [here[here["role"].eq(role)]]}
        seed = settings.split.seed + 1000 * repeat
        plans[repeat] = plan_nested(
            sides["train"], sides["held_out"],
            inner=balanced_inner_folds(images, masks, folds=settings.inner.folds, seed=seed,
                                       class_names=study.labels.names),
            halves=drawn_halves(images, masks, share=settings.inner.calibration_share, seed=seed))
    home = Path(settings.nested) / f"{settings.name}-{config_id}"
    return Evaluation(home, config_id, settings, candidates, study, plans)


def candidate_settings(settings: NestedCommand) -> dict[str, NestedCommand]:
    """Name -> settings of each candidate: a file of conf/model, or {name: [overrides]}; each composed and checked."""
    typed_now = [entry for entry in overrides() if not entry.lstrip("+~").startswith(("candidates=", "fit="))]
    found: dict[str, NestedCommand] = {}
    for entry in settings.candidates:
        if isinstance(entry, str):
            pairs = {entry: [f"model={entry}"]}
        elif isinstance(entry, dict) and all(isinstance(value, list) for value in entry.values()):
            pairs = entry
        else:
            raise ConfigError(f"candidates: {entry!r} is neither the name of a file in conf/model nor a list of "
                              'settings. Type for example \'candidates=[unet_small,{quick:["optim.lr=0.01"]}]\'.')
        for name, changes in pairs.items():
            if name in found:
                raise ConfigError(f"candidates: {name} is named twice. Give each its own name.")
            if not name or any(sign in name for sign in "/\\=:") or name.startswith("."):
                raise ConfigError(f"candidates: {name!r} cannot name a folder; use letters, digits, '_', '-', '.'.")
            changed = {str(change).split("=")[0] for change in changes}
            kept = [entry for entry in typed_now if entry.split("=")[0] not in changed]
            found[name] = composed("nested", [*kept, "candidates=[]", *map(str, changes)], where=f"candidate {name}")
            refuse_settings(found[name], alone=True)
    if not found:
        raise ConfigError("candidates=[] names none; name at least one, as candidates=[unet_small,unet_resnet18].")
    return found


def make_fit(evaluation: Evaluation, name: str) -> None:
    """Make the one fit called `name`: repeat-0/outer-0/inner-1/candidate or repeat-0/outer-0/final/candidate."""
    for repeat, plan in evaluation.plans.items():
        for fit in (fit for fold in plan.folds for fit in (*fold.inner, fold.final)):
            for candidate in evaluation.candidates:
                if name == f"repeat-{repeat}/{fit.name}/{candidate}":
                    fitted(evaluation, repeat, fit, candidate)
                    return
    raise ConfigError(f"fit={name} is no fit of this evaluation.")


def fitted(evaluation: Evaluation, repeat: int, fit: FitPlan, candidate: str) -> FitOutcome:
    """The outcome of one fit, made now where it is not there."""
    from filelock import FileLock

    from segcv.nesting import missing_class, read_outcome, run_fit, write_outcome
    from segcv.recipes import MajorityPipeline, NetworkPipeline
    from segcv.runs import RunKey

    folder = evaluation.folder(repeat, fit, candidate)
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / ".lock"):
        if (made := read_outcome(folder)) is not None:
            return made
        study, settings = evaluation.study, evaluation.candidates[candidate]
        key = RunKey(evaluation.settings.name, evaluation.config_id, repeat, fit.outer, settings.seed)
        masks = study.split.masks
        pipeline = NetworkPipeline(candidate, settings, labels=study.labels, masks=masks, repeat=repeat, out=folder,
                                   run_id=key.run_id, progress=progress_bar)
        fallback: Any = MajorityPipeline(settings, labels=study.labels, masks=masks, out=folder, run_id=key.run_id)
        if settings.fallback == "uncalibrated":
            plain = replace(settings, calibration=type(settings.calibration)())
            fallback = NetworkPipeline(candidate, plain, labels=study.labels, masks=masks, repeat=repeat, out=folder,
                                       run_id=key.run_id, progress=progress_bar)
        outcome = run_fit(fit, pipeline, study.split.images, fallback=fallback,
                          unfit=missing_class(masks, study.labels.names, calibrates=pipeline.calibrates))
        write_outcome(folder, outcome)
    return outcome


def swept(evaluation: Evaluation, fits: list[tuple[int, FitPlan, str]]) -> None:
    """Make these fits, several at a time, each in a process of its own; those that are made are left alone."""
    from segcv.launching import Job, LocalEngine, failures, sweep, sweep_home
    from segcv.nesting import OUTCOME

    again = [entry for entry in overrides() if not entry.startswith(("fit=", "slots=", "retries="))]
    jobs: list[Job] = []
    for repeat, fit, candidate in fits:
        folder = evaluation.folder(repeat, fit, candidate)
        name = f"repeat-{repeat}/{fit.name}/{candidate}"
        jobs.append(Job(name, (sys.executable, "-m", "segcv.nested", *again, f"fit={name}"), working=folder,
                        result=folder / OUTCOME, shared=evaluation.home, threads=evaluation.settings.threads))
    states = sweep(jobs, lambda: LocalEngine(slots=evaluation.settings.slots, threads=evaluation.settings.threads),
                   home=sweep_home(evaluation.home / "sweeps", jobs), retries=evaluation.settings.retries,
                   stream=sys.stderr)
    if told := failures(states):
        raise RunError(told)


def choice_of(evaluation: Evaluation, repeat: int, outer: int) -> str:
    """The candidate that the inner fits of an outer fold choose."""
    from segcv.nesting import chosen

    losses: dict[str, dict[str, Any]] = {}
    for fit in evaluation.plans[repeat].folds[outer].inner:
        for name in evaluation.candidates:
            losses.setdefault(name, {}).update(outcome_of(evaluation, repeat, fit, name).losses)
    return chosen(losses).candidate


def outcome_of(evaluation: Evaluation, repeat: int, fit: FitPlan, candidate: str) -> FitOutcome:
    """The outcome of a fit that was made."""
    from segcv.nesting import read_outcome

    outcome = read_outcome(evaluation.folder(repeat, fit, candidate))
    if outcome is None:
        raise RunError(f"{evaluation.folder(repeat, fit, candidate)} holds no outcome. Type the same command again.")
    return outcome


def result_of(evaluation: Evaluation, repeat: int) -> NestedResult:
    """The result of one outer repeat, from the outcomes on disk; the ledger is held against its rule here."""
    from segcv.nesting import run_nested

    return run_nested(evaluation.plans[repeat], [Candidate(name) for name in evaluation.candidates],
                      lambda fit, candidate: outcome_of(evaluation, repeat, fit, candidate.name))


def write_runs(evaluation: Evaluation, repeat: int, result: NestedResult) -> None:
    """The judged refits as runs of the candidate `name`, so that aggregate and compare take them like any others."""
    from segcv import __version__
    from segcv.metrics import majority_class
    from segcv.recipes import class_pixels
    from segcv.runs import FINISHED, RunKey, RunRecord, claimed, finished_folder
    from segcv.tables import fingerprint, write_json
    from segcv.training import chosen_device, environment

    study, settings = evaluation.study, evaluation.settings
    runs = evaluation.home / "runs"
    device = chosen_device(settings.device)
    for fold, plan in zip(result.folds, evaluation.plans[repeat].folds, strict=True):
        key = RunKey(settings.name, evaluation.config_id, repeat, fold.outer, settings.seed)
        if finished_folder(runs, key) is not None:
            continue
        images = study.split.images
        parts = plan.final.parts
        training = images[images["group_id"].isin([*parts.base, *parts.calibration])]
        with claimed(runs, key) as working:
            made = evaluation.folder(repeat, plan.final, fold.choice.candidate)
            for name in ("scores.parquet", "confusion.parquet", "image_facts.parquet"):
                shutil.copy2(made / name, working / name)
            shutil.copytree(made / "masks", working / "masks", dirs_exist_ok=True)
            write_json(working / "config.json", {
                "settings": as_dict(evaluation.candidates[fold.choice.candidate]), "config": {
                    "candidates": list(evaluation.candidates), "chosen": fold.choice.candidate},
                "overrides": overrides()})
            RunRecord(
                run_id=key.run_id, candidate=key.candidate, config_id=key.config_id,
                recipe_id=fingerprint([list(evaluation.candidates), evaluation.config_id], length=8),
                data_id=study.split.data_id, split_id=study.split.split_id, split_name=settings.split.name,
                split_folder=str(study.split.folder.absolute()), leaking=study.split.leaking, repeat=repeat,
                fold=fold.outer, seed=settings.seed, status=FINISHED, seconds=0.0, device=str(device),
                threads=settings.threads, code_version=__version__, model=f"nested: {fold.choice.candidate}",
                train_images=len(training), held_out_images=int(images["group_id"].isin(parts.judged).sum()),
                majority_class=majority_class(class_pixels(study.split.masks, training,
                                                           n_classes=study.labels.n_classes)),
                unlabelled_train_images=0, best_epoch=settings.trainer.epochs - 1,
                environment=environment(device, threads=settings.threads)).write(working)


def report(evaluation: Evaluation, results: dict[int, NestedResult]) -> None:
    """Write the report and the ledger, and print what to expect and where they are."""
    import pandas as pd

    from segcv.reporting import write_nested_report
    from segcv.tables import LEDGER

    folder = evaluation.home / "report"
    evidence = nested_evidence(evaluation, results)
    tables = [result.ledger.assign(fit_id=f"repeat-{repeat}/" + result.ledger["fit_id"])
              for repeat, result in results.items()]
    LEDGER.write(pd.concat(tables, ignore_index=True), evaluation.home / "ledger.parquet")
    path = write_nested_report(folder, evidence)
    outer = evidence.outer
    sure = f"({outer.low:.3f} to {outer.high:.3f}, 95 %)" if outer.has_interval else f"(no interval: {outer.note})"
    print(f"{evidence.unit} of the whole recipe on a new group: {outer.value:.3f} {sure}")
    print("Chosen: " + ", ".join(f"fold {fold.outer} {fold.choice.candidate}" for result in results.values()
                                 for fold in result.folds))
    if evidence.others:
        print(f"EXPLORATORY: {len(evidence.others)} other nested evaluations were reported on this split.")
    print(f"Report: {path}")
    print(f"As runs: python -m segcv.aggregate runs={evaluation.home / 'runs'}")


def refuse_settings(settings: NestedCommand, *, alone: bool = False) -> None:
    """Refuse what can be refused before anything is read."""
    if settings.trainer.stopping != "fixed":
        raise ConfigError(f"trainer.stopping={settings.trainer.stopping} would hold out groups a third time; a nested "
                          "evaluation trains fixed epochs. Make the number of epochs part of the candidates: "
                          "'candidates=[{short:[\"trainer.epochs=5\"]},{long:[\"trainer.epochs=20\"]}]'.")
    if settings.fallback not in FALLBACKS:
        raise ConfigError(f"fallback={settings.fallback} is not known; use one of {', '.join(FALLBACKS)}.")
    if settings.inner.folds < 2:
        raise ConfigError(f"inner.folds={settings.inner.folds} must be 2 or more.")
    if not 0 <= settings.inner.calibration_share < 1:
        raise ConfigError(f"inner.calibration_share={settings.inner.calibration_share} must lie between 0 and 1.")
    if not alone:
        return
    calibrates = settings.calibration.method != "none" or settings.calibration.threshold != "none"
    if calibrates and settings.inner.calibration_share == 0:
        raise ConfigError(f"calibration.method={settings.calibration.method} needs groups to calibrate on, and "
                          "inner.calibration_share is 0. Use inner.calibration_share=0.25.")


def nested_evidence(evaluation: Evaluation, results: dict[int, NestedResult]) -> NestedEvidence:
    """What the report says, from the results of all outer repeats."""
    import pandas as pd

    from segcv.metrics import brier, ece
    from segcv.nesting import (
        choices_table,
        group_scores_table,
        inner_mean,
        inner_table,
        outer_estimates,
        reliability_table,
    )
    from segcv.reporting import NestedEvidence

    unit = "mIoU" if evaluation.settings.judge == "miou" else "1 - Brier score"
    outer, bounded = outer_estimates(results, unit=unit, level=evaluation.settings.level)
    folds = [(repeat, fold) for repeat, result in results.items() for fold in result.folds]
    outcomes = [(f"repeat-{repeat}/{fit.name}/{name}", outcome_of(evaluation, repeat, fit, name))
                for repeat, fold in folds for plan in [evaluation.plans[repeat].folds[fold.outer]]
                for fit, name in [*((fit, name) for fit in plan.inner for name in evaluation.candidates),
                                  (plan.final, fold.choice.candidate)]]
    pixels = outer_histograms(evaluation, results)
    counts = [result.counts for result in results.values()]
    return NestedEvidence(
        name=evaluation.settings.name, candidates=tuple(evaluation.candidates), unit=unit, outer=outer,
        bounded=bounded, inner_mean=inner_mean(results), choices=choices_table(results), inner=inner_table(results),
        groups=group_scores_table(results),
        calibration=pd.DataFrame([
            {"measure": "ECE, 15 bins", **{name: ece(found[-1]) for name, found in pixels.items()}},
            {"measure": "Brier score", **{name: brier(found) for name, found in pixels.items()}}] if pixels else []),
        reliability=reliability_table(pixels["after"][-1]) if pixels else pd.DataFrame(),
        fallback=evaluation.settings.fallback,
        fallbacks=tuple(f"{name}: {outcome.fallback}" for name, outcome in outcomes if outcome.fallback),
        counts={"base_fits": sum(count.base_fits for count in counts),
                "calibrations": sum(count.calibrations for count in counts),
                "fallbacks": sum(count.fallbacks for count in counts), "fits": len(outcomes),
                "planned": sum(plan.fits(len(evaluation.candidates)) for plan in evaluation.plans.values()),
                "folds": len(folds) // len(results), "inner": evaluation.settings.inner.folds,
                "repeats": len(results)},
        ledger_rows=sum(len(result.ledger) for result in results.values()), others=other_reports(evaluation),
        fingerprints={"data": evaluation.study.split.data_id, "split": evaluation.study.split.split_id,
                      "evaluation": evaluation.config_id})


def outer_histograms(evaluation: Evaluation, results: dict[int, NestedResult]) -> dict[str, NDArray[np.int64]]:
    """Probability histograms before and after calibration over all held-out pixels; nothing where nobody calibrates."""
    import numpy as np

    if all(one.calibration.method == "none" for one in evaluation.candidates.values()):
        return {}
    both: dict[str, NDArray[np.int64]] = {}
    for repeat, result in results.items():
        for fold, plan in zip(result.folds, evaluation.plans[repeat].folds, strict=True):
            path = evaluation.folder(repeat, plan.final, fold.choice.candidate) / "reliability.npz"
            if path.is_file():
                with np.load(path) as found:
                    both = {name: found[name] + both.get(name, 0) for name in ("before", "after")}
    return both


def other_reports(evaluation: Evaluation) -> tuple[str, ...]:
    """Other nested evaluations that were reported on the same split, below the same folder."""
    from segcv.tables import read_json

    found = []
    for path in sorted(Path(evaluation.settings.nested).glob("*/report/summary.json")):
        split = read_json(path).get("fingerprints", {}).get("split")
        if path.parent.parent != evaluation.home and split == evaluation.study.split.split_id:
            found.append(path.parent.parent.name)
    return tuple(found)


if __name__ == "__main__":
    main()
