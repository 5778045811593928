"""Small arrays on which public libraries were caught; each names the thread."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from segcv import metrics
from segcv.errors import ConfigError, MaskError, ScoreError
from segcv.metrics import Counts, confusion, counts_from_confusion


def counted(truth: Any, prediction: Any, *, n_classes: int, void: int | None = 255) -> Counts:
    return counts_from_confusion(confusion(np.asarray(truth), np.asarray(prediction), n_classes=n_classes, void=void))


VECTORS = [        # name, thread, truth, prediction, classes, void, IoU per class (by hand)
    ("a class in neither mask is undefined", "Lightning-AI/torchmetrics#1693, #2866, #2558",
     [0, 1, 0, 0], [0, 1, 0, 1], 3, 255, [2 / 3, 1 / 2, np.nan]),
    ("an ignored pixel is in no count", "Lightning-AI/torchmetrics#2747, pytorch/ignite#543",
     [0, 1, 2, 0, 255], [0, 1, 1, 0, 2], 3, 255, [1, 1 / 2, 0]),
    ("what is predicted on an ignored pixel does not matter (a)", "Lightning-AI/torchmetrics#312",
     [2, 1, 1, 255], [1, 2, 1, 1], 3, 255, [np.nan, 1 / 3, 0]),
    ("what is predicted on an ignored pixel does not matter (b)", "Lightning-AI/torchmetrics#312",
     [2, 1, 1, 255], [1, 2, 1, 0], 3, 255, [np.nan, 1 / 3, 0]),
    ("the ignored label predicted on a valid pixel is a miss", "VOC devkit; ultralytics drops it",
     [1, 1, 1, 0], [1, 1, 255, 0], 2, 255, [1, 2 / 3]),
    ("the ignored value may equal the number of classes", "Lightning-AI/torchmetrics#1861, #935",
     [2, 1, 0, 3], [2, 1, 1, 0], 3, 3, [0, 1 / 2, 1]),
    ("the ignored value may be negative", "Lightning-AI/torchmetrics#935",
     [2, 1, 0, -1], [2, 1, 1, 0], 3, -1, [0, 1 / 2, 1]),
    ("a perfect prediction is perfect", "segmentation_models.pytorch 0.6.0, weighted averages",
     [0, 1, 2], [0, 1, 2], 3, 255, [1, 1, 1]),
]


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.int64])
@pytest.mark.parametrize(("name", "thread", "truth", "prediction", "n_classes", "void", "expected"), VECTORS,
                         ids=[vector[0] for vector in VECTORS])
def test_iou_of(name: str, thread: str, truth: list[int], prediction: list[int], n_classes: int, void: int,
                expected: list[float], dtype: Any) -> None:
    """Counted by hand on four or five pixels, whatever type holds the labels."""
    if min(truth) < 0 and dtype == np.uint8:
        pytest.skip("uint8 holds no negative value")
    counts = counted(np.array(truth, dtype), np.array(prediction, dtype), n_classes=n_classes, void=void)

    assert metrics.iou(counts)[0] == pytest.approx(expected, nan_ok=True)


def test_absent_classes_under_three_policies() -> None:
    """Lightning-AI/torchmetrics#1693: means of 2/3, 1/2 and an absent class that is left out, 0 or 1."""
    counts = counted([0, 1, 0, 0], [0, 1, 0, 1], n_classes=3)

    assert metrics.miou_image(counts) == pytest.approx(7 / 12)
    assert metrics.miou_image(counts, policy="zero") == pytest.approx(7 / 18)
    assert metrics.miou_image(counts, policy="one") == pytest.approx(13 / 18)


def test_counts_beside_an_ignored_pixel() -> None:
    """Lightning-AI/torchmetrics#2747, by hand."""
    counts = counted([0, 1, 2, 0, 255], [0, 1, 1, 0, 2], n_classes=3)

    assert (counts.tp.tolist(), counts.fp.tolist(), counts.fn.tolist(), counts.valid.tolist()) == (
        [[2, 1, 0]], [[0, 1, 0]], [[0, 0, 1]], [4])


def test_ignoring_a_scored_class_is_refused() -> None:
    """huggingface/evaluate#421, open-mmlab/mmsegmentation#2655: IoU of class 1 would be 1 and not 2/3."""
    with pytest.raises(ConfigError, match="recall"):
        counted([1, 1, 0, 0], [1, 1, 1, 0], n_classes=2, void=0)


def test_labels_0_and_1_are_not_one_class() -> None:
    """open-mmlab/mmeval#53, mmsegmentation#2016."""
    with pytest.raises(MaskError, match="holds 1"):
        counted([0, 1, 1, 0], [0, 1, 0, 0], n_classes=1)


def test_more_than_2_to_the_24_pixels_of_one_class_are_all_counted() -> None:
    """pytorch/pytorch#96613, #32305: float32 counting stops at 16,777,216 of these 25,000,000."""
    picture = np.zeros((5000, 5000), np.uint8)

    assert counted(picture, picture, n_classes=6).tp[0, 0] == 25_000_000


def test_a_batch_is_not_a_volume() -> None:
    """loli/medpy#132: one image right, one wrong; each has its own row, whatever the batch."""
    truth = np.zeros((2, 8, 8), np.uint8)
    truth[0, 2:4, 2:4] = truth[1, 4:6, 4:6] = 1
    prediction = np.zeros_like(truth)
    prediction[:, 2:4, 2:4] = 1
    matrices = [confusion(t, p, n_classes=2, void=255) for t, p in zip(truth, prediction, strict=True)]

    assert metrics.dice(counts_from_confusion(np.stack(matrices)))[:, 1].tolist() == [1, 0]


def test_pooling_is_not_the_mean_of_batches() -> None:
    """tracel-ai/burn#5514: one hit, then four false alarms: 2/(2 + 4) pooled, 1/2 as a mean over images."""
    counts = Counts(np.array([[1], [0]]), np.array([[0], [4]]), np.array([[0], [0]]), np.array([1, 4]))

    assert metrics.mdice_pooled(counts) == pytest.approx(1 / 3)
    assert metrics.mdice_image(counts) == pytest.approx(1 / 2)


def test_dice_of_two_empty_masks_is_undefined() -> None:
    """MIC-DKFZ/nnUNet#1065, milesial/Pytorch-UNet#241, Project-MONAI/MONAI#746."""
    empty = np.zeros((8, 8), np.uint8)

    assert np.isnan(metrics.dice(counted(empty, empty, n_classes=2))[0, 1])


def test_a_binary_mask_stored_as_0_and_255_is_not_scored_as_empty() -> None:
    """bubbliiiing/unet-pytorch#85: with 255 ignored all of the object would be; without, 255 is no class."""
    with pytest.raises(MaskError, match="255"):
        counted(np.array([[0, 255], [255, 0]], np.uint8), np.array([[0, 1], [1, 0]], np.uint8), n_classes=2, void=None)


def test_shapes_are_not_broadcast() -> None:
    """nnU-Net v2.8.1 compute_tp_fp_fn_tn: (1, 4) against (4, 4) gave 16 hits."""
    with pytest.raises(ScoreError, match=r"\(4, 4\)"):
        counted(np.zeros((1, 4), np.uint8), np.zeros((4, 4), np.uint8), n_classes=2)


def test_probabilities_are_not_labels() -> None:
    """A float is a probability or a logit; rounding it is a decision."""
    with pytest.raises(ScoreError, match="argmax"):
        counted(np.zeros((2, 2), np.uint8), np.zeros((2, 2)), n_classes=2)
