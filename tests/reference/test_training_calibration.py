"""Calibration maps and thresholds, held against closed forms, scikit-learn and hand counts."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from segcv.errors import ConfigError, TrainingError
from segcv.training import CALIBRATIONS, Calibration, CalibrationImages

RNG = np.random.default_rng(3)


def binary(p1: np.ndarray) -> np.ndarray:
    """Two classes x 1 x pixels."""
    return np.stack([1 - p1, p1])[:, None, :].astype(np.float32)


def collected(*images: tuple[np.ndarray, np.ndarray], n_classes: int = 2) -> CalibrationImages:
    found = CalibrationImages(n_classes=n_classes, void=255, root=7)
    for number, (p, truth) in enumerate(images):
        found.add(f"image{number}", f"group{number}", p, truth)
    return found


def test_the_temperature_of_a_network_that_says_nine_tenths_and_is_right_seven_times_in_ten():
    """Closed form: the likelihood is greatest where sigmoid(scale * logit(.9)) = .7, scale = ln(7/3) / ln(9)."""
    truth = np.array([[1] * 7 + [0] * 3])

    fitted = collected((binary(np.full(10, 0.9)), truth)).fit("temperature")

    assert fitted.scale == pytest.approx([np.log(7 / 3) / np.log(9)] * 2, abs=1e-4)
    assert fitted.probabilities(binary(np.array([0.9])))[1] == pytest.approx(0.7, abs=1e-4)


def test_vector_scaling_of_two_classes_is_logistic_regression_on_the_log_probabilities():
    """Second method: scikit-learn's logistic regression without penalty, features log p1 and -log p0."""
    z = RNG.normal(0.3, 1.5, 3000)
    truth = (RNG.random(3000) < 1 / (1 + np.exp(-(0.6 * z - 0.4)))).astype(int)
    p1 = 1 / (1 + np.exp(-z))
    features = np.stack([np.log(p1), -np.log(1 - p1)], axis=1)
    oracle = LogisticRegression(C=np.inf, tol=1e-10, max_iter=10_000).fit(features, truth)

    fitted = collected((binary(p1), truth[None])).fit("vector")

    assert fitted.probabilities(binary(p1))[1, 0] == pytest.approx(oracle.predict_proba(features)[:, 1], abs=2e-3)


def test_isotonic_pools_what_falls():
    """By hand: at p = .2 half are right, at p = .4 a quarter: pooled, 2 + 1 of 8; at .8 all of four."""
    p1 = np.repeat([0.2, 0.4, 0.8], 4)
    truth = np.array([[1, 1, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1]])

    fitted = collected((binary(p1), truth)).fit("isotonic")

    found = fitted.probabilities(binary(np.array([0.2, 0.4, 0.8])))[1, 0]
    assert found == pytest.approx([3 / 8, 3 / 8, 1.0], abs=1e-6)


def test_the_threshold_is_the_cut_with_the_best_mean_over_images():
    """By hand: object pixels at .31 and .6, background at .1 and .4. Cuts in (.1, .31] give IoU 2/3, in (.4, .6] 1/2,
    in (.31, .4] 1/3; the best one nearest to one half is 79/255, just at .31."""
    p1 = np.array([0.1, 0.31, 0.4, 0.6])

    fitted = collected((binary(p1), np.array([[0, 1, 0, 1]]))).fit("none", threshold="iou")

    assert fitted.threshold == pytest.approx(79 / 255)
    assert fitted.labels(binary(p1)).tolist() == [[0, 1, 1, 1]]


def test_ignored_pixels_do_not_enter():
    """The same as without them; with a truth they would have changed everything."""
    p1, truth = np.full(10, 0.9), np.array([[1] * 7 + [0] * 3])
    more = np.concatenate([p1, np.full(50, 0.9)])

    fitted = collected((binary(more), np.concatenate([truth, np.full((1, 50), 255)], axis=1))).fit("temperature")

    assert fitted.scale == collected((binary(p1), truth)).fit("temperature").scale


@pytest.mark.parametrize("method", CALIBRATIONS)
def test_calibrated_probabilities_add_to_one_and_survive_a_file(method: str):
    logits = RNG.normal(0, 2, (3, 20, 20))
    p = (np.exp(logits) / np.exp(logits).sum(axis=0)).astype(np.float32)
    truth = RNG.integers(0, 3, (20, 20))

    fitted = collected((p, truth), n_classes=3).fit(method)

    q = fitted.probabilities(p)
    assert q.sum(axis=0) == pytest.approx(np.ones((20, 20)), abs=1e-5)
    assert Calibration.from_json(fitted.to_json()) == fitted
    assert fitted.labels(p).shape == (20, 20)


@pytest.mark.parametrize("method", CALIBRATIONS)
def test_the_order_of_images_does_not_change_a_bit(method: str):
    images = []
    for _ in range(3):
        logits = RNG.normal(0, 2, (2, 90, 90))
        images.append(((np.exp(logits) / np.exp(logits).sum(axis=0)).astype(np.float32),
                       RNG.integers(0, 2, (90, 90))))
    forward, backward = (CalibrationImages(n_classes=2, void=255, root=7) for _ in range(2))
    for number, (p, truth) in enumerate(images):
        forward.add(f"{number}", "g", p, truth)
    for number, (p, truth) in reversed(list(enumerate(images))):
        backward.add(f"{number}", "g", p, truth)

    assert forward.fit(method, threshold="dice") == backward.fit(method, threshold="dice")


def test_a_threshold_for_three_classes_is_refused():
    p = np.full((3, 1, 4), 1 / 3, np.float32)

    with pytest.raises(ConfigError, match="threshold=iou is for two classes"):
        collected((p, np.array([[0, 1, 2, 0]])), n_classes=3).fit("none", threshold="iou")


def test_nothing_to_calibrate_on_is_refused():
    with pytest.raises(TrainingError, match="no labelled pixel to calibrate on"):
        collected((binary(np.array([0.5])), np.array([[255]]))).fit("temperature")
