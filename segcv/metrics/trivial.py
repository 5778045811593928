"""The predictor that looks at no image: every pixel is the class that is most common in training."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from segcv.errors import ConfigError, ScoreError
from segcv.metrics.counts import Counts


def majority_class(training_pixels: ArrayLike) -> int:
    """The class with most pixels in the *training* images; the lowest id among equals.

    `training_pixels`: pixels per class, or images x classes.

    >>> majority_class([[6, 2], [3, 8]])
    1
    """
    pixels = np.asarray(training_pixels)
    if pixels.ndim not in (1, 2) or pixels.size == 0 or pixels.sum() == 0:
        raise ScoreError("There is no labelled training pixel, hence no most common class.")
    return int(np.argmax(pixels if pixels.ndim == 1 else pixels.sum(axis=0)))


def trivial_counts(truth_pixels: ArrayLike, *, class_id: int) -> Counts:
    """Counts that predicting `class_id` everywhere would get, from the true pixels alone, images x classes.

    >>> trivial_counts([[6, 2]], class_id=0).fp.tolist()
    [[2, 0]]
    """
    truth = np.asarray(truth_pixels)
    if truth.ndim != 2 or truth.dtype.kind not in "iu":
        raise ScoreError(f"True pixels must be whole numbers, images x classes, not {truth.dtype} {truth.shape}.")
    if not 0 <= class_id < truth.shape[1]:
        raise ConfigError(f"class_id={class_id} is none of the classes 0..{truth.shape[1] - 1}.")
    valid = truth.sum(axis=1)                                       # images
    tp, fp, fn = np.zeros_like(truth), np.zeros_like(truth), truth.copy()
    tp[:, class_id] = truth[:, class_id]
    fp[:, class_id] = valid - truth[:, class_id]
    fn[:, class_id] = 0
    return Counts(tp, fp, fn, valid)
