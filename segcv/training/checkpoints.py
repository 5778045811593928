"""Where a fit stands, on disk: written beside and renamed, read without running code, refused when it does not fit.

The last few are kept, so that one that a failing disk has spoiled costs some steps and not the fit.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from segcv.errors import ModelError, SegcvWarning
from segcv.tables import replacing
from segcv.training.averaging import MovingAverage

FORMAT = 1
KEPT = 3                                # checkpoints, the newest included


@dataclass(slots=True)
class FitState:
    """Where a fit stands: the next batch of the current epoch, and what the epochs before gave."""

    epoch: int = 0                      # the epoch being run; the number of epochs when all are done
    batch: int = 0                      # its next batch
    step: int = 0                       # batches since the start, skipped ones included
    loss_sum: float = 0.0               # of this epoch, each batch times its images
    images: int = 0                     # of this epoch
    skipped_batches: int = 0            # of this epoch
    seconds: float = 0.0                # of this epoch, up to the last checkpoint
    history: list[dict[str, float]] = field(default_factory=list)      # one row per finished epoch
    unlabelled: list[str] = field(default_factory=list)      # images of all skipped batches
    read: dict[str, None] = field(default_factory=dict)      # ids of all images that batches held
    best_epoch: int = -1                # of the inner score
    best_score: float = -1.0
    best_weights: dict[str, Any] | None = None

    def count(self, image_ids: Sequence[str], *, loss: float) -> None:
        """On to the next batch; `loss` is NaN for one that was skipped."""
        self.read.update(dict.fromkeys(image_ids))
        if math.isnan(loss):
            self.skipped_batches += 1
            self.unlabelled = sorted({*self.unlabelled, *image_ids})
        else:
            self.loss_sum += loss * len(image_ids)
            self.images += len(image_ids)
        self.batch, self.step = self.batch + 1, self.step + 1

    def end_epoch(self, *, lr: float, score: float | None, weights: Mapping[str, Tensor]) -> None:
        """On to the next epoch; `weights` are kept when the inner score is the best so far (the first of equals)."""
        row: dict[str, float] = {
            "epoch": self.epoch, "loss": self.loss_sum / self.images, "lr": lr, "seconds": self.seconds,
            "images": self.images, "skipped_batches": self.skipped_batches,
        }
        if score is not None:
            row["inner_score"] = score
            if score > self.best_score:
                self.best_epoch, self.best_score = self.epoch, score
                self.best_weights = {name: tensor.detach().clone() for name, tensor in weights.items()}
        self.history = [*self.history, row]
        self.epoch, self.batch = self.epoch + 1, 0
        self.loss_sum, self.images, self.skipped_batches, self.seconds = 0.0, 0, 0, 0.0


@dataclass(frozen=True, slots=True)
class Parts:
    """What is trained: all that changes from step to step. The learning rate follows from the step alone."""

    module: nn.Module
    optimizer: torch.optim.Optimizer
    scaler: torch.amp.GradScaler
    average: MovingAverage | None = None


def save_checkpoint(path: Path, parts: Parts, state: FitState, *, belongs_to: Mapping[str, Any]) -> None:
    """Write the present state to `path`; `belongs_to` says of which fit, in plain values. Older states move on."""
    data = {
        "format": FORMAT, "belongs_to": dict(belongs_to), "state": _fields(state),
        "model": parts.module.state_dict(), "optimizer": parts.optimizer.state_dict(),
        "scaler": parts.scaler.state_dict(), "average": None if parts.average is None else parts.average.state(),
    }
    with replacing(path) as beside:
        torch.save(data, beside)
        places = checkpoint_files(path)
        for older, place in reversed(list(zip(places[1:], places[:-1], strict=True))):
            if place.is_file():
                place.replace(older)


def checkpoint_files(path: Path) -> list[Path]:
    """Where the checkpoints lie whose newest is `path`: it, then older ones."""
    return [path, *(path.with_name(f"{path.stem}-{age}{path.suffix}") for age in range(1, KEPT))]


def remove_checkpoints(path: Path) -> None:
    """Remove the checkpoint `path` and the older ones beside it, the oldest first."""
    for place in reversed(checkpoint_files(path)):
        place.unlink(missing_ok=True)


def load_newest(path: Path, parts: Parts, *, belongs_to: Mapping[str, Any], device: torch.device) -> FitState:
    """Bring `parts` to the newest state that can be read, and return where the fit stood; a new one without any.

    Raises:
        ModelError: none can be read, or the newest that can belongs to a fit with other settings.
    """
    damaged: list[DamagedCheckpoint] = []
    for place in checkpoint_files(path):
        if not place.is_file():
            continue
        try:
            state = load_checkpoint(place, parts, belongs_to=belongs_to, device=device)
        except DamagedCheckpoint as error:
            damaged.append(error)
            continue
        if damaged:
            warnings.warn(f"{'; '.join(map(str, damaged))}. The one before, {place.name}, is taken instead.",
                          SegcvWarning, stacklevel=2)
        return state
    if damaged:
        raise ModelError(f"{'; '.join(map(str, damaged))}. Remove it to start this fit again.") from damaged[0]
    return FitState()


class DamagedCheckpoint(Exception):
    """A file that is no readable checkpoint."""


def load_checkpoint(path: Path, parts: Parts, *, belongs_to: Mapping[str, Any], device: torch.device) -> FitState:
    """Bring `parts` to the state in `path`, and return where the fit stood.

    Raises:
        DamagedCheckpoint: it cannot be read.
        ModelError: it belongs to a fit with other settings; the first differences are named.
    """
    try:
        data = torch.load(path, map_location=device, weights_only=True)
    except Exception as error:      # torch raises many kinds for a file that is cut short or not its own
        raise DamagedCheckpoint(f"{path} is not a readable checkpoint ({str(error).splitlines()[0][:200]})"
                                ) from error
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise ModelError(f"{path} is not a checkpoint of this version of segcv. Remove it to start this fit again.")
    differences = [f"{key} was {data['belongs_to'].get(key)!r} and is now {value!r}"
                   for key, value in belongs_to.items() if data["belongs_to"].get(key) != value]
    if differences:
        raise ModelError(f"{path} belongs to another fit: {'; '.join(differences[:3])}. Give the fit a folder of its "
                         "own, or remove the checkpoint to start again.")
    parts.module.load_state_dict(data["model"])
    parts.optimizer.load_state_dict(data["optimizer"])
    parts.scaler.load_state_dict(data["scaler"])
    if parts.average is not None:
        parts.average.load(data["average"])
    return FitState(**data["state"])


def _fields(state: FitState) -> dict[str, Any]:
    """The fields by name, tensors not copied."""
    return {name: getattr(state, name) for name in FitState.__slots__}
