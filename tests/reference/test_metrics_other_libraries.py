"""Our numbers beside those of installed libraries, each under the definition that it really uses."""

from __future__ import annotations

import itertools
import warnings
from pathlib import Path
from typing import Any

import monai.metrics as monai
import numpy as np
import pytest
import segmentation_models_pytorch as smp
import surface_distance as deepmind
import torch
import torchmetrics.classification as torchmetrics
from numpy.typing import NDArray
from PIL import Image
from scipy import ndimage

from segcv import metrics
from segcv.metrics import Counts, border_distances, confusion, counts_from_confusion, surface_distances

pytestmark = [pytest.mark.filterwarnings("ignore:.*namespace.*deprecated:DeprecationWarning"),
              pytest.mark.filterwarnings("ignore:monai.*:FutureWarning")]
VOID, N_CLASSES = 255, 5
Pairs = list[tuple[NDArray[np.uint8], NDArray[np.uint8]]]
Mask = NDArray[np.bool_]


def made_pairs(seed: int, *, shape: tuple[int, int] = (60, 80), images: int = 6) -> Pairs:
    """Images of a few of the five classes each, with ignored pixels; predictions moved and partly wrong."""
    rng = np.random.default_rng(seed)
    pairs = []
    for _ in range(images):
        classes = rng.choice(N_CLASSES, rng.integers(1, 4), replace=False)
        fields = ndimage.gaussian_filter(rng.standard_normal((len(classes), *shape)), (0, 6, 6))
        truth = classes[fields.argmax(axis=0)].astype(np.uint8)
        prediction = np.roll(truth, rng.integers(-5, 6, 2), (0, 1))
        wrong = rng.random(shape) < 0.02
        prediction[wrong] = rng.integers(0, N_CLASSES, int(wrong.sum()))
        truth[rng.random(shape) < 0.05] = VOID
        pairs.append((truth, prediction))
    return pairs


def real_pairs(shared: Path) -> Pairs:
    """Street scenes of 11 classes, every fourth pixel; another frame of the drive stands for the prediction."""
    files = sorted((shared / "data" / "camvid" / "masks").glob("*.png"))[:60:10]
    masks = [np.asarray(Image.open(file))[::2, ::2] for file in files]
    return [(np.where(mask == 11, VOID, mask).astype(np.uint8), np.where(other == 11, 0, other).astype(np.uint8))
            for mask, other in itertools.pairwise(masks)]


@pytest.fixture(params=["made 0", "made 1", "real"])
def pairs(request: pytest.FixtureRequest) -> Pairs:
    kind, _, seed = request.param.partition(" ")
    return made_pairs(int(seed)) if kind == "made" else real_pairs(request.getfixturevalue("shared"))


def counted(pairs: Pairs) -> Counts:
    n_classes = number_of_classes(pairs)
    return counts_from_confusion(np.stack([confusion(*pair, n_classes=n_classes, void=VOID) for pair in pairs]))


def number_of_classes(pairs: Pairs) -> int:
    return 1 + max(int(np.where(labels == VOID, 0, labels).max()) for pair in pairs for labels in pair)


def as_torch(pairs: Pairs) -> list[tuple[Any, Any]]:
    return [tuple(torch.from_numpy(labels.astype(np.int64)) for labels in pair) for pair in pairs]


def one_hot(pairs: Pairs) -> list[tuple[Any, Any]]:
    """Batches of one image x classes; ignored pixels are of no class in either mask, as MONAI knows no such value."""
    n_classes = number_of_classes(pairs)
    batches = []
    for truth, prediction in as_torch(pairs):
        valid = truth != VOID
        batches.append(tuple(
            (torch.nn.functional.one_hot(torch.where(valid, labels, n_classes), n_classes + 1)[..., :n_classes]
             .permute(2, 0, 1)[None]) for labels in (truth, prediction)))
    return batches


