"""python -m segcv.train fold=0: fit one network on the training groups of a fold, score it on the held-out ones."""

from __future__ import annotations

import math
import shlex
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from segcv.config import as_dict, command, overrides, progress_bar
from segcv.errors import ConfigError, ModelError, SplitError
from segcv.settings import TrainCommand, TrainerSettings

if TYPE_CHECKING:
    import pandas as pd

    from segcv.launching import Job, Progress
    from segcv.runs import RunKey
    from segcv.study import Study
    from segcv.tracking import Tell
    from segcv.training import Seeds, StepInfo

NOT_PART_OF_THE_CONFIG = ("fold", "seed", "repeat", "candidate", "runs", "splits", "cache", "cache_gb", "workers",
                         "device", "probe", "trackers")
K_FOLDS = ("balanced_group_kfold", "group_kfold", "random_kfold")       # splits that have the folds asked for, or none


def jobs_of(cells: Sequence[TrainCommand], names: Sequence[str], commands: Sequence[Sequence[str]]) -> list[Job]:
    """The job of each cell of a sweep; what is refused for one is refused before any starts. The split is made here."""
    for settings in cells:
        refuse_settings(settings)
    from segcv.launching import Job
    from segcv.runs import RECORD, finished_folder, working_folder
    from segcv.splits import fold_roles

    studies: dict[str, Study] = {}
    jobs = []
    for settings, name, typed in zip(cells, names, commands, strict=True):
        asked = repr((settings.data, settings.group, settings.split, settings.splits, settings.cache))
        study = studies[asked] = studies.get(asked) or the_study(settings)
        fold_roles(study.split, settings.repeat, settings.fold)
        key, runs = identified(settings, study)[0], Path(settings.runs)
        if (done := finished_folder(runs, key)) is not None:
            print(f"Finished before, not run again: {done}")
        jobs.append(Job(name, tuple(typed), working_folder(runs, key), runs / key.run_id / RECORD,
                        shared=runs / key.set_name, threads=settings.threads, probed=settings.trainer.command is None))
    return jobs


def swept(states: Sequence[Progress]) -> None:
    """Say what became of a sweep; exit code 1 and every failure by name when one failed."""
    from segcv.launching import failures, warnings_said

    for line in warnings_said(states):
        print(line, file=sys.stderr)
    if told := failures(states):
        raise SystemExit(told)
    folders = sorted({str(state.job.shared) for state in states})
    print(f"{len(states)} runs finished, {sum(state.skipped for state in states)} of them before: {', '.join(folders)}")
    homes = {str(Path(folder).parent) for folder in folders} - {"runs"}
    print(f"Next: python -m segcv.aggregate{''.join(f' runs={shlex.quote(home)}' for home in sorted(homes)[:1])}")


@command("train", plan=jobs_of, report=swept)
def main(settings: TrainCommand) -> None:
    """Train and score one cell of the sweep, or say that it is there already."""
    refuse_settings(settings)
    study = the_study(settings)
    if settings.probe is not None:
        print(probed(settings, study, Path(settings.probe)))
        return
    folder = train(settings, study)
    print(f"{folder}  (data {study.name}, {named(settings)}, fold {settings.fold}, "
          f"seed {settings.seed})")


def the_study(settings: TrainCommand) -> Study:
    """The images, groups and folds that the settings describe."""
    from segcv.study import open_study

    return open_study(settings.data, settings.group, settings.split, splits=Path(settings.splits),
                      cache=Path(settings.cache), progress=progress_bar)


def train(settings: TrainCommand, study: Study) -> Path:
    """The folder of the finished run of this cell, made now or there already."""
    from segcv.runs import finished_folder
    from segcv.splits import fold_roles

    rows = fold_roles(study.split, settings.repeat, settings.fold)
    if (done := finished_folder(Path(settings.runs), identified(settings, study)[0])) is not None:
        print("Finished before, not run again:", end=" ")
        return done
    return (train_here if settings.trainer.command is None else train_by_program)(settings, study, rows)


