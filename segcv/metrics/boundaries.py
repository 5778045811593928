"""Boundary metrics of one class in one image: how far apart two outlines are, in the units of the pixel spacing.

A border pixel is an object pixel with a valid 4-neighbour that is background. The image edge is background, so an
object cut by it has a border there (score tiles stitched, not one by one); an ignored pixel makes no border.
One mask empty: distances are infinite and shares 0; both empty: NaN, undefined. A mask whose object meets only ignored
pixels has no border and counts as empty.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from segcv.errors import ConfigError, ScoreError
from segcv.metrics.overlap import FloatArray

BoolMask = NDArray[np.bool_]
Spacing = tuple[float, float]                 # dy, dx: distance of pixel centres down and across


@dataclass(frozen=True, slots=True, eq=False)
class BorderDistances:
    """For each border element its distance to the nearest one of the other mask, and the length it stands for.

    Infinite where the other mask is empty. Lengths are 1 for border pixels.
    """

    from_truth: FloatArray            # true border elements
    from_prediction: FloatArray       # predicted border elements
    truth_lengths: FloatArray         # true border elements
    prediction_lengths: FloatArray    # predicted border elements

    @property
    def empty(self) -> bool:
        """Is neither border there?"""
        return not (self.from_truth.size or self.from_prediction.size)

    @property
    def one_sided(self) -> bool:
        """Is exactly one border there?"""
        return bool(self.from_truth.size) != bool(self.from_prediction.size)


def border(mask: BoolMask, *, valid: BoolMask | None = None) -> BoolMask:
    """The border pixels of an object, H x W.

    >>> int(border(np.ones((8, 8), bool)).sum())
    28
    """
    inside = mask if valid is None else mask | ~valid               # H x W: what makes no border beside it
    padded = np.pad(inside, 1)
    surrounded = padded[:-2, 1:-1] & padded[2:, 1:-1] & padded[1:-1, :-2] & padded[1:-1, 2:]
    return (mask if valid is None else mask & valid) & ~surrounded


def border_distances(truth: BoolMask, prediction: BoolMask, *, spacing: Spacing = (1.0, 1.0),
                     valid: BoolMask | None = None) -> BorderDistances:
    """Distances between the border pixels of two objects, centre to centre; every border pixel weighs 1.

    `truth`, `prediction`: object or not, H x W. `valid`: False where the truth is ignored; there neither has an object.
    """
    _check(truth, prediction, spacing)
    borders = border(truth, valid=valid), border(prediction, valid=valid)
    ones = [np.ones(int(pixels.sum())) for pixels in borders]
    to_prediction, to_truth = _distances(*borders, spacing)
    return BorderDistances(to_prediction, to_truth, ones[0], ones[1])


def surface_distances(truth: BoolMask, prediction: BoolMask, *, spacing: Spacing = (1.0, 1.0),
                      valid: BoolMask | None = None) -> BorderDistances:
    """Distances between the outlines as they run between pixels, each piece weighted by its length.

    A piece lies where the four pixels around a pixel corner are not all alike; its length is that of the line between
    the midpoints of the sides it crosses (Nikolov et al. 2021). Pieces beside an ignored pixel are left out.
    """
    _check(truth, prediction, spacing)
    codes = [_corner_codes(mask if valid is None else mask & valid) for mask in (truth, prediction)]
    judged = np.ones(codes[0].shape, bool) if valid is None else _corner_codes(~valid) == 0
    lengths = _piece_lengths(spacing)
    pieces = [(lengths[code] > 0) & judged for code in codes]
    to_prediction, to_truth = _distances(pieces[0], pieces[1], spacing)
    return BorderDistances(to_prediction, to_truth, lengths[codes[0]][pieces[0]], lengths[codes[1]][pieces[1]])


def hd95_max(distances: BorderDistances) -> float:
    """The larger of the two directed 95th percentiles of border distance (linear interpolation), in [0, inf]."""
    if distances.empty or distances.one_sided:
        return _one_side_missing(distances)
    return float(max(np.percentile(distances.from_truth, 95), np.percentile(distances.from_prediction, 95)))


def hd95_pooled(distances: BorderDistances) -> float:
    """The 95th percentile of both directions' distances put together, in [0, inf]: a different metric."""
    if distances.empty or distances.one_sided:
        return _one_side_missing(distances)
    return float(np.percentile(np.concatenate([distances.from_truth, distances.from_prediction]), 95))


def assd(distances: BorderDistances) -> float:
    """Average symmetric distance: the mean over both borders' pixels put together, in [0, inf]."""
    if distances.empty or distances.one_sided:
        return _one_side_missing(distances)
    return float(np.concatenate([distances.from_truth, distances.from_prediction]).mean())


def masd(distances: BorderDistances) -> float:
    """Mean of the two directed mean distances, in [0, inf]: both borders weigh the same, however long."""
    if distances.empty or distances.one_sided:
        return _one_side_missing(distances)
    return float((distances.from_truth.mean() + distances.from_prediction.mean()) / 2)


def nsd(distances: BorderDistances, *, tolerance: float) -> float:
    """Share of both borders within `tolerance` of the other, in [0, 1]; one side empty 0, both NaN.

    Of `border_distances` this is NSD over border pixels, of `surface_distances` NSD over length: different metrics.
    """
    if tolerance < 0:
        raise ConfigError(f"tolerance={tolerance} must not be negative.")
    if distances.empty:
        return float("nan")
    near = (distances.truth_lengths[distances.from_truth <= tolerance].sum()
            + distances.prediction_lengths[distances.from_prediction <= tolerance].sum())
    return float(near / (distances.truth_lengths.sum() + distances.prediction_lengths.sum()))


