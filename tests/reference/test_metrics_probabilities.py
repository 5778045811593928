"""Calibration and ranking from histograms, by hand and beside scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from segcv import metrics
from segcv.errors import ScoreError
from segcv.metrics import probability_histogram


def row_of(levels: list[int], right: list[int]) -> NDArray[np.int64]:
    row = np.zeros((2, 256), np.int64)
    for level, is_right in zip(levels, right, strict=True):
        row[is_right, level] += 1
    return row


def made(seed: int, *, n_classes: int = 3) -> tuple[NDArray[np.uint8], NDArray[np.float64], NDArray[np.int64]]:
    """Truth with ignored pixels, probabilities, and their stored levels 0..255."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(0, 2, (n_classes, 20, 30))
    probabilities = np.exp(logits) / np.exp(logits).sum(axis=0)
    truth = np.where(rng.random((20, 30)) < 0.6, probabilities.argmax(axis=0), rng.integers(0, n_classes, (20, 30)))
    truth[rng.random((20, 30)) < 0.1] = 255
    return truth.astype(np.uint8), probabilities, np.rint(probabilities * 255).astype(np.int64)


def test_a_pixel_is_in_each_class_row_and_in_the_top_row() -> None:
    """By hand: one valid pixel of class 1 with probabilities .2 and .8, that is 51/255 and 204/255."""
    truth = np.array([[1, 255]], np.uint8)
    histogram = probability_histogram(truth, np.array([[[0.2, 0.9]], [[0.8, 0.1]]]), void=255)

    assert histogram.sum() == 3
    assert (histogram[0, 0, 51], histogram[1, 1, 204], histogram[2, 1, 204]) == (1, 1, 1)


def test_auroc_is_the_share_of_pairs_won() -> None:
    """By hand: right at 35, 80, 90 against wrong at 10, 40, 65: 1 + 3 + 3 of 9 pairs; a tie counts half."""
    assert metrics.auroc(row_of([10, 40, 35, 80, 65, 90], [0, 0, 1, 1, 0, 1])) == pytest.approx(7 / 9)
    assert metrics.auroc(row_of([5, 5], [0, 1])) == 0.5
    assert np.isnan(metrics.auroc(row_of([5, 7], [1, 1])))


def test_ece_is_the_mean_gap_over_bins() -> None:
    """By hand, 15 bins of 17 levels: level 17 closes the first bin, 18 opens the second, 0 lies in the first.

    First bin: levels 0 and 17, one right of two, mean 8.5/255; second: level 18, wrong; last: 255, right.
    """
    row = row_of([0, 17, 18, 255], [0, 1, 0, 1])

    assert metrics.ece(row) == pytest.approx((2 * (1 / 2 - 8.5 / 255) + 18 / 255 + 0) / 4)
    assert np.isnan(metrics.ece(row_of([], [])))


def test_brier_sums_over_classes() -> None:
    """By hand: .2 and .8 with the second class true: .04 + .04."""
    histogram = probability_histogram(np.array([[1]]), np.array([[[0.2]], [[0.8]]]), void=None)

    assert metrics.brier(histogram) == pytest.approx(0.08)


@pytest.mark.parametrize("seed", range(4))
def test_ranking_equals_scikit_learn(seed: int) -> None:
    """scikit-learn on the stored levels of every valid pixel."""
    sklearn = pytest.importorskip("sklearn.metrics")
    truth, probabilities, levels = made(seed)
    valid = truth != 255

    histogram = probability_histogram(truth, probabilities, void=255)

    for c in range(3):
        right, level = truth[valid] == c, levels[c][valid]
        assert metrics.auroc(histogram[c]) == pytest.approx(sklearn.roc_auc_score(right, level), abs=1e-12)
        ap = sklearn.average_precision_score(right, level)
        assert metrics.average_precision(histogram[c]) == pytest.approx(ap, abs=1e-12)


def test_brier_is_close_to_that_of_the_unrounded_probabilities() -> None:
    """By definition on float64; rounding to 1/255 changes each term by at most 2 · 1/510 + 1/510²."""
    truth, probabilities, _ = made(9)
    valid = truth != 255
    one_hot = np.arange(3)[:, None] == truth[valid]
    expected = ((probabilities[:, valid] - one_hot) ** 2).sum(axis=0).mean()

    histogram = probability_histogram(truth, probabilities, void=255)

    assert metrics.brier(histogram) == pytest.approx(expected, abs=3 * (2 / 510 + 1 / 510**2))


def test_histograms_of_parts_add_up() -> None:
    """The two halves of an image are the image."""
    truth, probabilities, _ = made(2)
    halves = [probability_histogram(truth[rows], probabilities[:, rows], void=255)
              for rows in (slice(None, 7), slice(7, None))]

    assert (sum(halves) == probability_histogram(truth, probabilities, void=255)).all()


def test_logits_and_a_last_class_axis_are_refused() -> None:
    """Common mistakes, each with its cure."""
    truth = np.zeros((4, 5), np.uint8)
    with pytest.raises(ScoreError, match="softmax"):
        probability_histogram(truth, np.full((2, 4, 5), 3.0), void=None)
    with pytest.raises(ScoreError, match="class axis"):
        probability_histogram(truth, np.full((4, 5, 2), 0.5), void=None)
    with pytest.raises(ScoreError, match="add to 1"):
        probability_histogram(truth, np.full((2, 4, 5), 0.7), void=None)
    with pytest.raises(ScoreError, match="softmax"):
        probability_histogram(truth, np.full((2, 4, 5), np.nan), void=None)


def by_definition(truth: NDArray[np.uint8], probabilities: NDArray[np.floating[Any]], void: int) -> NDArray[np.int64]:
    """Pixel by pixel: Python's rounding (half to even), the first of equal largest ones."""
    n_classes = len(probabilities)
    histogram = np.zeros((n_classes + 1, 2, 256), np.int64)
    for g, p in zip(truth.reshape(-1).tolist(), probabilities.reshape(n_classes, -1).T.astype(float).tolist(),
                    strict=True):
        if g != void:
            for c in range(n_classes):
                histogram[c, int(g == c), round(255 * p[c])] += 1
            top = p.index(max(p))
            histogram[n_classes, int(g == top), round(255 * p[top])] += 1
    return histogram


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize(("seed", "shape", "flat"), [(0, (7, 9), 1), (1, (90, 101), 1), (2, (90, 101), 25)])
def test_histograms_are_their_definition(seed: int, shape: tuple[int, int], flat: int, dtype: Any) -> None:
    """Second method: one pixel at a time; with steps of 1/510 half the probabilities lie between two levels, flat areas
    are counted by runs, noisy ones pixel by pixel, and more than one block of 8192 pixels is needed."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 511, -(-shape[0] * shape[1] // flat)).repeat(flat)[:shape[0] * shape[1]].reshape(shape)
    second = rng.integers(0, 511 - first)
    probabilities = (np.stack([first, second, 510 - first - second]) / 510).astype(dtype)
    truth = rng.integers(0, 3, shape).astype(np.uint8)
    truth[rng.random(shape) < 0.1] = 255
    before = probabilities.copy()
    probabilities[:, truth == 255] = np.nan                         # what stands on ignored pixels does not matter

    histogram = probability_histogram(truth, probabilities, void=255)

    assert (histogram == by_definition(truth, before, 255)).all()
    assert (histogram[:-1].sum(axis=(1, 2)) == (truth != 255).sum()).all()
