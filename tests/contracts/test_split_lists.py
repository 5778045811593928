"""Every list that a split writes for other tools reads back as the same folds, whichever splitter cut them."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import pandas as pd
import pytest

from segcv.errors import SegcvWarning, SplitError
from segcv.splits import SPLITTERS, cut_roles, groups_on_two_sides, roles_from_table, write_split
from segcv.tables import EXCLUDED, HELD_OUT, TRAIN

TABLE = pd.DataFrame({
    "image_id": [f"images/{strip}_{tile}_0000" for strip in range(8) for tile in range(3)],
    "group_id": [f"s{strip}" for strip in range(8) for _ in range(3)],
    "time": [f"2024-{1 + strip + (strip % 2) * tile}-{1 + tile}" for strip in range(8) for tile in range(3)],
    "x": [10.0 * tile for _ in range(8) for tile in range(3)], "w": 10.0,
    "y": [8.0 * strip for strip in range(8) for _ in range(3)], "h": 10.0,
})
MASKS = pd.DataFrame({"image_id": TABLE["image_id"], "class_id": 0, "pixels": 100})


def images_in(folder: Path) -> pd.DataFrame:
    names = TABLE["image_id"].str.removeprefix("images/").str.removesuffix("_0000")
    return TABLE.assign(image_path=[str(folder / f"{image_id}.png") for image_id in TABLE["image_id"]],
                        mask_path=[str(folder / f"labels/{name}.png") for name in names])


def written(folder: Path, name: str, **choices: object) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The images, and the roles of a split that was written into `folder`/split."""
    images = images_in(folder / "data")
    known = SPLITTERS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SegcvWarning)
        roles = cut_roles(images, MASKS, splitter=name, folds=3 if known.counts_folds else None, seed=0,
                          **{"repeats": 2 if known.seeded else 1} | choices)
    profile = pd.DataFrame({"image_id": images["image_id"], "image_hash": "i", "mask_hash": "m", "height": 10,
                            "width": 10, "bands": 1, "dtype": "uint8", "brightness": 1.0, "contrast": 1.0,
                            "nodata_share": 0.0})
    write_split(folder / "split", images=images, roles=roles, profile=profile, masks=MASKS, data_id="d",
                leaking=known.leaking, settings={}, seed=0, target="equal_group", class_names=["soil"],
                held_out_once=known.held_out_once, known_groups=known.known_groups)
    return images, roles


def sides(roles: pd.DataFrame) -> pd.DataFrame:
    """The roles without the reasons, which no list holds."""
    table = roles.sort_values(["repeat", "fold", "image_id"], ignore_index=True)
    return table[["repeat", "fold", "image_id", "group_id", "role", *(c for c in ("train_count",) if c in table)]]


@pytest.mark.filterwarnings("ignore:.*in no list:segcv.errors.SegcvWarning")     # known_groups excludes a new group
@pytest.mark.parametrize("name", SPLITTERS)
def test_folders_of_lists_and_nnunet_files_read_back_as_the_same_folds(name, tmp_path: Path):
    images, roles = written(tmp_path, name)
    first = sides(roles[roles["repeat"] == 0])

    pd.testing.assert_frame_equal(sides(roles_from_table(tmp_path / "split", images)), sides(roles))
    pd.testing.assert_frame_equal(sides(roles_from_table(tmp_path / "split/lists", images)), first)
    pd.testing.assert_frame_equal(sides(roles_from_table(tmp_path / "split/splits_final.json", images)), first)


@pytest.mark.parametrize("form", ["", "lists", "splits_final.json"])
def test_counts_of_a_bootstrap_survive(form: str, tmp_path: Path):
    images, roles = written(tmp_path, "group_kfold", bootstrap=True, repeats=1)

    assert roles["train_count"].max() > 1
    pd.testing.assert_frame_equal(sides(roles_from_table(tmp_path / "split" / form, images)), sides(roles))


def test_nnunet_gets_the_names_of_its_label_files(tmp_path: Path):
    """labelsTr holds CASE.png and imagesTr CASE_0000.png: the file lists CASE."""
    written(tmp_path, "leave_one_group_out")
    folds = json.loads((tmp_path / "split/splits_final.json").read_text())

    assert len(folds) == 8
    assert folds[1]["val"] == ["1_0", "1_1", "1_2"]
    assert len(folds[1]["train"]) == 21


