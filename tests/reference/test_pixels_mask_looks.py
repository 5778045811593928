"""Masks drawn by hand: how many specks, how ragged a border; and the panels that people look at."""

from __future__ import annotations

import io
from math import isnan
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from segcv.pixels import LabelMap, class_colours, difference_panels, label_map, mask_look, picture_panels

LABELS = label_map(names=["ground", "road"], ignore=255)


def saved(path: Path, values: np.ndarray) -> Path:
    Image.fromarray(values.astype(np.uint8)).save(path)
    return path


def test_a_straight_border_loses_nothing_and_has_no_specks(tmp_path: Path):
    """A 3 x 3 median of two half planes gives every pixel its own class back."""
    mask = np.zeros((16, 16))
    mask[:, 8:] = 1

    look = mask_look(saved(tmp_path / "m.png", mask), labels=LABELS)

    assert (look.specks, look.ragged) == (0, 0.0)


def test_single_pixels_are_specks_and_their_whole_border_goes(tmp_path: Path):
    """By hand: three lone pixels far from another; each and its 4 neighbours are border, the median takes the 3."""
    mask = np.zeros((20, 20))
    mask[4, 4] = mask[4, 14] = mask[14, 4] = 1

    look = mask_look(saved(tmp_path / "m.png", mask), labels=LABELS)

    assert look.specks == 3
    assert look.ragged == pytest.approx(3 / 15)


def test_a_comb_is_ragged(tmp_path: Path):
    """By hand: teeth of one pixel on a straight edge; the median takes every tooth and fills every gap."""
    mask = np.zeros((12, 20))
    mask[6:] = 1
    mask[5, ::2] = 1

    assert mask_look(saved(tmp_path / "m.png", mask), labels=LABELS).ragged > 0.4


def test_ignored_pixels_count_for_nothing(tmp_path: Path):
    mask = np.zeros((16, 16))
    mask[4, 4] = 1
    mask[3:6, 3:6][np.array([[1, 1, 1], [1, 0, 1], [1, 1, 1]], bool)] = 255

    look = mask_look(saved(tmp_path / "m.png", mask), labels=LABELS)

    assert look.specks == 1            # it is one, whatever lies around it
    assert isnan(look.ragged)          # all its neighbours are ignored: there is no border


def opened(panel: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(panel)).convert("RGB")).astype(int)


def test_the_difference_is_blue_where_only_the_first_is_right(tmp_path: Path):
    """By hand, in quarters of 32 px: only the first right, only the second, both, neither."""
    truth = np.ones((64, 64))
    first, second = truth.copy(), truth.copy()
    second[:32, :32] = 0
    first[:32, 32:] = 0
    first[32:, 32:] = second[32:, 32:] = 0
    paths = [saved(tmp_path / f"{name}.png", values) for name, values in
             (("image", truth * 100), ("truth", truth), ("first", first), ("second", second))]

    panels = dict(difference_panels(*paths, labels=LABELS, side=64))

    assert list(panels) == ["image", "truth", "first", "second", "difference"]
    picture = opened(panels["difference"])
    for (row, column), colour in {(16, 16): (0, 114, 178), (16, 48): (230, 159, 0), (48, 48): (214, 39, 40)}.items():
        assert np.abs(picture[row, column] - colour).max() < 12        # JPEG
    assert np.ptp(picture[48, 16]) < 12                                # grey: both are right


def test_classes_beyond_the_tenth_keep_colours_of_their_own():
    """The colours of the first are Okabe and Ito's blue and orange; thirty classes are told apart."""
    colours = class_colours(30)

    assert colours[:2] == ("#0072b2", "#e69f00")
    assert len(set(colours)) == 30


def test_a_picture_is_bounded_and_shows_the_colours_of_its_classes(tmp_path: Path):
    mask = np.zeros((300, 600))
    mask[:, 300:] = 1
    paths = [saved(tmp_path / f"{name}.png", mask) for name in ("image", "truth", "prediction")]

    panels = dict(picture_panels(*paths, labels=LABELS, side=100))

    assert {Image.open(io.BytesIO(panel)).size for panel in panels.values()} == {(100, 50)}
    truth = opened(panels["truth"])
    assert tuple(truth[25, 10]) == (0, 114, 178)
    assert tuple(truth[25, 90]) == (230, 159, 0)
    assert isinstance(LABELS, LabelMap)
