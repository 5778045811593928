"""python -m segcv.evaluate predictions=FOLDER name=NAME: predictions from any framework -> the score tables of runs."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from segcv.config import as_dict, command, overrides, progress_bar
from segcv.errors import ConfigError, RunError
from segcv.settings import EvaluateCommand

if TYPE_CHECKING:
    import pandas as pd

    from segcv.pixels import LabelMap
    from segcv.runs import RunKey
    from segcv.scoring import Reading, RunPlan
    from segcv.splits import Split

NOT_PROVEN = "held-out not proven"


@dataclass(frozen=True, slots=True)
class Ground:
    """What predictions are held against: images with groups and masks, and the folds, where a split is named."""

    name: str
    labels: LabelMap
    images: pd.DataFrame
    data_id: str
    split: Split | None


@command("evaluate")
def main(settings: EvaluateCommand) -> None:
    """Score every run whose predictions are there, each into its own folder."""
    from segcv.scoring import find_predictions, plan_runs

    ground = opened(settings)
    reading = reading_of(settings, ground.labels)
    in_mean = classes_in_mean(settings, ground.labels)
    plans = plan_runs(find_predictions(settings.predictions), ground.images, where=settings.predictions,
                      roles=None if ground.split is None else ground.split.roles, name=settings.name,
                      repeat=settings.repeat, fold=settings.fold, seed=settings.seed)
    proofs = [proof_of(settings, ground, plan) for plan in plans]
    refuse_unreadable(plans, reading)
    for plan, (proof, leaking) in zip(plans, proofs, strict=True):
        folder, numbers, fresh = evaluate(settings, ground, plan, reading, in_mean, proof=proof, leaking=leaking)
        say(plan, folder, numbers, fresh=fresh, alone=len(plans) == 1, proven=bool(proof))
    if not all(proof for proof, _ in proofs):
        print(f"{NOT_PROVEN.capitalize()}: nothing here shows that these models were not trained on the scored images. "
              "Give their training lists: trained_on=FILE")
    print("Next: python -m segcv.aggregate" + ("" if settings.runs == "runs" else f" runs={settings.runs}"))


def opened(settings: EvaluateCommand) -> Ground:
    """The split that is named, or the images and masks alone."""
    from segcv.study import open_study, open_truth

    cache = Path(settings.cache)
    if settings.split is None:
        truth = open_truth(settings.data, settings.group, cache=cache, progress=progress_bar)
        return Ground(truth.name, truth.labels, truth.images, truth.data_id, None)
    study = open_study(settings.data, settings.group, settings.split, splits=Path(settings.splits), cache=cache,
                       workers=settings.workers, progress=progress_bar)
    return Ground(study.name, study.labels, study.split.images, study.split.data_id, study.split)


def reading_of(settings: EvaluateCommand, labels: LabelMap) -> Reading:
    """How masks and predictions are read, from settings that are checked here."""
    from segcv.pixels import predicted_coding
    from segcv.scoring import PredictionForm, Reading, check_size_rule

    form = PredictionForm(settings.kind, settings.channels, settings.threshold, settings.scale, settings.key)
    form.check_classes(labels.n_classes)
    check_size_rule(settings.size)
    if settings.kind != "labels" and settings.predicted_values is not None:
        raise ConfigError(f"predicted_values={settings.predicted_values} has an effect with kind=labels only.")
    return Reading(labels, predicted_coding(labels, values=settings.predicted_values), form, settings.size,
                   settings.data.max_pixels)


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


def proof_of(settings: EvaluateCommand, ground: Ground, plan: RunPlan) -> tuple[str, bool]:
    """What proves that this run's images were held out ("" if nothing does), and whether a group was torn."""
    from segcv.scoring import check_held_out

    leaking = ground.split is not None and ground.split.leaking
    if settings.trained_on is None:
        return "", leaking
    found = check_held_out(plan.rows, ground.images, settings.trained_on, candidate=plan.candidate,
                           repeat=plan.repeat, fold=plan.fold, seed=plan.seed)
    return f"training list: {found.known} of {found.listed} names are images of the table", (
        leaking or bool(found.torn_groups))


def refuse_unreadable(plans: list[RunPlan], reading: Reading) -> None:
    """Refuse files that are missing, empty or of another shape, before any is scored."""
    from segcv.scoring import check_file

    for plan in plans:
        for path in plan.rows["path"]:
            check_file(Path(path), reading.form, n_classes=reading.labels.n_classes)


