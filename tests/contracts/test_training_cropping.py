"""Windows around drawn classes: from the image's own mask, in its bounds, as often as was said."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from segcv.training.cropping import Cropping
from segcv.training.windows import corner_around

VOID = 255


def rare_truth() -> np.ndarray:
    """64 x 64: class 0 nearly everywhere, class 2 on one pixel, one row ignored."""
    truth = np.zeros((64, 64), np.uint8)
    truth[50, 9] = 2
    truth[0] = VOID
    return truth


def shows(cropping: Cropping, truth: np.ndarray, draws: int = 2000) -> float:
    """Share of the windows that hold the rare pixel."""
    return float(np.mean([(truth[cropping.window("a", truth, rng=np.random.default_rng(seed))] == 2).any()
                          for seed in range(draws)]))


def test_a_rare_class_is_met_as_often_as_its_share_says():
    """Two classes, so half of the placed windows are laid around the rare pixel. A window anywhere holds it with
    8 * 8 / 57**2 = 0.02, one around a pixel of class 0 about as often; 2,000 draws have a standard error of 0.011."""
    truth = rare_truth()

    assert shows(Cropping(8, foreground=0.0, void=VOID), truth) == pytest.approx(0.02, abs=0.02)
    assert shows(Cropping(8, foreground=1.0, void=VOID), truth) == pytest.approx(0.51, abs=0.05)
    assert shows(Cropping(8, foreground=0.5, void=VOID), truth) == pytest.approx(0.265, abs=0.05)


@given(st.integers(1, 20), st.integers(1, 20), st.integers(1, 20), st.integers(0, 9), st.data())
def test_a_window_around_a_pixel_holds_it_and_stays_inside_where_it_can(height, width, side, seed, data):
    row, column = data.draw(st.integers(0, height - 1)), data.draw(st.integers(0, width - 1))

    top, left = corner_around(row, column, height, width, side=side, rng=np.random.default_rng(seed))

    assert top <= row < top + side and left <= column < left + side
    assert 0 <= top <= max(0, height - side) and 0 <= left <= max(0, width - side)


def test_every_window_around_a_pixel_is_met():
    """By hand: around pixel 5 of 10 with a side of 3, windows start at 3, 4 or 5."""
    tops = {corner_around(5, 5, 10, 10, side=3, rng=np.random.default_rng(seed))[0] for seed in range(60)}

    assert tops == {3, 4, 5}


def test_a_mask_that_is_ignored_altogether_gives_windows_anywhere():
    rows, columns = Cropping(4, foreground=1.0, void=VOID).window("a", np.full((9, 9), VOID, np.uint8),
                                                                  rng=np.random.default_rng(0))

    assert rows.stop - rows.start == columns.stop - columns.start == 4


def test_without_a_share_windows_are_those_of_before():
    """The share draws only where there is one: settings of earlier runs keep their bits."""
    truth = rare_truth()
    rng, same = np.random.default_rng(3), np.random.default_rng(3)

    rows, columns = Cropping(8, foreground=0.0, void=VOID).window("a", truth, rng=rng)

    assert (rows.start, columns.start) == (int(same.integers(57)), int(same.integers(57)))
