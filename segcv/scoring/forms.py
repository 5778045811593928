"""What a stored prediction is: class ids, probabilities or logits, and how they become class ids."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segcv.errors import ConfigError, ScoreError

LABELS, PROBABILITIES, LOGITS = "labels", "probabilities", "logits"
KINDS = (LABELS, PROBABILITIES, LOGITS)
FIRST, LAST = "first", "last"
SUM_TOLERANCE = 1e-2            # float16 sums of many classes stray this far from 1


@dataclass(frozen=True, slots=True)
class PredictionForm:
    """How predictions are stored.

    `kind`: labels, probabilities or logits. `channels`: where the class axis is, first or last; None where the shape
    leaves no doubt. `threshold`: probability above which class 1 of two is said (one channel: of the foreground);
    None is 0.5. `scale`: the stored value of probability 1. `key`: which array of an .npz file.
    """

    kind: str = LABELS
    channels: str | None = None
    threshold: float | None = None
    scale: float = 1.0
    key: str | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ConfigError(f"kind={self.kind} is not known; predictions are one of {', '.join(KINDS)}.")
        if self.channels not in (None, FIRST, LAST):
            raise ConfigError(f"channels={self.channels} is not known; the class axis is first or last.")
        if self.kind == LABELS:
            for name, off in (("channels", None), ("threshold", None), ("scale", 1.0)):
                if getattr(self, name) != off:
                    raise ConfigError(f"{name}={getattr(self, name)} has no effect on class ids; it is for "
                                      "kind=probabilities or kind=logits.")
        if self.threshold is not None and not 0 < self.threshold < 1:
            raise ConfigError(f"threshold={self.threshold} must be a probability between 0 and 1, for logits too.")
        if not self.scale > 0:
            raise ConfigError(f"scale={self.scale} must be the stored value of probability 1, such as 255.")
        if self.kind == LOGITS and self.scale != 1.0:
            raise ConfigError(f"scale={self.scale} has an effect on probabilities only.")

    def check_classes(self, n_classes: int) -> None:
        """Refuse a threshold among more than two classes."""
        if self.threshold is not None and n_classes != 2:
            raise ConfigError(f"threshold={self.threshold} has an effect with two classes only; among {n_classes} the "
                              "largest probability decides.")

    def classes_first(self, stored: NDArray[Any], *, n_classes: int) -> NDArray[Any]:
        """The array as channels x H x W, where channels are the classes, or 1: the foreground of two classes.

        Raises:
            ScoreError: the shape fits neither, or both ways round.
        """
        array = stored
        while array.ndim > 3 and array.shape[0] == 1:                # a batch of one
            array = array[0]
        if array.ndim == 4 and array.shape[1] == 1 and array.shape[0] == n_classes:
            array = array[:, 0]                                      # classes x one slice x H x W
        if array.ndim == 2:
            array = array[None]
        if array.ndim != 3:
            raise ScoreError(f"has the shape {stored.shape}; {self.kind} are classes x H x W, H x W x classes, or "
                             "H x W for two classes")
        fitting = {n_classes, 1} if n_classes == 2 else {n_classes}
        ways = [way for way, axis in ((FIRST, 0), (LAST, 2)) if array.shape[axis] in fitting]
        if self.channels is not None:
            ways = [self.channels] if self.channels in ways else []
        if not ways:
            said = f" with channels={self.channels}" if self.channels else ""
            raise ScoreError(f"has the shape {stored.shape}; no axis has the {n_classes} channels of the "
                             f"{n_classes} classes{said}")
        if len(ways) == 2:
            raise ScoreError(f"has the shape {stored.shape}, whose first and last axis may both be the classes; "
                             "say which: channels=first or channels=last")
        return array if ways[0] == FIRST else np.moveaxis(array, -1, 0)

    def check_values(self, channels: NDArray[Any], valid: NDArray[np.bool_]) -> None:
        """Refuse what is no probability or logit on pixels that count.

        `channels`: channels x H x W as stored, `valid`: H x W.

        Raises:
            ScoreError: NaN or infinity, probabilities outside [0, 1] or that do not add to 1.
        """
        if not channels.size or not valid.any():
            return
        inside = channels.reshape(len(channels), -1) if valid.all() else channels[:, valid]      # channels x pixels
        low, high = float(inside.min()), float(inside.max())
        if not (math.isfinite(low) and math.isfinite(high)):
            bad = int((~np.isfinite(inside)).any(axis=0).sum())
            raise ScoreError(f"holds NaN or infinity in {bad} of {inside.shape[1]} scored pixels. Write a number "
                             "everywhere, or ignore those pixels in the truth")
        if self.kind != PROBABILITIES:
            return
        if low < 0 or high > self.scale:
            raise ScoreError(f"holds values from {low:g} to {high:g}, outside the range of probabilities 0 to "
                             f"{self.scale:g}. If they are logits: kind=logits; if probability 1 is stored as "
                             "another number: scale=255")
        if len(inside) > 1:
            off = float(np.abs(inside.sum(axis=0, dtype=np.float64) / self.scale - 1).max())
            if off > SUM_TOLERANCE:
                raise ScoreError(f"holds probabilities whose sum over the classes is not 1 (it differs by up to "
                                 f"{off:.3g}). If they are logits: kind=logits; one sigmoid per class is no "
                                 "distribution over classes: hand in class ids")

    def class_ids(self, channels: NDArray[Any]) -> NDArray[np.integer[Any]]:
        """Class of each pixel, H x W: the largest channel (the lowest class among equals), or class 1 above threshold.

        >>> PredictionForm("logits").class_ids(np.array([[[-1.0, 0.2, 3.0]]])).tolist()
        [[0, 1, 1]]
        """
        cut = 0.5 if self.threshold is None else self.threshold
        above: NDArray[np.bool_] | None = None
        if len(channels) == 1:
            above = channels[0] > (math.log(cut / (1 - cut)) if self.kind == LOGITS else cut * self.scale)
        elif self.threshold is not None and self.kind == LOGITS:
            above = channels[1] - channels[0] > math.log(cut / (1 - cut))
        elif self.threshold is not None:
            above = channels[1] > cut * self.scale
        if above is not None:
            return above.astype(np.uint8)
        largest: NDArray[np.intp] = channels.argmax(axis=0)
        return largest.astype(np.uint8 if len(channels) <= 255 else np.uint16)

    def probabilities(self, channels: NDArray[Any]) -> NDArray[np.float32]:
        """The channels as probabilities of all classes, classes x H x W."""
        stored = channels.astype(np.float32, copy=False)
        if self.kind == LOGITS:
            if len(stored) == 1:
                stored = np.concatenate([np.zeros_like(stored), stored])
            shifted = np.exp(stored - stored.max(axis=0))
            found: NDArray[np.float32] = shifted / shifted.sum(axis=0)
            return found
        shares = stored / np.float32(self.scale) if self.scale != 1.0 else stored
        return np.concatenate([1 - shares, shares]) if len(shares) == 1 else shares
