"""python -m segcv.evaluate predictions=FOLDER name=NAME: predictions from any framework -> the score tables of runs."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from segcv.config import as_dict, command, overrides, progress_bar
from segcv.errors import ConfigError, RunError
from segcv.settings import EvaluateCommand

if TYPE_CHECKING:
    import pandas as pd

    from segcv.pixels import LabelMap
    from segcv.runs import RunKey
    from segcv.scoring import HeldOutProof, Reading, RunPlan
    from segcv.splits import Split

NOT_PROVEN = "held-out not proven"


@dataclass(frozen=True, slots=True)
class Job:
    """One run to be scored, the split it belongs to, and what proves that its images were held out ("": nothing).

    `keep` makes the split folder where it is not there (any more); a named split is there before anything is scored.
    """

    plan: RunPlan
    split: Split
    proof: str
    leaking: bool
    keep: Callable[[], object] = tuple


@command("evaluate")
def main(settings: EvaluateCommand) -> None:
    """Score every run whose predictions are there, each into its own folder."""
    made: list[Path] = []
    try:
        jobs, labels = jobs_of(settings, made)
        reading, in_mean = reading_of(settings, labels), classes_in_mean(settings, labels)
        refuse_unreadable(jobs, reading)
        for job in jobs:
            folder, numbers, fresh = evaluate(settings, job, reading, in_mean)
            made = [path for path in made if path != job.split.folder]
            say(job, folder, numbers, fresh=fresh, alone=len(jobs) == 1)
    except BaseException:
        for path in made:
            shutil.rmtree(path, ignore_errors=True)
        raise
    if not all(job.proof for job in jobs):
        print(f"{NOT_PROVEN.capitalize()}: nothing here shows that these models were not trained on the scored images. "
              "Give their training lists: trained_on=FILE")
    print("Next: python -m segcv.aggregate" + ("" if settings.runs == "runs" else f" runs={settings.runs}"))


def jobs_of(settings: EvaluateCommand, made: list[Path]) -> tuple[list[Job], LabelMap]:
    """The runs to be scored under the split that is named, or under the roles that the predictions tell.

    Split folders that this call makes for such roles are added to `made`: nothing was scored under them yet.
    """
    from segcv.scoring import find_predictions, plan_runs, roles_of_plans
    from segcv.study import keep_roles, open_study, open_truth

    cache, splits, where = Path(settings.cache), Path(settings.splits), settings.predictions
    found = find_predictions(where, kind=settings.kind)
    plans_in = partial(plan_runs, found, where=where, name=settings.name, repeat=settings.repeat, fold=settings.fold,
                       seed=settings.seed)
    external = settings.data.external is not None
    if external and settings.split is not None:
        raise ConfigError(f"data.external={settings.data.external} has no folds: leave out split=.")
    if settings.split is not None:
        study = open_study(settings.data, settings.group, settings.split, splits=splits, cache=cache,
                           workers=settings.workers, progress=progress_bar)
        split = study.split
        plans = plans_in(split.images, roles=split.roles)
        proofs = [proof_of(settings, split.images, plan) for plan in plans]
        return [Job(plan, split, "" if proof is None else proof.said,
                    split.leaking or (proof is not None and bool(proof.torn_groups)))
                for plan, proof in zip(plans, proofs, strict=True)], study.labels
    truth = open_truth(settings.data, settings.group, cache=cache, workers=settings.workers, progress=progress_bar)
    plans = plans_in(truth.images, roles=None)
    jobs = []
    if external and any(plan.fold or plan.repeat for plan in plans):
        raise ConfigError(f"{where} has several folds, and an external cohort has none: every model sees all of it. "
                          "Hand in one model at a time (name=NAME), or several as {seed}.")
    for candidate in dict.fromkeys(plan.candidate for plan in plans):
        mine = [plan for plan in plans if plan.candidate == candidate]
        proofs = [proof_of(settings, truth.images, plan) for plan in mine]
        trained: dict[tuple[int, int], set[str]] = {}
        for plan, proof in zip(mine, proofs, strict=True):
            trained.setdefault((plan.repeat, plan.fold), set()).update(() if proof is None else proof.trained)
        keep = partial(keep_roles, truth, roles_of_plans(mine, truth.images, trained), data=settings.data,
                       group=settings.group, splits=splits)
        split, fresh = keep()
        made += [split.folder] if fresh else []
        jobs += [Job(plan, split, "" if proof is None else proof.said, split.leaking, keep)
                 for plan, proof in zip(mine, proofs, strict=True) if settings.fold in (None, plan.fold)]
    if not jobs:
        raise ConfigError(f"fold={settings.fold} is not in {where}, which holds folds "
                          f"{', '.join(map(str, sorted({plan.fold for plan in plans})))}.")
    return jobs, truth.labels


def reading_of(settings: EvaluateCommand, labels: LabelMap) -> Reading:
    """How masks and predictions are read, from settings that are checked here."""
    from segcv.pixels import predicted_coding
    from segcv.scoring import PredictionForm, Reading, check_size_rule

    form = PredictionForm(settings.kind, settings.channels, settings.threshold, settings.scale, settings.key)
    form.check_classes(labels.n_classes)
    check_size_rule(settings.size)
    if settings.kind != "labels" and settings.predicted_values is not None:
        raise ConfigError(f"predicted_values={settings.predicted_values} has an effect with kind=labels only.")
    if len(settings.spacing) != 2:
        raise ConfigError(f"spacing={settings.spacing} must be two distances: down, across.")
    return Reading(labels, predicted_coding(labels, values=settings.predicted_values), form, settings.size,
                   settings.data.max_pixels, metrics=tuple(settings.metrics),
                   spacing=(settings.spacing[0], settings.spacing[1]), tolerance=settings.tolerance,
                   histograms=settings.histograms, volume_rows=settings.volume_rows)


def classes_in_mean(settings: EvaluateCommand, labels: LabelMap) -> list[int] | None:
    """The ids of the classes that `foreground` names."""
    if settings.foreground is None:
        return None
    ids = {name: number for number, name in enumerate(labels.names)} | {
        str(number): number for number in range(labels.n_classes)}
    strange = [name for name in settings.foreground if str(name) not in ids]
    if strange or not settings.foreground:
        raise ConfigError(f"foreground={settings.foreground} must name classes: ids 0..{labels.n_classes - 1}, or "
                          f"{', '.join(labels.names)}.")
    return sorted({ids[str(name)] for name in settings.foreground})


def proof_of(settings: EvaluateCommand, images: pd.DataFrame, plan: RunPlan) -> HeldOutProof | None:
    """What the training list of this run proves; None without a list."""
    from segcv.scoring import check_held_out

    if settings.trained_on is None:
        return None
    return check_held_out(plan.rows, images, settings.trained_on, candidate=plan.candidate, repeat=plan.repeat,
                          fold=plan.fold, seed=plan.seed, external=settings.data.external is not None)


def refuse_unreadable(jobs: list[Job], reading: Reading) -> None:
    """Refuse files that are missing, empty or of another shape, and patches that overlap, before any is scored."""
    from segcv.scoring import check_file, refuse_overlaps, scored_ids

    why = ("class ids cannot be averaged. Hand in kind=probabilities or kind=logits, which are put together on their "
           "source by x, y before they are counted; or predict patches that do not overlap")
    for job in jobs:
        if reading.form.kind == "labels":
            refuse_overlaps(job.plan.rows, why=why)
        scored_ids(job.plan.rows)
        for path in job.plan.rows["path"]:
            check_file(Path(path), reading.form, n_classes=reading.labels.n_classes)


def evaluate(settings: EvaluateCommand, job: Job, reading: Reading,
             in_mean: list[int] | None) -> tuple[Path, dict[str, Any], bool]:
    """The folder of the finished run, its summary, and whether it was scored now; nothing half-written is left."""
    from segcv.runs import RunKey, claimed, finished_folder
    from segcv.scoring import score_run, summary_of
    from segcv.tables import fingerprint, read_json, write_json

    plan, split = job.plan, job.split
    config = config_of(settings, split)
    key = RunKey(plan.candidate, fingerprint([config], length=8), plan.repeat, plan.fold, plan.seed)
    runs = Path(settings.runs)
    handed_in = fingerprint([job.proof, *states(plan)])
    if (done := finished_folder(runs, key)) is not None:
        if read_json(done / "config.json").get("handed_in") != handed_in:
            raise RunError(f"{done}: other predictions were scored under this name (or the training list is another). "
                           f"Give these a name of their own: name={plan.candidate}_2; or delete that folder.")
        return done, read_json(done / "summary.json"), False
    with claimed(runs, key) as working:
        started = time.monotonic()
        scores = score_run(plan, reading, run_id=key.run_id, out=working, workers=settings.workers,
                           progress=progress_bar)
        numbers = summary_of(scores, class_names=reading.labels.names, in_mean=in_mean, spacing=reading.spacing,
                             majority=majority_of(split, plan, n_classes=reading.labels.n_classes))
        write_json(working / "summary.json", {
            "run_id": key.run_id, "candidate": key.candidate, "data_id": split.data_id, "split_id": split.split_id,
            "held_out": job.proof or NOT_PROVEN, **numbers})
        write_json(working / "config.json", {"settings": as_dict(settings), "config": config,
                                             "overrides": overrides(), "handed_in": handed_in})
        job.keep()
        record(settings, job, key, config=config, majority=numbers["trivial"]["class_id"], out=working,
               seconds=time.monotonic() - started)
    return runs / key.run_id, read_json(runs / key.run_id / "summary.json"), True


def config_of(settings: EvaluateCommand, split: Split) -> dict[str, Any]:
    """What decides the scores besides the cell and the predictions themselves."""
    names = ("kind", "channels", "threshold", "scale", "key", "predicted_values", "size", "metrics", "spacing",
             "tolerance", "volume_rows")
    return {"trained": "elsewhere", "data": {"data_id": split.data_id}, "split": {"split_id": split.split_id},
            **{name: getattr(settings, name) for name in names}}


def states(plan: RunPlan) -> list[list[Any]]:
    """image_id, size and time of change of each prediction."""
    found = []
    for image_id, path in zip(plan.rows["image_id"], plan.rows["path"], strict=True):
        state = Path(path).stat()
        found.append([image_id, state.st_size, state.st_mtime_ns])
    return found


def majority_of(split: Split, plan: RunPlan, *, n_classes: int) -> int | None:
    """The most common class of the fold's training pixels; None where the training images are not known."""
    from segcv.metrics import majority_class

    rows = split.roles[split.roles["repeat"].eq(plan.repeat) & split.roles["fold"].eq(plan.fold)]
    training = rows.loc[rows["role"].eq("train"), "image_id"]
    mine = split.masks[split.masks["image_id"].isin(training) & split.masks["class_id"].ge(0)]
    pixels = mine.groupby("class_id")["pixels"].sum().reindex(range(n_classes), fill_value=0).to_numpy()
    return majority_class(pixels) if pixels.any() else None


