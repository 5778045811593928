"""The settings of train, applied to the rows of one role: normalisation, class weights, network; saved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from segcv.pixels import LabelMap, class_pixels, fit_preprocessing
from segcv.settings import RecipeCommand
from segcv.tables import Progress, quiet
from segcv.training import Fit, ModelChoice, Seeds, StepInfo, Stopping, class_weights, fit, save_model


@dataclass(frozen=True, slots=True)
class FittedRecipe:
    """A fitted network and the folder it was saved in, with its labels and its normalisation."""

    fit: Fit
    folder: Path


def fit_recipe(settings: RecipeCommand, rows: pd.DataFrame, *, labels: LabelMap, masks: pd.DataFrame, seeds: Seeds,
               out: Path, config_id: str = "", inner: pd.DataFrame | None = None, progress: Progress = quiet,
               watch: Callable[[StepInfo], None] | None = None) -> FittedRecipe:
    """Everything that learns, fitted on `rows` and saved into `out`/model; no other image is opened.

    `masks` is the MASK_PROFILE of the data; only the rows' own class pixels are taken from it. `inner`: whole training
    groups, disjoint from `rows`, that early stopping looks at.
    """
    preprocessing = fit_preprocessing(rows, nodata=settings.data.nodata, max_pixels=settings.data.max_pixels,
                                      progress=progress)
    weights = class_weights(class_pixels(masks, rows, n_classes=labels.n_classes), method=settings.loss.class_weights,
                            names=labels.names)
    choice = ModelChoice(settings.model.name, settings.model.encoder, settings.model.encoder_weights,
                         Path(settings.model.weights_file) if settings.model.weights_file else None)
    trainer, optim = settings.trainer, settings.optim
    fitted = fit(rows, labels=labels, preprocessing=preprocessing, seeds=seeds, out=out, model=choice,
                 loss=settings.loss.name, class_weights=weights, augment=settings.augment.pipeline,
                 crop=settings.augment.crop, epochs=trainer.epochs, batch_size=trainer.batch_size, lr=optim.lr,
                 weight_decay=optim.weight_decay, warmup=optim.warmup, schedule=optim.schedule, clip=optim.clip,
                 stopping=None if inner is None else Stopping(inner, trainer.patience), device=settings.device,
                 threads=settings.threads, workers=settings.workers, precision=trainer.precision,
                 channels_last=trainer.channels_last, checkpoint_steps=trainer.checkpoint_steps,
                 max_pixels=settings.data.max_pixels, config_id=config_id, watch=watch)
    save_model(out / "model", fitted.network, choice=choice, labels=labels, preprocessing=preprocessing)
    return FittedRecipe(fitted, out / "model")
