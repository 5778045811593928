"""Histograms of probabilities, from which calibration, AUROC and AP follow later: beside numpy, and beside what
torchmetrics does for the same numbers. 512 x 512 pixels, float32, in one thread (seconds of its CPU)."""

from __future__ import annotations

import time
from importlib.metadata import version

import numpy as np
import torch
from benches.label_maps import VOID
from benches.rows import Row, at_least, at_most, seconds
from numpy.typing import NDArray
from scipy import ndimage
from torchmetrics.classification import MulticlassAUROC, MulticlassCalibrationError

from segcv.metrics import probability_histogram

SIDE = 512


def predicted(rng: np.random.Generator, n_classes: int) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """Truth and softmax probabilities of regions with soft borders and a little noise."""
    logits = ndimage.gaussian_filter(rng.standard_normal((n_classes, SIDE, SIDE)), (0, 12, 12))
    logits = 8 * logits / logits.std() + 0.3 * rng.standard_normal(logits.shape)
    probabilities = np.exp(logits - logits.max(axis=0))
    truth = np.roll(logits.argmax(axis=0), 3, axis=0).astype(np.uint8)
    truth[:8] = VOID
    return truth, (probabilities / probabilities.sum(axis=0)).astype(np.float32)


def by_numpy(truth: NDArray[np.uint8], probabilities: NDArray[np.float32]) -> NDArray[np.int64]:
    valid = truth != VOID
    p, g = probabilities[:, valid].astype(np.float64), truth[valid]
    level, top = np.rint(255 * p).astype(np.intp), p.argmax(axis=0)
    rows = [(level[c], g == c) for c in range(len(p))] + [(level[top, np.arange(top.size)], top == g)]
    return np.stack([np.bincount(at + 256 * right, minlength=512).reshape(2, 256) for at, right in rows])


def rows() -> list[Row]:
    torch.set_num_threads(1)
    found = []
    for n_classes in (2, 6, 19):
        truth, probabilities = predicted(np.random.default_rng(n_classes), n_classes)
        as_torch = torch.from_numpy(probabilities)[None], torch.from_numpy(truth)[None].long()

        def of_torchmetrics(n_classes: int = n_classes, as_torch: tuple[torch.Tensor, ...] = as_torch) -> None:
            for metric in (MulticlassAUROC(n_classes, thresholds=256, ignore_index=VOID, validate_args=False),
                           MulticlassCalibrationError(n_classes, n_bins=15, ignore_index=VOID, validate_args=False)):
                metric.update(*as_torch)

        works = {"segcv": lambda t=truth, p=probabilities: probability_histogram(t, p, void=VOID),
                 "numpy": lambda t=truth, p=probabilities: by_numpy(t, p)}
        if n_classes == 2:                                          # of more classes it takes up to a minute
            works[f"torchmetrics {version('torchmetrics')}"] = of_torchmetrics
        taken = seconds(works, rounds=7, clock=time.process_time)
        different = probability_histogram(truth, probabilities, void=VOID) != by_numpy(truth, probabilities)
        found += [at_least(f"histograms of probabilities, {SIDE}², C = {n_classes}", taken, rival, 3)
                  for rival in taken if rival != "segcv"]
        found.append(at_most(f"- C = {n_classes}: bins that differ", int(different.sum()), 0, unit="", rival="numpy"))
    return found