def record(settings: EvaluateCommand, job: Job, key: RunKey, *, config: dict[str, Any], majority: int, out: Path,
           seconds: float) -> None:
    """Write the run record, last, because it makes the run a run."""
    import platform

    from segcv import __version__
    from segcv.runs import FINISHED, RunRecord
    from segcv.tables import fingerprint

    split = job.split
    rows = split.roles[split.roles["repeat"].eq(key.repeat) & split.roles["fold"].eq(key.fold)]
    recipe = {name: value for name, value in config.items() if name != "split"}
    RunRecord(
        run_id=key.run_id, candidate=key.candidate, config_id=key.config_id,
        recipe_id=fingerprint([key.candidate, recipe], length=8), data_id=split.data_id, split_id=split.split_id,
        split_name=split.settings["split"]["name"], split_folder=str(split.folder.absolute()), leaking=job.leaking,
        repeat=key.repeat, fold=key.fold, seed=key.seed, status=FINISHED, seconds=round(seconds, 2), device="",
        threads=0, code_version=__version__, model=f"predictions from elsewhere ({settings.predictions})",
        train_images=int(rows["role"].eq("train").sum()), held_out_images=len(job.plan.rows),
        majority_class=majority, unlabelled_train_images=0, best_epoch=-1, trained_elsewhere=True,
        held_out_proof=job.proof,
        environment={"versions": {"python": platform.python_version(), "segcv": __version__}},
    ).write(out)


def say(job: Job, folder: Path, numbers: dict[str, Any], *, fresh: bool, alone: bool) -> None:
    """What the terminal shows of one run: its table when it is the only one, else a line."""
    from segcv.scoring import summary_text

    plan, mark = job.plan, "" if job.proof else f"  [{NOT_PROVEN}]"
    cell = f"{plan.candidate}, repeat {plan.repeat}, fold {plan.fold}, seed {plan.seed}"
    if alone:
        print(summary_text(numbers))
    else:
        miou = numbers["pooled_miou"]
        cell += f": mIoU of summed pixels {'n/a' if miou is None else f'{miou:.3f}'}"
    print(f"{'' if fresh else 'Scored before: '}{folder}  ({cell}; {numbers['n_images_scored']} images){mark}")
    if plan.left_alone:
        print(f"{plan.left_alone} predictions of images that this fold does not hold out were left alone.")


if __name__ == "__main__":
    main()
