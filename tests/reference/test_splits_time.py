"""Splits in time against small tables worked out by hand."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import TimeSeriesSplit

from segcv.errors import SegcvWarning, SplitError
from segcv.splits import Choices, ScikitSplitter, cut_roles, times_of, times_text
from segcv.tables import EXCLUDED, HELD_OUT, TRAIN


def flights(*rows: tuple[str, str]) -> pd.DataFrame:
    """One image per (group, time), called i0, i1, ... in this order."""
    return pd.DataFrame({"image_id": [f"i{row}" for row in range(len(rows))], "group_id": [group for group, _ in rows],
                         "time": [time for _, time in rows]})


def roles_by_fold(images: pd.DataFrame, splitter: str, *, folds: int, **choices: object) -> list[dict[str, list[str]]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SegcvWarning)
        roles = cut_roles(images, None, splitter=splitter, folds=folds, repeats=1, seed=0, choices=Choices(**choices))
    return [{role: rows.loc[rows["role"] == role, "image_id"].tolist() for role in (TRAIN, HELD_OUT, EXCLUDED)}
            for _, rows in roles.groupby("fold")]


@pytest.mark.parametrize(("text", "read"), [
    ("2023-1-10", "2023-01-10T00:00:00.000000"),
    ("2023-01-02", "2023-01-02T00:00:00.000000"),
    ("2024-2-29 7:05", "2024-02-29T07:05:00.000000"),
    ("2024-02-29T23:59:58.25", "2024-02-29T23:59:58.250000"),
])
def test_dates_are_read_with_or_without_leading_zeros_and_clock_time(text, read):
    assert times_text(times_of(flights(("a", text)), "time")) == [read]


@pytest.mark.parametrize("text", ["", "2023", "10.01.2023", "10-01-2023", "01/10/2023", "2023-13-01", "2023-02-30",
                                  "2023-01-02 25:00", "2023-01-02T10", "2023-01-02T10:00Z", "1673308800", "20230110"])
def test_anything_else_is_refused_and_the_row_is_named(text):
    with pytest.raises(SplitError, match=r"1 of 2 rows \(i1"):
        times_of(flights(("a", "2023-01-02"), ("b", text)), "time")


def test_as_dates_and_not_as_text():
    """As text 2023-1-10 comes before 2023-01-02; three groups, one fold: the first two train, by count of images."""
    images = flights(("late", "2023-1-10"), ("early", "2023-01-02"))

    assert roles_by_fold(images, "time", folds=1) == [{TRAIN: ["i1"], HELD_OUT: ["i0"], EXCLUDED: []}]


def test_a_rolling_origin_holds_out_each_later_block_and_excludes_what_follows():
    """Six groups of one image, two folds: blocks of two, the first of which only trains."""
    images = flights(*((f"g{day}", f"2023-01-{day}") for day in (6, 5, 4, 3, 2, 1)))

    assert roles_by_fold(images, "time", folds=2) == [
        {TRAIN: ["i4", "i5"], HELD_OUT: ["i2", "i3"], EXCLUDED: ["i0", "i1"]},
        {TRAIN: ["i2", "i3", "i4", "i5"], HELD_OUT: ["i0", "i1"], EXCLUDED: []},
    ]


def test_a_gap_excludes_what_ended_less_than_that_before():
    """Held out from 2023-01-05 on: with two days between, 2023-01-02 trains and 2023-01-03 does not."""
    images = flights(*((f"g{day}", f"2023-01-{day}") for day in (1, 2, 3, 5, 6, 7)))

    assert roles_by_fold(images, "time", folds=1, gap_days=2.0) == [
        {TRAIN: ["i0", "i1"], HELD_OUT: ["i3", "i4", "i5"], EXCLUDED: ["i2"]}]


def test_a_group_that_reaches_into_the_held_out_time_does_not_train():
    """b begins on day 2 and its last image is of day 9, after the held-out c of day 5."""
    images = flights(("a", "2023-1-1"), ("b", "2023-1-2"), ("b", "2023-1-9"), ("c", "2023-1-5"), ("d", "2023-1-6"),
                     ("d", "2023-1-7"))

    assert roles_by_fold(images, "time", folds=1) == [
        {TRAIN: ["i0"], HELD_OUT: ["i3", "i4", "i5"], EXCLUDED: ["i1", "i2"]}]


def test_known_groups_train_on_their_past_and_new_groups_are_left_out():
    """Two blocks of three images; c has no image in the first, so its later one is no known group's."""
    images = flights(("a", "2023-1-1"), ("b", "2023-1-2"), ("a", "2023-1-3"), ("c", "2023-1-4"), ("a", "2023-1-5"),
                     ("b", "2023-1-6"))

    assert roles_by_fold(images, "known_groups", folds=1) == [
        {TRAIN: ["i0", "i1", "i2"], HELD_OUT: ["i4", "i5"], EXCLUDED: ["i3"]}]


def test_scikit_learn_cuts_the_same_when_every_group_is_one_sample():
    """TimeSeriesSplit of 12 samples in 5 folds: tests of 2, training from 2 on."""
    days = pd.DataFrame({"time": [f"2023-01-{day}" for day in range(1, 13)]})
    ours = ScikitSplitter("time", folds=5).split(days, groups=range(12))

    for (train, test), (their_train, their_test) in zip(ours, TimeSeriesSplit(5).split(np.zeros(12)), strict=True):
        assert train.tolist() == their_train.tolist()
        assert test.tolist() == their_test.tolist()


def test_too_few_times_are_refused_with_the_number_of_folds_that_can_be_cut():
    images = flights(("a", "2023-1-1"), ("b", "2023-1-1"), ("c", "2023-1-2"))

    with pytest.raises(SplitError, match=r"there are 2.*split\.folds=1"):
        roles_by_fold(images, "time", folds=2)


def test_a_fold_without_a_past_is_refused():
    """Both groups reach to the end: nothing ended before the later one began."""
    images = flights(("a", "2023-1-1"), ("a", "2023-1-9"), ("b", "2023-1-5"), ("b", "2023-1-9"))

    with pytest.raises(SplitError, match="no training image before it"):
        roles_by_fold(images, "time", folds=1)


def test_a_choice_that_the_splitter_does_not_read_is_refused():
    with pytest.raises(SplitError, match=r"split\.gap_days=3 has no effect with split=group_kfold"):
        roles_by_fold(flights(("a", "2023-1-1"), ("b", "2023-1-2")), "group_kfold", folds=2, gap_days=3)
