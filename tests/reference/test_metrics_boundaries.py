"""Boundary metrics on shapes whose distances can be read off, and against every distance computed one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import ndimage
from scipy.spatial.distance import cdist

from segcv import metrics
from segcv.errors import ConfigError, ScoreError
from segcv.metrics import border, border_distances, surface_distances


def square(rows: tuple[int, int], columns: tuple[int, int], side: int = 8) -> NDArray[np.bool_]:
    mask = np.zeros((side, side), bool)
    mask[rows[0]:rows[1], columns[0]:columns[1]] = True
    return mask


EMPTY = np.zeros((8, 8), bool)
DISTANCES = [metrics.hd95_max, metrics.hd95_pooled, metrics.assd, metrics.masd]


def test_the_image_edge_is_background() -> None:
    """bowenc0221/boundary-iou-api pads with 0: the border of a full 8 x 8 mask is its 28 outer pixels."""
    assert border(np.ones((8, 8), bool)).sum() == 28


def test_an_ignored_neighbour_makes_no_border() -> None:
    """By hand: rows 0..3 are object: 8 + 8 + 2 + 2 border pixels; with rows 4..7 ignored 8 above and 3 + 3 beside."""
    valid = square((0, 4), (0, 8))

    assert border(square((0, 4), (0, 8))).sum() == 20
    assert border(square((0, 4), (0, 8)), valid=valid).sum() == 14


@pytest.mark.parametrize("metric", DISTANCES)
def test_a_missed_object_is_infinitely_far_and_nothing_is_undefined(metric: Any) -> None:
    """Project-MONAI/MONAI#9095, MIC-DKFZ/nnUNet#380: never 0, never dropped, never an exception."""
    truth = square((2, 5), (2, 5))

    assert metric(border_distances(truth, EMPTY)) == metric(border_distances(EMPTY, truth)) == np.inf
    assert np.isnan(metric(border_distances(EMPTY, EMPTY)))
    assert metric(border_distances(truth, truth)) == 0


def test_a_missed_object_costs_the_image_diagonal() -> None:
    """By hand: the diagonal of 8 x 8 pixels is 8 · sqrt 2; what was undefined stays undefined."""
    penalty = metrics.image_diagonal((8, 8))

    assert penalty == pytest.approx(11.313708498984761)
    assert metrics.penalised(np.array([np.inf, 2, np.nan]), penalty=penalty) == pytest.approx(
        [11.313708498984761, 2, np.nan], nan_ok=True)
    assert metrics.image_diagonal((30, 40), spacing=(0.1, 0.1)) == pytest.approx(5)


def test_nsd_of_missing_objects() -> None:
    """One side empty: no border is near; both: nothing to share."""
    for distances in (border_distances, surface_distances):
        assert metrics.nsd(distances(square((2, 5), (2, 5)), EMPTY), tolerance=100) == 0
        assert np.isnan(metrics.nsd(distances(EMPTY, EMPTY), tolerance=1))


def test_the_larger_percentile_is_not_the_pooled_one() -> None:
    """loli/medpy#138, MetricsReloaded#41. By hand: 16 true border pixels at 0; of 17 predicted one is 6 away, so its
    95th percentile lies at position 15.2 of 0..16, a fifth of the way from 0 to 6; of all 33 at 30.4 of 0..32: 0."""
    truth = square((0, 8), (0, 2))
    prediction = truth.copy()
    prediction[7, 7] = True
    distances = border_distances(truth, prediction)

    assert distances.from_prediction.max() == 6
    assert metrics.hd95_max(distances) == pytest.approx(np.percentile([0] * 16 + [6], 95)) == pytest.approx(1.2)
    assert metrics.hd95_pooled(distances) == pytest.approx(np.percentile([0] * 32 + [6], 95)) == 0


def test_assd_pools_and_masd_averages_the_two_means() -> None:
    """By hand: 16 true border pixels at 0; 17 predicted, one at 6: 6/33 and (0 + 6/17)/2."""
    truth = square((0, 8), (0, 2))
    prediction = truth.copy()
    prediction[7, 7] = True
    distances = border_distances(truth, prediction)

    assert metrics.assd(distances) == pytest.approx(6 / 33)
    assert metrics.masd(distances) == pytest.approx(3 / 17)


def test_surface_lengths_of_a_square() -> None:
    """By hand: a 4 x 4 square has 4 cut corners of sqrt(dy² + dx²)/2 and 3 sides' pieces each way: 6 dy + 6 dx."""
    dy, dx = 0.7, 1.3
    distances = surface_distances(square((2, 6), (2, 6)), square((2, 6), (2, 6)), spacing=(dy, dx))

    assert distances.truth_lengths.sum() == pytest.approx(2 * np.hypot(dy, dx) + 6 * dy + 6 * dx)


def test_nsd_by_pixels_and_by_surface_are_different_metrics() -> None:
    """By hand: a 4 x 4 square moved down by 2, tolerance 1. Of each 12 border pixels 8 are near the other border.

    Each outline has 12 pieces of length 1 and 4 cut corners of sqrt(2)/2; 8 pieces and 2 corners of it are near.
    """
    truth, moved = square((1, 5), (2, 6)), square((3, 7), (2, 6))
    by_pixel = metrics.nsd(border_distances(truth, moved), tolerance=1)
    by_surface = metrics.nsd(surface_distances(truth, moved), tolerance=1)

    assert by_pixel == pytest.approx(16 / 24)
    assert by_surface == pytest.approx((8 + np.sqrt(2)) / (12 + 2 * np.sqrt(2)))


