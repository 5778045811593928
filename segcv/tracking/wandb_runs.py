"""A run of Weights & Biases per run of ours; WANDB_MODE=offline keeps it in the run's folder, for `wandb sync`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from segcv.tables import fingerprint
from segcv.tracking.choosing import About, Picture

PROJECT = "segcv"                      # unless WANDB_PROJECT says another
WAITS_S = 30.0


class WandbRun:
    """Candidate and settings are the group, the cell is the name. A run that goes on is the same run."""

    def __init__(self, about: About) -> None:
        import os

        import wandb

        folder = str(about.folder.absolute())
        self._images = wandb.Image
        self._run: Any = wandb.init(
            project=os.environ.get("WANDB_PROJECT", PROJECT), dir=folder, group=about.set_name,
            name=about.run_id, id=fingerprint([about.run_id, str(about.runs.absolute())], length=16), resume="allow",
            config=dict(about.settings), settings=wandb.Settings(
                init_timeout=WAITS_S, console="off", silent=True, disable_git=True, save_code=False))

    def numbers(self, values: Mapping[str, float], *, step: int) -> None:
        self._run.log(dict(values) | {"step": step})

    def pictures(self, pictures: Mapping[str, Picture], *, step: int) -> None:
        self._run.log({name: self._images(picture) for name, picture in pictures.items()} | {"step": step})

    def close(self, *, failed: bool) -> None:
        self._run.finish(exit_code=int(failed))
