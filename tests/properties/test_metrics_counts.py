"""What must hold for any masks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from segcv import metrics
from segcv.errors import MaskError
from segcv.metrics import Counts, confusion, counts_from_confusion
from segcv.metrics.counts import _counted_bytes

SEEDS = st.integers(0, 2**32 - 1)


def masks(rng: np.random.Generator, shape: tuple[int, ...], *, n_classes: int, block: int = 1) -> NDArray[np.uint8]:
    """Random labels of blocks, a tenth of them 255."""
    cells = rng.integers(0, n_classes, [-(-side // block) for side in shape])
    cells = np.where(rng.random(cells.shape) < 0.1, 255, cells)
    for axis in range(cells.ndim):
        cells = cells.repeat(block, axis=axis)
    return cells[tuple(slice(side) for side in shape)].astype(np.uint8)


def by_definition(truth: NDArray[Any], prediction: NDArray[Any], n_classes: int, void: int) -> list[list[int]]:
    """One comparison of whole masks per cell."""
    outside = ~np.isin(prediction, np.arange(n_classes))
    rows = []
    for a in range(n_classes):
        row = [int(((truth == a) & (prediction == b)).sum()) for b in range(n_classes)]
        rows.append([*row, int(((truth == a) & outside).sum())])
    return rows


@settings(max_examples=60, deadline=None)
@given(seed=SEEDS, height=st.integers(1, 40), width=st.integers(1, 40), n_classes=st.integers(1, 9),
       block=st.sampled_from([1, 3, 16]), kind=st.sampled_from(["plain", "transposed", "shifted", "every second"]))
def test_confusion_is_its_definition(seed: int, height: int, width: int, n_classes: int, block: int, kind: str) -> None:
    """Second method: one comparison of whole masks per cell; layouts of memory that words do not fit included."""
    rng = np.random.default_rng(seed)
    shape = (height + 1, 2 * width)
    truth, prediction = (masks(rng, shape, n_classes=n_classes, block=block) for _ in range(2))
    prediction[rng.random(shape) < 0.05] = 200
    prediction = np.where(rng.random(shape) < 0.7, truth, prediction)
    views = {"plain": lambda x: x, "transposed": lambda x: x.T, "shifted": lambda x: x.reshape(-1)[1:],
             "every second": lambda x: x[:, ::2]}
    truth, prediction = views[kind](truth), views[kind](prediction)
    expected = by_definition(truth, prediction, n_classes, 255)

    assert confusion(truth, prediction, n_classes=n_classes, void=255).tolist() == expected
    for dtype in (np.int64, np.dtype(">u2")):
        wide = confusion(truth.astype(dtype), prediction, n_classes=n_classes, void=255)
        assert wide.tolist() == expected


@pytest.mark.parametrize("strip_px", [8, 65, 1000])
def test_strips_add_up(strip_px: int) -> None:
    """Second method: the general counting; strips keep the cells of a very large image from overflowing."""
    rng = np.random.default_rng(0)
    truth, prediction = masks(rng, (61, 67), n_classes=5, block=4), masks(rng, (61, 67), n_classes=5)

    found, table = _counted_bytes(truth.reshape(-1), prediction.reshape(-1), 5, 255, strip_px=strip_px)

    assert found == truth.size
    assert table.tolist() == by_definition(truth, prediction, 5, 255)


def test_all_256_values_may_be_classes() -> None:
    """By hand: each byte stands once and is predicted as the next; with more classes than bytes none is outside."""
    truth = np.arange(256, dtype=np.uint8)

    for n_classes in (256, 300):
        table = confusion(truth, truth + np.uint8(1), n_classes=n_classes, void=None)
        assert (table.sum(), table[255, 0], table[7, 8], table[:, -1].sum()) == (256, 1, 1, 0)


def test_more_than_256_classes_of_16_bits() -> None:
    """By hand: label 300 is not label 44 (300 - 256)."""
    truth, prediction = np.array([[300, 44, 65535]], np.uint16), np.array([[300, 300, 44]], np.uint16)

    table = confusion(truth, prediction, n_classes=301, void=65535)

    assert (table[300, 300], table[44, 300], table.sum()) == (1, 1, 2)


@pytest.mark.parametrize("dtype", [np.uint8, np.int32])
def test_an_unknown_value_is_named_with_its_pixels(dtype: Any) -> None:
    """By hand: 7 is neither a class nor ignored, and stands twice."""
    truth = np.array([0, 1, 7, 7, 255], dtype)

    with pytest.raises(MaskError, match=r"holds 7, .* 2 pixels"):
        confusion(truth, truth, n_classes=2, void=255)


def test_confusion_equals_scikit_learn() -> None:
    """scikit-learn's confusion_matrix and jaccard_score on the valid pixels, no prediction outside the label set."""
    sklearn = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(1)
    truth = masks(rng, (97, 101), n_classes=6, block=5)
    prediction = np.where(rng.random(truth.shape) < 0.8, truth, rng.integers(0, 6, truth.shape)).astype(np.uint8)
    prediction[prediction == 255] = 0
    valid = truth != 255

    table = confusion(truth, prediction, n_classes=6, void=255)
    counts = counts_from_confusion(table)

    assert (table[:, :6] == sklearn.confusion_matrix(truth[valid], prediction[valid], labels=range(6))).all()
    flat = {"y_true": truth[valid], "y_pred": prediction[valid], "average": None}
    assert metrics.iou(counts)[0] == pytest.approx(sklearn.jaccard_score(**flat))
    assert metrics.dice(counts)[0] == pytest.approx(sklearn.f1_score(**flat))
    assert metrics.precision(counts)[0] == pytest.approx(sklearn.precision_score(**flat))
    assert metrics.recall(counts)[0] == pytest.approx(sklearn.recall_score(**flat))


