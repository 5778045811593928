"""The settings of train, applied to the rows of one role: normalisation, class weights, network; saved."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from joblib import cpu_count

from segcv.errors import ConfigError
from segcv.pixels import Decoded, LabelMap, class_pixels, decoded_pairs, fit_preprocessing
from segcv.settings import ModelSettings, RecipeCommand
from segcv.tables import Progress, quiet
from segcv.training import (
    EpochInfo,
    Fit,
    Mixing,
    ModelChoice,
    Seeds,
    StepInfo,
    Stopping,
    chosen_device,
    class_weights,
    fit,
    save_model,
)


@dataclass(frozen=True, slots=True)
class FittedRecipe:
    """A fitted network and the folder it was saved in, with its labels and its normalisation."""

    fit: Fit
    folder: Path


def fit_recipe(settings: RecipeCommand, rows: pd.DataFrame, *, labels: LabelMap, masks: pd.DataFrame, seeds: Seeds,
               out: Path, config_id: str = "", inner: pd.DataFrame | None = None, progress: Progress = quiet,
               watch: Callable[[StepInfo], None] | None = None,
               after_epoch: Callable[[EpochInfo], None] | None = None,
               say: Callable[[str], None] | None = None) -> FittedRecipe:
    """Everything that learns, fitted on `rows` and saved into `out`/model; no other image is opened.

    `masks` is the MASK_PROFILE of the data; only the rows' own class pixels are taken from it. `inner`: whole training
    groups, disjoint from `rows`, that early stopping looks at. `say` is told what the cache does not hold.
    """
    decoded = kept_decoded(settings, [rows] if inner is None else [rows, inner], labels=labels, progress=progress)
    if decoded is not None and decoded.streamed and say is not None:
        say(decoded.streamed)
    preprocessing = fit_preprocessing(rows, nodata=settings.data.nodata, max_pixels=settings.data.max_pixels,
                                      decoded=decoded, statistics=settings.preprocessing.statistics, progress=progress)
    weights = class_weights(class_pixels(masks, rows, n_classes=labels.n_classes), method=settings.loss.class_weights,
                            names=labels.names)
    choice = model_choice(settings.model)
    trainer, optim, augment = settings.trainer, settings.optim, settings.augment
    fitted = fit(rows, labels=labels, preprocessing=preprocessing, seeds=seeds, out=out, model=choice,
                 loss=settings.loss.name, class_weights=weights, augment=augment.pipeline,
                 crop=augment.crop, foreground=augment.foreground,
                 mixing=Mixing(augment.mixup, augment.cutmix, augment.mix_share),
                 epochs=trainer.epochs, batch_size=trainer.batch_size, lr=optim.lr,
                 weight_decay=optim.weight_decay, warmup=optim.warmup, schedule=optim.schedule, clip=optim.clip,
                 stopping=None if inner is None else Stopping(inner, trainer.patience), device=settings.device,
                 threads=settings.threads, workers=processes(settings, decoded), precision=trainer.precision,
                 channels_last=trainer.channels_last, checkpoint_steps=trainer.checkpoint_steps,
                 max_pixels=settings.data.max_pixels, config_id=config_id, decoded=decoded, watch=watch,
                 accumulate=trainer.accumulate, ema=trainer.ema, freeze_encoder=trainer.freeze_encoder,
                 after_epoch=after_epoch)
    save_model(out / "model", fitted.network, choice=choice, labels=labels, preprocessing=preprocessing)
    return FittedRecipe(fitted, out / "model")


def model_choice(model: ModelSettings, *, pretrained: bool = True) -> ModelChoice:
    """What the settings say of the model; without the weights it starts from unless `pretrained`.

    Raises:
        ConfigError: the arguments are no names and values.
    """
    arguments = {} if model.arguments is None else model.arguments
    if not isinstance(arguments, Mapping) or not all(isinstance(name, str) for name in arguments):
        raise ConfigError(f"model.arguments={arguments} is no mapping; type 'model.arguments={{dropout: 0.2}}'.")
    weights = Path(model.weights_file) if model.weights_file and pretrained else None
    return ModelChoice(model.name, model.encoder, model.encoder_weights if pretrained else None, weights,
                       dict(arguments))


def kept_decoded(settings: RecipeCommand, tables: Sequence[pd.DataFrame], *, labels: LabelMap,
                 progress: Progress = quiet) -> Decoded | None:
    """What the cache keeps of the images in these tables, made now where it is missing; None without a cache."""
    if not settings.cache_gb >= 0:
        raise ConfigError(f"cache_gb={settings.cache_gb} must be 0 (decode images whenever they are read) or more.")
    if not settings.cache_gb:
        return None
    pairs = [pair for table in tables for pair in zip(table["image_path"], table["mask_path"], strict=True)]
    return decoded_pairs(pairs, labels=labels, folder=Path(settings.cache) / "decoded", limit_gb=settings.cache_gb,
                         max_pixels=settings.data.max_pixels, workers=int(cpu_count()), progress=progress)


def processes(settings: RecipeCommand, decoded: Decoded | None) -> int:
    """How many processes make batches: none where a thread does it sooner, on a CPU with all images decoded."""
    thread_will_do = decoded is not None and not decoded.streamed and chosen_device(settings.device).type == "cpu"
    return 0 if thread_will_do else settings.workers
