"""What every registered splitter promises, whoever wrote it."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from segcv.errors import SegcvWarning
from segcv.splits import SPLITTERS, check_roles, cut_roles, groups_on_two_sides
from segcv.tables import EXCLUDED, HELD_OUT, TRAIN

WHOLE = sorted(name for name, splitter in SPLITTERS.items() if splitter.whole_groups)
SEEDED = sorted(name for name, splitter in SPLITTERS.items() if splitter.seeded)
ONCE = sorted(name for name, splitter in SPLITTERS.items() if splitter.held_out_once)


def flights(rng: np.random.Generator, groups: int = 14) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Images of groups of 2 to 9, with pixels of three classes, the last one in half of the groups.

    Every day another group begins; every other one was taken within two days, the rest within eight.
    Groups are parallel strips of tiles; each overlaps the next one.
    """
    sizes = rng.integers(2, 10, groups)
    group = np.repeat([f"strip{g}" for g in range(groups)], sizes)
    ids = [f"p{place:03d}" for place in range(len(group))]
    turn = np.repeat(rng.permutation(groups), sizes)
    day = turn + np.where(turn % 2, rng.integers(0, 8, len(ids)), rng.integers(0, 2, len(ids)))
    images = pd.DataFrame({"image_id": ids, "group_id": group, "time": [f"2024-1-{1 + d}" for d in day]}).astype("str")
    strip, tile = np.repeat(np.arange(groups), sizes), np.concatenate([np.arange(size) for size in sizes])
    images = images.assign(x=10.0 * tile, y=8.0 * strip, w=10.0, h=10.0)
    pixels = rng.integers(1, 100, (len(ids), 3))
    pixels[np.repeat(np.arange(groups), sizes) % 2 == 1, 2] = 0
    masks = pd.DataFrame({"image_id": np.repeat(ids, 3), "class_id": np.tile([0, 1, 2], len(ids)),
                          "pixels": pixels.ravel()})
    return images, masks


def cut(name: str, images: pd.DataFrame, masks: pd.DataFrame, *, seed: int = 0, repeats: int = 1,
        **choices: object) -> pd.DataFrame:
    folds = 5 if SPLITTERS[name].counts_folds else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SegcvWarning)
        return cut_roles(images, masks, splitter=name, folds=folds, repeats=repeats, seed=seed, **choices)


@pytest.fixture
def data() -> tuple[pd.DataFrame, pd.DataFrame]:
    return flights(np.random.default_rng(3))


@pytest.mark.parametrize("name", WHOLE)
def test_no_group_is_on_two_sides(name, data):
    roles = cut(name, *data, repeats=2 if SPLITTERS[name].seeded else 1)

    assert groups_on_two_sides(roles).empty


def test_a_leaking_splitter_says_so_and_does_tear_groups(data):
    """Else nothing would be left to warn of: 14 groups, images dealt one by one."""
    leaking = [name for name, splitter in SPLITTERS.items() if splitter.leaking]

    assert leaking == ["random_kfold"]
    assert all(len(groups_on_two_sides(cut(name, *data))) for name in leaking)


@pytest.mark.parametrize("name", ONCE)
def test_each_image_is_held_out_once_per_repeat(name, data):
    roles = cut(name, *data, repeats=3 if SPLITTERS[name].seeded else 1)
    held_out = roles[roles["role"] == HELD_OUT]

    for _, rows in held_out.groupby("repeat"):
        assert sorted(rows["image_id"]) == sorted(data[0]["image_id"])


@pytest.mark.parametrize("name", SPLITTERS)
def test_every_fold_trains_and_holds_out_and_keeps_the_contract(name, data):
    roles = cut(name, *data)
    count = roles.groupby(["fold", "role"]).size().unstack()

    assert (count[[TRAIN, HELD_OUT]] > 0).all(axis=None)
    check_roles(roles, data[0], whole_groups=SPLITTERS[name].whole_groups, held_out_once=SPLITTERS[name].held_out_once)


@pytest.mark.parametrize("name", SPLITTERS)
def test_the_order_of_rows_does_not_matter(name, data):
    images, masks = data
    shuffled = cut(name, images.sample(frac=1, random_state=1), masks.sample(frac=1, random_state=2))

    pd.testing.assert_frame_equal(shuffled, cut(name, images, masks))


@pytest.mark.parametrize("name", SPLITTERS)
def test_the_names_of_groups_do_not_matter(name, data):
    images, masks = data
    names = images["group_id"].unique()
    new = dict(zip(names, [f"{(5 * place) % len(names)}" for place in range(len(names))], strict=True))
    renamed = cut(name, images.assign(group_id=images["group_id"].map(new)), masks)

    pd.testing.assert_frame_equal(renamed.drop(columns="group_id"), cut(name, images, masks).drop(columns="group_id"))


