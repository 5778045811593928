"""What a user may set of a recipe: all that decides what a network learns, one dataclass per folder of conf/."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass
class PreprocessingSettings:
    statistics: str = "training_fold"    # whose mean and deviation normalise an image: training_fold, per_source


@dataclass
class ModelSettings:
    name: str = "unet_small"             # or an architecture of smp, or package.module:function
    encoder: str | None = None
    encoder_weights: str | None = None
    weights_file: str | None = None      # start from a local file (safetensors or a state dict)
    arguments: Any = None                # {name: value} of the architecture or function itself, as {dropout: 0.2}


@dataclass
class LossSettings:
    name: str = "cross_entropy+dice"
    class_weights: str = "median_frequency"  # none, inverse_frequency, median_frequency: of training groups only


@dataclass
class OptimSettings:
    lr: float = 0.005
    weight_decay: float = 0.01
    schedule: str = "one_cycle"          # one_cycle, cosine (after the warm-up), constant
    warmup: float = 0.1                  # share of the steps
    clip: float | None = None            # largest norm of the gradient


@dataclass
class AugmentSettings:
    pipeline: Any = "light"              # none, light, geometric, or a list of {name: HorizontalFlip, p: 0.5}
    crop: int | None = None              # side of the training crop in px; null: whole images
    foreground: float = 0.0              # share of the crops around a pixel of a class drawn evenly from the mask
    mixup: float | None = None           # alpha of MixUp inside the batch, such as 0.2; null: none
    cutmix: float | None = None          # alpha of CutMix inside the batch, such as 1
    mix_share: float = 0.5               # of the batches that are mixed, where one of the two is on


@dataclass
class TrainerSettings:
    epochs: int = 10
    batch_size: int = 4
    stopping: str = "fixed"              # fixed epochs, or early: on an inner hold-out of the training groups
    patience: int = 5
    accumulate: int = 1                  # batches per step: trains as batch_size * accumulate, but for batch norm
    ema: float | None = None             # decay of a moving average of the weights, which is then scored; 0.999
    freeze_encoder: int = 0              # epochs in which the encoder learns nothing, the first ones
    validation_share: float = 0.2        # share of the training groups held out inside, for stopping=early
    validation_fold: int | None = None   # or the fold whose groups are held out inside
    precision: str = "auto"              # auto, fp32, bf16, fp16
    channels_last: bool = True
    checkpoint_steps: int | None = None  # also save every n steps; always at the end of an epoch
    train_scores: bool = True            # score the training images too, to show beside the held-out score
    command: str | None = None           # of trainer=command: somebody else's training; places {train_csv}, {out}, ...
    predictions: str = ""                # the rest is of it, too: where in {out}, as test/{image_id}.png
    kind: str = "labels"                 # labels, probabilities, logits
    channels: str | None = None          # class axis: first, last; null: the only one that fits
    predicted_values: Any = None         # ids, masks, or {stored value: class id} of predicted labels
    volume_rows: str | None = None       # of volumes: the axis, x or y, that rows of masks follow
    size: str = "refuse"                 # of predictions of another size than their mask: refuse, nearest, stretch
    test_masks: bool = False             # {test_csv} has the held-out masks too; the run is marked: not proven


@dataclass
class SeedSettings:
    """Each source of chance follows the run's seed unless it is fixed here."""

    init: int | None = None
    order: int | None = None
    augment: int | None = None
    dropout: int | None = None


@dataclass
class PredictionSettings:
    tile: int = 1024                     # larger images are predicted in overlapping tiles of this side, px
    overlap: int = 128
    batch_size: int = 8
