"""How good probabilities are, from histograms of fixed size: calibration, ranking and thresholds without pixels.

Probabilities are kept as k/255 (k = 0..255, rounded). A histogram is rows x 2 x 256 pixel counts, int64: a row for each
class, then one row for the largest probability of each pixel; in each row first the pixels where that label is wrong,
then those where it is right. Histograms add: images to groups, groups to all.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from segcv.errors import ScoreError
from segcv.metrics.overlap import FloatArray

LEVELS = np.arange(256) / 255.0
SUM_TOLERANCE = 1e-2       # float16 sums of many classes stray this far from 1


def probability_histogram(truth: NDArray[Any], probabilities: NDArray[Any], *, void: int | None) -> NDArray[np.int64]:
    """Pixel counts by probability, (classes + 1) x 2 x 256: wrong and right, the last row for the largest probability.

    `truth`: class ids, H x W; pixels of `void` do not count. `probabilities`: classes x H x W in [0, 1], sum 1.
    Of equal largest probabilities the lowest class is taken, as argmax does.

    >>> truth = np.array([[1, 255]])                              # one pixel of class 1, predicted with .2 and .8
    >>> histogram = probability_histogram(truth, np.array([[[0.2, 0.5]], [[0.8, 0.5]]]), void=255)
    >>> np.argwhere(histogram).tolist()                         # class 0 wrong at 51/255, the others right
    [[0, 0, 51], [1, 1, 204], [2, 1, 204]]

    Raises:
        ScoreError: the shapes do not fit, a probability is outside [0, 1] or not a number, or they do not add to 1.
    """
    if probabilities.ndim != 3 or probabilities.shape[1:] != truth.shape:
        raise ScoreError(f"Probabilities must be classes x H x W over the truth's {truth.shape}, "
                         f"not {probabilities.shape}. Move the class axis first.")
    if truth.dtype.kind not in "biu" or probabilities.dtype.kind != "f":
        raise ScoreError(f"Truth must hold class ids and probabilities floats, not {truth.dtype} and "
                         f"{probabilities.dtype}. Divide stored whole numbers by their scale first.")
    from segcv.metrics.probability_kernels import add_probabilities

    n_classes = len(probabilities)
    p = probabilities.reshape(n_classes, -1)                        # classes x pixels
    p = p if p.dtype in (np.float32, np.float64) else p.astype(np.float32)             # of float16, exactly
    g = truth.reshape(-1).astype(np.int64)
    if void is None:
        void = int(g.min(initial=0)) - 1                            # a value that no pixel has
    histogram = np.zeros((n_classes + 1, 2, 256), np.int64)
    in_range, off = add_probabilities(g, np.int64(void), np.ascontiguousarray(p), histogram)
    if not in_range:
        judged = p[:, g != void]
        raise ScoreError(f"Probabilities must lie in [0, 1]; these reach from {judged.min()} to {judged.max()}. "
                         "Apply the softmax first if they are logits.")
    if off > SUM_TOLERANCE:
        raise ScoreError(f"The classes' probabilities of a pixel must add to 1; here a sum is off by {off:.3f}.")
    return histogram


def ece(row: NDArray[np.int64], *, bins: int = 15) -> float:
    """Expected calibration error in [0, 1]: mean gap of accuracy and probability over equal bins (Guo et al. 2017).

    `row`: 2 x 256, the top row for the usual ECE, a class row for the class-wise one. Bins are (m/M, (m + 1)/M]; 0 lies
    in the first. NaN without a pixel.

    >>> row = np.zeros((2, 256), np.int64)
    >>> row[0, 255], row[1, 255] = 1, 3                         # sure four times, right three times
    >>> ece(row)
    0.25
    """
    number = row.sum(axis=0)                                        # 256
    if number.sum() == 0:
        return float("nan")
    bin_of = np.maximum(-(-np.arange(256) * bins // 255) - 1, 0)    # exact in whole numbers
    right = np.bincount(bin_of, weights=row[1], minlength=bins)
    believed = np.bincount(bin_of, weights=number * LEVELS, minlength=bins)
    return float(np.abs(right - believed).sum() / number.sum())


def brier(histogram: NDArray[np.int64]) -> float:
    """Mean over pixels of the classes' summed squared error of probability, in [0, 2]; NaN without a pixel.

    >>> round(brier(probability_histogram(np.array([[1]]), np.array([[[0.2]], [[0.8]]]), void=None)), 3)
    0.08
    """
    classes = histogram[:-1].sum(axis=0)                            # 2 x 256
    pixels = int(histogram[-1].sum())
    squared = (classes[0] * LEVELS**2).sum() + (classes[1] * (1 - LEVELS) ** 2).sum()
    return float(squared / pixels) if pixels else float("nan")


def auroc(row: NDArray[np.int64]) -> float:
    """Chance that a right pixel has a higher probability than a wrong one, ties half, in [0, 1]; chance level 0.5.

    Exact on the stored probabilities. NaN where all pixels are right, or all wrong.

    >>> row = np.zeros((2, 256), np.int64)
    >>> row[0, [10, 40, 65]], row[1, [35, 80, 90]] = 1, 1       # 1 + 3 + 3 of 9 pairs
    >>> round(auroc(row), 3)
    0.778
    """
    wrong, right = row.astype(object)                               # Python's whole numbers: products never overflow
    below = np.cumsum(wrong) - wrong
    pairs = 2 * int(sum(wrong)) * int(sum(right))
    return int((right * (2 * below + wrong)).sum()) / pairs if pairs else float("nan")


def average_precision(row: NDArray[np.int64]) -> float:
    """Sum over thresholds, from high to low, of precision times the recall gained, in [0, 1].

    NaN without a right pixel. No interpolation; its chance level is the share of right pixels.

    >>> row = np.zeros((2, 256), np.int64)
    >>> row[0, [10, 40, 65]], row[1, [35, 80, 90]] = 1, 1       # precision 1, 1 and 3/5 at the three right ones
    >>> round(average_precision(row), 3)
    0.867
    """
    wrong, right = row[:, ::-1].astype(np.float64)
    if right.sum() == 0:
        return float("nan")
    found, seen = right.cumsum(), (right + wrong).cumsum()
    precision: FloatArray = np.divide(found, seen, out=np.zeros(256), where=seen > 0)
    return float((precision * right).sum() / right.sum())
