"""Settings of a program: which have an effect, what they say of its predictions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from segcv.errors import ConfigError
from segcv.pixels import LabelMap, predicted_coding
from segcv.programs.command_line import refuse_command
from segcv.scoring import PredictionForm, Reading, check_size_rule
from segcv.settings import TrainerSettings

OWN = ("command", "predictions", "kind", "channels", "predicted_values", "volume_rows", "size", "test_masks")
SHARED = ("stopping", "validation_share", "validation_fold")       # with our own training
OF_OUR_OWN = ("model", "loss", "optim", "augment", "seeds", "prediction")


def refuse_program(given: Mapping[str, Any], usual: Mapping[str, Any]) -> None:
    """Refuse settings of our own training beside a program, and those of a program without one.

    Both are the settings of train as plain values, `usual` with nothing typed.

    Raises:
        ConfigError: the first setting that has no effect, or a command that cannot be right.
    """
    command = given["trainer"]["command"]
    ours = OWN if command is None else [name for name in given["trainer"] if name not in OWN + SHARED]
    changed = [f"trainer.{name}={given['trainer'][name]}" for name in ours
               if given["trainer"][name] != usual["trainer"][name]]
    if command is None:
        if changed:
            raise ConfigError(f"{changed[0]} has an effect with trainer=command only.")
        return
    changed += [f"{part}.{name}={value}" for part in OF_OUR_OWN for name, value in given[part].items()
                if value != usual[part][name]]
    changed += [f"{name}={given[name]}" for name in ("device", "threads", "cache_gb", "probe")
                if given[name] != usual[name]]
    if changed:
        raise ConfigError(f"{changed[0]} has no effect on trainer.command: a program trains what and how it likes. Say "
                          "it in the command.")
    refuse_command(command, early=given["trainer"]["stopping"] == "early", seed=given["seed"], repeat=given["repeat"])


def program_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """What decides a program's scores besides its cell, out of a run's config."""
    return {"trained": "by a program", "data": config["data"], "split": config["split"], "group": {},
            "trainer": {name: config["trainer"][name] for name in OWN + SHARED}}


def program_reading(trainer: TrainerSettings, labels: LabelMap, *, max_pixels: int) -> Reading:
    """How a program's predictions are read.

    Raises:
        ConfigError: the settings contradict each other.
    """
    form = PredictionForm(trainer.kind, trainer.channels)
    form.check_classes(labels.n_classes)
    check_size_rule(trainer.size)
    if trainer.kind != "labels" and trainer.predicted_values is not None:
        raise ConfigError(f"trainer.predicted_values={trainer.predicted_values} has an effect with trainer.kind=labels "
                          "only.")
    return Reading(labels, predicted_coding(labels, values=trainer.predicted_values), form, trainer.size, max_pixels,
                   volume_rows=trainer.volume_rows)