def test_torchmetrics_pools_pixels_and_leaves_absent_classes_out(pairs: Pairs) -> None:
    """torchmetrics' confusion matrix and Jaccard index with ignore_index: macro is our miou_pooled; in its list of
    classes an absent one is 0, and undefined in ours."""
    n_classes, counts = number_of_classes(pairs), counted(pairs)
    choices: dict[str, Any] = {"num_classes": n_classes, "ignore_index": VOID}
    matrix = torchmetrics.MulticlassConfusionMatrix(**choices)
    averages = {name: torchmetrics.MulticlassJaccardIndex(**choices, average=name)
                for name in ("macro", "micro", "weighted", None)}
    f1 = torchmetrics.MulticlassF1Score(**choices, average="none")
    for truth, prediction in as_torch(pairs):
        for metric in (matrix, *averages.values(), f1):
            metric.update(prediction[None], truth[None])
    ours = sum(confusion(*pair, n_classes=n_classes, void=VOID) for pair in pairs)

    assert (matrix.compute().numpy() == ours[:, :-1]).all()
    assert float(averages["macro"].compute()) == pytest.approx(metrics.miou_pooled(counts), abs=1e-6)
    assert float(averages["micro"].compute()) == pytest.approx(metrics.micro_iou(counts), abs=1e-6)
    assert float(averages["weighted"].compute()) == pytest.approx(metrics.frequency_weighted_iou(counts), abs=1e-6)
    per_class = np.nan_to_num(metrics.pooled_scores(counts), nan=0)
    assert averages[None].compute().numpy() == pytest.approx(per_class, abs=1e-6)
    dice = np.nan_to_num(metrics.pooled_scores(counts, metric="dice"), nan=0)
    assert f1.compute().numpy() == pytest.approx(dice, abs=1e-6)


def test_monai_takes_the_cells_of_the_truth_or_counts_absent_as_1(pairs: Pairs) -> None:
    """MONAI's IoU and Dice: ignore_empty=True is our policy `truth`, False our `one`."""
    counts = counted(pairs)
    for ignore_empty, policy in ((True, "truth"), (False, "one")):
        for name, compute in (("iou", monai.compute_iou), ("dice", monai.compute_dice)):
            theirs = np.concatenate([compute(prediction, truth, include_background=True, ignore_empty=ignore_empty)
                                     for truth, prediction in one_hot(pairs)])
            ours = metrics.cell_scores(counts, metric=name, policy=policy)            # type: ignore[arg-type]
            assert theirs == pytest.approx(ours, abs=1e-6, nan_ok=True), (name, policy)


def test_smp_counts_absent_classes_as_1_in_its_means_over_images(pairs: Pairs) -> None:
    """smp's get_stats, whose macro-imagewise mean is our policy `one` and whose micro is our micro_iou; in its macro a
    class that is in no image at all counts 1."""
    n_classes, counts = number_of_classes(pairs), counted(pairs)
    stats = [smp.metrics.get_stats(prediction[None], truth[None], mode="multiclass", num_classes=n_classes,
                                   ignore_index=VOID) for truth, prediction in as_torch(pairs)]
    tp, fp, fn, tn = (torch.cat(part) for part in zip(*stats, strict=True))

    assert (tp.numpy() == counts.tp).all() and (fp.numpy() == counts.fp).all() and (fn.numpy() == counts.fn).all()
    means = {name: float(smp.metrics.iou_score(tp, fp, fn, tn, reduction=name))
             for name in ("micro", "macro", "macro-imagewise")}
    assert means["micro"] == pytest.approx(metrics.micro_iou(counts), abs=1e-6)
    assert means["macro"] == pytest.approx(metrics.miou_pooled(counts, policy="one"), abs=1e-6)
    assert means["macro-imagewise"] == pytest.approx(metrics.miou_image(counts, policy="one"), abs=1e-6)


def objects(pairs: Pairs) -> list[tuple[Mask, Mask]]:
    """Truth and prediction of every class that is in both masks of an image."""
    return [(truth == c, prediction == c) for truth, prediction in pairs
            for c in np.intersect1d(truth, prediction) if c != VOID]


