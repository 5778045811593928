"""Folds as others write them, read as they are meant, and refused when they cannot be matched."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from segcv.errors import SegcvWarning, SplitError
from segcv.leakage import (
    CHECKS,
    Facts,
    Folds,
    audit,
    facts_of,
    folds_of_column,
    is_ledger,
    read_folds,
    read_ledger,
    refuse_two_folds,
)


@pytest.fixture
def images(tmp_path: Path) -> pd.DataFrame:
    """Six images a..f below the folder pictures."""
    ids = [f"pictures/{letter}" for letter in "abcdef"]
    return pd.DataFrame({"image_id": ids, "image_path": [str(tmp_path / f"{one}.png") for one in ids],
                         "mask_path": "m.png", "group_id": list("ababab")})


def sides(folds: Folds) -> dict[str, tuple[str, str]]:
    """Fold -> letters of the training and of the held-out images."""
    letters = np.array(list("abcdef"))
    return {fold.label: ("".join(letters[fold.train]), "".join(letters[fold.held_out])) for fold in folds}


def test_numbers_are_folds_that_are_held_out_in_turn(images: pd.DataFrame):
    found = folds_of_column(images.assign(k=["0", "1", "2", "0", "1", "2"]), "k")

    assert sides(found) == {"fold 0": ("bcef", "ad"), "fold 1": ("acdf", "be"), "fold 2": ("abde", "cf")}
    assert found.each_once and found.held_out == 6


@pytest.mark.parametrize("values", [["1", "2", "1", "2", "1", "2"], ["fold_1", "fold_2"] * 3, ["1.0", "2.0"] * 3])
def test_folds_may_count_from_any_number_and_be_written_in_words(images: pd.DataFrame, values: list[str]):
    assert sides(folds_of_column(images.assign(k=values), "k")) == {"fold 1": ("bdf", "ace"), "fold 2": ("ace", "bdf")}


def test_minus_one_always_trains(images: pd.DataFrame):
    """As in scikit-learn's PredefinedSplit."""
    found = folds_of_column(images.assign(k=["-1", "-1", "0", "0", "1", "1"]), "k")

    assert sides(found) == {"fold 0": ("abef", "cd"), "fold 1": ("abcd", "ef")}
    assert not found.each_once


def test_validation_counts_as_seen_when_test_is_judged(images: pd.DataFrame):
    """Val chooses the model, so test is held against train and val; a blank is neither."""
    found = folds_of_column(images.assign(k=["train", "Train", "val", "val", "test", ""]), "k")

    assert sides(found) == {"val": ("ab", "cd"), "test": ("abcd", "e")}


def test_other_words_are_names_of_folds(images: pd.DataFrame):
    found = folds_of_column(images.assign(k=["north", "south"] * 3), "k")

    assert sides(found) == {"fold north": ("bdf", "ace"), "fold south": ("ace", "bdf")}


def test_a_column_with_one_value_has_no_two_sides(images: pd.DataFrame):
    with pytest.raises(SplitError, match="holds 3 only"):
        folds_of_column(images.assign(k="3"), "k")
    with pytest.raises(SplitError, match="nothing is held out"):
        folds_of_column(images.assign(k="train"), "k")


@pytest.mark.parametrize("names", ["pictures/{}", "pictures/{}.png", "{}.jpg", "{}"],
                         ids=["ids", "paths", "file names", "bare names"])
def test_a_file_of_folds_names_images_in_any_usual_way(tmp_path: Path, images: pd.DataFrame, names: str):
    path = tmp_path / "folds.csv"
    pd.DataFrame({"image_path": [names.format(letter) for letter in "fedcba"],
                  "fold": [1, 1, 1, 0, 0, 0]}).to_csv(path, index=False)

    assert sides(read_folds(path, images)) == {"fold 0": ("def", "abc"), "fold 1": ("abc", "def")}


def test_a_table_of_roles_may_list_a_training_image_twice_and_both_sides(tmp_path: Path, images: pd.DataFrame):
    """Drawn twice for training is right; the image c on both sides is for a check to find, not for the reader."""
    path = tmp_path / "roles.csv"
    rows = [("pictures/a", "train"), ("pictures/a", "train"), ("pictures/b", "train"), ("pictures/c", "train"),
            ("pictures/c", "held_out"), ("pictures/d", "held_out"), ("pictures/e", "excluded")]
    pd.DataFrame(rows, columns=["image_id", "role"]).assign(repeat=0, fold=0).to_csv(path, index=False)

    folds = read_folds(path, images)
    assert sides(folds) == {"fold 0": ("abc", "cd")}
    found = [one.check for one in audit(facts_of(images.assign(group_id=""), folds=folds)).findings]
    assert found == ["sides_disjoint"]


