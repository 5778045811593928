"""File names that tell the group: what each ready pattern takes, and what a user's expression must have."""

from __future__ import annotations

import pandas as pd
import pytest

from segcv.errors import GroupError
from segcv.groups import NAME_PATTERNS, name_groups


@pytest.mark.parametrize(("pattern", "image_id", "group"), [
    ("tiles", "images/sceneA_y0000_x0016", "sceneA"),
    ("tiles", "site1/strip2_x512_y1024", "site1/strip2"),
    ("tiles", "strip2_r03_c07", "strip2"),
    ("tiles", "strip2_row3_col7", "strip2"),
    ("tiles", "strip-2_x0_y64_w512", "strip-2"),
    ("tiles", "Tile 1/scene_patch_012", "Tile 1/scene"),
    ("augmented", "cell0_flip", "cell0"),
    ("augmented", "cell0_hflip_rot90", "cell0"),
    ("augmented", "cell0_aug12", "cell0"),
    ("augmented", "cell0_copy-2", "cell0"),
    ("roboflow", "train/IMG_2480_jpg.rf.054d0d45054d0d45054d0d45054d0d45", "IMG_2480"),
    ("roboflow", "a_b_png.rf.054D0D45054D0D45054D0D45054D0D45", "a_b"),
    ("frames", "clip21_frame_0003", "clip21"),
    ("frames", "images/0001TP_006690", "0001TP"),
    ("frames", "clip7/0001", "clip7"),
    ("frames", "cam1/night-000012", "cam1/night"),
    (r"^(scene[A-Z])_", "images/sceneA_y0_x0", "sceneA"),
    (r"^(?P<group>[^/]+)/", "siteB/day2/img1", "siteB"),
    (r"(?P<strip>s\d+)p(?P<source>\d+)", "x/s12p7", "s12"),
])
def test_a_name_tells_its_group(pattern, image_id, group):
    assert name_groups(pd.Series([image_id]), pattern).tolist() == [group]


def test_an_original_belongs_to_its_copies_and_a_lone_name_to_none():
    found = name_groups(pd.Series(["a/cell0", "a/cell0_flip", "a/cell1", "b/cell0"]), "augmented")

    assert found.tolist() == ["a/cell0", "a/cell0", "", ""]


def test_numbers_alone_tell_no_clip():
    """images/001 and images/002 may be anything: without a name before the number there is no group."""
    assert name_groups(pd.Series(["images/001", "clip_002"]), "frames").tolist() == ["", "clip"]


@pytest.mark.parametrize("pattern", sorted(NAME_PATTERNS))
def test_a_pattern_that_fits_nothing_is_refused_with_the_ready_ones(pattern):
    with pytest.raises(GroupError, match=rf"'{pattern}' matches none of 1 names, such as plain\. Ready"):
        name_groups(pd.Series(["plain"]), pattern)


@pytest.mark.parametrize(("pattern", "message"), [
    ("(", "not a regular expression"),
    ("scene", "does not say which part"),
    ("(a)(b)", "does not say which part"),
    (r"(?P<frame>\d+)", "does not say which part"),
])
def test_an_expression_must_say_what_names_the_group(pattern, message):
    with pytest.raises(GroupError, match=message):
        name_groups(pd.Series(["scene1"]), pattern)
