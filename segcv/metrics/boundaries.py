"""Boundary metrics of one class in one image: how far apart two outlines are, in the units of the pixel spacing.

A border pixel is an object pixel with a valid 4-neighbour that is background. The image edge is background, so an
object cut by it has a border there (score tiles stitched, not one by one); an ignored pixel makes no border.
One mask empty: distances are infinite and shares 0; both empty: NaN, undefined. A mask whose object meets only ignored
pixels has no border and counts as empty.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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
    check_masks(mask, mask, valid=valid)
    return _border_map(mask, valid)[:, :mask.shape[1]].astype(bool)


def border_distances(truth: BoolMask, prediction: BoolMask, *, spacing: Spacing = (1.0, 1.0),
                     valid: BoolMask | None = None) -> BorderDistances:
    """Distances between the border pixels of two objects, centre to centre; every border pixel weighs 1.

    `truth`, `prediction`: object or not, H x W. `valid`: False where the truth is ignored; there neither has an object.

    >>> distances = border_distances(np.array([[True, True, False]]), np.array([[True, False, False]]))
    >>> distances.from_truth.tolist(), distances.from_prediction.tolist()
    ([0.0, 1.0], [0.0])
    """
    check_masks(truth, prediction, valid=valid, spacing=spacing)
    (to_prediction, _), (to_truth, _) = _distances(_border_map(truth, valid), _border_map(prediction, valid), spacing)
    return BorderDistances(to_prediction, to_truth, np.ones(to_prediction.size), np.ones(to_truth.size))


def surface_distances(truth: BoolMask, prediction: BoolMask, *, spacing: Spacing = (1.0, 1.0),
                      valid: BoolMask | None = None) -> BorderDistances:
    """Distances between the outlines as they run between pixels, each piece weighted by its length.

    A piece lies where the four pixels around a pixel corner are not all alike; its length is that of the line between
    the midpoints of the sides it crosses (Nikolov et al. 2021). Pieces beside an ignored pixel are left out.

    >>> one_pixel = np.array([[True]])                 # an outline of four halves of a diagonal
    >>> surface_distances(one_pixel, one_pixel).truth_lengths.round(3).tolist()
    [0.707, 0.707, 0.707, 0.707]
    """
    check_masks(truth, prediction, valid=valid, spacing=spacing)
    lengths = _piece_lengths(spacing)
    (to_prediction, truth_codes), (to_truth, codes) = _distances(
        _corner_map(truth, valid), _corner_map(prediction, valid), spacing)
    return BorderDistances(to_prediction, to_truth, lengths[truth_codes], lengths[codes])


def hd95_max(distances: BorderDistances) -> float:
    """The larger of the two directed 95th percentiles of border distance (linear interpolation), in [0, inf].

    >>> hd95_max(border_distances(np.array([[True, True]]), np.array([[True, False]])))     # of 0, 1 and of 0
    0.95
    """
    if distances.empty or distances.one_sided:
        return _one_side_missing(distances)
    return max(_percentile95(distances.from_truth), _percentile95(distances.from_prediction))


def hd95_pooled(distances: BorderDistances) -> float:
    """The 95th percentile of both directions' distances put together, in [0, inf]: a different metric.

    >>> distances = border_distances(np.array([[True, True]]), np.array([[True, False]]))
    >>> round(hd95_pooled(distances), 3)                        # of 0, 0, 1
    0.9
    """
    if distances.empty or distances.one_sided:
        return _one_side_missing(distances)
    return _percentile95(np.concatenate([distances.from_truth, distances.from_prediction]))


def assd(distances: BorderDistances) -> float:
    """Average symmetric distance: the mean over both borders' pixels put together, in [0, inf].

    >>> round(assd(border_distances(np.array([[True, True]]), np.array([[True, False]]))), 3)
    0.333
    """
    if distances.empty or distances.one_sided:
        return _one_side_missing(distances)
    return float(np.concatenate([distances.from_truth, distances.from_prediction]).mean())


def masd(distances: BorderDistances) -> float:
    """Mean of the two directed mean distances, in [0, inf]: both borders weigh the same, however long.

    >>> masd(border_distances(np.array([[True, True]]), np.array([[True, False]])))
    0.25
    """
    if distances.empty or distances.one_sided:
        return _one_side_missing(distances)
    return float((distances.from_truth.mean() + distances.from_prediction.mean()) / 2)


def nsd(distances: BorderDistances, *, tolerance: float) -> float:
    """Share of both borders within `tolerance` of the other, in [0, 1]; one side empty 0, both NaN.

    Of `border_distances` this is NSD over border pixels, of `surface_distances` NSD over length: different metrics.

    >>> round(nsd(border_distances(np.array([[True, True]]), np.array([[True, False]])), tolerance=0.5), 3)
    0.667
    """
    if tolerance < 0:
        raise ConfigError(f"tolerance={tolerance} must not be negative.")
    if distances.empty:
        return float("nan")
    near = ((distances.truth_lengths * (distances.from_truth <= tolerance)).sum()
            + (distances.prediction_lengths * (distances.from_prediction <= tolerance)).sum())
    return float(near / (distances.truth_lengths.sum() + distances.prediction_lengths.sum()))


def check_masks(truth: BoolMask, prediction: BoolMask, *, valid: BoolMask | None = None,
                spacing: Spacing = (1.0, 1.0)) -> None:
    """Refuse what is no pair of masks of one object."""
    for what, mask in (("prediction", prediction), ("valid mask", valid)):
        if mask is not None and (truth.ndim != 2 or truth.shape != mask.shape):
            raise ScoreError(f"Masks must be H x W and of one size, not {truth.shape} and (the {what}) {mask.shape}.")
    for mask in (truth, prediction, valid):
        if mask is not None and mask.dtype != bool:
            raise ScoreError(f"Masks of one object are true or false, not {mask.dtype}; "
                             "compare labels with a class first.")
    if not (min(spacing) > 0 and np.isfinite(spacing).all()):
        raise ConfigError(f"spacing={spacing} must be two positive distances (down, across).")


def _border_map(mask: BoolMask, valid: BoolMask | None) -> NDArray[np.uint8]:
    from segcv.metrics.distance_kernels import BLOCK, border_map

    found: NDArray[np.uint8] = border_map(*_bytes(mask, valid), -(-mask.shape[1] // BLOCK) * BLOCK)
    return found


def _corner_map(mask: BoolMask, valid: BoolMask | None) -> NDArray[np.uint8]:
    from segcv.metrics.distance_kernels import BLOCK, corner_map

    found: NDArray[np.uint8] = corner_map(*_bytes(mask, valid), -(-(mask.shape[1] + 1) // BLOCK) * BLOCK)
    return found


def _bytes(mask: BoolMask, valid: BoolMask | None) -> tuple[NDArray[np.uint8], NDArray[np.uint8] | None]:
    return (np.ascontiguousarray(mask).view(np.uint8),
            None if valid is None else np.ascontiguousarray(valid).view(np.uint8))


Directed = tuple[FloatArray, NDArray[np.uint8]]      # distances of a map's elements, by rows, and the elements' bytes


def _distances(first: NDArray[np.uint8], second: NDArray[np.uint8], spacing: Spacing) -> tuple[Directed, Directed]:
    """Distance of each element of map `first` to the nearest of `second`, and the other way round."""
    from segcv.metrics.distance_kernels import bytes_of, directed_distances, window_of

    has_first, has_second, window = window_of(first, second)
    if not (has_first and has_second):
        alone = bytes_of(first, window), bytes_of(second, window)
        return (np.full(alone[0].size, np.inf), alone[0]), (np.full(alone[1].size, np.inf), alone[1])
    top, bottom, left, right = window
    rows = bottom - top
    down = np.empty((rows, right - left), np.uint16 if 2 * rows < 2**16 else np.uint32)
    dy, dx = float(spacing[0]), float(spacing[1])
    return (directed_distances(first, second, dy, dx, window, down),
            directed_distances(second, first, dy, dx, window, down))


def _percentile95(values: FloatArray) -> float:
    """As `np.percentile(values, 95)`, in a tenth of its time: linear between the two neighbours in the order."""
    ordered = np.sort(values)
    position = 0.95 * (values.size - 1)
    below = int(position)
    above = min(below + 1, values.size - 1)
    return float(ordered[below] + (ordered[above] - ordered[below]) * (position - below))


def _one_side_missing(distances: BorderDistances) -> float:
    return float("nan") if distances.empty else float("inf")


def _piece_lengths(spacing: Spacing) -> FloatArray:
    """Length of the outline at a corner by its code: half a diagonal cuts one pixel off, a side divides two and two."""
    dy, dx = spacing
    half = float(np.hypot(dy, dx)) / 2
    by_code = {0b0011: dx, 0b1100: dx, 0b0101: dy, 0b1010: dy, 0b0110: 2 * half, 0b1001: 2 * half, 0: 0.0, 15: 0.0}
    return np.array([by_code.get(code, half) for code in range(16)])