def evaluate(settings: EvaluateCommand, ground: Ground, plan: RunPlan, reading: Reading, in_mean: list[int] | None, *,
             proof: str, leaking: bool) -> tuple[Path, dict[str, Any], bool]:
    """The folder of the finished run, its summary, and whether it was scored now; nothing half-written is left."""
    from segcv.runs import RunKey, claimed, finished_folder
    from segcv.scoring import score_run, summary_of
    from segcv.tables import IMAGES, fingerprint, read_json, write_images, write_json

    config = config_of(settings, ground)
    config_id = fingerprint([config], length=8)
    key = RunKey(plan.candidate, config_id, plan.repeat, plan.fold, plan.seed)
    runs = Path(settings.runs)
    handed_in = fingerprint([proof, *states(plan)])
    if (done := finished_folder(runs, key)) is not None:
        if read_json(done / "config.json").get("handed_in") != handed_in:
            raise RunError(f"{done}: other predictions were scored under this name (or the training list is another). "
                           f"Give these a name of their own: name={plan.candidate}_2; or delete that folder.")
        return done, read_json(done / "summary.json"), False
    with claimed(runs, key) as working:
        started = time.monotonic()
        image_ids, counts = score_run(plan, reading, run_id=key.run_id, out=working, workers=settings.workers,
                                      check_truth=ground.split is None, progress=progress_bar)
        majority = None if ground.split is None else majority_of(ground, plan)
        numbers = summary_of(image_ids, counts, class_names=ground.labels.names, in_mean=in_mean, majority=majority)
        numbers = {"run_id": key.run_id, "candidate": key.candidate, "data_id": ground.data_id,
                   "held_out": proof or NOT_PROVEN} | numbers
        write_json(working / "summary.json", numbers)
        write_json(working / "config.json", {"settings": as_dict(settings), "config": config,
                                             "overrides": overrides(), "handed_in": handed_in,
                                             "class_names": list(ground.labels.names)})
        if ground.split is None:
            columns = [column.name for column in IMAGES.columns if column.name in plan.rows]
            write_images(plan.rows[columns], working / "images.csv", seen_from=runs / key.run_id)
        record(settings, ground, plan, key, config=config, majority=numbers["trivial"]["class_id"], proof=proof,
               leaking=leaking, out=working, seconds=time.monotonic() - started)
    return runs / key.run_id, read_json(runs / key.run_id / "summary.json"), True


def config_of(settings: EvaluateCommand, ground: Ground) -> dict[str, Any]:
    """What decides the scores besides the cell and the predictions themselves."""
    names = ("kind", "channels", "threshold", "scale", "key", "predicted_values", "size")
    return {"trained": "elsewhere", "data": {"data_id": ground.data_id},
            "split": {"split_id": "" if ground.split is None else ground.split.split_id},
            **{name: getattr(settings, name) for name in names}}


def states(plan: RunPlan) -> list[list[Any]]:
    """image_id, size and time of change of each prediction."""
    found = []
    for image_id, path in zip(plan.rows["image_id"], plan.rows["path"], strict=True):
        state = Path(path).stat()
        found.append([image_id, state.st_size, state.st_mtime_ns])
    return found


def majority_of(ground: Ground, plan: RunPlan) -> int:
    """The most common class of the fold's training pixels."""
    from segcv.metrics import majority_class
    from segcv.splits import fold_roles

    assert ground.split is not None
    rows = fold_roles(ground.split, plan.repeat, plan.fold)
    training = rows.loc[rows["role"].eq("train"), "image_id"]
    masks = ground.split.masks
    mine = masks[masks["image_id"].isin(training) & masks["class_id"].ge(0)].groupby("class_id")["pixels"].sum()
    return majority_class(mine.reindex(range(ground.labels.n_classes), fill_value=0).to_numpy())


def record(settings: EvaluateCommand, ground: Ground, plan: RunPlan, key: RunKey, *, config: dict[str, Any],
           majority: int, proof: str, leaking: bool, out: Path, seconds: float) -> None:
    """Write the run record, last, because it makes the run a run."""
    import platform

    from segcv import __version__
    from segcv.runs import FINISHED, RunRecord
    from segcv.tables import fingerprint

    split = ground.split
    recipe = {name: value for name, value in config.items() if name != "split"}
    RunRecord(
        run_id=key.run_id, candidate=key.candidate, config_id=key.config_id,
        recipe_id=fingerprint([key.candidate, recipe], length=8), data_id=ground.data_id,
        split_id="" if split is None else split.split_id,
        split_name="" if settings.split is None else settings.split.name,
        split_folder="" if split is None else str(split.folder.absolute()), leaking=leaking, repeat=key.repeat,
        fold=key.fold, seed=key.seed, status=FINISHED, seconds=round(seconds, 2), device="", threads=0,
        code_version=__version__, model=f"predictions from elsewhere ({settings.predictions})", train_images=0,
        held_out_images=len(plan.rows), majority_class=majority, unlabelled_train_images=0, best_epoch=-1,
        trained_elsewhere=True, held_out_proof=proof,
        environment={"versions": {"python": platform.python_version(), "segcv": __version__}},
    ).write(out)


def say(plan: RunPlan, folder: Path, numbers: dict[str, Any], *, fresh: bool, alone: bool, proven: bool) -> None:
    """What the terminal shows of one run: its table when it is the only one, else a line."""
    from segcv.scoring import summary_text

    mark = "" if proven else f"  [{NOT_PROVEN}]"
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
