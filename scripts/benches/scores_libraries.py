"""What common libraries say of the same three tiny images, by plain calls, and which of our named averages that is.

`bash scripts/bench scores libraries` prints the table that segcv/metrics/README.md shows.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version

import evalsuite.vision.segmentation as evalsuite
import monai.metrics
import numpy as np
import segmentation_models_pytorch as smp
import torch
import torchmetrics.classification
import torchmetrics.segmentation
from benches.rows import Row
from perceptionmetrics.utils.segmentation_metrics import SegmentationMetricsFactory
from sklearn.metrics import jaccard_score

from segcv import metrics
from segcv.metrics import Counts, confusion, counts_from_confusion

VOID = 255
TRUTH = np.array([[[0, 0, 0, 0], [1, 1, 0, 0]],
                  [[0, 0, 0, 0], [0, 0, 0, VOID]],
                  [[0, 0, 2, 2], [0, 0, 2, 2]]], np.uint8)
PREDICTION = np.array([[[0, 0, 0, 0], [1, 0, 0, 0]],
                       [[0, 0, 0, 0], [0, 0, 1, 1]],
                       [[0, 0, 2, 2], [0, 0, 0, 2]]], np.uint8)


@dataclass(frozen=True, slots=True)
class Saying:
    """One library's number, why it is that, and the same number by our names."""

    library: str
    call: str
    value: Callable[[], float]
    why: str
    name: str
    ours: Callable[[Counts], float]


def counts(truth: np.ndarray = TRUTH, *, void: int | None = VOID, n_classes: int = 3) -> Counts:
    pairs = zip(truth, PREDICTION, strict=True)
    return counts_from_confusion(np.stack([confusion(t, p, n_classes=n_classes, void=void) for t, p in pairs]))


def torch_maps() -> tuple[torch.Tensor, torch.Tensor]:
    return torch.from_numpy(PREDICTION).long(), torch.from_numpy(TRUTH).long()


def jaccard() -> float:
    return float(torchmetrics.classification.MulticlassJaccardIndex(3, ignore_index=VOID)(*torch_maps()))


def jaccard_by_image() -> float:
    metric = torchmetrics.classification.MulticlassJaccardIndex(3, ignore_index=VOID)
    return float(np.mean([float(metric(*pair)) for pair in zip(*torch_maps(), strict=True)]))


def segmentation_mean_iou() -> float:
    prediction, truth = torch_maps()
    truth = torch.where(truth == VOID, 0, truth)
    return float(torchmetrics.segmentation.MeanIoU(3, input_format="index")(prediction, truth))


def of_smp(reduction: str, **choices: object) -> float:
    stats = smp.metrics.get_stats(*torch_maps(), mode="multiclass", num_classes=3, ignore_index=VOID)
    return float(smp.metrics.iou_score(*stats, reduction=reduction, **choices))


def of_monai(**choices: bool) -> float:
    valid = torch.from_numpy(TRUTH != VOID)[:, None]
    one_hot = [torch.nn.functional.one_hot(torch.where(labels == VOID, 0, labels), 3).movedim(-1, 1) * valid
               for labels in torch_maps()]
    metric = monai.metrics.MeanIoU(**choices)
    metric(*one_hot)
    return float(metric.aggregate())


def sklearn_by_image() -> float:
    return float(np.mean([jaccard_score(t[t != VOID], p[t != VOID], labels=range(3), average="macro", zero_division=0)
                          for t, p in zip(TRUTH, PREDICTION, strict=True)]))


def of_sklearn(average: str, *, masked: bool = True) -> float:
    valid = TRUTH != VOID if masked else np.ones_like(TRUTH, bool)
    return float(jaccard_score(TRUTH[valid], PREDICTION[valid], average=average))


def of_perceptionmetrics() -> float:
    factory = SegmentationMetricsFactory(3)
    factory.update(PREDICTION, TRUTH)
    return float(factory.get_metric_per_name("iou", per_class=False))


def nnunet_formula(classes: range) -> float:
    """Per image and class IoU, NaN where a class is in neither mask; nanmean over images, then over classes."""
    cells = np.full((3, 3), np.nan)
    for i, (truth, prediction) in enumerate(zip(TRUTH, PREDICTION, strict=True)):
        for c in classes:
            a, b, valid = truth == c, prediction == c, truth != VOID
            union = ((a | b) & valid).sum()
            cells[i, c] = (a & b & valid).sum() / union if union else np.nan
    return float(np.nanmean(np.nanmean(cells[:, list(classes)], axis=0)))


def mmseg_formula() -> float:
    valid = TRUTH != VOID
    areas = [torch.histc(torch.from_numpy(labels).float(), 3, 0, 2).numpy() for labels in (
        PREDICTION[valid & (PREDICTION == TRUTH)], PREDICTION[valid], TRUTH[valid])]
    return float(np.nanmean(areas[0] / (areas[1] + areas[2] - areas[0])))


