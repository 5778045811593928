"""Distances between outlines, for any pair of masks and for those made to be hard, beside exact second methods."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import ndimage
from scipy.spatial import cKDTree

from segcv import metrics
from segcv.metrics import border_distances, surface_distances

Mask = NDArray[np.bool_]
SEEDS = st.integers(0, 2**32 - 1)
SPACINGS = st.sampled_from([(1.0, 1.0), (0.7, 1.3), (5.0, 0.1), (0.01, 3.0)])


def any_mask(rng: np.random.Generator, shape: tuple[int, int]) -> Mask:
    """Blobs, noise of any density, a few pixels, everything or nothing."""
    kind = rng.integers(5)
    if kind == 0:
        smooth = ndimage.gaussian_filter(rng.standard_normal(shape), rng.uniform(1, 5))
        return np.asarray(smooth > rng.normal(0, 0.05))
    if kind == 1:
        return np.asarray(rng.random(shape) < rng.random() ** 3)
    if kind == 2:
        mask = np.zeros(shape, bool)
        mask[rng.integers(0, shape[0], 2), rng.integers(0, shape[1], 2)] = True
        return mask
    return np.full(shape, kind == 3)


def border_by_neighbours(mask: Mask, valid: Mask) -> Mask:
    """By definition, pixel by pixel: an object pixel with a valid 4-neighbour that is background, or at the edge."""
    found = np.zeros_like(mask)
    for y, x in np.argwhere(mask & valid):
        for ny, nx in ((y - 1, x), (y + 1, x), (y, x - 1), (y, x + 1)):
            outside = not (0 <= ny < mask.shape[0] and 0 <= nx < mask.shape[1])
            found[y, x] |= outside or (valid[ny, nx] and not mask[ny, nx])
    return found


def nearest(points: NDArray[Any], others: NDArray[Any], spacing: tuple[float, float]) -> NDArray[np.float64]:
    if not len(points) or not len(others):
        return np.full(len(points), np.inf)
    return np.asarray(cKDTree(others * spacing).query(points * spacing)[0])


@settings(max_examples=120, deadline=None)
@given(seed=SEEDS, height=st.integers(1, 40), width=st.integers(1, 150), spacing=SPACINGS, ignored=st.booleans())
def test_border_distances_are_their_definition(seed: int, height: int, width: int, spacing: tuple[float, float],
                                               ignored: bool) -> None:
    """Second method: borders from the neighbours of each pixel, and scipy's nearest neighbour search between them."""
    rng = np.random.default_rng(seed)
    truth, prediction = any_mask(rng, (height, width)), any_mask(rng, (height, width))
    valid = any_mask(rng, (height, width)) if ignored else None
    judged = np.ones((height, width), bool) if valid is None else valid
    points = [np.argwhere(border_by_neighbours(mask, judged)) for mask in (truth, prediction)]

    distances = border_distances(truth, prediction, spacing=spacing, valid=valid)

    assert distances.from_truth == pytest.approx(nearest(points[0], points[1], spacing), abs=1e-9)
    assert distances.from_prediction == pytest.approx(nearest(points[1], points[0], spacing), abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(seed=SEEDS, height=st.integers(1, 40), width=st.integers(1, 150), spacing=SPACINGS, ignored=st.booleans())
def test_surface_distances_are_their_definition(seed: int, height: int, width: int, spacing: tuple[float, float],
                                                ignored: bool) -> None:
    """Second method: the four pixels around each corner one by one, lengths by hand, nearest neighbour search."""
    rng = np.random.default_rng(seed)
    masks = [any_mask(rng, (height, width)) for _ in range(2)]
    valid = any_mask(rng, (height, width)) if ignored else np.ones((height, width), bool)
    dy, dx = spacing
    points, lengths = [], []
    for mask in masks:
        found: list[tuple[int, int]] = []
        long: list[float] = []
        for y in range(height + 1):
            for x in range(width + 1):
                corners = [(y - 1, x - 1), (y - 1, x), (y, x - 1), (y, x)]
                inside = [(v, u) for v, u in corners if 0 <= v < height and 0 <= u < width]
                if not all(valid[at] for at in inside):
                    continue
                a, b, c, _ = around = [at in inside and bool(mask[at]) for at in corners]
                if sum(around) in (1, 3):
                    length = float(np.hypot(dy, dx)) / 2
                elif sum(around) == 2:
                    length = dx if a == b else dy if a == c else float(np.hypot(dy, dx))
                else:
                    continue
                found.append((y, x))
                long.append(length)
        points.append(np.array(found).reshape(-1, 2))
        lengths.append(long)

    distances = surface_distances(masks[0], masks[1], spacing=spacing, valid=valid)

    assert distances.truth_lengths == pytest.approx(lengths[0])
    assert distances.prediction_lengths == pytest.approx(lengths[1])
    assert distances.from_truth == pytest.approx(nearest(points[0], points[1], spacing), abs=1e-9)
    assert distances.from_prediction == pytest.approx(nearest(points[1], points[0], spacing), abs=1e-9)


def hard_pairs() -> dict[str, tuple[Mask, Mask]]:
    rng = np.random.default_rng(5)
    y, x = np.mgrid[:200, :200]
    noise = rng.random((2, 200, 200)) > 0.5
    return {
        "checkerboards": ((x + y) % 2 == 0, (x + y) % 2 == 1), "lines": (y % 8 == 0, x % 8 == 0),
        "noise": (noise[0], noise[1]), "far noise": (noise[0] & (x < 50), noise[1] & (x >= 150)),
        "far noise, down": (noise[0] & (y < 50), noise[1] & (y >= 150)),
        "a pixel and noise": ((y == 3) & (x == 5), noise[0]), "full": (y >= 0, y >= 0),
        "columns at both ends": (x == 0, x == 199), "rows at both ends": (y == 0, y == 199),
    }


@pytest.mark.parametrize("name", hard_pairs())
def test_hard_shapes_are_exact(name: str) -> None:
    """scipy's exact Euclidean distance transform of the whole image."""
    truth, prediction = hard_pairs()[name]
    borders = [mask & ~ndimage.binary_erosion(mask) for mask in (truth, prediction)]

    distances = border_distances(truth, prediction, spacing=(0.7, 1.3))

    for found, here, there in ((distances.from_truth, 0, 1), (distances.from_prediction, 1, 0)):
        exact = ndimage.distance_transform_edt(~borders[there], sampling=(0.7, 1.3))[borders[here]]
        assert np.abs(found - exact).max() <= 1e-9


def test_distances_in_an_image_of_40_000_rows() -> None:
    """By hand: more rows than a 16-bit count of them could hold twice; two pixels 39,990 rows and 2 columns apart."""
    truth, prediction = np.zeros((40_000, 3), bool), np.zeros((40_000, 3), bool)
    truth[4, 0] = prediction[39_994, 2] = True

    distances = border_distances(truth, prediction, spacing=(2.0, 1.0))

    assert distances.from_truth.tolist() == [np.hypot(2 * 39_990, 2)] == distances.from_prediction.tolist()


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS, spacing=SPACINGS)
def test_distances_turn_with_the_image(seed: int, spacing: tuple[float, float]) -> None:
    """Mirrored, or transposed with its spacing, an image has the same distances in another order."""
    rng = np.random.default_rng(seed)
    masks = [any_mask(rng, (33, 70)) for _ in range(2)]

    for measure in (border_distances, surface_distances):
        plain = measure(masks[0], masks[1], spacing=spacing)
        turned = [measure(masks[0][::-1], masks[1][::-1], spacing=spacing),
                  measure(masks[0].T, masks[1].T, spacing=(spacing[1], spacing[0]))]
        for other in turned:
            assert np.sort(other.from_truth) == pytest.approx(np.sort(plain.from_truth), abs=1e-9)
            assert other.truth_lengths.sum() == pytest.approx(plain.truth_lengths.sum())


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS, tolerance=st.floats(0, 20))
def test_truth_and_prediction_may_change_places(seed: int, tolerance: float) -> None:
    """All boundary metrics are symmetric; a perfect prediction has distance 0 and shares 1, an absent class NaN."""
    rng = np.random.default_rng(seed)
    a, b = ((any_mask(rng, (40, 50)) * 2).astype(np.uint8) for _ in range(2))
    given_choices: dict[str, Any] = {"n_classes": 4, "void": None, "tolerance": tolerance}

    scores, swapped = (metrics.boundary_scores(*pair, **given_choices) for pair in ((a, b), (b, a)))
    perfect = metrics.boundary_scores(a, a, **given_choices)

    for name in metrics.BOUNDARY_METRICS:
        assert scores[name] == pytest.approx(swapped[name], nan_ok=True), name
        right = 1.0 if name.startswith("nsd") or name == "boundary_iou" else 0.0
        assert set(perfect[name][np.unique(a)]) == {right}, name
        assert np.isnan(scores[name][3])


