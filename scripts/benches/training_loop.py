"""What the loop itself costs: a model of one layer, trained by us, by a bare loop and by Lightning's Trainer."""

from __future__ import annotations

import logging
import statistics
import tempfile
import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import lightning
import numpy as np
import pandas as pd
import torch
from benches.rows import Row
from lightning.pytorch.callbacks import Callback
from PIL import Image
from torch import nn

from segcv.pixels import Decoded, Preprocessing, decoded_pairs, fit_preprocessing, label_map, write_mask
from segcv.training import (
    Augmentation,
    Cropping,
    EpochSampler,
    ModelChoice,
    NetworkInput,
    StepInfo,
    build_loss,
    build_model,
    fit,
    pinned,
    run_seeds,
)
from segcv.training.data import Batch, TrainingImages, pair_reader, training_rows
from segcv.training.feeding import Feed
from segcv.training.losses import truth_hits

IMAGES, SIDE, BATCH, EPOCHS, ROUNDS = 700, 16, 2, 1, 7      # one epoch: what ends an epoch is no part of a step
FROM, TO = 40, 340                    # steps between which CPU time is taken
LABELS = label_map(num_classes=2)
CPU = torch.device("cpu")


def nano(bands: int, n_classes: int) -> nn.Module:
    """A model of one layer: what is left is the loop."""
    return nn.Conv2d(bands, n_classes, 1)


@dataclass(slots=True)
class Stopwatch:
    """CPU time of the loop's thread at each step, in seconds; all three get their batches from another, the same."""

    marks: list[float] = field(default_factory=list)

    def tick(self) -> None:
        self.marks.append(time.thread_time())

    @property
    def per_step_ms(self) -> float:
        """Median over the steps, which a step that was interrupted by other work does not move."""
        return 1000 * float(np.median(np.diff(self.marks[FROM:TO])))


@dataclass(frozen=True, slots=True)
class Material:
    """Small images, decoded, and what each of the three loops needs of them."""

    rows: pd.DataFrame
    decoded: Decoded
    preprocessing: Preprocessing

    def feed(self) -> Feed:
        images = TrainingImages(
            training_rows(self.rows), read=pair_reader(LABELS, self.preprocessing, max_pixels=SIDE**2,
                                                       decoded=self.decoded),
            preprocessing=self.preprocessing, stride=1, root=0, cropping=Cropping(None, foreground=0, void=255),
            augmentation=Augmentation("none", bands=3, dtype="uint8", void=255))
        return Feed(images, EpochSampler(IMAGES, batch_size=BATCH, root=0), epoch=0, start=0, epochs=EPOCHS, workers=0,
                    pin=False)


def material(folder: Path) -> Material:
    rng, rows = np.random.default_rng(0), []
    for number in range(IMAGES):
        image_path, mask_path = folder / f"{number}.png", folder / f"{number}_mask.png"
        Image.fromarray(rng.integers(0, 255, (SIDE, SIDE, 3)).astype(np.uint8)).save(image_path)
        write_mask(mask_path, rng.integers(0, 2, (SIDE, SIDE)).astype(np.uint8))
        rows.append((str(number), str(image_path), str(mask_path)))
    table = pd.DataFrame(rows, columns=["image_id", "image_path", "mask_path"])
    decoded = decoded_pairs(zip(table["image_path"], table["mask_path"], strict=True), labels=LABELS,
                            folder=folder / "cache", limit_gb=1)
    return Material(table, decoded, fit_preprocessing(table, decoded=decoded))


def ours(given: Material) -> float:
    """CPU ms per step of a fit."""
    watch = Stopwatch()

    def tick(_: StepInfo) -> None:
        watch.tick()

    with tempfile.TemporaryDirectory() as out:
        fit(given.rows, labels=LABELS, preprocessing=given.preprocessing, seeds=run_seeds(0, repeat=0, fold=0),
            out=Path(out), model=ModelChoice("benches.training_loop:nano"), epochs=EPOCHS, batch_size=BATCH,
            device="cpu", decoded=given.decoded, watch=tick)
    return watch.per_step_ms


def bare(given: Material) -> float:
    """CPU ms per step of the shortest loop over the same batches: input, forward, loss, backward, step."""
    watch = Stopwatch()
    with pinned(CPU), given.feed() as feed:
        loss_of, optimizer = recipe(given)
        for batch in feed:
            total = loss_of(batch)
            total.item()
            optimizer.zero_grad(set_to_none=True)
            total.backward()      # type: ignore[no-untyped-call]
            optimizer.step()
            watch.tick()
    return watch.per_step_ms


def recipe(given: Material) -> tuple[Any, torch.optim.Optimizer]:
    """Batch -> loss, and the optimizer, as a fit has them."""
    network = build_model(ModelChoice("benches.training_loop:nano"), bands=3, n_classes=2)
    network.move(CPU, channels_last=False).train()
    weights_first = sorted(network.module.parameters(), key=lambda parameter: -parameter.ndim)
    optimizer = torch.optim.AdamW([{"params": [one]} for one in weights_first], lr=1e-3)      # two groups, as in a fit
    to_input, loss, weights = NetworkInput(given.preprocessing, device=CPU), build_loss("cross_entropy+dice"), (
        torch.ones(2))

    def loss_of(batch: Batch) -> torch.Tensor:
        return loss(network.logits(to_input(batch.images, batch.nodata)), truth_hits(batch.truth, n_classes=2), weights)

    return loss_of, optimizer


def lightning_trainer(given: Material) -> float:
    """CPU ms per step of Lightning's Trainer, everything that it can leave out left out."""
    watch = Stopwatch()
    loss_of, optimizer = recipe(given)

    class Module(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.kept = nn.Parameter(torch.zeros(1))

        def training_step(self, batch: Batch, number: int) -> torch.Tensor:
            return loss_of(batch)

        def transfer_batch_to_device(self, batch: Batch, device: torch.device, loader: int) -> Batch:
            return batch

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return optimizer

    class Tick(Callback):
        def on_train_batch_end(self, *_: Any) -> None:
            watch.tick()

    with pinned(CPU), given.feed() as feed, tempfile.TemporaryDirectory() as out, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
        lightning.Trainer(
            accelerator="cpu", max_epochs=EPOCHS, logger=False, enable_checkpointing=False, enable_progress_bar=False,
            enable_model_summary=False, use_distributed_sampler=False, default_root_dir=out, callbacks=[Tick()],
        ).fit(Module(), feed)
    return watch.per_step_ms


def overhead() -> list[Row]:
    """The three in turn; what is above the bare loop, median over rounds."""
    with tempfile.TemporaryDirectory() as folder:
        given = material(Path(folder))
        rounds = [(bare(given), ours(given), lightning_trainer(given)) for _ in range(ROUNDS)]
    base, mine, theirs = (statistics.median(values) for values in zip(*rounds, strict=True))
    own, rivals = sorted(one[1] - one[0] for one in rounds), sorted(one[2] - one[0] for one in rounds)
    added, rival = statistics.median(own), statistics.median(rivals)
    return [Row(f"CPU added to a step by the loop, model of one layer (median of {ROUNDS} rounds, least to most)",
                f"{added:.3f} ms ({own[0]:.2f} to {own[-1]:.2f}, of {mine:.2f})",
                f"Lightning's Trainer {rival:.2f} ms ({rivals[0]:.2f} to {rivals[-1]:.2f}, of {theirs:.2f}), bare loop "
                f"{base:.2f}", f"{rival / added:.1f}x", "<= 0.15 ms", added <= 0.15)]
