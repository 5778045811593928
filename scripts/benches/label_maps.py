"""Label maps to time on: truth of flat regions with an ignored rim, and predictions that are wrong in three ways."""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

Labels = NDArray[np.uint8]
VOID = 255
KINDS = ("clean", "noisy", "random")


def regions(rng: np.random.Generator, side: int, *, n_classes: int, seeds: int = 400) -> Labels:
    """Cells around random points, each of one class: the flat regions with slanted borders of a drawn mask."""
    points = rng.random((seeds, 2)) * side
    classes = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, seeds)])[:seeds].astype(np.uint8)
    pixels = np.stack(np.mgrid[:side, :side], axis=-1).reshape(-1, 2)
    labels: Labels = classes[cKDTree(points).query(pixels)[1]].reshape(side, side)
    return labels


def pair(rng: np.random.Generator, side: int, *, n_classes: int, kind: str) -> tuple[Labels, Labels]:
    """Truth and prediction. clean: regions moved by a few pixels; noisy: and 1 % of the pixels at random;
    random: no two neighbours alike but by chance, in both maps.
    """
    if kind == "random":
        truth, prediction = rng.integers(0, n_classes, (2, side, side), dtype=np.uint8)
    else:
        truth = regions(rng, side, n_classes=n_classes)
        prediction = np.roll(truth, (3, 2), axis=(0, 1))
    if kind == "noisy":
        wrong = rng.random(truth.shape) < 0.01
        prediction[wrong] = rng.integers(0, n_classes, int(wrong.sum()), dtype=np.uint8)
    truth[:side // 64] = VOID
    return truth, prediction


@numba.njit
def read_pass(truth, prediction):        # type: ignore[no-untyped-def]
    """Touch every byte of two maps once: what no counting can beat."""
    seen = np.uint64(0)
    for i in range(truth.size):
        seen |= truth[i] ^ prediction[i]
    return seen