@settings(max_examples=30, deadline=None)
@given(seed=SEEDS, ignored=st.booleans())
def test_scores_of_classes_are_those_of_their_masks(seed: int, ignored: bool) -> None:
    """Second method: each metric of the whole image's masks, not cut to the object."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, (2, 9, 14)).repeat(rng.integers(1, 12), axis=1).repeat(7, axis=2).astype(np.uint8)
    truth, prediction = labels
    if ignored:
        truth[any_mask(rng, truth.shape)] = 255
    valid = truth != 255
    scores = metrics.boundary_scores(truth, prediction, n_classes=3, void=255, tolerance=2.5, spacing=(2, 0.5))

    for c in range(3):
        masks = truth == c, prediction == c
        pixels = border_distances(*masks, spacing=(2, 0.5), valid=valid)
        surface = surface_distances(*masks, spacing=(2, 0.5), valid=valid)
        expected = {"hd95_max": metrics.hd95_max(pixels), "hd95_pooled": metrics.hd95_pooled(pixels),
                    "assd": metrics.assd(pixels), "masd": metrics.masd(pixels),
                    "nsd": metrics.nsd(pixels, tolerance=2.5), "nsd_surface": metrics.nsd(surface, tolerance=2.5),
                    "boundary_iou": metrics.boundary_iou(*masks, valid=valid)}
        for name, value in expected.items():
            assert scores[name][c] == pytest.approx(value, nan_ok=True), name
