"""What could be the groups, how much of the labels it explains, and what another threshold would join."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from segcv.groups import candidate_groupings, near_duplicate_sensitivity, proposed_pattern, rank_groupings


def masks_of(foreground: dict[str, int], pixels: int = 100) -> pd.DataFrame:
    return pd.DataFrame([(name, c, n) for name, share in foreground.items()
                         for c, n in ((0, pixels - share), (1, share), (-1, 7))],
                        columns=["image_id", "class_id", "pixels"])


def test_the_explained_share_and_the_correlation_by_hand():
    """Foreground 10, 20 | 50, 60 %: group means 15 and 55, mean 35. Per class: between 2*20^2*2 = 1600, within
    4 * 5^2 = 100 (in percent squared), so r2 = 16/17; MSB 1600, MSW 50, n0 = 2: icc = 1550 / 1650."""
    labels = pd.Series(["x", "x", "y", "y"], index=list("abcd"))
    table = rank_groupings(masks_of({"a": 10, "b": 20, "c": 50, "d": 60}), {"g": labels})

    assert table.loc[0, ["groups", "images"]].tolist() == [2, 4]
    assert table.loc[0, "r2"] == pytest.approx(16 / 17)
    assert table.loc[0, "icc"] == pytest.approx(1550 / 1650)


def test_many_groups_by_lot_explain_much_and_correlate_little():
    """300 images in 100 groups by lot: r2 is about 99/299 by the number of groups alone, icc about 0."""
    rng = np.random.default_rng(0)
    ids = [f"i{n:03d}" for n in range(300)]
    by_lot = pd.Series(rng.permutation(np.repeat(np.arange(100), 3)).astype(str), index=ids)
    table = rank_groupings(masks_of(dict(zip(ids, rng.integers(0, 101, 300).tolist(), strict=True))), {"lot": by_lot})

    assert table.loc[0, "r2"] == pytest.approx(99 / 299, abs=0.08)
    assert abs(table.loc[0, "icc"]) < 0.15


def test_groupings_that_cannot_be_judged_are_undefined_and_last():
    ids = list("abcd")
    table = rank_groupings(masks_of({"a": 10, "b": 20, "c": 50, "d": 60}), {
        "all": pd.Series("x", index=ids), "each": pd.Series(ids, index=ids),
        "pairs": pd.Series(["x", "x", "y", "y"], index=ids)})

    assert table["grouping"].tolist() == ["pairs", "all", "each"]
    assert table["icc"].isna().tolist() == [False, True, True]


def test_columns_folders_and_names_are_candidates():
    images = pd.DataFrame({"image_id": ["s1/clipA_1", "s1/clipA_2", "s2/clipB_1", "s2/clipB_2"],
                           "site": ["n", "n", "n", "m"], "row": list("1234")})
    found = candidate_groupings(images, ["site", "row"])

    assert {name: labels.nunique() for name, labels in found.items()} == {
        "column site": 2, "folder": 2, "name: frames": 2}


@pytest.mark.parametrize(("names", "pattern"), [
    (["cell0", "cell0_flip", "cell1", "cell1_rot90"], "augmented"),
    (["a_x0_y0", "a_x64_y0", "b_x0_y0", "b_x64_y0"], "tiles"),
    (["cam_001", "cam_002", "cam_003", "cam_004"], None),       # one group
    (["a_1", "b_2", "c_3", "d_4"], None),                       # each name its own
    (["clipA_1", "clipA_2", "clipB_1", "x", "y", "z"], None),   # half of the names only
])
def test_a_pattern_is_proposed_where_names_speak_for_it(names, pattern):
    assert proposed_pattern(pd.Series(names)) == pattern


def test_wider_thresholds_join_more():
    """Steps of 4 bits: none within 3, a chain of three within 5; a fourth is 7 bits away, within 8."""
    face = np.clip(128 + 50 * np.random.default_rng(1).normal(size=1024), 0, 255).astype(np.uint8).tobytes()
    bits = [0, 0b1111, 0b11111111, 0b11111111 | (0x7F << 20)]
    looks = pd.DataFrame({"image_id": list("abcd"), "phash": np.array(bits, np.uint64), "flat": False,
                          "thumbnail": [face] * 4})
    table = near_duplicate_sensitivity(looks, turns=False)

    assert table.to_numpy().tolist() == [[3, 0, 0, 0, 1], [5, 2, 1, 3, 3], [8, 4, 1, 4, 4]]