@pytest.mark.parametrize("seed", range(8))
def test_distances_equal_all_pairs(seed: int) -> None:
    """Second method: the smallest of all pairwise distances, and scipy's erosion for the border."""
    rng = np.random.default_rng(seed)
    spacing = (0.7, 1.3)
    truth, prediction = (ndimage.gaussian_filter(rng.random((31, 27)), 2) > 0.5 for _ in range(2))
    at = [np.argwhere(mask & ~ndimage.binary_erosion(mask)) * spacing for mask in (truth, prediction)]
    between = cdist(*at)

    distances = border_distances(truth, prediction, spacing=spacing)

    assert distances.from_truth == pytest.approx(between.min(axis=1), abs=1e-9)
    assert distances.from_prediction == pytest.approx(between.min(axis=0), abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_boundary_iou_equals_repeated_erosion(seed: int) -> None:
    """Second method: d erosions by 3 x 3 with background beyond the edge, as in Cheng et al. 2021."""
    rng = np.random.default_rng(seed)
    masks = [ndimage.gaussian_filter(rng.random((120, 160)), 4) > 0.5 for _ in range(2)]
    bands = [mask & ~ndimage.binary_erosion(mask, np.ones((3, 3)), iterations=4) for mask in masks]      # d = .02 · 200

    assert metrics.boundary_iou(*masks) == pytest.approx((bands[0] & bands[1]).sum() / (bands[0] | bands[1]).sum())


def test_boundary_iou_of_missing_objects() -> None:
    """One side empty 0, both undefined."""
    assert metrics.boundary_iou(square((2, 5), (2, 5)), EMPTY) == 0
    assert np.isnan(metrics.boundary_iou(EMPTY, EMPTY))


def test_boundary_scores_are_per_class_and_blind_to_ignored_pixels() -> None:
    """By hand: class 1 is perfect where it is judged, class 2 is in neither mask."""
    truth = square((2, 6), (2, 6)).astype(np.uint8)
    truth[0] = 255
    prediction = np.where(truth == 255, 1, truth)

    scores = metrics.boundary_scores(truth, prediction, n_classes=3, void=255, tolerance=1)

    assert {name: values[1] for name, values in scores.items()} == {
        "hd95_max": 0, "hd95_pooled": 0, "assd": 0, "masd": 0, "nsd": 1, "nsd_surface": 1, "boundary_iou": 1}
    assert all(np.isnan(values[2]) for values in scores.values())


def test_what_is_no_pair_of_masks_is_refused() -> None:
    """Labels instead of an object, other sizes, no distance between pixels."""
    with pytest.raises(ScoreError, match="true or false"):
        border_distances(EMPTY.astype(np.uint8), EMPTY)                 # type: ignore[arg-type]
    with pytest.raises(ScoreError, match="one size"):
        border_distances(EMPTY, EMPTY[:4])
    with pytest.raises(ConfigError, match="spacing"):
        border_distances(EMPTY, EMPTY, spacing=(0, 1))


def test_only_what_is_asked_for_is_measured() -> None:
    """The asked metrics are the same numbers, in the asked order; NSD has no usual tolerance."""
    truth, prediction = square((1, 5), (2, 6)).astype(np.uint8), square((3, 7), (2, 6)).astype(np.uint8)
    choices: dict[str, Any] = {"n_classes": 2, "void": None}
    everything = metrics.boundary_scores(truth, prediction, **choices, tolerance=1)

    for names, tolerance in ((["boundary_iou"], None), (["masd", "hd95_max"], None), (["nsd_surface", "nsd"], 1)):
        asked = metrics.boundary_scores(truth, prediction, **choices, names=names, tolerance=tolerance)
        assert list(asked) == names
        assert all(asked[name].tolist() == everything[name].tolist() for name in names)
    for names, tolerance in ((["nsd"], None), (["assd"], 1)):
        with pytest.raises(ConfigError, match="tolerance"):
            metrics.boundary_scores(truth, prediction, **choices, names=names, tolerance=tolerance)
    with pytest.raises(ConfigError, match="hd95_max"):
        metrics.boundary_scores(truth, prediction, **choices, names=["hd95"])


def test_missed_objects_stay_in_the_mean() -> None:
    """By hand: distances 2, infinite (missed), infinite (false alarm), undefined; diagonals 5, 10, 10, 7: 22/3."""
    counts = metrics.Counts(tp=[[4], [0], [0], [0]], fp=[[0], [0], [3], [0]], fn=[[0], [5], [0], [0]], valid=[9] * 4)

    means = metrics.boundary_means([[2], [np.inf], [np.inf], [np.nan]], counts, penalty=[5, 10, 10, 7])

    assert means.mean.tolist() == [pytest.approx(22 / 3)]
    assert (means.images.tolist(), means.missed.tolist(), means.false_alarms.tolist(), means.both_empty.tolist()) == (
        [3], [1], [1], [1])
    for penalty in (-1, np.inf, [1, 2]):
        with pytest.raises(ConfigError, match="penalty"):
            metrics.boundary_means([[2], [np.inf], [np.inf], [np.nan]], counts, penalty=penalty)
