"""The trackers by name, and the libraries they need."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from segcv.errors import ConfigError, MissingExtra

Picture = NDArray[np.uint8]             # H x W x 3


class Tracker(Protocol):
    """Takes what is told of one run; any call may raise whatever its library raises."""

    def numbers(self, values: Mapping[str, float], *, step: int) -> None:
        """Numbers by name at a step."""

    def pictures(self, pictures: Mapping[str, Picture], *, step: int) -> None:
        """Pictures by name at a step."""

    def close(self, *, failed: bool) -> None:
        """The run has ended."""


@dataclass(frozen=True, slots=True)
class About:
    """The run that is told of: where its files lie, its id (CANDIDATE-CONFIG/repeat-0/fold-0/seed-0), its settings."""

    folder: Path
    runs: Path
    run_id: str
    settings: Mapping[str, Any]

    @property
    def set_name(self) -> str:
        return self.run_id.split("/")[0]

    @property
    def cell(self) -> str:
        """repeat-0 fold-0 seed-0."""
        return " ".join(self.run_id.split("/")[1:])


@dataclass(frozen=True, slots=True)
class Kind:
    """A tracker: the library it needs, the extra that brings it ("": none), and how it is opened."""

    library: str
    extra: str
    open: Callable[[About], Tracker]


def _tensorboard(about: About) -> Tracker:
    from segcv.tracking.tensorboard_files import TensorboardFiles

    return TensorboardFiles(about)


def _mlflow(about: About) -> Tracker:
    from segcv.tracking.mlflow_runs import MlflowRun

    return MlflowRun(about)


def _wandb(about: About) -> Tracker:
    from segcv.tracking.wandb_runs import WandbRun

    return WandbRun(about)


TRACKERS: dict[str, Kind] = {
    "tensorboard": Kind("tensorboard", "", _tensorboard),
    "mlflow": Kind("mlflow", "mlflow", _mlflow),
    "wandb": Kind("wandb", "wandb", _wandb),
}


def refuse_trackers(names: Sequence[str]) -> None:
    """Do nothing if each tracker is known, named once, and its library installed.

    Raises:
        ConfigError, MissingExtra: the first that is not.
    """
    for name in names:
        if name not in TRACKERS:
            near = get_close_matches(name, TRACKERS, n=1)
            raise ConfigError(f"trackers: {name} is unknown{f'; did you mean {near[0]}?' if near else '.'} Choose from "
                              f"{', '.join(TRACKERS)}, as trackers=[tensorboard,mlflow]; trackers=[] for none.")
        if list(names).count(name) > 1:
            raise ConfigError(f"trackers: {name} is named twice.")
        kind = TRACKERS[name]
        if find_spec(kind.library) is None:
            package = f"'segcv[{kind.extra}]'" if kind.extra else kind.library
            raise MissingExtra(f"trackers=[{name}] needs the library {kind.library}, which is not installed: "
                               f"pip install {package}")