@pytest.mark.parametrize("name", SPLITTERS)
def test_the_same_seed_cuts_the_same_roles(name, data):
    pd.testing.assert_frame_equal(cut(name, *data, seed=4), cut(name, *data, seed=4))


@pytest.mark.parametrize("name", SEEDED)
def test_another_seed_and_another_repeat_cut_other_roles(name, data):
    one, other = cut(name, *data, seed=0, repeats=2), cut(name, *data, seed=1, repeats=2)

    assert not one["role"].equals(other["role"])
    assert one.loc[one["repeat"] == 0, "role"].tolist() != one.loc[one["repeat"] == 1, "role"].tolist()


@pytest.mark.parametrize("name", SEEDED)
def test_more_repeats_leave_the_first_as_they_are(name, data):
    three = cut(name, *data, repeats=3)

    pd.testing.assert_frame_equal(three[three["repeat"] < 2], cut(name, *data, repeats=2))


@pytest.mark.parametrize("name", SPLITTERS)
def test_images_of_a_locked_group_are_never_used(name, data):
    roles = cut(name, *data, locked_groups=["strip3"])
    locked = roles[roles["group_id"] == "strip3"]

    assert set(locked["role"]) == {EXCLUDED}
    assert set(locked["reason"]) == {"locked cohort"}
    assert set(locked["fold"]) == set(roles["fold"])
    assert "locked cohort" not in set(roles.loc[roles["group_id"] != "strip3", "reason"])


@pytest.mark.parametrize("name", SPLITTERS)
def test_a_cap_leaves_out_training_images_only(name, data):
    images, masks = data
    roles = cut(name, images, masks, max_per_group=3)
    training = roles[roles["role"] == TRAIN].groupby(["fold", "group_id"]).size()
    whole = cut(name, images, masks)
    capped = roles["reason"] == "cap"

    assert training.max() == 3
    assert capped.any()
    assert set(whole.loc[capped, "role"]) == {TRAIN}
    pd.testing.assert_frame_equal(roles[~capped], whole[~capped])


@pytest.mark.parametrize("name", SPLITTERS)
def test_a_bootstrap_keeps_who_is_held_out_and_draws_as_many_training_groups_anew(name, data):
    whole = cut(name, *data)
    drawn = cut(name, *data, repeats=3, bootstrap=True)
    trained = {(fold, group) for fold, group in whole[whole["role"] == TRAIN][["fold", "group_id"]].to_numpy()}

    counts = []
    for _, rows in drawn.groupby("repeat"):
        held_out = rows["role"].eq(HELD_OUT).to_numpy()
        assert (held_out == whole["role"].eq(HELD_OUT)).all()
        assert (rows["train_count"].gt(0) == rows["role"].eq(TRAIN)).all()
        assert set(rows.loc[rows["role"].eq(EXCLUDED) & whole["role"].eq(TRAIN).to_numpy(), "reason"]) == {"not drawn"}
        times = rows[rows["role"] == TRAIN].groupby(["fold", "group_id"])["train_count"].agg(["min", "max"])
        assert (times["min"] == times["max"]).all()
        assert set(times.index) <= trained
        assert times["max"].groupby("fold").sum().equals(
            whole[whole["role"] == TRAIN].groupby("fold")["group_id"].nunique().rename("max"))
        counts.append(rows["train_count"].tolist())
    assert counts[0] != counts[1] != counts[2] != counts[0]
    pd.testing.assert_frame_equal(drawn[drawn["repeat"] < 2], cut(name, *data, repeats=2, bootstrap=True))


@pytest.mark.parametrize("name", SPLITTERS)
def test_the_first_in_time_train_where_a_cap_says_so(name, data):
    """Of each group the three images of the least dates; days of one digit and two sort as dates, not as text."""
    images, masks = data
    when = images.assign(day=images["time"].str.rpartition("-")[2].astype(int)).sort_values(["day", "image_id"])
    first = set(when.groupby("group_id").head(3)["image_id"])
    roles = cut(name, images, masks, max_per_group=3, first_by="time")

    assert set(roles.loc[roles["role"] == TRAIN, "image_id"]) <= first
    assert not set(roles.loc[roles["reason"] == "cap", "image_id"]) & first


@pytest.mark.parametrize("name", SPLITTERS)
def test_inputs_are_left_as_they_were(name, data):
    before = tuple(frame.copy() for frame in data)
    cut(name, *data, locked_groups=["strip3"], max_per_group=2)

    for frame, copy in zip(data, before, strict=True):
        pd.testing.assert_frame_equal(frame, copy)