@settings(max_examples=25, deadline=None)
@given(seed=SEEDS)
def test_patches_of_a_source_add_up(seed: int) -> None:
    """The counts of four quarters are the counts of the whole."""
    rng = np.random.default_rng(seed)
    truth, prediction = masks(rng, (31, 29), n_classes=4, block=3), masks(rng, (31, 29), n_classes=4, block=3)
    quarters = [(slice(None, 11), slice(None, 7)), (slice(None, 11), slice(7, None)),
                (slice(11, None), slice(None, 7)), (slice(11, None), slice(7, None))]
    parts = np.stack([confusion(truth[q], prediction[q], n_classes=4, void=255) for q in quarters])
    whole = confusion(truth, prediction, n_classes=4, void=255)

    added = counts_from_confusion(parts).by(["source"] * 4)

    assert (parts.sum(axis=0) == whole).all()
    assert (added.tp == counts_from_confusion(whole).tp).all() and (added.fn == counts_from_confusion(whole).fn).all()


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS, policy=st.sampled_from(metrics.POLICIES), average=st.sampled_from(sorted(metrics.AVERAGES)))
def test_averages_do_not_depend_on_the_order_of_images_or_the_names_of_classes(
        seed: int, policy: metrics.Policy, average: str) -> None:
    """Rows and columns are permuted; the mean stays to rounding."""
    counts = any_counts(seed)
    rng = np.random.default_rng(seed)
    shuffled = counts.take(rng.permutation(counts.n_images), classes=rng.permutation(counts.n_classes).tolist())

    mean = metrics.AVERAGES[average]
    assert mean(shuffled, policy=policy) == pytest.approx(mean(counts, policy=policy), abs=1e-12, nan_ok=True)


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS)
def test_dice_follows_from_iou(seed: int) -> None:
    """Dice = 2 IoU / (1 + IoU), cell by cell."""
    overlap = metrics.iou(any_counts(seed))

    assert metrics.dice(any_counts(seed)) == pytest.approx(2 * overlap / (1 + overlap), nan_ok=True)


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS)
def test_worst_means_rise_to_the_mean(seed: int) -> None:
    """More of the sorted scores can only lift their mean, and all of them are the mean itself."""
    counts = any_counts(seed)
    for curve, mean in ((metrics.worst_image_curve(counts), metrics.miou_image(counts)),
                        (metrics.worst_class_curve(counts), metrics.miou_class(counts))):
        if not np.isnan(mean):
            assert (np.diff(curve) >= -1e-12).all()
            assert curve[-1] == pytest.approx(mean)


def any_counts(seed: int) -> Counts:
    """Counts of up to 8 small images, in which classes are often absent."""
    rng = np.random.default_rng(seed)
    n_images, n_classes = rng.integers(1, 9), rng.integers(1, 6)
    matrices = rng.integers(0, 20, (n_images, n_classes, n_classes + 1))
    matrices *= rng.random(matrices.shape) < 0.3
    return counts_from_confusion(matrices)