def evalsuite_iou(**choices: object) -> float:
    return float(evalsuite.iou(TRUTH, PREDICTION, ignore_index=VOID, **choices))


TM, SK, MONAI = "torchmetrics", "scikit-learn", "MONAI"
SMP, EV, PM = "segmentation-models-pytorch", "evalsuite-python", "perceptionmetrics"
SAYINGS = (
    Saying(SK, "`jaccard_score(.., average='macro')` per image, mean", sklearn_by_image,
           "with `labels=` and `zero_division=0`, a class in neither mask counts 0",
           "`miou_image`, policy `zero`", lambda c: metrics.miou_image(c, policy="zero")),
    Saying(SK, "`jaccard_score(.., average='macro')`, ignored pixel left in", lambda: of_sklearn("macro", masked=False),
           "255 becomes a fourth class with IoU 0", "`miou_pooled` of classes 0, 1, 2, 255",
           lambda c: metrics.miou_pooled(counts(np.where(TRUTH == VOID, 3, TRUTH), void=None, n_classes=4))),
    Saying("nnU-Net's formula", "`foreground_mean`", lambda: nnunet_formula(range(1, 3)),
           "class 0 is background and left out; absent cells too", "`miou_class` of classes 1, 2",
           lambda c: metrics.miou_class(c.take(classes=[1, 2]))),
    Saying(TM, "`segmentation.MeanIoU(3, input_format='index')`", segmentation_mean_iou,
           "it has no ignored value: the pixel was made class 0", "`miou_image` with that pixel as class 0",
           lambda c: metrics.miou_image(counts(np.where(TRUTH == VOID, 0, TRUTH), void=None))),
    Saying(EV, "`iou(.., aggregate='image')`", lambda: evalsuite_iou(aggregate="image"),
           "per class the mean over images, absent cells left out", "`miou_class`", metrics.miou_class),
    Saying(MONAI, "`MeanIoU(include_background=False)`", lambda: of_monai(include_background=False),
           "class 0 left out, then the mean over images, of cells in the truth", "`miou_image` of 1, 2, policy `truth`",
           lambda c: metrics.miou_image(c.take(classes=[1, 2]), policy="truth")),
    Saying(TM, "`MulticlassJaccardIndex(3, ignore_index=255)`, mean of its values per image", jaccard_by_image,
           "as loggers average batches of one", "`miou_image`", metrics.miou_image),
    Saying(TM, "`MulticlassJaccardIndex(3, ignore_index=255)`", jaccard,
           "pixels of all images summed first", "`miou_pooled`", metrics.miou_pooled),
    Saying("mmsegmentation's formula", "`mIoU`", mmseg_formula, "areas of all images summed first",
           "`miou_pooled`", metrics.miou_pooled),
    Saying(SMP, "`iou_score(.., reduction='macro-imagewise')`", lambda: of_smp("macro-imagewise"),
           "a class in neither mask counts 1", "`miou_image`, policy `one`",
           lambda c: metrics.miou_image(c, policy="one")),
    Saying(MONAI, "`MeanIoU(ignore_empty=False)`", lambda: of_monai(ignore_empty=False),
           "a class in neither mask counts 1", "`miou_image`, policy `one`",
           lambda c: metrics.miou_image(c, policy="one")),
    Saying(PM, "`get_metric_per_name('iou', per_class=False)`", of_perceptionmetrics,
           "pixels summed over images and classes", "`micro_iou`", metrics.micro_iou),
    Saying(MONAI, "`MeanIoU()`", of_monai, "the false alarm in image 2 is a class that its truth lacks: left out",
           "`miou_image`, policy `truth`", lambda c: metrics.miou_image(c, policy="truth")),
    Saying(SK, "`jaccard_score(.., average='weighted')`", lambda: of_sklearn("weighted"),
           "classes weighted by their true pixels", "`frequency_weighted_iou`", metrics.frequency_weighted_iou),
)


def table() -> str:
    """As Markdown."""
    lines = ["| library | call | says | why | here it is called |", "|---|---|---|---|---|"]
    for saying in SAYINGS:
        named = saying.library if "formula" in saying.library else f"{saying.library} {version(saying.library.lower())}"
        lines.append(f"| {named} | {saying.call} | {saying.value():.4f} | {saying.why} | {saying.name} |")
    return "\n".join(lines)


def rows() -> list[Row]:
    """Each library's number is one of ours, to float32."""
    warnings.simplefilter("ignore")
    print(table(), "\n")
    found = []
    for saying in SAYINGS:
        theirs, ours = saying.value(), saying.ours(counts())
        found.append(Row(f"{saying.library}: {saying.call}", f"{ours:.6f}", f"{theirs:.6f}", "", "equal",
                         abs(theirs - ours) < 1e-6))
    return found
