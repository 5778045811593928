"""Parallel strips that overlap: folds of random strips test on ground that training has seen, blocks do not."""

from __future__ import annotations

import warnings

import pandas as pd
from hard_sets import parallel_strips

from segcv.errors import SegcvWarning
from segcv.splits import Choices, cut_roles, left_out, shared_ground


def cut(images: pd.DataFrame, splitter: str, *, seed: int = 0, choices: Choices | None = None) -> pd.DataFrame:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SegcvWarning)
        return cut_roles(images, None, splitter=splitter, folds=5, repeats=1, seed=seed, choices=choices)


def share_of_groups(images: pd.DataFrame, roles: pd.DataFrame) -> float:
    said = shared_ground(images, roles, distance=None)
    return said["near_groups"].sum() / said["groups"].sum()


def test_random_strips_share_ground_with_training_nearly_always():
    """A strip with two neighbours is alone when both are among the 11 of its fold: 11/59 · 10/58; an end strip 11/59.

    1 - (58 · .0321 + 2 · .1864) / 60 = .963; 20 seeds lie near it.
    """
    images = parallel_strips()
    found = [share_of_groups(images, cut(images, "group_kfold", seed=seed)) for seed in range(20)]

    assert abs(sum(found) / len(found) - 0.963) < 0.015


def test_contiguous_blocks_would_share_ground_in_their_outermost_strips_only():
    """Five blocks of 12: three have two neighbours, the two at the ends one: 8 of 60 strips, 13 %."""
    images = parallel_strips()
    roles = cut(images, "blocks")
    whole = roles.assign(role=roles["role"].replace("excluded", "train"))

    assert share_of_groups(images, whole) == 8 / 60
    assert roles.query("role == 'held_out'").groupby("fold")["group_id"].nunique().tolist() == [12] * 5


def test_blocks_leave_these_out_of_training_at_three_percent_of_it():
    """The 8 neighbours of the blocks, of five times 48 training strips: 8/240 = 3.3 %; then nothing is shared."""
    images = parallel_strips()
    roles = cut(images, "blocks")

    assert share_of_groups(images, roles) == 0
    assert left_out(roles).to_dict("records") == [
        {"reason": "too near held-out ground", "images": 80, "share": 8 / 240}]


def test_a_buffer_leaves_out_the_strips_within_it():
    """A strip covers 100 px every 80: two strips away there are 60 px between, three away 140 px."""
    images = parallel_strips()
    shares = [left_out(cut(images, "blocks", choices=Choices(buffer_px=buffer)))["share"].item()
              for buffer in (59, 60, 139, 140)]

    assert shares == [8 / 240, 16 / 240, 16 / 240, 24 / 240]


def test_turned_ground_is_cut_along_the_strips_all_the_same():
    """Strips in a diagonal row: x and y alone would do as well, and the same blocks come out."""
    images = parallel_strips()
    turned = images.assign(x=images["x"] + 50 * images["y"], y=images["y"] - images["x"] / 50)
    fold = [cut(table, "blocks").query("role == 'held_out'").sort_values("image_id")["fold"].tolist()
            for table in (images, turned)]

    assert fold[0] == fold[1] or fold[0] == [4 - k for k in fold[1]]
