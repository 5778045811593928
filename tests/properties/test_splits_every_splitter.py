"""Whatever the table is: the order of rows and the names of groups change nothing, and each splitter keeps its word."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import GroupKFold, LeaveOneGroupOut, cross_validate

from segcv.errors import SegcvWarning, SplitError
from segcv.splits import SPLITTERS, Choices, ScikitSplitter, check_roles, cut_roles, groups_on_two_sides, shared_ground
from segcv.tables import EXCLUDED, HELD_OUT, TRAIN

CHOICES: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "group_kfold": st.fixed_dictionaries({}, optional={"stratify": st.just("kind")}),
    "balanced_group_kfold": st.fixed_dictionaries({}, optional={
        "stratify": st.just("kind"), "balance_on": st.just(("site",))}),
    "leave_p_groups_out": st.fixed_dictionaries({"leave": st.integers(1, 3)}),
    "repeated_holdout": st.fixed_dictionaries({"share": st.sampled_from([0.1, 0.3, 0.6])}),
    "time": st.fixed_dictionaries({}, optional={"gap_days": st.sampled_from([0.5, 2.0])}),
    "known_groups": st.fixed_dictionaries({"time_column": st.just("visit")}, optional={
        "gap_days": st.sampled_from([0.5, 2.0])}),
    "blocks": st.fixed_dictionaries({}, optional={"buffer_px": st.sampled_from([0.0, 3.0, 12.0])}),
}
KNOWN = st.sampled_from(sorted(SPLITTERS))


@st.composite
def tables(draw: Any) -> tuple[pd.DataFrame, pd.DataFrame, int]:
    """Three to eight groups of one to five images with a time, a place, a kind and a site; and a number of folds."""
    sizes = draw(st.lists(st.integers(1, 5), min_size=3, max_size=8))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    group = np.repeat(np.arange(len(sizes)), sizes)
    n = len(group)
    ids = [f"i{place:02d}" for place in rng.permutation(n)]
    day = np.minimum(2 * group + rng.integers(0, draw(st.sampled_from([1, 4, 14])), n), 27) + 1
    images = pd.DataFrame({
        "image_id": ids, "group_id": [f"g{number}" for number in group], "kind": [f"k{number % 2}" for number in group],
        "site": [f"s{number}" for number in rng.integers(0, 3, n)], "time": [f"2024-2-{number}" for number in day],
        "visit": [f"2024-2-{number}" for number in rng.integers(1, 29, n)],
        "x": rng.integers(0, 6, n) * 10.0, "y": group * 8.0, "w": 10.0, "h": 10.0})
    masks = pd.DataFrame({"image_id": np.repeat(ids, 2), "class_id": np.tile([0, 1], n),
                          "pixels": rng.choice([0, 3, 1000], 2 * n)})
    return images, masks, draw(st.integers(2, len(sizes) - 1))


def folds_for(name: str, folds: int) -> int | None:
    """Fewer folds in time: each needs a past."""
    return None if not SPLITTERS[name].counts_folds else 1 + folds % 2 if SPLITTERS[name].reads_time else folds


def cut(images: pd.DataFrame, masks: pd.DataFrame, name: str, folds: int, seed: int,
        choices: dict[str, Any]) -> pd.DataFrame | str:
    """The roles, or what was refused, without the names of groups."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SegcvWarning)
        try:
            return cut_roles(images, masks, splitter=name, folds=folds_for(name, folds),
                             repeats=1, seed=seed, choices=Choices(**choices))
        except SplitError as error:
            return type(error).__name__


@settings(max_examples=50, deadline=None)
@given(tables(), KNOWN, st.integers(0, 3), st.data())
def test_neither_the_order_of_rows_nor_the_names_of_groups_nor_another_run_changes_a_role(data, name, seed, more):
    images, masks, folds = data
    choices = more.draw(CHOICES.get(name, st.just({})))
    rng = np.random.default_rng(seed)
    names = images["group_id"].unique()
    renamed = images.assign(group_id=images["group_id"].map(dict(zip(names, rng.permutation(names), strict=True))))

    first = cut(images, masks, name, folds, seed, choices)
    again = cut(images.sample(frac=1, random_state=seed), masks.sample(frac=1, random_state=seed), name, folds, seed,
                choices)
    other = cut(renamed, masks, name, folds, seed, choices)

    if isinstance(first, str):
        assert first == again == other
    else:
        pd.testing.assert_frame_equal(first, again)
        pd.testing.assert_frame_equal(first.drop(columns="group_id"), other.drop(columns="group_id"))


