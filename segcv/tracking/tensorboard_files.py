"""Event files in the run's folder, for `tensorboard --logdir runs`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from segcv.tracking.choosing import About, Picture

FOLDER = "tensorboard"


class TensorboardFiles:
    """Curves and pictures of one run. What a try that was killed told of the first step told here, or of later ones,
    is forgotten."""

    def __init__(self, about: About) -> None:
        self._folder = about.folder / FOLDER
        self._writer: Any = None

    def numbers(self, values: Mapping[str, float], *, step: int) -> None:
        writer = self._at(step)
        for name, value in values.items():
            writer.add_scalar(name, value, step)

    def pictures(self, pictures: Mapping[str, Picture], *, step: int) -> None:
        writer = self._at(step)
        for name, picture in pictures.items():
            writer.add_image(name, picture, step, dataformats="HWC")
        writer.flush()

    def close(self, *, failed: bool) -> None:
        if self._writer is not None:
            self._writer.close()

    def _at(self, step: int) -> Any:
        from torch.utils.tensorboard import SummaryWriter

        if self._writer is None:
            self._writer = SummaryWriter(str(self._folder), purge_step=step)
        return self._writer