def boundary_iou(truth: BoolMask, prediction: BoolMask, *, ratio: float = 0.02, valid: BoolMask | None = None) -> float:
    """IoU of the two inner boundary bands, in [0, 1]; one object missing 0, both NaN (Cheng et al. 2021).

    The band is the object less its erosion by a square of 2 d + 1 pixels, d = max(1, round(ratio · image diagonal in
    pixels)); beyond the image edge is background.
    """
    _check(truth, prediction, (1.0, 1.0))
    depth = max(1, round(ratio * float(np.hypot(*truth.shape))))
    bands = []
    for mask in (truth, prediction):
        inside = mask if valid is None else mask | ~valid
        core = ndimage.minimum_filter(inside.astype(np.uint8), size=2 * depth + 1, mode="constant", cval=0) > 0
        bands.append((mask if valid is None else mask & valid) & ~core)
    union = int((bands[0] | bands[1]).sum())
    return int((bands[0] & bands[1]).sum()) / union if union else float("nan")


def image_diagonal(shape: tuple[int, int], *, spacing: Spacing = (1.0, 1.0)) -> float:
    """Length of the image's diagonal: the default penalty for a distance that is infinite."""
    return float(np.hypot(shape[0] * spacing[0], shape[1] * spacing[1]))


def penalised(values: FloatArray, *, penalty: float | FloatArray) -> FloatArray:
    """`values` with the penalty where one object was missing (infinite); undefined stays NaN.

    Leaving missed objects out of a mean would make a model look better the more it misses.
    """
    return np.where(np.isinf(values), penalty, values)


def boundary_scores(truth: NDArray[Any], prediction: NDArray[Any], *, n_classes: int, void: int | None,
                    tolerance: float, spacing: Spacing = (1.0, 1.0)) -> dict[str, FloatArray]:
    """The boundary metrics of each class by name, each an array of classes; distances not yet penalised.

    `truth`, `prediction`: class ids, H x W; `tolerance` and distances in the units of `spacing`.
    """
    valid = np.ones(truth.shape, bool) if void is None else truth != void
    names = ("hd95_max", "hd95_pooled", "assd", "masd", "nsd", "nsd_surface", "boundary_iou")
    scores = {name: np.full(n_classes, np.nan) for name in names}
    for c in range(n_classes):
        masks = truth == c, prediction == c
        pixels = border_distances(*masks, spacing=spacing, valid=valid)
        for name, metric in (("hd95_max", hd95_max), ("hd95_pooled", hd95_pooled), ("assd", assd), ("masd", masd)):
            scores[name][c] = metric(pixels)
        scores["nsd"][c] = nsd(pixels, tolerance=tolerance)
        scores["nsd_surface"][c] = nsd(surface_distances(*masks, spacing=spacing, valid=valid), tolerance=tolerance)
        scores["boundary_iou"][c] = boundary_iou(*masks, valid=valid)
    return scores


def _check(truth: BoolMask, prediction: BoolMask, spacing: Spacing) -> None:
    if truth.ndim != 2 or truth.shape != prediction.shape:
        raise ScoreError(f"Masks must be H x W and of one size, not {truth.shape} and {prediction.shape}.")
    if truth.dtype != bool or prediction.dtype != bool:
        raise ScoreError(f"Masks of one object are true or false, not {truth.dtype} and {prediction.dtype}; "
                         "compare labels with a class first.")
    if min(spacing) <= 0:
        raise ConfigError(f"spacing={spacing} must be two positive distances (down, across).")


def _distances(first: BoolMask, second: BoolMask, spacing: Spacing) -> tuple[FloatArray, FloatArray]:
    """Distance of each True of `first` to the nearest of `second`, and the other way round."""
    rows, columns = np.flatnonzero((first | second).any(axis=1)), np.flatnonzero((first | second).any(axis=0))
    if not (first.any() and second.any()):
        return np.full(int(first.sum()), np.inf), np.full(int(second.sum()), np.inf)
    window = slice(rows[0], rows[-1] + 1), slice(columns[0], columns[-1] + 1)        # holds both borders whole
    first, second = first[window], second[window]
    to_second = ndimage.distance_transform_edt(~second, sampling=spacing)[first]
    to_first = ndimage.distance_transform_edt(~first, sampling=spacing)[second]
    return to_second, to_first


def _one_side_missing(distances: BorderDistances) -> float:
    return float("nan") if distances.empty else float("inf")


def _corner_codes(mask: BoolMask) -> NDArray[np.intp]:
    """For each pixel corner, (H + 1) x (W + 1), which of the four pixels around it are set: 8 4 over 2 1."""
    m = np.pad(mask, 1).astype(np.intp)
    return 8 * m[:-1, :-1] + 4 * m[:-1, 1:] + 2 * m[1:, :-1] + m[1:, 1:]


def _piece_lengths(spacing: Spacing) -> FloatArray:
    """Length of the outline at a corner by its code: half a diagonal cuts one pixel off, a side divides two and two."""
    dy, dx = spacing
    half = float(np.hypot(dy, dx)) / 2
    by_code = {0b0011: dx, 0b1100: dx, 0b0101: dy, 0b1010: dy, 0b0110: 2 * half, 0b1001: 2 * half, 0: 0.0, 15: 0.0}
    return np.array([by_code.get(code, half) for code in range(16)])
