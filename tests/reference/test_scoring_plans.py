"""Which prediction belongs to which image and run, and whether it was held out: matched by name, or refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from segcv.errors import ConfigError, ScoreError, TableError
from segcv.scoring import check_held_out, find_predictions, plan_runs, roles_of_plans

IMAGES = pd.DataFrame({"image_id": ["img/a", "img/b", "img/c"], "mask_path": ["a", "b", "c"],
                       "group_id": ["g1", "g1", "g2"]})


def touched(folder: Path, *names: str) -> str:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return str(folder)


def plans(where: str, **choices: Any) -> list[tuple[str, int, int, int, list[str]]]:
    choices = {"name": "x", "roles": None} | choices
    return [(plan.candidate, plan.repeat, plan.fold, plan.seed, plan.rows["image_id"].tolist())
            for plan in plan_runs(find_predictions(where), IMAGES, where=where, **choices)]


def test_a_folder_is_matched_by_name_below_it_with_or_without_the_folder_all_images_share(tmp_path: Path):
    one = touched(tmp_path / "1", "img/a.png", "img/b.png", "img/c.tif", ".hidden/d.png", "notes.txt")
    two = touched(tmp_path / "2", "a.png", "b.png", "c.png")

    assert plans(one) == plans(two) == [("x", 0, 0, 0, ["img/a", "img/b", "img/c"])]


def test_a_path_with_places_brings_every_run(tmp_path: Path):
    touched(tmp_path, *(f"{who}/fold-0/seed-{seed}/{name}_pred.png" for who in ("u", "v") for seed in (3, 10)
                        for name in "abc"))

    found = plans(f"{tmp_path}/{{candidate}}/fold-{{fold}}/seed-{{seed}}/{{image_id}}_pred.png", name=None)

    assert [run[:4] for run in found] == [("u", 0, 0, 3), ("u", 0, 0, 10), ("v", 0, 0, 3), ("v", 0, 0, 10)]
    assert all(run[4] == IMAGES["image_id"].tolist() for run in found)


def test_a_table_names_files_in_any_place(tmp_path: Path):
    touched(tmp_path, "x/1.png", "x/2.png", "y/3.png")
    table = tmp_path / "table.csv"
    pd.DataFrame({"image_id": ["img/c", "img/a", "img/b"], "prediction_path": ["y/3.png", "x/1.png", "x/2.png"],
                  "seed": [7, 7, 7]}).to_csv(table, index=False)

    [plan] = plan_runs(find_predictions(str(table)), IMAGES, roles=None, where="table", name="x")

    assert plan.seed == 7
    assert plan.rows["path"].tolist() == [str(tmp_path / name) for name in ("x/1.png", "x/2.png", "y/3.png")]


def roles(*held_out: list[str], repeats: int = 1) -> pd.DataFrame:
    return pd.concat([IMAGES[["image_id", "group_id"]].assign(
        repeat=repeat, fold=fold, role=["held_out" if name in ids else "train" for name in IMAGES["image_id"]])
        for repeat in range(repeats) for fold, ids in enumerate(held_out)])


def test_under_a_split_each_fold_is_scored_on_what_it_holds_out(tmp_path: Path):
    """One folder of all predictions, two folds: each image once."""
    where = touched(tmp_path, "a.png", "b.png", "c.png")
    cut = roles(["img/a", "img/b"], ["img/c"])

    assert plans(where, roles=cut) == [("x", 0, 0, 0, ["img/a", "img/b"]), ("x", 0, 1, 0, ["img/c"])]
    assert plans(where, roles=cut, fold=1) == [("x", 0, 1, 0, ["img/c"])]
    [plan] = plan_runs(find_predictions(where), IMAGES, where=where, roles=cut, name="x", fold=1)
    assert plan.left_alone == 2


@pytest.mark.parametrize(("names", "choices", "error", "message"), [
    (["a.png", "b.png"], {}, ScoreError, "1 of 3 images have no prediction"),
    (["a.png", "b.png", "c.png", "d.png"], {}, ScoreError, "1 of 4 predictions .* belong to no image"),
    (["a.png", "a.tif", "b.png", "c.png"], {}, ScoreError, "img/a|a has 2 predictions"),
    (["a.png", "b.png", "c.png"], {"name": None}, ConfigError, "name must be given"),
    (["a.png", "b.png", "c.png"], {"fold": 2}, ConfigError, "has an effect with a split"),
    (["a.png", "b.png", "c.png"], {"roles": roles(["img/a"], ["img/b", "img/c"]), "fold": 5}, ScoreError, "fold=5"),
    (["a.png", "b.png", "c.png"], {"roles": roles(["img/a"], ["img/b", "img/c"], repeats=2)}, ConfigError, "repeat=0"),
    (["notes.txt"], {}, ScoreError, "no file"),
])
def test_what_cannot_be_matched_is_refused(tmp_path: Path, names: list[str], choices: dict[str, Any],
                                           error: type[Exception], message: str):
    where = touched(tmp_path, *names)

    with pytest.raises(error, match=message):
        plans(where, **choices)


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path):
    with pytest.raises(ScoreError, match="nowhere: there is no such folder"):
        find_predictions(f"{tmp_path}/nowhere")


@pytest.mark.parametrize(("text", "message"), [
    ("image_id,mask\na,b\n", "image_id .* and prediction_path"), ("image_id,prediction_path\nimg/a,\n", "is blank"),
    ("image_id,prediction_path,fold\nimg/a,a.png,first\n", "no whole number in line 2"),
    ("image_id,prediction_path\nimg/a,a.png\nimg/a,b.png\n", "has 2 predictions"),
])
def test_a_faulty_table_is_refused_by_line(tmp_path: Path, text: str, message: str):
    (tmp_path / "p.csv").write_text(text)

    with pytest.raises((TableError, ScoreError), match=message):
        find_predictions(str(tmp_path / "p.csv"))


def test_one_file_is_not_the_prediction_of_two_images(tmp_path: Path):
    touched(tmp_path, "p/a.png", "p/c.png")
    table = tmp_path / "predictions.csv"
    table.write_text("image_id,prediction_path\nimg/a,p/a.png\nimg/b,p/a.png\nimg/c,p/c.png\n", encoding="utf-8")

    with pytest.raises(ScoreError, match=r"a\.png is named as the prediction of 2 images \(img/a, img/b\)"):
        plans(str(table))


def test_runs_tell_roles_and_lists_tell_who_trained(tmp_path: Path):
    """Two folds by folder, one training list: the rest is excluded, because nobody knows."""
    touched(tmp_path, "f0/a.png", "f0/b.png", "f1/c.png")
    where = f"{tmp_path}/f{{fold}}"
    found = plan_runs(find_predictions(where), IMAGES, where=where, roles=None, name="x")

    told = roles_of_plans(found, IMAGES, {(0, 1): {"img/a"}})

    assert told.set_index(["fold", "image_id"])["role"].to_dict() == {
        (0, "img/a"): "held_out", (0, "img/b"): "held_out", (0, "img/c"): "excluded",
        (1, "img/a"): "train", (1, "img/b"): "excluded", (1, "img/c"): "held_out"}


@pytest.mark.parametrize(("name", "text"), [
    ("list.txt", "img/a\n"), ("list.txt", "/home/me/img/a.jpg\n"), ("list.txt", "a.png\n\n"),
    ("list.csv", "image_id\nimg/a\n"), ("list.csv", "image_path,fold\nimg/a.png,1\nimg/c.png,0\n"),
    ("list.csv", "image_id,role\nimg/a,train\nimg/b,held_out\n"),
    ("list.json", json.dumps([{"train": ["c"], "val": ["a"]}, {"train": ["a"], "val": ["c"]}])),
])
def test_training_lists_are_read_in_many_shapes(tmp_path: Path, name: str, text: str):
    """All say that fold 1 was trained on a, or on a of all folds; a is of the group of b."""
    (tmp_path / name).write_text(text)
    cell = {"candidate": "x", "repeat": 0, "fold": 1, "seed": 0}

    proof = check_held_out(IMAGES[IMAGES["image_id"] == "img/b"], IMAGES, str(tmp_path / name), **cell)
    assert proof.trained == {"img/a"} and proof.torn_groups == ("g1",)

    with pytest.raises(ScoreError, match="images that are scored were trained on: img/a"):
        check_held_out(IMAGES, IMAGES, str(tmp_path / name), **cell)


@pytest.mark.parametrize(("text", "message"), [("img/z\n", "none of its 1 names"), ("\n", "lists no training image")])
def test_a_list_that_proves_nothing_is_refused(tmp_path: Path, text: str, message: str):
    (tmp_path / "list.txt").write_text(text)

    with pytest.raises((ScoreError, TableError), match=message):
        check_held_out(IMAGES, IMAGES, f"{tmp_path}/list.txt", candidate="x", repeat=0, fold=0, seed=0)


def test_a_name_that_two_images_bear_is_refused(tmp_path: Path):
    """Eight folders of one public set each hold an image_part_001."""
    images = pd.DataFrame({"image_id": ["t1/p", "t2/p"], "group_id": ["t1", "t2"]})
    (tmp_path / "list.txt").write_text("p.png\n")

    with pytest.raises(ScoreError, match="t1/p or t2/p"):
        check_held_out(images, images, f"{tmp_path}/list.txt", candidate="x", repeat=0, fold=0, seed=0)