def test_text_lists_hold_paths_from_where_they_lie(tmp_path: Path):
    images, _ = written(tmp_path, "leave_one_group_out")
    listed = tmp_path / "split/lists/fold_1_val.txt"

    paths = [(listed.parent / line).resolve() for line in listed.read_text().splitlines()]
    assert paths == [Path(path) for path in images["image_path"][3:6]]


def test_images_that_no_list_holds_are_left_out_and_warned(tmp_path: Path):
    images, roles = written(tmp_path, "group_kfold", repeats=1, locked_groups=["s2"])

    with pytest.warns(SegcvWarning, match="3 of 24 images of the table are in no list"):
        found = roles_from_table(tmp_path / "split", images)
    pd.testing.assert_frame_equal(sides(found), sides(roles))
    assert set(found.loc[found["role"] == EXCLUDED, "reason"]) == {"not listed"}


def test_lists_that_tear_a_group_are_read_and_seen_to(tmp_path: Path):
    """Folds of other tools may leak: that is found, not repaired."""
    images = images_in(tmp_path)
    names = [Path(path).stem for path in images["mask_path"]]
    (tmp_path / "s.json").write_text(json.dumps([{"train": names[1:], "val": names[:1]}]))

    assert groups_on_two_sides(roles_from_table(tmp_path / "s.json", images))["group_id"].tolist() == ["s0"]
    with pytest.raises(SplitError, match="group s0 is on two sides"):
        roles_from_table(tmp_path / "s.json", images, leaking=False)


@pytest.mark.parametrize(("folds", "message"), [
    ([{"train": ["0_0"], "val": ["0_1", "9_9"]}], "1 of its 2 names are not in the table"),
    ([{"train": ["0_0", "0_1"], "val": ["0_1"]}], "0_1_0000 is on both sides of repeat 0, fold 0"),
    ([{"train": ["0_0"], "val": ["0_1", "0_1"]}], "0_1_0000 is held out more than once"),
    ([{"train": ["0_0"], "test": ["0_1"]}], r'entry 0 is not \{"train"'),
    ([{"train": [], "val": ["0_1"]}], "no train image"),
    ([], "holds no fold"),
])
@pytest.mark.filterwarnings("ignore::segcv.errors.SegcvWarning")
def test_lists_that_cannot_be_folds_are_refused_by_name(folds, message, tmp_path: Path):
    (tmp_path / "s.json").write_text(json.dumps(folds))

    with pytest.raises(SplitError, match=message):
        roles_from_table(tmp_path / "s.json", images_in(tmp_path))


def test_a_folder_without_lists_and_a_list_without_its_partner_are_refused(tmp_path: Path):
    with pytest.raises(SplitError, match="there is no fold_0_val"):
        roles_from_table(tmp_path, images_in(tmp_path))
    (tmp_path / "fold_0_val.txt").write_text("images/0_0_0000\n")
    with pytest.raises(SplitError, match=r"fold_0_train\.txt: this list is missing"):
        roles_from_table(tmp_path, images_in(tmp_path))


def test_a_count_that_is_none_is_refused(tmp_path: Path):
    (tmp_path / "fold_0_val.csv").write_text("image_id\nimages/0_0_0000\n")
    (tmp_path / "fold_0_train.csv").write_text("image_id,train_count\nimages/1_0_0000,0\n")

    with pytest.raises(SplitError, match="train_count '0' is not a whole number from 1 on"):
        roles_from_table(tmp_path, images_in(tmp_path))


def test_no_list_holds_an_image_that_trains_and_is_held_out(tmp_path: Path):
    _, roles = written(tmp_path, "blocks")
    for fold in range(3):
        train, val = (set(pd.read_csv(tmp_path / f"split/fold_{fold}_{side}.csv")["image_id"])
                      for side in ("train", "val"))
        here = roles[roles["fold"] == fold]
        assert train == set(here.loc[here["role"] == TRAIN, "image_id"])
        assert val == set(here.loc[here["role"] == HELD_OUT, "image_id"])
        assert here["role"].eq(EXCLUDED).any()