@settings(max_examples=50, deadline=None)
@given(tables(), KNOWN, st.integers(0, 3), st.data())
def test_every_splitter_keeps_its_word(data, name, seed, more):
    """No group on two sides; later than all training; off the training ground; strata to within one."""
    images, masks, folds = data
    choices = more.draw(CHOICES.get(name, st.just({})))
    roles = cut(images, masks, name, folds, seed, choices)
    if isinstance(roles, str):
        return
    known = SPLITTERS[name]
    check_roles(roles, images, whole_groups=known.whole_groups, held_out_once=known.held_out_once)
    assert len(roles) == roles["fold"].nunique() * len(images)
    if known.whole_groups:
        assert groups_on_two_sides(roles).empty
    if known.reads_time:
        day = images.set_index("image_id")[choices.get("time_column", "time")].str.rpartition("-")[2].astype(int)
        gap = choices.get("gap_days", 0)
        for _, rows in roles.groupby("fold"):
            train, held_out = (rows[rows["role"] == role] for role in (TRAIN, HELD_OUT))
            assert day[train["image_id"]].max() + gap < day[held_out["image_id"]].min()
            if known.known_groups:
                assert set(held_out["group_id"]) <= set(train["group_id"])
    if known.reads_ground:
        assert shared_ground(images, roles, distance=choices.get("buffer_px", 0))["near_images"].sum() == 0
    else:
        assert known.reads_time or EXCLUDED not in set(roles["role"])
    if "stratify" in choices:
        held_out = roles[roles["role"] == HELD_OUT].drop_duplicates("group_id").merge(
            images[["image_id", "kind"]], on="image_id")
        kinds = pd.crosstab(held_out["fold"], held_out["kind"])
        assert (kinds.max() - kinds.min()).max() <= 1


@settings(max_examples=40, deadline=None)
@given(tables(), KNOWN, st.integers(0, 3), st.data())
def test_the_scikit_form_behaves_as_a_group_splitter_of_scikit_learn_does(data, name, seed, more):
    """Each sample held out once where that is promised, no shared sample or group, as many pairs as announced."""
    images, _, folds = data
    known = SPLITTERS[name]
    cv = ScikitSplitter(name, folds=folds_for(name, folds), seed=seed,
                        choices=Choices(**more.draw(CHOICES.get(name, st.just({})))))
    groups, y = images["group_id"].to_numpy(), images["site"].to_numpy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SegcvWarning)
        try:
            pairs = list(cv.split(images, y, groups))
        except SplitError:
            return
        assert cv.get_n_splits(images, y, groups) == len(pairs)
    for train, test in pairs:
        assert len(train)
        assert len(test)
        assert len(set(train)) + len(set(test)) == len(set(train) | set(test)) == len(train) + len(test)
        if known.whole_groups:
            assert not set(groups[train]) & set(groups[test])
    if known.held_out_once:
        assert sorted(np.concatenate([test for _, test in pairs])) == list(range(len(images)))


@pytest.mark.parametrize(("ours", "theirs"), [
    (ScikitSplitter("leave_one_group_out", folds=None), LeaveOneGroupOut()),
    (ScikitSplitter("group_kfold", folds=4), GroupKFold(4)),
])
def test_cross_validate_takes_a_splitter_of_ours_as_it_takes_its_own(ours, theirs):
    """Four groups, so both hold each out alone; a constant classifier scores the share of the majority class."""
    groups = np.repeat(list("abcd"), 5)
    y = np.tile([0, 0, 0, 1, 0], 4)
    scores = [sorted(cross_validate(DummyClassifier(), np.zeros((20, 1)), y, groups=groups, cv=cv)["test_score"])
              for cv in (ours, theirs)]

    assert scores[0] == pytest.approx(scores[1])


def test_fewer_groups_than_folds_is_an_error_here_as_in_scikit_learn():
    groups = np.repeat(["a", "b"], 3)
    with pytest.raises(ValueError, match="greater than the number of groups"):
        next(GroupKFold(3).split(groups, groups=groups))
    with pytest.raises(SplitError, match="3 folds need at least 3 groups"):
        next(ScikitSplitter("group_kfold", folds=3).split(groups, groups=groups))