def train_here(settings: TrainCommand, study: Study, rows: pd.DataFrame) -> Path:
    """The folder of the finished run; only images with the role train are opened before the network is fitted."""
    from segcv.recipes import Following, fit_recipe, score_recipe
    from segcv.runs import claimed
    from segcv.tables import HISTORY
    from segcv.training import CHECKPOINT, chosen_device, environment, remove_checkpoints

    key, config, recipe_id = identified(settings, study)
    runs = Path(settings.runs)
    with claimed(runs, key) as working, followed(settings, key, config, working) as tell:
        started = time.monotonic()
        training = rows[rows["role"] == "train"].reset_index(drop=True)
        inside, inner = inner_rows(settings, study, training)
        seeds = seeds_of(settings)
        watch, close = step_bar(f"fold {settings.fold} seed {settings.seed}")
        following = Following(tell, inside, labels=study.labels, watch=watch)
        fitted = fit_recipe(settings, inside, labels=study.labels, masks=study.split.masks, seeds=seeds, out=working,
                            config_id=key.config_id, inner=inner, progress=progress_bar, watch=following.step,
                            after_epoch=following.epoch, say=print)
        close()
        held_out = rows[rows["role"] == "held_out"].reset_index(drop=True)
        score_recipe(settings, fitted.folder, held_out, labels=study.labels, run_id=key.run_id, out=working,
                     masks=working / "masks", progress=progress_bar, what="scoring held-out images")
        tell_scores(tell, working, step=following.last + 1)
        if settings.trainer.train_scores:
            score_recipe(settings, fitted.folder, training, labels=study.labels, run_id=key.run_id,
                         out=working / "train_scores", progress=progress_bar, what="scoring training images")
        HISTORY.write(fitted.fit.history, working / "history.csv")
        device = chosen_device(settings.device)
        about = environment(device, threads=settings.threads) | {"nondeterministic": list(fitted.fit.nondeterministic)}
        record(settings, study, key, training, held_out, recipe_id=recipe_id, config=config, out=working,
               seconds=time.monotonic() - started, device=str(device), best_epoch=fitted.fit.best_epoch, about=about,
               weights=fitted.fit.weights)
        remove_checkpoints(working / CHECKPOINT)
    return runs / key.run_id


def train_by_program(settings: TrainCommand, study: Study, rows: pd.DataFrame) -> Path:
    """The folder of the finished run of `trainer.command`, whose predictions are scored as those of `evaluate` are."""
    import platform

    from segcv import __version__
    from segcv.programs import command_words, forget_predictions, hand_out, program_reading, run_program, score_left
    from segcv.runs import THEIRS, claimed

    key, config, recipe_id = identified(settings, study)
    trainer, runs = settings.trainer, Path(settings.runs)
    reading = program_reading(trainer, study.labels, max_pixels=settings.data.max_pixels)
    assert trainer.command is not None
    with claimed(runs, key) as working, followed(settings, key, config, working) as tell:
        started = time.monotonic()
        training, held_out = (rows[rows["role"] == role].reset_index(drop=True) for role in ("train", "held_out"))
        inside, inner = inner_rows(settings, study, training)
        places = hand_out(working / THEIRS, inside, inner=inner, held_out=held_out, masks=trainer.test_masks)
        forget_predictions(Path(places["out"]), held_out["image_id"].tolist())
        cell = {"fold": f"{key.fold}", "seed": f"{key.seed}", "repeat": f"{key.repeat}"}
        run_program(command_words(trainer.command, places | cell), log=working / "program.log",
                    say=partial(print, end="", flush=True))
        score_left(f"{places['out']}/{trainer.predictions}".rstrip("/"), study.split.images, study.split.roles, reading,
                   candidate=key.candidate, repeat=key.repeat, fold=key.fold, seed=key.seed, run_id=key.run_id,
                   out=working, workers=settings.workers, progress=progress_bar)
        tell_scores(tell, working, step=0)
        proven = "{train_csv}" in trainer.command and not trainer.test_masks
        record(settings, study, key, training, held_out, recipe_id=recipe_id, config=config, out=working,
               seconds=time.monotonic() - started, device="", best_epoch=-1,
               proof="the program was given the training images of the split" if proven else "",
               about={"versions": {"python": platform.python_version(), "segcv": __version__}})
    return runs / key.run_id


def followed(settings: TrainCommand, key: RunKey, config: dict[str, Any],
             working: Path) -> AbstractContextManager[Tell]:
    """A block in which the trackers are told of the run."""
    from segcv.tracking import tracked

    told = {name: value for name, value in config.items() if name != "group"}
    return tracked(settings.trackers, folder=working, runs=Path(settings.runs), run_id=key.run_id, settings=told | {
        "candidate": key.candidate, "repeat": key.repeat, "fold": key.fold, "seed": key.seed})


def tell_scores(tell: Tell, folder: Path, *, step: int) -> None:
    """The one number that a list of runs shows: IoU of summed pixels, mean over classes, of the held-out images."""
    from segcv.metrics import miou_pooled
    from segcv.scoring import counts_of, read_scores

    tell.numbers({"held_out/miou_of_summed_pixels": miou_pooled(counts_of(read_scores(folder)).counts)}, step=step)


