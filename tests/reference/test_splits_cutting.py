"""What cutting refuses and what it warns of, on tables small enough to see why."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from segcv.errors import SegcvWarning, SplitError
from segcv.splits import cut_roles
from segcv.tables import HELD_OUT, TRAIN


def table(sizes: dict[str, int]) -> pd.DataFrame:
    """Images g/0, g/1, ... of each group."""
    rows = [(f"{group}/{n}", group) for group, size in sizes.items() for n in range(size)]
    return pd.DataFrame(rows, columns=["image_id", "group_id"]).astype("str")


def masks_of(images: pd.DataFrame, where: dict[int, set[str]]) -> pd.DataFrame:
    """Ten pixels of each class in each image of the groups where it occurs; class 0 everywhere."""
    rows = [(image_id, c, 10) for image_id, group in images[["image_id", "group_id"]].itertuples(index=False)
            for c, groups in ({0: set(images["group_id"])} | where).items() if group in groups]
    return pd.DataFrame(rows, columns=["image_id", "class_id", "pixels"])


def cut(images: pd.DataFrame, **choices: object) -> pd.DataFrame:
    settings = {"splitter": "group_kfold", "folds": 2, "repeats": 1, "seed": 0} | choices
    return cut_roles(images, settings.pop("masks", None), **settings)


def test_fewer_groups_than_folds_are_refused_with_both_numbers():
    with pytest.raises(SplitError, match=r"5 folds need at least 5 groups; there are only 3 groups: a, b, c\. "
                                         r"Type split\.folds=3"):
        cut(table({"a": 3, "b": 3, "c": 3}), folds=5)


@pytest.mark.parametrize(("choices", "message"), [
    ({"folds": 1}, "at least 2 folds"),
    ({"folds": None}, "at least 2 folds"),
    ({"repeats": 0}, "cut at least once"),
    ({"splitter": "kfold"}, "'kfold' is not known; there are group_kfold"),
    ({"locked_groups": ["z"]}, "locked group 'z' does not exist; groups are a, b, c, d"),
    ({"max_per_group": 0}, "max_per_group=0"),
    ({"splitter": "leave_one_group_out", "folds": 4}, "folds=4 has no effect"),
    ({"splitter": "leave_one_group_out", "folds": None, "repeats": 2}, "repeats=2 has no effect"),
    ({"splitter": "balanced_group_kfold"}, "needs the mask profile"),
    ({"locked_groups": ["a", "b", "c"]}, "only 1 group: d"),
])
def test_a_choice_that_cannot_be_met_is_refused(choices, message):
    with pytest.raises(SplitError, match=message):
        cut(table({"a": 2, "b": 2, "c": 2, "d": 2}), **choices)


def test_an_image_without_group_is_refused():
    images = table({"a": 2, "b": 2}).assign(group_id=["a", "", "b", "b"])

    with pytest.raises(SplitError, match="1 of 4 images have no group_id"):
        cut(images)


def test_repeats_that_cannot_differ_are_refused():
    """Three groups in three folds can be cut in one way only."""
    with pytest.raises(SplitError, match="repeat 1 has no effect: 3 groups in 3 folds"):
        cut(table({"a": 2, "b": 2, "c": 2}), folds=3, repeats=2)


def test_repeats_use_every_partition_there_is():
    """Four equal groups can be paired in three ways: three repeats find them all, a fourth cannot differ."""
    images = table({"a": 1, "b": 1, "c": 1, "d": 1})
    roles = cut(images, repeats=3)
    pairs = {frozenset(frozenset(ids) for _, ids in part.groupby("fold")["group_id"])
             for _, part in roles[roles["role"] == HELD_OUT].groupby("repeat")}

    assert len(pairs) == 3
    with pytest.raises(SplitError, match="repeat 3 has no effect"):
        cut(images, repeats=4)


def test_a_giant_group_is_named_with_its_share():
    with pytest.warns(SegcvWarning, match=r"larger than 1/5 of the images: big: 16 of 20 images \(80 %\)"):
        cut(table({"big": 16, "a": 1, "b": 1, "c": 1, "d": 1}), folds=5)


def test_equal_groups_give_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cut(table({"a": 4, "b": 4, "c": 4, "d": 4}), folds=4)


def test_a_class_in_one_group_is_named_with_the_group():
    images = table({"a": 2, "b": 2, "c": 2, "g3": 2})

    with pytest.warns(SegcvWarning, match=r"class 2 \(road\) occurs in group g3 only\. .*never trained") as said:
        cut(images, masks=masks_of(images, {1: {"a", "b", "c", "g3"}, 2: {"g3"}}), splitter="balanced_group_kfold",
            class_names=["soil", "water", "road"])
    assert len(said) == 1


def test_a_declared_class_that_no_mask_has_is_named():
    images = table({"a": 2, "b": 2})

    with pytest.warns(SegcvWarning, match=r"class 1 \(water\) occurs in no mask") as said:
        cut(images, masks=masks_of(images, {}), class_names=["soil", "water"])
    assert len(said) == 1


def test_a_class_in_fewer_groups_than_folds_is_counted():
    images = table({"a": 2, "b": 2, "c": 2, "d": 2})

    with pytest.warns(SegcvWarning, match="fewer groups than the 4 folds: class 1 in 2 groups"):
        cut(images, masks=masks_of(images, {1: {"a", "c"}}), folds=4)


def test_group_ids_are_text():
    """007, 07 and 7 are three groups, and NA is a name."""
    images = table({"007": 2, "07": 1, "7": 1, "NA": 2})
    roles = cut(images, splitter="leave_one_group_out", folds=None)

    assert sorted(roles.loc[roles["role"] == HELD_OUT].groupby("fold")["group_id"].first()) == ["007", "07", "7", "NA"]


def test_a_cap_takes_the_same_images_in_every_fold():
    roles = cut(table({"a": 6, "b": 6, "c": 6, "d": 6}), folds=4, max_per_group=2)
    training = roles[roles["role"] == TRAIN].groupby(["group_id", "fold"])["image_id"].apply(frozenset)

    assert training.groupby("group_id").nunique().tolist() == [1, 1, 1, 1]


def test_four_groups_fill_four_stratified_folds():
    """A greedy stratified cut can leave one of them empty; here every fold holds one group."""
    images = table({"a": 4, "b": 2, "c": 1, "d": 3})
    with pytest.warns(SegcvWarning):
        roles = cut(images, masks=masks_of(images, {1: {"a"}}), folds=4, splitter="balanced_group_kfold")

    assert sorted(roles[roles["role"] == HELD_OUT].groupby("fold").size()) == [1, 2, 3, 4]


def test_random_folds_differ_by_one_image_at_most():
    roles = cut(table({"a": 9, "b": 8}), splitter="random_kfold", folds=5)

    assert sorted(roles[roles["role"] == HELD_OUT].groupby("fold").size()) == [3, 3, 3, 4, 4]


def test_seeds_give_new_partitions():
    """Adjusted Rand index by scikit-learn: 0 for unrelated partitions, 1 for equal ones; asked for: at most 0.2."""
    from sklearn.metrics import adjusted_rand_score

    rng = np.random.default_rng(0)
    images = table({f"g{n}": int(size) for n, size in enumerate(rng.integers(3, 30, 40))})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        folds = [cut(images, folds=5, seed=seed).query("role == 'held_out'").sort_values("image_id")["fold"]
                 for seed in range(5)]
    rand = [adjusted_rand_score(folds[a], folds[b]) for a in range(5) for b in range(a)]

    assert np.mean(rand) <= 0.2
