"""What a run of a recipe would take, from a few seconds of it."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from segcv.pixels import LabelMap, fit_preprocessing
from segcv.recipes.fitting import fit_recipe, model_choice
from segcv.recipes.scoring import score_recipe
from segcv.settings import RecipeCommand
from segcv.training import Seeds, StepInfo, build_model, save_model

SCORED = 8                      # images whose scoring is timed
STEPS = 5                       # at least


@dataclass(frozen=True, slots=True)
class Probe:
    """Estimates of one run. Seconds are those of the machine and the load that the probe met."""

    seconds: float              # before the first step, training and scoring
    bytes: int                  # of the finished run folder
    probe_seconds: float        # the probe took itself
    says: str                   # what was measured


class _Enough(Exception):
    """The probe has seen enough steps."""


class _Clock:
    """Watches the steps of a fit until it has seen enough of them."""

    def __init__(self, limit_s: float) -> None:
        self.limit_s, self.first, self.last = limit_s, 0.0, 0.0
        self.seen = self.steps = 0

    def __call__(self, step: StepInfo) -> None:
        self.last, self.seen, self.steps = time.monotonic(), self.seen + 1, step.steps
        self.first = self.first or self.last
        if self.seen >= STEPS and self.last - self.first > self.limit_s:
            raise _Enough

    @property
    def step_s(self) -> float:
        return (self.last - self.first) / max(1, self.seen - 1)


def probe_recipe(settings: RecipeCommand, training: pd.DataFrame, held_out: pd.DataFrame, *, labels: LabelMap,
                 masks: pd.DataFrame, seeds: Seeds, folder: Path, inner: pd.DataFrame | None = None,
                 limit_s: float = 20.0) -> Probe:
    """Train for `limit_s` seconds, score a few images with an untrained network, and add up. `folder` is to throw away.

    Early stopping may end a run sooner, and its looks at the inner images take longer, than this says.
    """
    began, clock = time.monotonic(), _Clock(limit_s)
    with suppress(_Enough):
        fit_recipe(settings, training, labels=labels, masks=masks, seeds=seeds, out=folder, inner=inner, watch=clock)
    few = held_out.head(SCORED)
    choice = model_choice(settings.model, pretrained=False)
    preprocessing = fit_preprocessing(training.head(1), nodata=settings.data.nodata,
                                      max_pixels=settings.data.max_pixels,
                                      statistics=settings.preprocessing.statistics)
    network = build_model(choice, bands=len(preprocessing.mean), n_classes=labels.n_classes)
    save_model(folder / "model", network, choice=choice, labels=labels, preprocessing=preprocessing)
    for rows in (few.head(1), few):                # the first time loads what is compiled
        scoring = time.monotonic()
        score_recipe(settings, folder / "model", rows, labels=labels, run_id="probe", out=folder / "scores")
    image_s = (time.monotonic() - scoring) / len(few)
    scored = len(held_out) + (len(training) if settings.trainer.train_scores else 0)
    mask_bytes = sum(Path(path).stat().st_size for path in few["mask_path"]) / len(few)
    score_bytes = _size(folder / "scores") / len(few)
    return Probe(
        seconds=clock.first - began + clock.step_s * (clock.steps - 1) + image_s * scored,
        bytes=round(_size(folder / "model") + mask_bytes * len(held_out) + score_bytes * scored),
        probe_seconds=time.monotonic() - began,
        says=f"{clock.seen} of {clock.steps} steps at {clock.step_s:.3g} s, {scored} images to score at "
             f"{image_s:.2g} s")


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
