"""The boundary metrics of whole label maps, class by class, and their means that do not forget missed objects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from segcv.errors import ConfigError, ScoreError
from segcv.metrics.boundaries import (
    BoolMask,
    Spacing,
    assd,
    border_distances,
    hd95_max,
    hd95_pooled,
    masd,
    nsd,
    surface_distances,
)
from segcv.metrics.boundary_bands import band_depth, boundary_iou
from segcv.metrics.counts import Counts, confusion
from segcv.metrics.overlap import FloatArray

OF_BORDERS = {"hd95_max": hd95_max, "hd95_pooled": hd95_pooled, "assd": assd, "masd": masd}
BOUNDARY_METRICS = (*OF_BORDERS, "nsd", "nsd_surface", "boundary_iou")


def boundary_scores(truth: NDArray[Any], prediction: NDArray[Any], *, n_classes: int, void: int | None,
                    names: Sequence[str] = BOUNDARY_METRICS, tolerance: float | None = None,
                    spacing: Spacing = (1.0, 1.0)) -> dict[str, FloatArray]:
    """Boundary metrics of each class, by name, each an array of classes.

    `truth`, `prediction`: class ids, H x W; pixels whose truth is `void` do not count. `tolerance` of both NSD, and
    distances, in the units of `spacing` (down, across). Distances are infinite where one object is missing (see
    `boundary_means`), NaN where both are.

    >>> truth = np.array([[0, 0, 0, 0], [0, 1, 1, 0]], np.uint8)
    >>> missed_one = np.array([[0, 0, 0, 0], [0, 1, 0, 0]], np.uint8)
    >>> scores = boundary_scores(truth, missed_one, n_classes=3, void=255, names=["assd", "nsd"], tolerance=0.5)
    >>> scores["assd"][1:].tolist(), scores["nsd"][1:].round(3).tolist()      # borders of 2 and 1 pixels, one 1 away
    ([0.3333333333333333, nan], [0.667, nan])

    Raises:
        ConfigError: a name is none of BOUNDARY_METRICS, NSD has no tolerance, or nothing has a use for one.
    """
    unknown = [name for name in names if name not in BOUNDARY_METRICS]
    if unknown:
        raise ConfigError(f"{unknown[0]!r} is none of the boundary metrics {', '.join(BOUNDARY_METRICS)}.")
    needs_tolerance = not {"nsd", "nsd_surface"}.isdisjoint(names)
    if needs_tolerance and tolerance is None:
        raise ConfigError("NSD needs a tolerance: the distance up to which two outlines agree, in units of spacing.")
    if tolerance is not None and not needs_tolerance:
        raise ConfigError(f"tolerance={tolerance} has an effect on nsd and nsd_surface only.")
    matrix = confusion(truth, prediction, n_classes=n_classes, void=void)              # refuses what is no pair of maps
    if truth.ndim != 2:
        raise ScoreError(f"Outlines are of one image, H x W, not {truth.shape}.")
    present = np.flatnonzero((matrix.sum(axis=1) > 0) | (matrix[:, :-1].sum(axis=0) > 0))
    valid = None if void is None or matrix.sum() == truth.size else np.asarray(truth != void)
    scores = {name: np.full(n_classes, np.nan) for name in names}
    for c in present:
        masks = [np.asarray(labels == c) for labels in (truth, prediction)]
        values = _of_object(*_cropped(masks, valid), names=names, shape=truth.shape, tolerance=tolerance,
                            spacing=spacing)
        for name, value in values.items():
            scores[name][c] = value
    return scores


@dataclass(frozen=True, slots=True, eq=False)
class BoundaryMeans:
    """Means over images of a boundary metric, one per class, and what they stand on; each an array of classes."""

    mean: FloatArray                    # NaN: undefined in every image
    images: NDArray[np.int64]           # images in the mean
    missed: NDArray[np.int64]           # of these: only the truth has the class
    false_alarms: NDArray[np.int64]     # of these: only the prediction has it
    both_empty: NDArray[np.int64]       # images left out


def boundary_means(values: ArrayLike, counts: Counts, *, penalty: ArrayLike) -> BoundaryMeans:
    """Mean of a boundary metric over the images in which the class is in truth or prediction.

    `values`: images x classes, from `boundary_scores`; `counts` of the same images. `penalty` stands for a distance
    that is infinite because one object is missing: a number, or one per image (`image_diagonal` is the usual one).
    Leaving missed objects out would make a model look better the more it misses.

    >>> counts = Counts(tp=[[5], [0], [0]], fp=[[0], [0], [0]], fn=[[1], [4], [0]], valid=[9, 9, 9])
    >>> means = boundary_means([[2.0], [np.inf], [np.nan]], counts, penalty=[10, 20, 30])
    >>> means.mean.tolist(), means.missed.tolist(), means.both_empty.tolist()
    ([11.0], [1], [1])
    """
    scores = np.asarray(values, dtype=np.float64)
    if scores.shape != counts.tp.shape:
        raise ScoreError(f"Values of shape {scores.shape} are not of the {counts.n_images} images x "
                         f"{counts.n_classes} classes counted.")
    price = np.asarray(penalty, dtype=np.float64)
    if price.shape not in ((), (counts.n_images,)) or not (np.isfinite(price).all() and (price >= 0).all()):
        raise ConfigError("penalty must be one distance, or one per image, neither negative nor infinite.")
    filled = penalised(scores, penalty=price[:, None] if price.ndim else price)        # images x classes
    defined = ~np.isnan(filled)
    number = defined.sum(axis=0)
    mean = np.divide(np.where(defined, filled, 0).sum(axis=0), number, out=np.full(number.shape, np.nan),
                     where=number > 0)
    only_truth, only_prediction = counts.predicted == 0, counts.truth == 0
    return BoundaryMeans(mean=mean, images=number, missed=(defined & only_truth).sum(axis=0),
                         false_alarms=(defined & only_prediction).sum(axis=0), both_empty=(~defined).sum(axis=0))


def image_diagonal(shape: tuple[int, int], *, spacing: Spacing = (1.0, 1.0)) -> float:
    """Length of the image's diagonal: the default penalty for a distance that is infinite.

    >>> image_diagonal((30, 40), spacing=(0.1, 0.1))
    5.0
    """
    return float(np.hypot(shape[0] * spacing[0], shape[1] * spacing[1]))


def penalised(values: FloatArray, *, penalty: float | FloatArray) -> FloatArray:
    """`values` with the penalty where one object was missing (infinite); undefined stays NaN.

    >>> penalised(np.array([np.inf, 2.0, np.nan]), penalty=5.0).tolist()
    [5.0, 2.0, nan]
    """
    return np.where(np.isinf(values), penalty, values)


def _of_object(truth: BoolMask, prediction: BoolMask, valid: BoolMask | None, *, names: Sequence[str],
               shape: tuple[int, ...], tolerance: float | None, spacing: Spacing) -> dict[str, float]:
    values: dict[str, float] = {}
    near = 0.0 if tolerance is None else tolerance
    if set(names) & {*OF_BORDERS, "nsd"}:
        pixels = border_distances(truth, prediction, spacing=spacing, valid=valid)
        values |= {name: metric(pixels) for name, metric in OF_BORDERS.items()}
        values["nsd"] = nsd(pixels, tolerance=near)
    if "nsd_surface" in names:
        surface = surface_distances(truth, prediction, spacing=spacing, valid=valid)
        values["nsd_surface"] = nsd(surface, tolerance=near)
    if "boundary_iou" in names:
        values["boundary_iou"] = boundary_iou(truth, prediction, depth=band_depth(shape), valid=valid)
    return {name: values[name] for name in names}


def _cropped(masks: list[BoolMask], valid: BoolMask | None) -> tuple[BoolMask, BoolMask, BoolMask | None]:
    """The part of the image that holds both objects and the background that the widest band looks at."""
    either = masks[0] | masks[1]
    margin = band_depth(either.shape) + 1
    window = []
    for axis in (0, 1):
        there = np.flatnonzero(either.any(axis=1 - axis))
        window.append(slice(max(there[0] - margin, 0), there[-1] + 1 + margin))
    part = window[0], window[1]
    return masks[0][part], masks[1][part], None if valid is None else valid[part]
