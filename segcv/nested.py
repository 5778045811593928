"""python -m segcv.nested candidates=[a,b]: choose a recipe inside the training groups, judge the choice outside."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from segcv.config import as_dict, candidates_of, command, overrides, progress_bar
from segcv.settings import NestedCommand

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from segcv.candidates import Evaluation
    from segcv.nesting import NestedResult
    from segcv.reporting import NestedEvidence


@command("nested")
def main(settings: NestedCommand) -> None:
    """Make every fit that is not made, then report; or, as a job of that, make one fit."""
    from segcv.candidates import choice_of, make_fit, open_evaluation, result_of, sweep_fits

    candidates = candidates_of(settings, "nested")
    evaluation = open_evaluation(settings, candidates, progress=progress_bar,
                                 plain={name: as_dict(one) for name, one in candidates.items()})
    if settings.fit is not None:
        make_fit(evaluation, settings.fit, progress=progress_bar)
        return
    again = [sys.executable, "-m", "segcv.nested", *(entry for entry in overrides() if not entry.startswith("slots="))]
    for repeat, plan in evaluation.plans.items():
        sweep_fits(evaluation, [(repeat, fit, name) for fold in plan.folds for fit in fold.inner
                                for name in candidates], command=again, shown=sys.stderr)
        sweep_fits(evaluation, [(repeat, fold.final, choice_of(evaluation, repeat, fold.outer))
                                for fold in plan.folds], command=again, shown=sys.stderr)
    results = {repeat: result_of(evaluation, repeat) for repeat in evaluation.plans}
    for repeat, result in results.items():
        write_runs(evaluation, repeat, result)
    report(evaluation, results)


def write_runs(evaluation: Evaluation, repeat: int, result: NestedResult) -> None:
    """The judged refits as runs of the candidate `name`, so that aggregate and compare take them like any others."""
    from segcv import __version__
    from segcv.metrics import majority_class
    from segcv.pixels import class_pixels
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
    for name in ("ledger.parquet", "ledger.csv"):
        LEDGER.write(pd.concat(tables, ignore_index=True), evaluation.home / name)
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


def nested_evidence(evaluation: Evaluation, results: dict[int, NestedResult]) -> NestedEvidence:
    """What the report says, from the results of all outer repeats."""
    import pandas as pd

    from segcv.candidates import outcome_of
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
