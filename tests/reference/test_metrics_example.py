"""Three images of 2 x 4 pixels and three classes that give other numbers under every convention."""

from __future__ import annotations

import numpy as np
import pytest

from segcv import metrics
from segcv.metrics import Counts, confusion, counts_from_confusion

VOID = 255
TRUTH = np.array([
    [[0, 0, 0, 0], [1, 1, 0, 0]],
    [[0, 0, 0, 0], [0, 0, 0, VOID]],
    [[0, 0, 2, 2], [0, 0, 2, 2]],
], np.uint8)
PREDICTION = np.array([
    [[0, 0, 0, 0], [1, 0, 0, 0]],
    [[0, 0, 0, 0], [0, 0, 1, 1]],
    [[0, 0, 2, 2], [0, 0, 0, 2]],
], np.uint8)


@pytest.fixture
def counts() -> Counts:
    matrices = [confusion(t, p, n_classes=3, void=VOID) for t, p in zip(TRUTH, PREDICTION, strict=True)]
    return counts_from_confusion(np.stack(matrices))


def test_cells_of_the_example(counts: Counts) -> None:
    """By hand, pixel by pixel."""
    assert metrics.iou(counts) == pytest.approx(
        np.array([[6 / 7, 1 / 2, np.nan], [6 / 7, 0, np.nan], [4 / 5, np.nan, 3 / 4]]), nan_ok=True)
    assert counts.valid.tolist() == [8, 7, 8]
    assert metrics.cells_by_state(counts) == {"hit": 5, "missed": 0, "false_alarm": 1, "absent": 3}
    assert (metrics.miss_rate(counts), metrics.false_alarm_rate(counts)) == (0, 1 / 4)


def test_the_example_of_the_docstrings_is_this_one(counts: Counts) -> None:
    """Counted by hand there, from the masks here."""
    for part in ("tp", "fp", "fn", "valid"):
        assert getattr(metrics.example_counts(), part).tolist() == getattr(counts, part).tolist()


@pytest.mark.parametrize(("average", "policy", "expected"), [
    ("miou_pooled", "union", 0.6418), ("miou_image", "union", 0.6274), ("miou_class", "union", 0.6127),
    ("miou_image", "truth", 0.7702), ("miou_class", "truth", 0.6960),
    ("miou_image", "zero", 0.4183), ("miou_class", "zero", 0.4183),
    ("miou_image", "one", 0.7516), ("miou_class", "one", 0.7516),
])
def test_averages_of_the_example(counts: Counts, average: str, policy: str, expected: float) -> None:
    """By hand from the cells above; for instance image, union: (19/28 + 3/7 + 31/40) / 3 = 0.6274."""
    assert metrics.AVERAGES[average](counts, policy=policy) == pytest.approx(expected, abs=5e-5)


def test_frequencies_of_the_example(counts: Counts) -> None:
    """By hand: 20 hits of a union of 26; (17 · 16/19 + 2 · 1/3 + 4 · 3/4) / 23; 20 right of 23."""
    assert metrics.micro_iou(counts) == pytest.approx(20 / 26)
    assert metrics.frequency_weighted_iou(counts) == pytest.approx((17 * 16 / 19 + 2 / 3 + 3) / 23)
    assert metrics.pixel_accuracy(counts) == pytest.approx(20 / 23)
    assert metrics.micro_dice(counts) == pytest.approx(20 / 23)


def test_the_span_is_what_the_convention_alone_decides(counts: Counts) -> None:
    """The lowest and highest of the image means above."""
    assert metrics.policy_span(counts, average="miou_image") == pytest.approx((0.4183, 0.7702), abs=5e-5)


def test_worst_images_of_the_example(counts: Counts) -> None:
    """By hand: image means 19/28, 3/7, 31/40; floor(0.67 · 3) = 2 lowest; 10 to 60 % is one image, 70 to 90 % two."""
    first, second, third = 19 / 28, 3 / 7, 31 / 40
    assert metrics.worst_image_mean(counts, percent=10) == pytest.approx(second)
    assert metrics.worst_image_mean(counts, percent=67) == pytest.approx((first + second) / 2)
    assert metrics.worst_image_mean(counts, percent=100) == pytest.approx(metrics.miou_image(counts))
    curve = [second] * 6 + [(first + second) / 2] * 3 + [(first + second + third) / 3]
    assert metrics.worst_image_curve(counts) == pytest.approx(curve)


def test_worst_cells_per_class_of_the_example(counts: Counts) -> None:
    """By hand: lowest cells 4/5 (class 0), 0 (class 1), 3/4 (class 2); all cells give the class mean."""
    assert metrics.worst_class_mean(counts, percent=10) == pytest.approx((4 / 5 + 0 + 3 / 4) / 3)
    assert metrics.worst_class_mean(counts, percent=100) == pytest.approx(metrics.miou_class(counts))


def test_groups_of_the_example(counts: Counts) -> None:
    """By hand: group a holds the first two images (12/14 and 1/3 pooled), b the third."""
    groups = ["a", "a", "b"]
    image = [19 / 28, 3 / 7, 31 / 40]
    assert metrics.equal_row(counts) == pytest.approx(sum(image) / 3)
    assert metrics.equal_group(counts, groups) == pytest.approx(((image[0] + image[1]) / 2 + image[2]) / 2)
    assert metrics.group_pooled(counts, groups) == pytest.approx(((12 / 14 + 1 / 3) / 2 + image[2]) / 2)
    assert metrics.worst_group(counts, groups, pooled=True) == ("a", pytest.approx((12 / 14 + 1 / 3) / 2))
    assert metrics.worst_group(counts, groups, pooled=False) == ("a", pytest.approx((image[0] + image[1]) / 2))


def test_the_trivial_predictor_gets_what_predicting_one_class_everywhere_gets(counts: Counts) -> None:
    """Second method: count the constant mask itself."""
    matrices = [confusion(t, np.zeros_like(t), n_classes=3, void=VOID) for t in TRUTH]
    expected = counts_from_confusion(np.stack(matrices))

    got = metrics.trivial_counts(counts.truth, class_id=metrics.majority_class(counts.truth))

    for part in ("tp", "fp", "fn", "valid"):
        assert getattr(got, part).tolist() == getattr(expected, part).tolist()
