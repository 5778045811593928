"""Sets of groups held out together, columns that folds are balanced on, and strata: small tables counted by hand."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import LeavePGroupsOut

from segcv.errors import SegcvWarning, SplitError
from segcv.splits import Choices, ScikitSplitter, balance_floor, balance_table, cut_roles
from segcv.tables import HELD_OUT


def groups(sizes: dict[str, int], **of_group: dict[str, str]) -> pd.DataFrame:
    """So many images of each group; further columns by group."""
    names = [group for group, size in sizes.items() for _ in range(size)]
    table = pd.DataFrame({"image_id": [f"i{row:03d}" for row in range(len(names))], "group_id": names})
    return table.assign(**{column: table["group_id"].map(values) for column, values in of_group.items()})


def cut(images: pd.DataFrame, splitter: str, *, folds: int | None = None, masks: pd.DataFrame | None = None,
        seed: int = 0, **choices: object) -> pd.DataFrame:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SegcvWarning)
        return cut_roles(images, masks, splitter=splitter, folds=folds, repeats=1, seed=seed,
                         choices=Choices(**choices))


def one_class(images: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame({"image_id": images["image_id"], "class_id": 0, "pixels": 100})


def held_out_groups(roles: pd.DataFrame) -> list[set[str]]:
    return [set(rows.loc[rows["role"] == HELD_OUT, "group_id"]) for _, rows in roles.groupby("fold")]


def test_every_pair_of_groups_is_held_out_once():
    found = held_out_groups(cut(groups({"a": 1, "b": 2, "c": 1, "d": 3}), "leave_p_groups_out", leave=2))

    assert found == [{"a", "b"}, {"a", "c"}, {"a", "d"}, {"b", "c"}, {"b", "d"}, {"c", "d"}]


def test_sets_of_groups_are_those_of_scikit_learn():
    """LeavePGroupsOut(3) of 6 groups: the same 20 folds, for groups named in the order of their samples."""
    names = np.repeat(list("abcdef"), [3, 1, 2, 2, 1, 4])
    ours = ScikitSplitter("leave_p_groups_out", folds=None, choices=Choices(leave=3))
    theirs = list(LeavePGroupsOut(3).split(names, groups=names))

    assert ours.get_n_splits(groups=names) == len(theirs) == 20
    for (train, test), (their_train, their_test) in zip(ours.split(names, groups=names), theirs, strict=True):
        assert train.tolist() == their_train.tolist()
        assert test.tolist() == their_test.tolist()


@pytest.mark.parametrize(("leave", "message"), [
    (4, "between 1 and 3"), (0, "between 1 and 3"), (2, "split.folds=null")])
def test_sets_that_cannot_be_held_out_are_refused(leave, message):
    with pytest.raises(SplitError, match=message):
        cut(groups(dict.fromkeys("abcd", 1)), "leave_p_groups_out", folds=5 if leave == 2 else None, leave=leave)


def test_more_folds_than_anybody_trains_are_refused_with_a_smaller_design():
    """C(40, 3) = 9,880."""
    with pytest.raises(SplitError, match=r"9880 folds.*repeated_holdout"):
        cut(groups({f"g{k}": 1 for k in range(40)}), "leave_p_groups_out", leave=3)


def test_repeated_draws_hold_out_about_the_share_and_never_the_same():
    """Of 20 groups of 5 images, .3 are 6 groups: every draw reaches it exactly."""
    found = held_out_groups(cut(groups({f"g{k}": 5 for k in range(20)}), "repeated_holdout", folds=30, share=0.3))

    assert {len(held_out) for held_out in found} == {6}
    assert len({frozenset(held_out) for held_out in found}) == 30


def test_more_draws_than_there_are_sets_are_refused():
    """One of three equal groups is held out: three sets."""
    with pytest.raises(SplitError, match=r"split\.folds=3"):
        cut(groups(dict.fromkeys("abc", 2)), "repeated_holdout", folds=4, share=0.3)


def test_values_of_a_column_are_spread_over_the_folds():
    """Ten groups of one image, half of each site, five folds: every fold can have one of each, and has."""
    images = groups({f"g{k}": 1 for k in range(10)}, site={f"g{k}": "north" if k < 5 else "south" for k in range(10)})
    roles = cut(images, "balanced_group_kfold", folds=5, masks=one_class(images), balance_on=["site"])
    balance = balance_table(roles, images, one_class(images), columns=["site"])

    assert balance["site=north"].tolist() == balance["site=south"].tolist() == [0.5] * 10


def test_without_the_column_they_are_not():
    """Else the test above would say nothing: over 20 seeds only some cuts pair the sites by chance."""
    images = groups({f"g{k}": 1 for k in range(10)}, site={f"g{k}": "north" if k < 5 else "south" for k in range(10)})
    paired = [all(images.set_index("group_id").loc[list(two), "site"].nunique() == 2 for two in held_out_groups(
        cut(images, "balanced_group_kfold", folds=5, masks=one_class(images), seed=seed))) for seed in range(20)]

    assert sum(paired) < 10


def test_the_floor_counts_values_too():
    """site=south is in one group only: four of five folds cannot have it, and one has five times its share."""
    images = groups(dict.fromkeys("abcdef", 1), site=dict.fromkeys("abcde", "north") | {"f": "south"})
    floor = balance_floor(images, one_class(images), folds=5, columns=["site"]).set_index("column")

    assert floor.loc["site=south", ["groups", "empty_folds", "worst"]].tolist() == [1, 4, 4.0]


def test_groups_of_each_kind_are_dealt_to_within_one():
    """7 + 8 + 3 groups of heavy-tailed sizes in 5 folds: 1 or 2 of the first two kinds, at most 1 of the third."""
    rng = np.random.default_rng(2)
    sizes = {f"g{k:02d}": int(size) for k, size in enumerate(rng.integers(1, 60, 18))}
    kind = {group: "AAAAAAABBBBBBBBCCC"[k] for k, group in enumerate(sizes)}
    images = groups(sizes, scanner=kind)
    for splitter in ("group_kfold", "balanced_group_kfold"):
        for seed in range(5):
            roles = cut(images, splitter, folds=5, masks=one_class(images), seed=seed, stratify="scanner")
            held_out = roles[roles["role"] == HELD_OUT].drop_duplicates("group_id")
            kinds = pd.crosstab(held_out["fold"], held_out["group_id"].map(kind))
            assert (kinds.max() - kinds.min()).max() <= 1


@pytest.mark.parametrize("choices", [{"balance_on": ["site"]}, {"stratify": "site"}])
def test_values_in_fewer_groups_than_folds_are_named(choices):
    """south is in two of six groups: one of three folds holds none of it out. north is in four."""
    images = groups(dict.fromkeys("abcdef", 2), site=dict.fromkeys("abcd", "north") | dict.fromkeys("ef", "south"))
    with pytest.warns(SegcvWarning, match=r"values in fewer groups than the 3 folds: site=south in 2 groups\. Some"):
        cut_roles(images, one_class(images), splitter="balanced_group_kfold", folds=3, repeats=1, seed=0,
                  choices=Choices(**choices))


@pytest.mark.parametrize(("choices", "message"), [
    ({"balance_on": ["age"]}, "age is not a column"),
    ({"balance_on": ["image_id"]}, "60 different values"),
    ({"balance_on": ["same"]}, "has no effect"),
    ({"stratify": "site"}, r"group a has .*balance_on=\[site\]"),
    ({"stratify": "group_id"}, "every group has a value of its own"),
    ({"balance_on": ["gap"]}, r"blank in 60 of 60 rows"),
])
def test_columns_that_cannot_be_balanced_are_refused(choices, message):
    images = groups({"a": 30, "b": 30}).assign(same="x", gap="", site=["n", "s"] * 30)

    with pytest.raises(SplitError, match=message):
        cut(images, "balanced_group_kfold", folds=2, masks=one_class(images), **choices)


@pytest.mark.parametrize(("choices", "message"), [
    ({"first_by": "time"}, "no effect without a cap"), ({"first_by": "size", "max_per_group": 2}, "not known")])
def test_who_is_first_needs_a_cap_and_a_known_order(choices, message):
    with pytest.raises(SplitError, match=message):
        cut_roles(groups({"a": 3, "b": 3}), None, splitter="leave_one_group_out", folds=None, repeats=1, seed=0,
                  **choices)


def test_a_bootstrap_of_one_training_group_is_refused():
    with pytest.raises(SplitError, match=r"split\.bootstrap"):
        cut_roles(groups({"a": 3, "b": 3}), None, splitter="leave_one_group_out", folds=None, repeats=1, seed=0,
                  bootstrap=True)


def test_groups_are_drawn_as_often_as_chance_has_it():
    """Of n groups drawn n times one is missing with (1 - 1/n)^n: .349 for n = 10; 11 folds x 300 repeats."""
    images = groups({f"g{k:02d}": 1 for k in range(11)})
    roles = cut_roles(images, None, splitter="leave_one_group_out", folds=None, repeats=300, seed=0, bootstrap=True)

    assert abs((roles["reason"] == "not drawn").mean() * 11 / 10 - 0.9**10) < 0.02
