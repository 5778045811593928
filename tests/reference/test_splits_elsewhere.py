"""Folds cut elsewhere, inner hold-outs, the contract of roles, and scikit-learn's form."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from segcv.errors import SplitError
from segcv.splits import (
    ScikitSplitter,
    check_roles,
    cut_roles,
    groups_on_two_sides,
    inner_fold,
    inner_holdout,
    nested_roles,
    roles_from_folds,
    roles_from_table,
)
from segcv.tables import EXCLUDED, HELD_OUT, TRAIN


@pytest.fixture
def images(tmp_path: Path) -> pd.DataFrame:
    ids = [f"images/img{n}" for n in range(6)]
    return pd.DataFrame({"image_id": ids, "image_path": [str(tmp_path / f"{image_id}.png") for image_id in ids],
                         "mask_path": [str(tmp_path / f"masks/m{n}.png") for n in range(6)],
                         "group_id": list("aabbcc")}).astype("str")


FOLDS = {f"images/img{n}.png": n // 2 for n in range(6)}


def saved(path: Path, data: object) -> Path:
    path.write_text(data if isinstance(data, str) else json.dumps(data))
    return path


def test_folds_from_a_csv_and_from_json_are_the_same(tmp_path, images):
    by_path = saved(tmp_path / "p.csv", "image_path,fold\n" + "".join(f"{p},{k}\n" for p, k in FOLDS.items()))
    by_id = saved(tmp_path / "i.csv", "fold,image_id\n" + "".join(f"{k},{p[:-4]}\n" for p, k in FOLDS.items()))
    by_json = saved(tmp_path / "s.json", {"n_splits": 3, "rows": list(FOLDS), "fold": FOLDS})
    one, two, three = (roles_from_table(path, images, leaking=False) for path in (by_path, by_id, by_json))

    pd.testing.assert_frame_equal(one, two)
    pd.testing.assert_frame_equal(one, three)
    assert one[one["role"] == HELD_OUT].groupby("fold")["group_id"].unique().map(list).tolist() == [["a"], ["b"], ["c"]]


def test_a_file_for_another_table_is_refused_with_what_differs(tmp_path, images):
    older = {path: k for path, k in FOLDS.items() if k < 2} | {"images/gone.png": 2}

    with pytest.raises(SplitError, match=r"splits\.json: does not match the images table: 2 of 6 images of the table "
                                         r"are missing in it \(images/img4, images/img5\) and 1 of its 5 rows are not "
                                         r"in the table \(images/gone\.png\)"):
        roles_from_table(saved(tmp_path / "splits.json", {"fold": older}), images)


@pytest.mark.parametrize(("name", "content", "message"), [
    ("s.json", "{", "not a readable JSON"),
    ("s.json", {"folds": [1, 2]}, "a split in JSON is"),
    ("s.json", [1, 2], "entry 0 is not"),
    ("s.json", {"n_splits": 5, "fold": FOLDS}, "n_splits is 5 and does not match the 3 folds"),
    ("s.json", {"rows": ["images/img0.png"], "fold": FOLDS}, "rows and fold do not match"),
    ("s.json", {"fold": FOLDS | {"images/img0.png": "x"}}, "fold 'x' of images/img0 is not a whole number"),
    ("s.json", {"fold": FOLDS | {"images/img0.png": -1}}, "not a whole number from 0 on"),
    ("s.json", {"fold": dict.fromkeys(FOLDS, 0)}, "at least two of them and none empty; found 0"),
    ("s.json", {"fold": {path: k + 1 for path, k in FOLDS.items()}}, "found 1, 2, 3"),
    ("s.csv", "file,fold\na,0\n", "image_id or image_path, and fold; found file, fold"),
    ("s.csv", "image_path,fold\n" + "".join(f"{p},{k}\n" for p, k in [*FOLDS.items(), ("images/img0.png", 1)]),
     "images/img0 is listed more than once"),
    ("none.csv", None, "there is no such split file"),
])
def test_a_faulty_file_is_refused_by_name(tmp_path, images, name, content, message):
    path = tmp_path / name
    if content is not None:
        saved(path, content)

    with pytest.raises(SplitError, match=message) as refused:
        roles_from_table(path, images)
    assert name in str(refused.value)


def test_torn_groups_are_found_or_refused(images):
    fold = pd.Series([0, 1, 1, 1, 0, 0], index=images["image_id"])
    roles = roles_from_folds(images, fold, where="mine")

    assert groups_on_two_sides(roles)["group_id"].unique().tolist() == ["a"]
    with pytest.raises(SplitError, match="group a is on two sides of repeat 0, fold 0"):
        roles_from_folds(images, fold, where="mine", leaking=False)


def test_a_roles_table_is_taken_as_it_is(tmp_path, images):
    """One fold with a buffer: the image left out belongs to neither side."""
    rows = zip(images["image_id"], [HELD_OUT, HELD_OUT, EXCLUDED, TRAIN, TRAIN, TRAIN], strict=True)
    path = saved(tmp_path / "roles.csv", "image_id,role\n" + "".join(f"{image_id},{role}\n" for image_id, role in rows))
    roles = roles_from_table(path, images, leaking=False)

    assert roles["role"].tolist() == [HELD_OUT, HELD_OUT, EXCLUDED, TRAIN, TRAIN, TRAIN]
    assert roles["fold"].unique().tolist() == [0]


def sound(images: pd.DataFrame) -> pd.DataFrame:
    return cut_roles(images, None, splitter="group_kfold", folds=3, repeats=1, seed=0)


@pytest.mark.parametrize(("break_it", "message"), [
    (lambda r: r.assign(role=r["role"].replace({TRAIN: "val"})), "role 'val' is not known"),
    (lambda r: r.assign(role=[EXCLUDED, *r["role"][1:]]), "excluded without a reason"),
    (lambda r: r.assign(image_id=["new", *r["image_id"][1:]]), "not in the images table: new"),
    (lambda r: r.assign(group_id=["z", *r["group_id"][1:]]), "of group a in the images table, and of group z"),
    (lambda r: r.assign(fold=r["fold"] + 1), "folds"),
    (lambda r: r.assign(repeat=1), "repeats are numbered"),
    (lambda r: r[r["role"].eq(TRAIN) | r["fold"].ne(1)], "fold 1 has no held_out image"),
    (lambda r: r[r["role"].eq(HELD_OUT) | r["fold"].ne(1)], "fold 1 has no train image"),
    (lambda r: r[~(r["role"].eq(HELD_OUT) & r["image_id"].eq("images/img0"))], "img0 is held out 0 times"),
    (lambda r: r[:0], "no row"),
])
def test_broken_roles_are_refused(images, break_it, message):
    with pytest.raises(SplitError, match=message):
        check_roles(break_it(sound(images)), images)


def test_the_validation_fold_may_not_be_the_test_fold(images):
    with pytest.raises(SplitError, match=r"validation_fold=0 is the test fold \(fold=0\)"):
        inner_fold(sound(images), repeat=0, fold=0, validation_fold=0)


def test_a_validation_fold_is_taken_from_the_training_images(images):
    """Three folds of one group: one is tested, one validates, the third is fitted on."""
    fit, inside = inner_fold(sound(images), repeat=0, fold=0, validation_fold=2)
    tested = sound(images).query("fold == 0 and role == 'held_out'")["group_id"]

    assert sorted([*fit["group_id"].unique(), *inside["group_id"].unique(), *tested.unique()]) == ["a", "b", "c"]
    with pytest.raises(SplitError, match="validation_fold=3 is not in the split"):
        inner_fold(sound(images), repeat=0, fold=0, validation_fold=3)


def test_an_inner_holdout_takes_whole_groups_near_the_share():
    rows = pd.DataFrame({"image_id": [f"{n:03d}" for n in range(100)],
                         "group_id": np.repeat([f"g{n}" for n in range(10)], 10)})
    fit, inside = inner_holdout(rows, share=0.2, rng=np.random.default_rng(0))
    renamed, _ = inner_holdout(rows.assign(group_id=rows["group_id"].map(lambda name: name[::-1]))[::-1], share=0.2,
                               rng=np.random.default_rng(0))

    assert len(inside) == 20
    assert not set(fit["group_id"]) & set(inside["group_id"])
    assert sorted(renamed["image_id"]) == fit["image_id"].tolist()


def test_an_inner_holdout_leaves_a_group_on_each_side():
    rows = pd.DataFrame({"image_id": list("0123456789"), "group_id": list("aaaaaaaaab")})

    for seed in range(5):
        for share in (0.01, 0.5, 0.99):
            fit, inside = inner_holdout(rows, share=share, rng=np.random.default_rng(seed))
            assert len(fit) and len(inside)
    with pytest.raises(SplitError, match="at least 2 groups among the training images; there is only a"):
        inner_holdout(rows[:5], share=0.2, rng=np.random.default_rng(0))
    with pytest.raises(SplitError, match="between 0 and 1"):
        inner_holdout(rows, share=1.0, rng=np.random.default_rng(0))


def test_scikit_learn_takes_the_splitters():
    """cross_val_predict demands that the test sets are a partition of the samples."""
    from sklearn.dummy import DummyClassifier
    from sklearn.model_selection import cross_val_predict, cross_validate

    rng = np.random.default_rng(0)
    groups, y = np.repeat(np.arange(20), 5), rng.integers(0, 2, 100)
    cut = ScikitSplitter("balanced_group_kfold", folds=4)
    scores = cross_validate(DummyClassifier(), np.zeros((100, 1)), y, groups=groups,
                            cv=ScikitSplitter("group_kfold", folds=4, repeats=2))

    assert len(cross_val_predict(DummyClassifier(), np.zeros((100, 1)), y, groups=groups, cv=cut)) == 100
    assert len(scores["test_score"]) == 8 == ScikitSplitter(folds=4, repeats=2).get_n_splits()
    assert ScikitSplitter("leave_one_group_out", folds=None).get_n_splits(groups=groups) == 20


def test_scikit_style_refuses_what_it_could_not_respect():
    with pytest.raises(SplitError, match="groups is None"):
        next(ScikitSplitter("group_kfold").split(np.zeros(5)))
    with pytest.raises(SplitError, match="y, which is None"):
        next(ScikitSplitter().split(np.zeros(5), None, list("abcde")))
    with pytest.raises(SplitError, match="not classes"):
        next(ScikitSplitter().split(np.zeros(5), np.linspace(0, 1, 5), list("abcde")))


def test_inner_folds_are_cut_from_training_images_and_never_hold_who_judges(images):
    """Three groups, each held out once: the other two are the two inner folds."""
    outer = cut_roles(images, None, splitter="leave_one_group_out", folds=None, repeats=1, seed=0)
    nested = nested_roles(outer, images, None, splitter="leave_one_group_out", folds=None, seed=0)

    held_out = nested[nested["role"] == HELD_OUT].groupby(["repeat", "outer", "inner"])["group_id"].unique().map(list)
    assert held_out.tolist() == [["b"], ["c"], ["a"], ["c"], ["a"], ["b"]]
    for (repeat, fold), rows in outer.groupby(["repeat", "fold"]):
        mine = nested[nested["repeat"].eq(repeat) & nested["outer"].eq(fold)]
        assert set(mine["image_id"]) == set(rows.loc[rows["role"] == TRAIN, "image_id"])


def test_an_outer_fold_that_cannot_be_cut_again_is_named(images):
    outer = cut_roles(images, None, splitter="leave_one_group_out", folds=None, repeats=1, seed=0)

    with pytest.raises(SplitError, match=r"inner folds of repeat 0, outer fold 0: 3 folds need at least 3 groups"):
        nested_roles(outer, images, None, splitter="group_kfold", folds=3, seed=0)


@pytest.mark.filterwarnings("ignore::segcv.errors.SegcvWarning")
def test_inner_folds_of_one_outer_fold_do_not_depend_on_the_others():
    groups = [f"g{k}" for k in range(12)]
    table = pd.DataFrame({"image_id": groups, "group_id": groups})
    outer = cut_roles(table, None, splitter="group_kfold", folds=3, repeats=2, seed=0)
    nested = nested_roles(outer, table, None, splitter="group_kfold", folds=4, seed=1)
    alone = nested_roles(outer.query("repeat == 1 and fold == 2"), table, None, splitter="group_kfold", folds=4, seed=1)

    pd.testing.assert_frame_equal(nested.query("repeat == 1 and outer == 2").reset_index(drop=True), alone)