def test_an_image_in_two_folds_is_held_out_twice(tmp_path: Path, images: pd.DataFrame):
    path = tmp_path / "folds.csv"
    pd.DataFrame({"image_id": [f"pictures/{letter}" for letter in "abcdefa"],
                  "fold": [0, 0, 0, 1, 1, 1, 1]}).to_csv(path, index=False)

    folds = read_folds(path, images)
    assert sides(folds) == {"fold 0": ("def", "abc"), "fold 1": ("bc", "adef")}
    assert [one.subject for one in CHECKS["held_out_once"].find(facts_of(images, folds=folds))] == [
        "repeat 0, held out twice"]


def test_nnunets_and_our_own_json_files_are_read(tmp_path: Path, images: pd.DataFrame):
    nnunet, own = tmp_path / "splits_final.json", tmp_path / "folds.json"
    nnunet.write_text(json.dumps([{"train": ["a", "b", "c"], "val": ["d", "e", "f"]},
                                  {"train": ["d", "e", "f"], "val": ["a", "b", "c"]}]))
    own.write_text(json.dumps({"fold": {f"pictures/{letter}": k // 3 for k, letter in enumerate("abcdef")}}))

    assert sides(read_folds(nnunet, images)) == {"fold 0": ("abc", "def"), "fold 1": ("def", "abc")}
    assert sides(read_folds(own, images)) == {"fold 0": ("def", "abc"), "fold 1": ("abc", "def")}


@pytest.mark.parametrize(("text", "message"), [
    ("image_id,fold\nz,0\n", "1 of its 1 rows are not in the images table"),
    ("picture,fold\na,0\n", "needs image_id or image_path"),
    ("image_id,fold\n", "no row below the header"),
    ("image_id,role,fold\npictures/a,train,one\n", "fold is 'one' in line 2"),
])
def test_a_file_that_cannot_be_matched_is_refused(tmp_path: Path, images: pd.DataFrame, text: str, message: str):
    path = tmp_path / "folds.csv"
    path.write_text(text)

    with pytest.raises(SplitError, match=message):
        read_folds(path, images)


def ledger_of(tmp_path: Path, text: str) -> Facts:
    path = tmp_path / "ledger.csv"
    path.write_text(text)
    assert is_ledger(path)
    return Facts(ledger=read_ledger(path))


def test_other_roles_in_other_outer_folds_are_right(tmp_path: Path):
    """Each unit judges once and helps elsewhere; within an outer fold, inner folds take turns."""
    facts = ledger_of(tmp_path, "outer,inner,group_id,role\n"
                                "0,0,a,B\n0,1,a,V\n0,0,b,V\n0,1,b,B\n0,,c,O\n1,0,c,B\n1,,a,O\n")

    assert audit(facts).findings == ()


@pytest.mark.parametrize(("text", "subject", "said"), [
    ("outer_fold,unit,role\n0,a,O\n0,a,C\n", "outer", "a in outer fold 0 (roles C and O): used for calibration"),
    ("fit_id,outer,group_id,role\nx,0,a,B\nx,0,a,C\n", "fit", "a in x (roles B and C): one unit in two parts"),
])
def test_a_unit_that_plays_two_parts_is_named(tmp_path: Path, text: str, subject: str, said: str):
    found = audit(ledger_of(tmp_path, text)).findings

    assert [(one.check, one.subject, one.severity) for one in found] == [("ledger_roles", subject, "fail")]
    assert said in found[0].what


def test_a_ledger_of_unknown_roles_is_refused(tmp_path: Path):
    path = tmp_path / "ledger.csv"
    path.write_text("outer,group_id,role\n0,a,X\n")

    assert not is_ledger(path)
    with pytest.raises(SplitError, match="role 'X' is none of B"):
        read_ledger(path)


def test_nnunet_names_masks_and_windows_writes_backslashes(images: pd.DataFrame, tmp_path: Path):
    named = images.assign(mask_path=[f"labels/case_{number}.png" for number in range(6)])
    folds = tmp_path / "splits_final.json"
    folds.write_text(json.dumps([{"train": ["case_0", "case_1"], "val": ["case_2", "pictures\\d"]}]), encoding="utf-8")

    assert sides(read_folds(folds, named)) == {"fold 0": ("ab", "cd")}


@pytest.mark.parametrize("blank", ["", "  "])
def test_an_image_without_a_fold_is_named(images: pd.DataFrame, blank: str):
    with pytest.warns(SegcvWarning, match=r"column k: 1 of 6 images have no fold, .* \(pictures/c\)"):
        found = folds_of_column(images.assign(k=["0", "1", blank, "0", "1", "0"]), "k")

    assert sides(found) == {"fold 0": ("be", "adf"), "fold 1": ("adf", "be")}


def test_a_row_listed_again_with_another_fold_is_refused(tmp_path: Path):
    """The images table is read once per image; the second row would vanish, and with it the leak."""
    table = tmp_path / "images.csv"
    table.write_text("image_path,mask_path,fold\na.png,m.png,0\nb.png,n.png,1\n./a.png,m.png,1\n", encoding="utf-8")

    with pytest.raises(SplitError, match=r"a\.png is listed more than once with different fold \('0', '1'\)"):
        refuse_two_folds(table, "fold")
    refuse_two_folds(table, "mask_path")
