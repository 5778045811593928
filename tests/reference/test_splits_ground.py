"""Rectangles on the ground against distances measured by hand, and blocks against small maps."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest

from segcv.errors import SegcvWarning, SplitError
from segcv.splits import (
    Choices,
    cut_roles,
    ground_of,
    groups_on_shared_ground,
    local_coordinates,
    near_pairs,
    shared_ground,
)


def tiles(*places: tuple[float, ...], groups: str | None = None, **columns: list[str]) -> pd.DataFrame:
    """Images t0, t1, ... at (x, y, w, h), each of its own group unless `groups` has a letter for each."""
    names = list(groups) if groups else [f"g{row}" for row in range(len(places))]
    table = pd.DataFrame({"image_id": [f"t{row}" for row in range(len(places))], "group_id": names, **columns})
    return table.assign(**dict(zip("xywh", np.array(places, float).T, strict=True)))


def cut(images: pd.DataFrame, folds: int, **choices: object) -> pd.DataFrame:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SegcvWarning)
        return cut_roles(images, None, splitter="blocks", folds=folds, repeats=1, seed=0, choices=Choices(**choices))


@pytest.mark.parametrize(("distance", "pairs"), [
    (None, [[0, 1], [2, 3]]),
    (0.0, [[0, 1], [0, 2], [1, 2], [2, 3]]),
    (4.9, [[0, 1], [0, 2], [1, 2], [2, 3]]),
    (5.0, [[0, 1], [0, 2], [1, 2], [1, 3], [2, 3]]),
])
def test_near_is_the_distance_of_the_nearest_points(distance, pairs):
    """Tiles of 10 x 10: 0 and 1 overlap, 2 and 3 too; 2 touches 0 in a corner and 1 along an edge; 3 lies 3 right of
    and 4 below 1, which are 5 by Pythagoras, and farther from 0.
    """
    images = tiles((0, 0, 10, 10), (5, 0, 10, 10), (10, 10, 10, 10), (18, 14, 10, 10))

    assert near_pairs(ground_of(images), distance).tolist() == pairs


def test_near_pairs_are_those_of_comparing_each_with_each():
    """120 rectangles of sides 1 to 60 on 500 x 500, all 7,140 pairs measured one by one."""
    rng = np.random.default_rng(5)
    images = tiles(*np.hstack([rng.integers(0, 500, (120, 2)), rng.integers(1, 60, (120, 2))]))
    box = images[["x", "y", "w", "h"]].to_numpy()

    def apart(i: int, j: int) -> float:
        gap = [max(box[i, d], box[j, d]) - min(box[i, d] + box[i, d + 2], box[j, d] + box[j, d + 2]) for d in (0, 1)]
        return float(np.hypot(max(gap[0], 0), max(gap[1], 0)))

    for distance in (0.0, 7.0, 31.5):
        expected = [[i, j] for i, j in itertools.combinations(range(120), 2) if apart(i, j) <= distance]
        assert near_pairs(ground_of(images), distance).tolist() == expected


def test_places_on_different_ground_have_nothing_to_do_with_each_other():
    same = ((0, 0, 10, 10), (0, 0, 10, 10), (0, 0, 10, 10))
    by_source = tiles(*same, source_id=["a", "a", "b"])
    by_ground = by_source.assign(ground=["u", "v", "v"])

    assert near_pairs(ground_of(by_source), 0).tolist() == [[0, 1]]
    assert near_pairs(ground_of(by_ground), 0).tolist() == [[1, 2]]
    assert near_pairs(ground_of(by_ground, column="source_id"), 0).tolist() == [[0, 1]]
    assert near_pairs(ground_of(by_ground, column="all"), 0).tolist() == [[0, 1], [0, 2], [1, 2]]


def test_groups_that_overlap_are_named_once_and_touching_ones_are_not():
    images = tiles((0, 0, 10, 10), (8, 0, 10, 10), (0, 8, 10, 10), (18, 0, 10, 10), groups="abac")

    assert groups_on_shared_ground(images) == [("a", "b")]


@pytest.mark.parametrize(("places", "message"), [
    ([(0, 0, 10, 10), (0, np.nan, 10, 10)], r"1 of 2 images have no place.*t1"),
    ([(0, 0, 10, 10), (0, 0, 0, 10)], r"1 of 2 images have no place.*t1"),
])
def test_an_image_without_a_place_is_named(places, message):
    with pytest.raises(SplitError, match=message):
        ground_of(tiles(*places))


def test_a_row_of_groups_is_cut_into_neighbours_of_equal_numbers_of_images():
    """Groups along x of 1, 1, 4, 3, 3 images: half of the 12 is after the third, and so is the cut."""
    sizes = {"a": 1, "b": 1, "c": 4, "d": 3, "e": 3}
    places = [(20.0 * place, 20.0 * row, 10, 10) for place, n in enumerate(sizes.values()) for row in range(n)]
    roles = cut(tiles(*places, groups="abccccdddeee"), 2)

    assert roles.query("fold == 0 and role == 'held_out'")["group_id"].unique().tolist() == ["a", "b", "c"]
    assert set(roles["role"]) == {"train", "held_out"}


def test_a_square_of_tiles_is_quartered():
    """6 x 6 tiles that touch, each its own group: four folds are the quarters of 9, their borders 7 tiles each."""
    places = [(10.0 * x, 10.0 * y, 10, 10) for x in range(6) for y in range(6)]
    images = tiles(*places)
    roles = cut(images, 4)
    place = images.set_index("image_id")

    for _, rows in roles.groupby("fold"):
        held_out = place.loc[rows.loc[rows["role"] == "held_out", "image_id"]]
        assert np.ptp(held_out["x"]) == np.ptp(held_out["y"]) == 20
        assert (rows["role"] == "excluded").sum() == 7
    assert shared_ground(images, roles, distance=0)["near_images"].sum() == 0


def test_blocks_go_along_each_ground_in_turn():
    """Two grounds with the same coordinates, three groups each: two folds are the two grounds."""
    images = tiles(*((20.0 * place, 0, 10, 10) for place in (0, 1, 2, 0, 1, 2)), ground=list("uvuvuv"))
    roles = cut(images, 2)

    held_out = roles[roles["role"] == "held_out"].set_index("image_id")["fold"]
    assert held_out[["t0", "t2", "t4"]].nunique() == held_out[["t1", "t3", "t5"]].nunique() == 1


def test_groups_without_neighbours_are_refused_with_the_way_out():
    images = tiles((0, 0, 10, 10), (0, 0, 10, 10), source_id=["a", "b"])

    with pytest.raises(SplitError, match=r"split\.ground_column=all"):
        cut(images, 2)


def test_a_buffer_that_leaves_no_training_is_refused():
    with pytest.raises(SplitError, match="smaller buffer"):
        cut(tiles((0, 0, 10, 10), (20, 0, 10, 10)), 2, buffer_m=10.0)


def test_two_buffers_are_refused():
    with pytest.raises(SplitError, match="both given"):
        cut(tiles((0, 0, 10, 10), (20, 0, 10, 10)), 2, buffer_m=1.0, buffer_px=1.0)


def test_equal_places_in_most_groups_are_taken_for_coordinates_of_each_picture():
    """Tiles of two pictures by one grid; the same two as strips that overlap by half a tile; and with a column."""
    grid = tiles((0, 0, 10, 10), (10, 0, 10, 10), (0, 0, 10, 10), (10, 0, 10, 10), groups="aabb")
    strips = grid.assign(y=[0.0, 0.0, 5.0, 5.0])

    assert local_coordinates(grid)
    assert not local_coordinates(strips)
    assert not local_coordinates(grid.assign(ground="utm"))