@pytest.mark.parametrize("spacing", [(1.0, 1.0), (0.7, 1.3)])
def test_monai_has_the_larger_percentile_and_both_surface_dices(pairs: Pairs, spacing: tuple[float, float]) -> None:
    """MONAI: hausdorff with percentile=95 is our hd95_max, surface dice our nsd and with subvoxels our nsd_surface, its
    symmetric average distance our assd. It computes in float32."""
    choices: dict[str, Any] = {"include_background": True, "spacing": list(spacing)}
    for truth, prediction in objects(pairs)[:6]:
        masks = [torch.from_numpy(mask)[None, None] for mask in (prediction, truth)]
        pixels = border_distances(truth, prediction, spacing=spacing)
        surface = surface_distances(truth, prediction, spacing=spacing)

        hausdorff = monai.compute_hausdorff_distance(*masks, percentile=95, **choices)
        assert float(hausdorff) == pytest.approx(metrics.hd95_max(pixels), rel=1e-5)
        average = monai.compute_average_surface_distance(*masks, symmetric=True, **choices)
        assert float(average) == pytest.approx(metrics.assd(pixels), rel=1e-5)
        for distances, subvoxels in ((pixels, False), (surface, True)):
            theirs = monai.compute_surface_dice(*masks, [1.5], use_subvoxels=subvoxels, **choices)
            assert float(theirs) == pytest.approx(metrics.nsd(distances, tolerance=1.5), abs=1e-5)


@pytest.mark.parametrize("spacing", [(1.0, 1.0), (0.7, 1.3)])
def test_deepmind_weighs_outlines_by_length(pairs: Pairs, spacing: tuple[float, float]) -> None:
    """DeepMind's surface-distance: every piece of outline with its length and distance, the share near (nsd_surface),
    mean distances weighted by length. Its robust Hausdorff distance is a weighted percentile, and not ours."""
    for truth, prediction in objects(pairs)[:6]:
        theirs = deepmind.compute_surface_distances(truth, prediction, spacing)
        ours = surface_distances(truth, prediction, spacing=spacing)

        for mine, lengths, there in ((ours.from_truth, ours.truth_lengths, "gt_to_pred"),
                                     (ours.from_prediction, ours.prediction_lengths, "pred_to_gt")):
            assert np.sort(mine) == pytest.approx(theirs[f"distances_{there}"], abs=1e-9)
            areas = theirs["surfel_areas_gt" if there == "gt_to_pred" else "surfel_areas_pred"]
            assert lengths.sum() == pytest.approx(areas.sum())
        dice = deepmind.compute_surface_dice_at_tolerance(theirs, 1.5)
        assert metrics.nsd(ours, tolerance=1.5) == pytest.approx(dice, abs=1e-12)
        means = deepmind.compute_average_surface_distance(theirs)
        mine_means = [np.average(values, weights=lengths) for values, lengths in (
            (ours.from_truth, ours.truth_lengths), (ours.from_prediction, ours.prediction_lengths))]
        assert mine_means == pytest.approx(means)


def test_a_missed_object_in_other_libraries() -> None:
    """MONAI gives an infinite or undefined distance with a warning, DeepMind an infinite one; ours is infinite."""
    truth, nothing = np.zeros((9, 9), bool), np.zeros((9, 9), bool)
    truth[3:6, 3:6] = True
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = monai.compute_hausdorff_distance(*(torch.from_numpy(mask)[None, None] for mask in (nothing, truth)),
                                                  percentile=95, include_background=True)
    robust = deepmind.compute_robust_hausdorff(deepmind.compute_surface_distances(truth, nothing, (1, 1)), 95)

    assert not np.isfinite(float(theirs)) and robust == np.inf
    assert metrics.hd95_max(border_distances(truth, nothing)) == np.inf


@pytest.mark.parametrize("seed", range(3))
def test_calibration_error_of_torchmetrics(seed: int) -> None:
    """torchmetrics' l1 calibration error with 15 bins; its bins are closed below and ours above (Guo et al. 2017), so
    no stored level lies on an edge (a multiple of 17)."""
    rng = np.random.default_rng(seed)
    levels = rng.integers(1, 255, 4000)
    levels = levels[levels % 17 != 0]
    right = rng.random(levels.size) < levels / 255
    row = np.bincount(levels + 256 * right, minlength=512).reshape(2, 256)
    theirs = torchmetrics.BinaryCalibrationError(n_bins=15, norm="l1")

    value = theirs(torch.from_numpy(levels / 255), torch.from_numpy(right.astype(np.int64)))

    assert metrics.ece(row) == pytest.approx(float(value), abs=1e-6)
