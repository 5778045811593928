"""Whatever the groups, classes, caps and locked groups are: the roles keep their contract and the balance its floor."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from segcv.errors import SegcvWarning
from segcv.splits import (
    ScikitSplitter,
    balance_floor,
    balance_table,
    check_roles,
    cut_roles,
    groups_on_two_sides,
    inner_holdout,
)
from segcv.tables import EXCLUDED, HELD_OUT, TRAIN


@st.composite
def tables(draw: Any) -> tuple[pd.DataFrame, pd.DataFrame, int]:
    """Two to nine groups of one to six images with three classes of any size, and as many folds as can be cut."""
    sizes = draw(st.lists(st.integers(1, 6), min_size=3, max_size=9))
    group = np.repeat([f"g{place}" for place in range(len(sizes))], sizes)
    ids = [f"i{place:02d}" for place in range(len(group))]
    pixels = draw(st.lists(st.sampled_from([0, 0, 1, 7, 1000, 10**9]), min_size=3 * len(ids), max_size=3 * len(ids)))
    images = pd.DataFrame({"image_id": ids, "group_id": group}).astype("str")
    masks = pd.DataFrame({"image_id": np.repeat(ids, 3), "class_id": np.tile([-1, 0, 1], len(ids)), "pixels": pixels})
    return images, masks, draw(st.integers(2, len(sizes) - 1))


def cut(images: pd.DataFrame, masks: pd.DataFrame, folds: int, **choices: Any) -> pd.DataFrame:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SegcvWarning)
        return cut_roles(images, masks, folds=folds, repeats=1, **choices)


@settings(max_examples=60, deadline=None)
@given(tables(), st.sampled_from(["group_kfold", "balanced_group_kfold"]), st.integers(0, 5),
       st.none() | st.integers(1, 4), st.booleans())
def test_roles_keep_their_contract(data, splitter, seed, cap, lock):
    images, masks, folds = data
    locked = ["g1"] if lock else []
    roles = cut(images, masks, folds, splitter=splitter, seed=seed, max_per_group=cap, locked_groups=locked)

    check_roles(roles, images)
    assert groups_on_two_sides(roles).empty
    assert sorted(roles.loc[roles["role"] == HELD_OUT, "image_id"]) == sorted(
        images.loc[~images["group_id"].isin(locked), "image_id"])
    assert len(roles) == folds * len(images)
    if cap is None and not lock:
        assert EXCLUDED not in set(roles["role"])


@settings(max_examples=60, deadline=None)
@given(tables(), st.integers(0, 3))
def test_no_cut_beats_the_floor(data, seed):
    images, masks, folds = data
    roles = cut(images, masks, folds, splitter="balanced_group_kfold", seed=seed)
    floor = balance_floor(images, masks, folds=folds).set_index("column")["worst"]
    held_out = balance_table(roles, images, masks).query(f"role == '{HELD_OUT}'")
    share = held_out["images"] / held_out["images"].sum()

    assert np.abs(share * folds - 1).max() >= floor["images"] - 1e-9
    for c in (0, 1):
        if f"class {c}" in floor:
            pixels = held_out[f"share_{c}"].fillna(0) * held_out["pixels"]
            assert np.abs(pixels / pixels.sum() * folds - 1).max() >= floor[f"class {c}"] - 1e-6


@settings(max_examples=40, deadline=None)
@given(tables(), st.floats(0.01, 0.99), st.integers(0, 5))
def test_an_inner_holdout_is_a_partition_of_whole_groups(data, share, seed):
    images, _, _ = data
    fit, inside = inner_holdout(images, share=share, rng=np.random.default_rng(seed))

    assert sorted([*fit["image_id"], *inside["image_id"]]) == images["image_id"].tolist()
    assert not set(fit["group_id"]) & set(inside["group_id"])
    assert len(fit) and len(inside)


@settings(max_examples=30, deadline=None)
@given(tables(), st.integers(0, 5))
def test_the_scikit_form_cuts_what_cut_roles_cuts(data, seed):
    images, _, folds = data
    roles = cut(images, None, folds, splitter="group_kfold", seed=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SegcvWarning)
        pairs = list(ScikitSplitter("group_kfold", folds=folds, seed=seed).split(images, groups=images["group_id"]))

    for fold, (train, test) in enumerate(pairs):
        rows = roles[roles["fold"] == fold]
        assert images["image_id"][train].tolist() == rows.loc[rows["role"] == TRAIN, "image_id"].tolist()
        assert images["image_id"][test].tolist() == rows.loc[rows["role"] == HELD_OUT, "image_id"].tolist()
