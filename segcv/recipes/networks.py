"""Recipes as candidates of a nested evaluation: a network with its normalisation and calibration, judged as one."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from segcv.errors import ConfigError
from segcv.metrics import brier, image_scores, majority_class, probability_histogram
from segcv.nesting import OUTER, RoleRows
from segcv.pixels import LabelMap, class_pixels, write_mask
from segcv.recipes.fitting import fit_recipe
from segcv.recipes.scoring import predicted
from segcv.scoring import ScoreTables, counts_of, score_image
from segcv.settings import NestedCommand
from segcv.tables import TRAIN, Progress, quiet, stream
from segcv.training import (
    CHECKPOINT,
    Calibration,
    CalibrationImages,
    StepInfo,
    remove_checkpoints,
    run_seeds,
    write_calibration,
)

JUDGES = ("miou", "brier")


@dataclass(frozen=True, slots=True)
class Frozen:
    """A fitted network on disk, and what was learned on C."""

    model: Path
    calibration: Calibration


class NetworkPipeline:
    """A candidate of `nested`: fits on B, calibrates on C, is judged on V or O. Its files go to `out`.

    `masks` is the MASK_PROFILE of the data, of which only the rows' own class pixels are taken. A fit that was
    interrupted goes on from its checkpoint.
    """

    def __init__(self, name: str, settings: NestedCommand, *, labels: LabelMap, masks: pd.DataFrame, repeat: int,
                 out: Path, run_id: str, progress: Progress = quiet,
                 watch: Callable[[StepInfo], None] | None = None) -> None:
        if settings.judge not in JUDGES:
            raise ConfigError(f"judge={settings.judge} is not known; use one of {', '.join(JUDGES)}.")
        self.name, self.settings, self.labels, self.masks, self.repeat = name, settings, labels, masks, repeat
        self.out, self.run_id, self.progress, self.watch = out, run_id, progress, watch
        self.calibrates = settings.calibration.method != "none" or settings.calibration.threshold != "none"

    def fit(self, base: RoleRows, *, fit_id: str) -> Path:
        """The folder of the network fitted on B, its normalisation included."""
        fixed = self.settings.seeds
        where = fit_id.removesuffix(f"/{self.name}")          # candidates share chance, so that they differ by less
        seeds = run_seeds(self.settings.seed, repeat=self.repeat, fold=stream(where), init=fixed.init,
                          order=fixed.order, augment=fixed.augment, dropout=fixed.dropout)
        fitted = fit_recipe(self.settings, base.table().assign(role=TRAIN), labels=self.labels, masks=self.masks,
                            seeds=seeds, out=self.out, config_id=fit_id, progress=self.progress, watch=self.watch)
        base.seen(sorted(fitted.fit.read))
        remove_checkpoints(self.out / CHECKPOINT)
        return fitted.folder

    def calibrate(self, model: Path, calibration: RoleRows, *, fit_id: str) -> Frozen:
        """The network with what was learned on C; nothing is read where nothing is to be learned."""
        if not self.calibrates:
            return Frozen(model, Calibration())
        rows = calibration.table()
        found = CalibrationImages(n_classes=self.labels.n_classes, void=self.labels.void, root=stream(fit_id))
        predictions = zip(predicted(self.settings, model, rows, probabilities=True), rows["mask_path"],
                          rows["group_id"], strict=True)
        for prediction, mask_path, group_id in self.progress(predictions, total=len(rows), what="calibrating"):
            assert prediction.probabilities is not None
            found.add(prediction.image_id, group_id, prediction.probabilities, self._truth(mask_path))
            calibration.seen([prediction.image_id])
        chosen = self.settings.calibration
        fitted = found.fit(chosen.method, threshold=chosen.threshold)
        write_calibration(model, fitted)
        return Frozen(model, fitted)

    def losses(self, composite: Frozen, judged: RoleRows, *, fit_id: str) -> Mapping[str, float]:
        """Group -> mean over its images of 1 - mIoU, or of the Brier score of the calibrated probabilities."""
        rows, tables, calibration = judged.table(), ScoreTables(), composite.calibration
        squared: dict[str, float] = {}
        histograms: dict[str, list[NDArray[np.int64]]] = {"before": [], "after": []}
        sources = rows["source_id"] if "source_id" in rows else rows["group_id"].map(lambda _: "")
        places = zip(predicted(self.settings, composite.model, rows, probabilities=True), rows["mask_path"],
                     rows["group_id"], sources, strict=True)
        for prediction, mask_path, group_id, source_id in self.progress(places, total=len(rows), what="judging"):
            judged.seen([prediction.image_id])
            truth, p = self._truth(mask_path), prediction.probabilities
            assert p is not None
            after = calibration.probabilities(p)
            found = probability_histogram(truth, after, void=self.labels.void)
            squared[prediction.image_id] = brier(found)
            if judged.role == OUTER:
                histograms["after"].append(found)
                histograms["before"].append(probability_histogram(truth, p, void=self.labels.void))
                write_mask(self.out / "masks" / f"{prediction.image_id}.png", calibration.labels(p))
            tables.add(score_image(truth, calibration.labels(p), labels=self.labels, run_id=self.run_id,
                                   image_id=prediction.image_id, group_id=group_id, source_id=source_id,
                                   mean_top_probability=float(after.max(axis=0).mean(dtype=np.float64))))
        tables.write(self.out)
        if histograms["after"]:
            np.savez_compressed(self.out / "reliability.npz",
                                **{name: np.sum(found, axis=0) for name, found in histograms.items()})
        return group_losses(tables, squared if self.settings.judge == "brier" else None)

    def _truth(self, mask_path: str) -> NDArray[np.integer]:
        truth: NDArray[np.integer] = self.labels.read(Path(mask_path), max_pixels=self.settings.data.max_pixels)
        return truth


class MajorityPipeline:
    """The declared fallback: every pixel is the most common class of the training masks."""

    name, calibrates = "majority", False

    def __init__(self, settings: NestedCommand, *, labels: LabelMap, masks: pd.DataFrame, out: Path,
                 run_id: str) -> None:
        self.settings, self.labels, self.masks, self.out, self.run_id = settings, labels, masks, out, run_id

    def fit(self, base: RoleRows, *, fit_id: str) -> int:
        """The most common class in the masks of the rows."""
        return majority_class(class_pixels(self.masks, base.read(), n_classes=self.labels.n_classes))

    def calibrate(self, model: int, calibration: RoleRows, *, fit_id: str) -> int:
        """The same class."""
        return model

    def losses(self, composite: int, judged: RoleRows, *, fit_id: str) -> Mapping[str, float]:
        """Group -> mean over its images of 1 - mIoU, or of the Brier score, of the one class everywhere."""
        tables, squared, rows = ScoreTables(), {}, judged.read()
        sources = rows["source_id"] if "source_id" in rows else rows["group_id"].map(lambda _: "")
        for image_id, mask_path, group_id, source_id in zip(rows["image_id"], rows["mask_path"], rows["group_id"],
                                                            sources, strict=True):
            truth = self.labels.read(Path(mask_path), max_pixels=self.settings.data.max_pixels)
            everywhere = np.full(truth.shape, composite, np.uint8 if self.labels.n_classes <= 255 else np.uint16)
            valid = truth != self.labels.void
            squared[image_id] = 2.0 * float((truth[valid] != composite).mean()) if valid.any() else math.nan
            if judged.role == OUTER:
                write_mask(self.out / "masks" / f"{image_id}.png", everywhere)
            tables.add(score_image(truth, everywhere, labels=self.labels, run_id=self.run_id, image_id=image_id,
                                   group_id=group_id, source_id=source_id, mean_top_probability=1.0))
        tables.write(self.out)
        return group_losses(tables, squared if self.settings.judge == "brier" else None)


def group_losses(tables: ScoreTables, squared: Mapping[str, float] | None) -> dict[str, float]:
    """Group -> mean over its defined images of the loss: 1 - mIoU, or what `squared` gives; NaN: no defined image."""
    images = counts_of(tables.scores())
    loss = (1.0 - image_scores(images.counts) if squared is None
            else np.array([squared[image_id] for image_id in images.image_id]))
    means = pd.Series(loss).groupby(pd.Series(images.group_id)).mean()
    return {str(group): float(value) for group, value in means.items()}
