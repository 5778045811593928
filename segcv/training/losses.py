"""Losses over labelled pixels: cross-entropy, Dice, focal, and sums of them.

All take logits (images x classes x H x W), `hits` (same shape, 1 where the pixel's truth is the class, all 0 where it
is ignored) and one weight per class, and give one number. They are written as products over `hits`, not as lookups,
because products have deterministic gradients on every device.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from importlib import import_module

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from segcv.errors import ConfigError, SegcvWarning

Loss = Callable[[Tensor, Tensor, Tensor], Tensor]
SMOOTH_PX = 1.0        # pixels added to both sides of the Dice ratio, so that a few pixels do not swing it
FOCUS = 2.0            # gamma of the focal loss, the value of its paper


def cross_entropy(logits: Tensor, hits: Tensor, weights: Tensor) -> Tensor:
    """Weighted mean of -log p(truth) over labelled pixels, in nats; weights divide as well as multiply."""
    weight = hits * weights[:, None, None]                                     # images x classes x H x W
    return -(weight * logits.log_softmax(dim=1)).sum() / _positive(weight.sum())


def focal(logits: Tensor, hits: Tensor, weights: Tensor) -> Tensor:
    """Cross-entropy in which each pixel counts (1 - p(truth))^2, so that easy pixels fade (Lin et al. 2017, eq. 4)."""
    log_p = logits.log_softmax(dim=1)
    weight = hits * weights[:, None, None]
    return -(weight * (1 - log_p.exp()).clamp(0, 1) ** FOCUS * log_p).sum() / _positive(weight.sum())


def dice(logits: Tensor, hits: Tensor, weights: Tensor) -> Tensor:
    """1 - soft Dice, in [0, 1]: weighted mean over the classes that the batch's truth holds.

    Pixels are summed over the whole batch before the ratio. A class that no labelled pixel of the batch shows is left
    out: its ratio would be undefined, and with smoothing it would punish a single stray probability with a full 1.
    """
    labelled = hits.sum(dim=1, keepdim=True)                                   # images x 1 x H x W
    p = logits.softmax(dim=1) * labelled
    both, either = (p * hits).sum(dim=(0, 2, 3)), (p + hits).sum(dim=(0, 2, 3))  # classes
    ratio = (2 * both + SMOOTH_PX) / (either + SMOOTH_PX)
    weight = weights * (hits.sum(dim=(0, 2, 3)) > 0)
    return (weight * (1 - ratio)).sum() / _positive(weight.sum())


LOSSES: dict[str, Loss] = {"cross_entropy": cross_entropy, "dice": dice, "focal": focal}


def build_loss(names: str) -> Loss:
    """The loss called `names`, or the sum of several: "cross_entropy+dice". A part may be a user's own function, as
    package.module:function, which takes and gives what these do.

    Raises:
        ConfigError: a name is unknown or repeated.
    """
    parts = [name.strip() for name in names.split("+")]
    known = LOSSES | {name: _own(name) for name in parts if ":" in name}
    for name in parts:
        if name not in known:
            near = get_close_matches(name, LOSSES, n=1)
            raise ConfigError(f"loss={names}: {name!r} is not a loss{f'; did you mean {near[0]}?' if near else '.'} "
                              f"Choose from {', '.join(LOSSES)}, or add some: cross_entropy+dice.")
        if parts.count(name) > 1:
            raise ConfigError(f"loss={names}: {name} is named twice.")

    def total(logits: Tensor, hits: Tensor, weights: Tensor) -> Tensor:
        return torch.stack([known[name](logits, hits, weights) for name in parts]).sum()

    return total


def _own(name: str) -> Loss:
    place, _, function = name.partition(":")
    try:
        found: Loss = getattr(import_module(place), function)
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"loss.name={name}: {error}. It is read as package.module:function, and the package must be "
                          "importable from where the command runs (python path).") from error
    return found


def truth_hits(truth: Tensor, *, n_classes: int) -> Tensor:
    """Float images x classes x H x W: 1 where the truth (images x H x W of class ids) is the class, 0 elsewhere.

    Ignored pixels hold a value outside 0..n_classes-1 and so hit no class.
    """
    classes = torch.arange(n_classes, device=truth.device, dtype=torch.int32)
    return (truth.to(torch.int32)[:, None] == classes[:, None, None]).to(torch.float32)


def is_labelled(truth: Tensor, *, n_classes: int) -> bool:
    """Does the truth, on the CPU, hold a pixel of any class?"""
    values = truth.numpy()
    return bool(((values >= 0) & (values < n_classes)).any())


WEIGHTINGS = ("none", "inverse_frequency", "median_frequency")


def class_weights(pixels: Sequence[int] | NDArray[np.int64], *, method: str, names: Sequence[str]) -> tuple[float, ...]:
    """One weight per class, 0 or more, from the labelled pixels of each class in the training masks.

    `inverse_frequency`: all classes count alike in a batch like the whole, and the mean weight of a pixel is 1.
    `median_frequency`: median(pixels) / pixels, so the median class has weight 1 (Eigen & Fergus 2015, with pixels
    counted over all masks and not over the masks that show the class). `none`: 1 each.
    A class without a pixel gets 0, and is warned: nothing can be learned of it.

    Raises:
        ConfigError: the method is unknown, or there is no labelled pixel.
    """
    if method not in WEIGHTINGS:
        raise ConfigError(f"class_weights={method} is unknown. Choose from {', '.join(WEIGHTINGS)}.")
    count = np.asarray(pixels, dtype=np.int64)
    if method == "none":
        return (1.0,) * len(count)
    seen = count > 0
    if not seen.any():
        raise ConfigError("class weights: the training masks have no labelled pixel.")
    if not seen.all():
        absent = ", ".join(name for name, there in zip(names, seen, strict=True) if not there)
        warnings.warn(f"No training mask of this fold holds {absent}; the loss gives it weight 0 and the network "
                      "cannot learn it.", SegcvWarning, stacklevel=2)
    scale = count[seen].sum() / seen.sum() if method == "inverse_frequency" else np.median(count[seen])
    return tuple(float(scale / n) if n else 0.0 for n in count)


def _positive(total: Tensor) -> Tensor:
    """`total`, or 1 where it is 0 (then the numerator is 0 too: every labelled pixel has weight 0)."""
    return torch.where(total > 0, total, torch.ones_like(total))
