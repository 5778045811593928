"""Regions become the pixels that the tools of their formats make of them, wherever they lie on the picture."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageDraw
from pycocotools import mask as coco

from segcv.pixels.drawing import (
    Drawn,
    circle_with_outline,
    ellipse,
    points,
    polygon_with_outline,
    polygons,
    rectangle_with_outline,
    runs,
    turned_corners,
    unpacked_runs,
)
from segcv.pixels.files import Fault

SIZES = st.tuples(st.integers(1, 40), st.integers(1, 40))
COORDINATES = st.one_of(st.integers(-20, 60), st.integers(-40, 120).map(lambda n: n / 2), st.floats(-20, 60, width=32))
RINGS = st.lists(st.tuples(COORDINATES, COORDINATES), min_size=3, max_size=8).map(lambda at: np.array(at, float))


def whole(drawn: Drawn, height: int, width: int) -> np.ndarray:
    picture = np.zeros((height, width), bool)
    picture[drawn.rows, drawn.columns] = drawn.inside
    return picture


@given(st.lists(RINGS, min_size=1, max_size=3), SIZES)
@settings(max_examples=150, deadline=None)
def test_coco_polygons_are_those_of_pycocotools(rings, size):
    """Second method: pycocotools on the whole picture."""
    height, width = size
    packed = coco.frPyObjects([ring.ravel().tolist() for ring in rings], height, width)

    np.testing.assert_array_equal(whole(polygons(rings, height=height, width=width), height, width),
                                  coco.decode(coco.merge(packed)).astype(bool))


@given(RINGS, SIZES)
@settings(max_examples=150, deadline=None)
def test_labelme_shapes_are_what_labelme_draws(ring, size):
    """Second method: the calls of labelme 6.3.1's shape_to_mask, on the whole picture: Pillow, outline=1, fill=1."""
    height, width = size

    def drawn(kind: str, at: object) -> np.ndarray:
        picture = Image.new("L", (width, height))
        getattr(ImageDraw.Draw(picture), kind)(at, outline=1, fill=1)
        return np.asarray(picture).astype(bool)

    (x0, y0), (x1, y1) = ring[:2].tolist()
    far = float(np.hypot(x1 - x0, y1 - y0))
    for found, expected in (
        (polygon_with_outline(ring, height=height, width=width), drawn("polygon", [tuple(at) for at in ring.tolist()])),
        (rectangle_with_outline(ring[:2], height=height, width=width),
         drawn("rectangle", ((min(x0, x1), min(y0, y1)), (max(x0, x1), max(y0, y1))))),
        (circle_with_outline(ring[:2], height=height, width=width),
         drawn("ellipse", ((x0 - far, y0 - far), (x0 + far, y0 + far)))),
    ):
        np.testing.assert_array_equal(whole(found, height, width), expected)


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=3, max_size=3, unique=True))
@settings(max_examples=60, deadline=None)
def test_both_rules_hold_what_is_well_inside_and_nothing_that_is_well_outside(corners):
    """Third method: OpenCV's signed distance of each pixel's centre from the triangle, one pixel or more away.

    Centres are at + 1/2 for COCO and at whole numbers for LabelMe.
    """
    ring = np.array(corners, float)
    for draw, shift in ((lambda: polygons([ring], height=41, width=41), 0.5),
                        (lambda: polygon_with_outline(ring, height=41, width=41), 0.0)):
        found = whole(draw(), 41, 41)
        far = np.array([[cv2.pointPolygonTest(ring.astype(np.float32), (x + shift, y + shift), True)
                         for x in range(41)] for y in range(41)])
        assert found[far >= 1].all() and not found[far < -1].any()


@given(SIZES, st.integers(0, 2**32), st.floats(0, 1))
@settings(max_examples=200, deadline=None)
def test_packed_runs_are_those_of_pycocotools(size, seed, share):
    """pycocotools packs a random mask; unpacked here, drawn, it is that mask again."""
    height, width = size
    mask = np.random.default_rng(seed).random(size) < share
    packed = coco.encode(np.asfortranarray(mask.astype(np.uint8)))["counts"].decode()

    np.testing.assert_array_equal(runs(unpacked_runs(packed), height=height, width=width).inside, mask)


