"""Groups do not depend on the order of rows or the names of groups, and hold what they promise."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from segcv.errors import SegcvWarning
from segcv.groups import assign_groups, near_duplicate_pairs

SCENES = [np.clip(128 + 50 * np.random.default_rng(scene).normal(size=1024), 0, 255).astype(np.uint8).tobytes()
          for scene in range(4)]


@st.composite
def collections(draw: Any) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Up to 14 images of four scenes with hashes near each other, a part of them with a group."""
    n = draw(st.integers(1, 14))
    scene = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    low = draw(st.lists(st.integers(0, 2**12 - 1), min_size=n, max_size=n))
    group = draw(st.lists(st.sampled_from(["", "", "x", "y", "z"]), min_size=n, max_size=n))
    flat = draw(st.lists(st.sampled_from([False, False, False, True]), min_size=n, max_size=n))
    ids = [f"i{place:02d}" for place in range(n)]
    images = pd.DataFrame({"image_id": ids, "image_path": ids, "mask_path": ids, "group_id": group}).astype("str")
    looks = pd.DataFrame({"image_id": ids, "phash": np.array(low, np.uint64), "flat": flat,
                          "thumbnail": [SCENES[s] for s in scene]})
    return images, looks


def assign(images: pd.DataFrame, looks: pd.DataFrame) -> pd.DataFrame:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SegcvWarning)
        table = assign_groups(images, looks, pattern=None, max_distance=3, folds=2, large_joins="apart")
    return table.set_index("image_id").sort_index()


def together(groups: pd.Series) -> set[frozenset[str]]:
    return {frozenset(ids) for ids in groups.index.groupby(groups).values()}


@settings(max_examples=60, deadline=None)
@given(collections(), st.randoms(use_true_random=False))
def test_rows_may_come_in_any_order(data, random):
    images, looks = data
    order = list(range(len(images)))
    random.shuffle(order)
    shuffled = assign(images.iloc[order], looks.iloc[order[::-1]])

    pd.testing.assert_frame_equal(shuffled, assign(images, looks))


@settings(max_examples=60, deadline=None)
@given(collections())
def test_groups_may_have_any_names(data):
    images, looks = data
    renamed = images.assign(group_id=images["group_id"].map({"": "", "x": "zz", "y": "a", "z": "007"}))

    assert together(assign(renamed, looks)["group_id"]) == together(assign(images, looks)["group_id"])


@settings(max_examples=60, deadline=None)
@given(collections())
def test_given_groups_stay_whole_and_look_alikes_without_group_are_together(data):
    images, looks = data
    group = assign(images, looks)["group_id"]
    given_id = images.set_index("image_id")["group_id"]

    assert group.ne("").all()
    for name in {"x", "y", "z"} & set(given_id):
        assert group[given_id == name].nunique() == 1
    for pair in near_duplicate_pairs(looks, max_distance=3).itertuples():
        if pair.identical or {given_id[pair.first], given_id[pair.second]} == {""}:
            touches_given = any(given_id[other] for other in group.index[group.isin(group[[pair.first, pair.second]])])
            assert group[pair.first] == group[pair.second] or (touches_given and not pair.identical)
