"""The fit: one network, one list of training images, one loop."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import asdict, dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from torch import Tensor, nn

from segcv.errors import ConfigError, TrainingError
from segcv.pixels import MAX_PIXELS, Decoded, LabelMap, Preprocessing, own_moments
from segcv.tables import HISTORY, fingerprint, stream
from segcv.training.augment import Augmentation, Step
from segcv.training.averaging import MovingAverage
from segcv.training.checkpoints import FitState, Parts, load_newest, save_checkpoint
from segcv.training.cropping import Cropping
from segcv.training.data import NetworkInput, TrainingImages, pair_reader, training_rows
from segcv.training.determinism import chosen_device, chosen_precision, pinned
from segcv.training.feeding import Feed
from segcv.training.freezing import FrozenEncoder, refuse_freezing
from segcv.training.looking import Look, looks
from segcv.training.losses import build_loss, is_labelled, truth_hits
from segcv.training.mixing import Mixing, mixed, refuse_mixing
from segcv.training.models import ModelChoice, Network, build_model
from segcv.training.refusals import explained, refuse_loss, refuse_settings
from segcv.training.schedules import learning_rate
from segcv.training.seeds import EpochSampler, Seeds
from segcv.training.stepping import Gradient
from segcv.training.stopping import Stopping, inner_miou, refuse_overlap

CHECKPOINT = "checkpoint.pt"
LOOK_PX = 512


@dataclass(frozen=True, slots=True)
class StepInfo:
    """What a progress display may show after a step; counts start at 1."""

    epoch: int
    epochs: int
    step: int
    steps: int
    loss: float                     # of this batch; NaN when it was skipped
    lr: float
    images_per_second: float        # since this process started or resumed the fit
    seconds_left: float
    waited_s: float = 0.0           # for data, of the seconds since then


@dataclass(frozen=True, slots=True)
class EpochInfo:
    """What may be shown after an epoch; counts start at 1."""

    epoch: int
    epochs: int
    step: int                                               # the last of this epoch
    row: Mapping[str, float]                                # of HISTORY
    looks: Callable[[pd.DataFrame], Iterator[Look]]         # what the network says of some rows, now


@dataclass(frozen=True, slots=True)
class Fit:
    """A fitted network and how it came about."""

    network: Network
    history: pd.DataFrame                       # HISTORY: one row per epoch
    best_epoch: int                             # the epoch whose weights these are, from 0
    weights: str                                # which weights these are, in words
    unlabelled_images: tuple[str, ...]          # met in batches that were skipped, having no labelled pixel
    nondeterministic: tuple[str, ...]           # operations that had no deterministic form on this device
    read: frozenset[str]                        # ids of the images whose pixels reached the fit, inner ones included
    resumed_at: int                             # the step at which this process took over; 0 for a fresh fit


def fit(
    rows: pd.DataFrame, *, labels: LabelMap, preprocessing: Preprocessing, seeds: Seeds, out: Path,
    model: ModelChoice | None = None, loss: str = "cross_entropy+dice", class_weights: Sequence[float] | None = None,
    augment: str | Sequence[Step] = "none", crop: int | None = None, foreground: float = 0.0,
    mixing: Mixing | None = None,
    epochs: int = 50, batch_size: int = 8, lr: float = 1e-3, weight_decay: float = 1e-2, warmup: float = 0.1,
    schedule: str = "one_cycle", clip: float | None = None, stopping: Stopping | None = None,
    accumulate: int = 1, ema: float | None = None, freeze_encoder: int = 0,
    device: str = "auto", threads: int = 1, workers: int = 0, precision: str = "auto", channels_last: bool = False,
    checkpoint_steps: int | None = None, max_pixels: int = MAX_PIXELS, config_id: str = "",
    decoded: Decoded | None = None, watch: Callable[[StepInfo], None] | None = None,
    after_epoch: Callable[[EpochInfo], None] | None = None,
) -> Fit:
    """The network after `epochs` epochs over the training rows: the same bits for the same arguments.

    It sees these rows (image_id, image_path, mask_path) and no others; their order does not matter. AdamW with the
    peak rate `lr`; `warmup` is a share of all steps; gradients are cut to the norm `clip` where that is given. A batch
    without a labelled pixel is skipped and counted. `class_weights` has one per class (see the function of this name).
    Of windows of `crop` px, the share `foreground` shows a drawn class (see Cropping).
    `precision` is fp32, bf16, fp16 or auto. With `stopping`, the weights are those of the best epoch on its inner rows.
    `decoded` (images that need not be decoded), `workers` (processes that make batches; 0: a thread), `watch` and
    `checkpoint_steps` do not change the result; `threads`, `device`, `precision` and `channels_last` do.

    After each epoch, and every `checkpoint_steps` steps, the state goes to `out`/checkpoint.pt. Where one is found, the
    fit goes on from there, to the bits of a fit that was never interrupted. The caller removes it.

    Raises:
        ConfigError: settings that are unknown or do not fit together.
        TrainingError: no row, no labelled pixel at all, a loss that is not finite, or too little memory.
        ModelError: the model cannot be built, or the checkpoint belongs to another fit.
    """
    choice, place, bands = model or ModelChoice(), chosen_device(device), len(preprocessing.mean)
    precision = chosen_precision(precision, place)
    refuse_settings(epochs=epochs, batch_size=batch_size, lr=lr, weight_decay=weight_decay, clip=clip, threads=threads,
                    workers=workers, checkpoint_steps=checkpoint_steps, accumulate=accumulate, images=len(rows))
    mixing = mixing or Mixing()
    refuse_mixing(mixing, batch_size=batch_size * accumulate)
    if stopping is not None:
        refuse_overlap(stopping, rows)
    table = training_rows(rows)
    compute_loss = build_loss(loss)
    cropping = Cropping(crop, foreground=foreground, void=labels.void)
    augmentation = Augmentation(augment, bands=bands, dtype=preprocessing.dtype, void=labels.void, side=crop)
    sampler = EpochSampler(len(table), batch_size=batch_size * accumulate, root=seeds.order)
    steps = epochs * len(sampler)
    rate = learning_rate(schedule, peak=lr, steps=steps, warmup=warmup)
    weights = _class_weights(class_weights, labels).to(place)
    belongs_to = {
        "config_id": config_id, "model": choice.to_json(), "bands": bands, "classes": labels.n_classes, "loss": loss,
        "class_weights": weights.tolist(), "augment": [dict(step) for step in augmentation.steps], "crop": crop,
        "foreground": foreground,
        "epochs": epochs, "batch_size": batch_size, "lr": lr, "weight_decay": weight_decay, "warmup": warmup,
        "schedule": schedule, "clip": clip, "precision": precision, "channels_last": channels_last, "threads": threads,
        "mixing": asdict(mixing), "accumulate": accumulate, "ema": ema, "freeze_encoder": freeze_encoder,
        "patience": stopping and stopping.patience,
        "inner_images": stopping and fingerprint(sorted(stopping.rows["image_id"])),
        "seeds": asdict(seeds), "images": fingerprint(table["image_id"]), "normalised_on": preprocessing.fitted_on,
        "normalised_by": preprocessing.scope,
    }

    with ExitStack() as stack:
        nondeterministic = stack.enter_context(pinned(place, threads=threads))
        torch.manual_seed(stream(seeds.init, "init"))
        network = build_model(choice, bands=bands, n_classes=labels.n_classes)
        _refuse_crop(crop, network, choice)
        refuse_freezing(network.module, name=choice.name, epochs=freeze_encoder, of=epochs)
        network.move(place, channels_last=channels_last)
        optimizer = torch.optim.AdamW(_parameter_groups(network.module, weight_decay), lr=lr)
        encoder = FrozenEncoder(network.module, until=freeze_encoder)
        scaler = torch.amp.GradScaler(place.type, enabled=precision == "fp16")
        average = None if ema is None else MovingAverage(network.module, ema)
        parts = Parts(network.module, optimizer, scaler, average)
        gradient = Gradient(network, compute_loss, weights, at_once=None if accumulate == 1 else batch_size,
                            precision=precision, scaler=scaler, dropout=seeds.dropout)
        state = load_newest(out / CHECKPOINT, parts, belongs_to=belongs_to, device=place)

        read = pair_reader(labels, preprocessing, max_pixels=max_pixels, decoded=decoded)
        images = TrainingImages(table, read=read, preprocessing=preprocessing, augmentation=augmentation,
                                cropping=cropping, stride=network.stride, root=seeds.augment)
        feed = stack.enter_context(Feed(images, sampler, epoch=state.epoch, start=state.batch, epochs=epochs,
                                        workers=workers, pin=place.type == "cuda"))
        own = own_moments(rows, preprocessing, max_pixels=max_pixels, decoded=decoded)
        if stopping is not None:
            own |= own_moments(stopping.rows, preprocessing, max_pixels=max_pixels, decoded=decoded)
        to_input = NetworkInput(preprocessing, device=place, channels_last=channels_last, own=own)
        resumed_at, started, fed = state.step, time.monotonic(), 0

        while state.epoch < epochs and not _stalled(state, stopping):
            clock = time.monotonic() - state.seconds
            encoder.begin(state.epoch)
            for batch in islice(feed, len(sampler) - state.batch):
                for group in optimizer.param_groups:
                    group["lr"] = rate(state.step)
                value = math.nan
                with explained(batch.image_ids):
                    if is_labelled(batch.truth, n_classes=labels.n_classes):      # asked here: a GPU is not waited for
                        hits = truth_hits(batch.truth.to(place, non_blocking=True), n_classes=labels.n_classes)
                        x, hits = mixed(to_input(batch.images, batch.nodata, batch.image_ids), hits, mixing,
                                        root=seeds.augment, step=state.step)
                        optimizer.zero_grad(set_to_none=True)
                        value = gradient.add(x, hits, step=state.step, check=partial(
                            refuse_loss, image_ids=batch.image_ids, epoch=state.epoch, step=state.step, lr=lr,
                            clip=clip, precision=precision))
                        if clip is not None:
                            scaler.unscale_(optimizer)
                            nn.utils.clip_grad_norm_(network.module.parameters(), clip)
                        scaler.step(optimizer)
                        scaler.update()
                        if average is not None:
                            average.update(network.module)
                state.count(batch.image_ids, loss=value)

                state.seconds = time.monotonic() - clock
                if checkpoint_steps and state.step % checkpoint_steps == 0:
                    save_checkpoint(out / CHECKPOINT, parts, state, belongs_to=belongs_to)
                if watch is not None:
                    fed, spent = fed + len(batch.image_ids), time.monotonic() - started
                    left = spent / (state.step - resumed_at) * (steps - state.step)
                    watch(StepInfo(state.epoch + 1, epochs, state.step, steps, loss=value, lr=rate(state.step - 1),
                                   images_per_second=fed / spent, seconds_left=left, waited_s=feed.waited_s))

            _refuse_empty_epoch(state)
            with nullcontext() if average is None else average.inside(network.module):
                score = None
                if stopping is not None:
                    score = inner_miou(network, stopping.rows, read=read, labels=labels, to_input=to_input)
                state.end_epoch(lr=rate(state.step - 1), score=score, weights=network.module.state_dict())
                if after_epoch is not None:
                    after_epoch(EpochInfo(state.epoch, epochs, state.step, state.history[-1], partial(
                        looks, network, read=read, to_input=to_input, most_px=LOOK_PX)))
            save_checkpoint(out / CHECKPOINT, parts, state, belongs_to=belongs_to)

        if state.best_weights is not None:
            network.module.load_state_dict(state.best_weights)
        elif average is not None:
            network.module.load_state_dict(average.weights)
        encoder.begin(epochs)
        network.module.eval()
    history = HISTORY.check(pd.DataFrame(state.history), where="history of the fit")
    best = state.epoch - 1 if stopping is None else state.best_epoch
    read_ids = frozenset(state.read) | frozenset([] if stopping is None else stopping.rows["image_id"])
    weights_are = ("" if ema is None else f"moving average ({ema:g}) of ") + (
        "the last epoch" if stopping is None else "the best epoch on the inner hold-out")
    return Fit(network, history, best, weights_are, tuple(sorted(set(state.unlabelled))), tuple(nondeterministic),
               read_ids, resumed_at)


def _parameter_groups(module: nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    """Weights decay; biases and the scales of normalisation, which have one axis, do not."""
    trained = [parameter for parameter in module.parameters() if parameter.requires_grad]
    groups = [{"params": [p for p in trained if p.ndim > 1], "weight_decay": weight_decay},
              {"params": [p for p in trained if p.ndim <= 1], "weight_decay": 0.0}]
    return [group for group in groups if group["params"]]


def _class_weights(weights: Sequence[float] | None, labels: LabelMap) -> Tensor:
    if weights is not None and len(weights) != labels.n_classes:
        raise ConfigError(f"class_weights has {len(weights)} numbers and there are {labels.n_classes} classes.")
    return torch.tensor([1.0] * labels.n_classes if weights is None else list(weights), dtype=torch.float32)


def _refuse_crop(crop: int | None, network: Network, choice: ModelChoice) -> None:
    if crop is not None and (crop < 1 or crop % network.stride):
        near = max(1, round(crop / network.stride)) * network.stride
        raise ConfigError(f"crop={crop} is not a multiple of {network.stride}, which {choice.name} needs. "
                          f"Use crop={near}.")


def _refuse_empty_epoch(state: FitState) -> None:
    if not state.images:
        raise TrainingError("No training image of this fold has a labelled pixel; every batch was skipped. Look at the "
                            "masks and at the ignored value.")


def _stalled(state: FitState, stopping: Stopping | None) -> bool:
    return stopping is not None and state.epoch - 1 - state.best_epoch >= stopping.patience