def test_one_rectangle_by_the_two_rules():
    """By hand: corners (1, 1), (4, 3). COCO: rows 1-2, columns 1-3, the area 3 x 2. LabelMe: rows 1-3, columns 1-4, for
    the outline counts."""
    ring = np.array([[1, 1], [4, 1], [4, 3], [1, 3]], float)
    by_coco, by_labelme = np.zeros((5, 6), bool), np.zeros((5, 6), bool)
    by_coco[1:3, 1:4] = True
    by_labelme[1:4, 1:5] = True

    np.testing.assert_array_equal(whole(polygons([ring], height=5, width=6), 5, 6), by_coco)
    np.testing.assert_array_equal(whole(polygon_with_outline(ring, height=5, width=6), 5, 6), by_labelme)


def test_a_quarter_turn_swaps_the_sides_of_a_box_and_an_ellipse():
    """By hand: a box of 6 x 2 about (5, 5) turned by 90 degrees is one of 2 x 6; 45 degrees clockwise takes the corner
    at the upper right to the right."""
    box = turned_corners((2, 4), (8, 6), 90)
    flat, tall = ellipse((5, 5), (3, 1), 0, height=10, width=10), ellipse((5, 5), (3, 1), 90, height=10, width=10)

    assert sorted(np.round(box, 9).tolist()) == [[4, 2], [4, 8], [6, 2], [6, 8]]
    np.testing.assert_array_equal(whole(flat, 10, 10), whole(tall, 10, 10).T)
    np.testing.assert_allclose(turned_corners((0, 0), (2, 2), 45)[1], [1 + 2**0.5, 1])


def test_an_ellipse_holds_the_pixels_whose_centres_are_inside():
    """By hand: radii 2 and 1 about (3, 2) on 4 rows: centres at y = 1.5 and 2.5 reach to x = 3 +- 2 * sqrt(3/4), so
    columns 1 to 4, whose centres are 1.5 to 4.5."""
    expected = np.zeros((4, 6), bool)
    expected[1:3, 1:5] = True

    np.testing.assert_array_equal(whole(ellipse((3, 2), (2, 1), 0, height=4, width=6), 4, 6), expected)


def test_runs_along_the_rows_of_a_window():
    """By hand: window at row 1, column 2, 2 rows of 3; runs 1, 3, 2: the last two of one row, the first of the next."""
    expected = np.zeros((4, 6), bool)
    expected[1, 3:5] = expected[2, 2] = True

    drawn = runs([1, 3, 2], height=4, width=6, top=1, left=2, tall=2, wide=3, by_column=False)

    np.testing.assert_array_equal(whole(drawn, 4, 6), expected)


@pytest.mark.parametrize("draw", [
    lambda: runs([3, 3], height=2, width=2), lambda: runs([5, -1], height=2, width=2),
    lambda: runs([2.0, 2], height=2, width=2), lambda: runs(["4"], height=2, width=2),
    lambda: runs([4], height=3, width=3, top=2, tall=2, wide=2), lambda: runs([4], height=3, width=3, left=-1, tall=2,
                                                                              wide=2),
    lambda: unpacked_runs("~~"), lambda: unpacked_runs("a"), lambda: points([[0, 0], [1, 1]], least=3),
    lambda: points([[0, 0], [1, None], [2, 2]], least=3), lambda: points([[0, 0], [1, "x"], [2, 2]], least=3),
    lambda: points([[0, 0], [1, float("nan")], [2, 2]], least=3), lambda: points(None, least=3),
    lambda: points([[0, 0], [1], [2, 2]], least=3), lambda: ellipse((1, 1), (0, 1), 0, height=3, width=3),
    lambda: polygons([np.array([[0, 0], [5000, 0], [5000, 5000.0]])], height=10, width=10),
])
def test_what_cannot_be_drawn_is_refused(draw):
    with pytest.raises(Fault):
        draw()