def probed(settings: TrainCommand, study: Study, told: Path) -> str:
    """What this run would take, in words; as numbers in the file `told`."""
    from dataclasses import asdict
    from tempfile import TemporaryDirectory

    from segcv.recipes import probe_recipe
    from segcv.splits import fold_roles
    from segcv.tables import write_json

    rows = fold_roles(study.split, settings.repeat, settings.fold)
    inside, inner = inner_rows(settings, study, rows[rows["role"] == "train"].reset_index(drop=True))
    with TemporaryDirectory(prefix="segcv-probe-") as folder:
        probe = probe_recipe(settings, inside, rows[rows["role"] == "held_out"].reset_index(drop=True),
                             labels=study.labels, masks=study.split.masks, seeds=seeds_of(settings),
                             folder=Path(folder), inner=inner)
    write_json(told, asdict(probe))
    return f"A run takes about {probe.seconds:.0f} s and {probe.bytes / 1e6:.1f} MB ({probe.says})"


def seeds_of(settings: TrainCommand) -> Seeds:
    """The seeds of each source of chance in this run."""
    from segcv.training import run_seeds

    return run_seeds(settings.seed, repeat=settings.repeat, fold=settings.fold, init=settings.seeds.init,
                     order=settings.seeds.order, augment=settings.seeds.augment, dropout=settings.seeds.dropout)


def inner_rows(settings: TrainCommand, study: Study,
               training: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame | None]:
    """The rows to fit on and, for early stopping, the whole training groups to stop on."""
    if settings.trainer.stopping == "fixed":
        return training, None
    import numpy as np

    from segcv.splits import inner_fold, inner_holdout
    from segcv.tables import stream

    if settings.trainer.validation_fold is None:
        rng = np.random.default_rng(stream(settings.split.seed, "inner", settings.repeat, settings.fold))
        return inner_holdout(training, share=settings.trainer.validation_share, rng=rng)
    _, chosen = inner_fold(study.split.roles, repeat=settings.repeat, fold=settings.fold,
                           validation_fold=settings.trainer.validation_fold)
    is_inner = training["image_id"].isin(chosen["image_id"])
    return training[~is_inner].reset_index(drop=True), training[is_inner].reset_index(drop=True)


def record(settings: TrainCommand, study: Study, key: RunKey, training: pd.DataFrame, held_out: pd.DataFrame, *,
           recipe_id: str, config: dict[str, Any], out: Path, seconds: float, device: str, best_epoch: int,
           about: dict[str, Any], weights: str = "", proof: str = "split") -> None:
    """Write config and the run record; the record last, because it makes the run a run."""
    from segcv import __version__
    from segcv.metrics import majority_class
    from segcv.pixels import class_pixels
    from segcv.runs import FINISHED, RunRecord
    from segcv.tables import write_json

    labelled = study.split.masks[study.split.masks["class_id"] >= 0].groupby("image_id")["pixels"].sum()
    pixels = class_pixels(study.split.masks, training, n_classes=study.labels.n_classes)
    command = settings.trainer.command
    write_json(out / "config.json", {"settings": as_dict(settings), "config": config, "overrides": overrides()})
    RunRecord(
        run_id=key.run_id, candidate=key.candidate, config_id=key.config_id, recipe_id=recipe_id,
        data_id=study.split.data_id, split_id=study.split.split_id, split_name=settings.split.name,
        split_folder=str(study.split.folder.absolute()), leaking=study.split.leaking, repeat=key.repeat, fold=key.fold,
        seed=key.seed, status=FINISHED, seconds=round(seconds, 2), device=device,
        threads=settings.threads if command is None else 0, code_version=__version__,
        model=settings.model.name if command is None else f"a program ({command})", train_images=len(training),
        held_out_images=len(held_out), majority_class=majority_class(pixels),
        unlabelled_train_images=int((labelled.reindex(training["image_id"]).fillna(0) == 0).sum()),
        best_epoch=best_epoch, weights=weights, held_out_proof=proof, environment=about,
    ).write(out)


