"""MixUp and CutMix inside a training batch: images blended, or cut into each other, with their truth."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from segcv.errors import ConfigError
from segcv.tables import stream


@dataclass(frozen=True, slots=True)
class Mixing:
    """How batches are mixed. `mixup` and `cutmix` are the alphas of their Beta(alpha, alpha); None: not at all.

    A batch is mixed with the chance `share`; where both are given, one of the two is drawn for it.
    """

    mixup: float | None = None
    cutmix: float | None = None
    share: float = 0.5

    @property
    def is_on(self) -> bool:
        return self.mixup is not None or self.cutmix is not None


def refuse_mixing(mixing: Mixing, *, batch_size: int) -> None:
    """Do nothing if the mixing makes sense.

    Raises:
        ConfigError: what does not.
    """
    for name, alpha in (("mixup", mixing.mixup), ("cutmix", mixing.cutmix)):
        if alpha is not None and not (alpha > 0 and math.isfinite(alpha)):
            raise ConfigError(f"augment.{name}={alpha} must be above 0: the alpha of Beta(alpha, alpha), such as 0.2 "
                              "or 1.")
    if mixing.is_on and not 0 < mixing.share <= 1:
        raise ConfigError(f"augment.mix_share={mixing.share} must be above 0 and at most 1: the share of batches that "
                          "are mixed.")
    if not mixing.is_on and mixing.share != Mixing().share:
        raise ConfigError(f"augment.mix_share={mixing.share} has an effect with augment.mixup or augment.cutmix only.")
    if mixing.is_on and batch_size < 2:
        raise ConfigError("augment.mixup and augment.cutmix mix the images of a batch, and trainer.batch_size=1 has "
                          "one. Use trainer.batch_size=2 or more.")


def mixed(x: Tensor, hits: Tensor, mixing: Mixing, *, root: int, step: int) -> tuple[Tensor, Tensor]:
    """The batch of this step, mixed or as it was: a function of (root, step), whoever made the batch.

    `x` is images x bands x H x W, normalised; `hits` images x classes x H x W, 1 where the truth is the class. MixUp
    blends each image and its truth with those of another, by one share per batch (Zhang et al. 2018, eq. 1). CutMix
    pastes the same box of another, its area being that share, clipped at the border (Yun et al. 2019, eq. 1 and 2).
    Ignored pixels hit no class and so weigh less, or nothing, after it.
    """
    if not mixing.is_on or len(x) < 2:
        return x, hits
    rng = np.random.default_rng(stream(root, "mix", step))
    if rng.random() >= mixing.share:
        return x, hits
    options = [(name, alpha) for name, alpha in (("mixup", mixing.mixup), ("cutmix", mixing.cutmix))
               if alpha is not None]
    name, alpha = options[int(rng.integers(len(options)))]
    keep = float(rng.beta(alpha, alpha))
    others = torch.from_numpy(rng.permutation(len(x))).to(x.device)
    if name == "mixup":
        return keep * x + (1 - keep) * x[others], keep * hits + (1 - keep) * hits[others]
    height, width = x.shape[-2:]
    side = math.sqrt(1 - keep)
    rows, columns = (_span(int(rng.integers(length)), side * length, length) for length in (height, width))
    x, hits = x.clone(), hits.clone()
    x[..., rows, columns] = x[others][..., rows, columns]
    hits[..., rows, columns] = hits[others][..., rows, columns]
    return x, hits


def _span(middle: int, length: float, end: int) -> slice:
    return slice(max(0, round(middle - length / 2)), min(end, round(middle + length / 2)))
