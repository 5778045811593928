"""Pixels by true and predicted class, 1024 x 1024 bytes with an ignored value, in one thread (seconds of its CPU)."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import monai.metrics
import numpy as np
import segmentation_models_pytorch as smp
import torch
import torchmetrics.functional.classification as torchmetrics
from benches.label_maps import KINDS, VOID, Labels, pair, read_pass
from benches.rows import Row, at_least, fastest, ratio, seconds
from perceptionmetrics.utils.segmentation_metrics import SegmentationMetricsFactory
from sklearn.metrics import confusion_matrix

from segcv.metrics import confusion

SIDE, PAIRS = 1024, 4
GOALS = {"clean": 10.0, "noisy": 6.0, "random": 1.0}        # times the fastest rival
PerClass = np.ndarray[Any, Any]                             # 3 x classes: tp, predicted, truth


def rivals(truth: Labels, prediction: Labels, n_classes: int) -> dict[str, Callable[[], PerClass]]:
    """Each rival from the two arrays to its counts, the conversions that it asks for not timed where it takes another
    type, and its own way to leave pixels out."""
    as_torch = torch.from_numpy(truth), torch.from_numpy(prediction)
    truth64, prediction64 = (labels.long() for labels in as_torch)

    def of_matrix(matrix: PerClass) -> PerClass:
        return np.stack([matrix.diagonal(), matrix.sum(axis=0), matrix.sum(axis=1)])

    def perceptionmetrics() -> PerClass:
        factory = SegmentationMetricsFactory(n_classes)
        factory.update(prediction, truth)
        return of_matrix(factory.get_confusion_matrix())

    def of_torchmetrics() -> PerClass:
        return of_matrix(torchmetrics.multiclass_confusion_matrix(
            prediction64, truth64, num_classes=n_classes, ignore_index=VOID, validate_args=False).numpy())

    def of_smp() -> PerClass:
        tp, fp, fn, _ = smp.metrics.get_stats(prediction64[None], truth64[None], mode="multiclass",
                                              num_classes=n_classes, ignore_index=VOID)
        return torch.stack([tp, tp + fp, tp + fn])[:, 0].numpy()

    def of_monai() -> PerClass:
        valid = truth64 != VOID
        one_hot = [torch.nn.functional.one_hot(labels[valid], n_classes).T[None] for labels in (prediction64, truth64)]
        tp, fp, _, fn = monai.metrics.get_confusion_matrix(*one_hot)[0].T
        return torch.stack([tp, tp + fp, tp + fn]).numpy()

    def scikit_learn() -> PerClass:
        valid = truth != VOID
        return of_matrix(confusion_matrix(truth[valid], prediction[valid], labels=range(n_classes)))

    def nnunet_formula() -> PerClass:
        valid, rows = truth != VOID, []
        for c in range(n_classes):
            true, predicted = truth == c, prediction == c
            tp = np.sum((true & predicted) & valid)
            rows.append((tp, np.sum((~true & predicted) & valid) + tp, np.sum((true & ~predicted) & valid) + tp))
            np.sum((~true & ~predicted) & valid)
        return np.array(rows).T

    def mmseg_formula() -> PerClass:
        valid = as_torch[0] != VOID
        true, predicted = as_torch[0][valid], as_torch[1][valid]
        areas = [torch.histc(labels.float(), bins=n_classes, min=0, max=n_classes - 1)
                 for labels in (predicted[predicted == true], predicted, true)]
        return torch.stack(areas).numpy()

    return {
        f"perceptionmetrics {version('perceptionmetrics')}": perceptionmetrics,
        f"torchmetrics {version('torchmetrics')}": of_torchmetrics,
        f"smp get_stats {version('segmentation_models_pytorch')}": of_smp,
        f"MONAI {version('monai')}": of_monai,
        f"scikit-learn {version('scikit-learn')}": scikit_learn,
        "nnU-Net's formula": nnunet_formula,
        "mmsegmentation's formula": mmseg_formula,
    }


def rows() -> list[Row]:
    """Per kind of prediction and number of classes: the fastest rival, all rivals, and one read pass."""
    torch.set_num_threads(1)
    return [row for kind in KINDS for n_classes in (6, 19, 150) for row in of_maps(kind, n_classes)]


def of_maps(kind: str, n_classes: int) -> list[Row]:
    rng = np.random.default_rng(n_classes)
    pairs = [pair(rng, SIDE, n_classes=n_classes, kind=kind) for _ in range(PAIRS)]
    others = [rivals(*maps, n_classes) for maps in pairs]
    works = {"segcv": lambda: [ours(*maps, n_classes) for maps in pairs]}

    wrong = [name for name, work in others[0].items() if not (work() == ours(*pairs[0], n_classes)).all()]
    tried = seconds(others[0], rounds=2, warm_up=0, clock=time.process_time)
    once = {name: min(times) for name, times in tried.items()}
    for name in sorted(once, key=lambda name: once[name])[:3]:
        works[name] = lambda name=name: [rival[name]() for rival in others]
    words = [[labels.reshape(-1).view(np.uint64) for labels in maps] for maps in pairs]
    works["limit"] = lambda: [read_pass(*both) for both in words]
    taken = seconds(works, rounds=15, clock=time.process_time)
    limit = taken.pop("limit")

    def shown(taken: float) -> str:
        return f"{1e3 * taken / PAIRS:.3g} ms"

    what = f"C = {n_classes}, {kind}"
    listed = ", ".join(f"{name} {1e3 * once[name]:.3g} ms" for name in sorted(once, key=lambda name: once[name]))
    return [
        at_least(f"counts, {SIDE}², {what}", taken, fastest(taken), GOALS[kind], shown=shown),
        Row(f"- {what}: one read pass of both maps is the limit", shown(statistics.median(taken["segcv"])),
            f"limit {shown(statistics.median(limit))}", f"{ratio({**taken, 'limit': limit}, 'limit'):.2f}x", ""),
        Row(f"- {what}: same counts as", "", listed, "", "all equal" + "".join(f"; not {name}" for name in wrong),
            not wrong),
    ]


def ours(truth: Labels, prediction: Labels, n_classes: int) -> PerClass:
    matrix = confusion(truth, prediction, n_classes=n_classes, void=VOID)
    return np.stack([matrix.diagonal(), matrix[:, :-1].sum(axis=0), matrix.sum(axis=1)])