def identified(settings: TrainCommand, study: Study) -> tuple[RunKey, dict[str, Any], str]:
    """The run's key; what decides its result besides its cell; the recipe id, which leaves the split out."""
    from segcv.runs import RunKey
    from segcv.tables import file_id, fingerprint

    config = {name: value for name, value in as_dict(settings).items() if name not in NOT_PART_OF_THE_CONFIG}
    config["data"] = {"data_id": study.split.data_id, "nodata": settings.data.nodata}
    config["split"] = {"split_id": study.split.split_id}
    config["group"] = {}
    if settings.model.weights_file is not None:
        config["model"]["weights_file"] = file_id(Path(settings.model.weights_file))
    if settings.trainer.command is not None:
        from segcv.programs import program_config

        config = program_config(config)
    recipe = {name: value for name, value in config.items() if name not in ("split", "group")}
    key = RunKey(named(settings), fingerprint([config], length=8),
                 settings.repeat, settings.fold, settings.seed)
    return key, config, fingerprint([recipe], length=8)


def named(settings: TrainCommand) -> str:
    """What is judged: the candidate's name."""
    model = settings.model.name.replace(":", "-") if settings.trainer.command is None else "command"
    return settings.candidate or model


def refuse_settings(settings: TrainCommand) -> None:
    """Refuse what can be refused before anything is read."""
    from segcv.programs import refuse_program
    from segcv.tracking import refuse_trackers

    trainer, first = settings.trainer, settings.model.weights_file
    if first is not None and not Path(first).is_file():
        raise ModelError(f"model.weights_file={first}: there is no such file.")
    refuse_program(as_dict(settings), as_dict(TrainCommand(fold=settings.fold)))
    refuse_trackers(settings.trackers)
    for name, count in (("trainer.epochs", trainer.epochs), ("trainer.batch_size", trainer.batch_size)):
        if count < 1:
            raise ConfigError(f"{name}={count} must be 1 or more.")
    folds = settings.split.folds
    if folds is not None and settings.split.name in K_FOLDS and not 0 <= settings.fold < folds:
        raise SplitError(f"fold={settings.fold} is not in a split of {folds} folds, which are 0 to {folds - 1}. Use "
                         f"one of these, or cut more: split.folds={settings.fold + 1}")
    for name, number in vars(settings.optim).items():
        if isinstance(number, float) and not math.isfinite(number):
            raise ConfigError(f"optim.{name}={number} is not a number to train with.")
    if settings.augment.crop is not None and settings.augment.crop < 1:
        raise ConfigError(f"augment.crop={settings.augment.crop} must be 1 px or more, or null for whole images.")
    from segcv.pixels import STATISTICS

    if settings.preprocessing.statistics not in STATISTICS:
        raise ConfigError(f"preprocessing.statistics={settings.preprocessing.statistics} is not known; use one of "
                          f"{', '.join(STATISTICS)}.")
    if settings.augment.foreground:
        from segcv.training import Cropping

        Cropping(settings.augment.crop, foreground=settings.augment.foreground, void=255)
    if not settings.cache_gb >= 0:
        raise ConfigError(f"cache_gb={settings.cache_gb} must be 0 (decode images whenever they are read) or more.")
    if trainer.stopping not in ("fixed", "early"):
        raise ConfigError(f"trainer.stopping={trainer.stopping} is not known; use fixed or early.")
    usual = TrainerSettings()
    for name in ("validation_fold", "validation_share", "patience"):
        if trainer.stopping == "fixed" and getattr(trainer, name) != getattr(usual, name):
            raise ConfigError(f"trainer.{name}={getattr(trainer, name)} has an effect with trainer.stopping=early "
                              "only.")
    if trainer.validation_fold is not None and trainer.validation_share != usual.validation_share:
        raise ConfigError(f"trainer.validation_share={trainer.validation_share} has no effect beside "
                          f"trainer.validation_fold={trainer.validation_fold}; choose one.")
    if trainer.validation_fold is not None and trainer.validation_fold == settings.fold:
        raise SplitError(f"trainer.validation_fold={trainer.validation_fold} is the test fold (fold={settings.fold}): "
                         "stopping on the fold that is reported makes its score too good. Choose another validation "
                         "fold, or leave it out and training groups are held out inside.")


def step_bar(what: str) -> tuple[Callable[[StepInfo], None], Callable[[], None]]:
    """A progress bar over training steps with loss, speed and time left, and how to close it."""
    from tqdm import tqdm

    bar: Any = tqdm(desc=what, unit="step", disable=None, leave=False)

    def watch(step: StepInfo) -> None:
        bar.total = step.steps
        bar.n = step.step
        loss = "skipped" if math.isnan(step.loss) else f"{step.loss:.3f}"
        bar.set_postfix_str(f"epoch {step.epoch}/{step.epochs} loss {loss} {step.images_per_second:.0f} images/s")

    return watch, bar.close


if __name__ == "__main__":
    main()
