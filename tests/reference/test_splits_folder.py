"""The split folder: what is written can be read back, and whatever was changed is refused by name."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from segcv.errors import SplitError
from segcv.splits import check_split_fits, cut_roles, fold_roles, read_split, split_id_of, write_split
from segcv.tables import HELD_OUT, TRAIN, make_once, read_csv, read_images


def images_in(folder: Path) -> pd.DataFrame:
    ids = [f"{group}{n}" for group in "abcd" for n in range(3)]
    return pd.DataFrame({
        "image_id": ids, "image_path": [str(folder / "images" / f"{image_id}.png") for image_id in ids],
        "mask_path": [str(folder / "masks" / f"{image_id}.png") for image_id in ids],
        "group_id": [image_id[0] for image_id in ids], "group_evidence": "column"}).astype("str")


def profile_of(images: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame({"image_id": images["image_id"], "image_hash": "i" + images["image_id"],
                         "mask_hash": "m" + images["image_id"], "height": 4, "width": 4, "bands": 3, "dtype": "uint8",
                         "brightness": 1.0, "contrast": 1.0, "nodata_share": 0.0})


def masks_of(images: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame({"image_id": images["image_id"], "class_id": 0, "pixels": 16})


@pytest.fixture
def data(tmp_path: Path) -> pd.DataFrame:
    return images_in(tmp_path / "data")


def write(folder: Path, images: pd.DataFrame, **choices: object) -> str:
    roles = cut_roles(images, masks_of(images), splitter="group_kfold", folds=4, repeats=1, seed=0)
    settings = {"roles": roles, "profile": profile_of(images), "masks": masks_of(images), "data_id": "data",
                "leaking": False, "settings": {"name": "group_kfold", "folds": 4}, "seed": 0, "target": "equal_group",
                "class_names": ["soil"], "notes": ["said while cutting"]}
    return write_split(folder, images=images, **(settings | choices))


def test_a_split_reads_back_as_it_was_written(tmp_path, data):
    split_id = write(tmp_path / "split", data)
    split = read_split(tmp_path / "split")

    assert split.split_id == split_id == split_id_of("data", split.roles.sample(frac=1, random_state=0))
    assert (split.repeats, split.folds, split.seed, split.leaking) == (1, 4, 0, False)
    assert (split.target, split.class_names, split.notes) == ("equal_group", ("soil",), ("said while cutting",))
    pd.testing.assert_frame_equal(split.images, data)
    assert {"numpy", "python", "segcv"} <= set(split.manifest["software"])
    assert len(split.manifest["balance"]) == 8
    check_split_fits(split, data, data_id="data", profile=profile_of(data))


def test_the_roles_of_a_fold_are_an_images_table(tmp_path, data):
    write(tmp_path / "split", data)
    rows = fold_roles(read_split(tmp_path / "split"), 0, 2)

    assert rows["role"].value_counts().to_dict() == {TRAIN: 9, HELD_OUT: 3}
    assert rows["image_path"].map(lambda path: Path(path).is_absolute()).all()


def test_a_fold_that_does_not_exist_is_refused_with_those_that_do(tmp_path, data):
    write(tmp_path / "split", data)

    with pytest.raises(SplitError, match=r"fold=4 is not in .*holds folds 0 to 3.*split\.folds=5"):
        fold_roles(read_split(tmp_path / "split"), 0, 4)


def test_lists_for_people_are_tables_of_their_own(tmp_path, data):
    """Paths in them lead to the files from where the folder comes to lie, though it was written elsewhere."""
    final = tmp_path / "deep" / "split"
    make_once(final, lambda beside: write(beside, data, seen_from=final) and None)
    train, held_out = (read_images(final / f"fold_0_{name}.csv") for name in ("train", "val"))

    assert list(read_csv(final / "fold_0_val.csv").columns) == ["image_path", "mask_path", "image_id", "group_id"]
    assert sorted([*train["image_id"], *held_out["image_id"]]) == sorted(data["image_id"])
    assert set(held_out["image_path"]) <= set(data["image_path"])
    assert set(read_split(final).images["mask_path"]) == set(data["mask_path"])


def test_lists_of_further_repeats_lie_in_their_own_folder(tmp_path, data):
    """Their paths are relative to that folder; read_images makes them absolute again."""
    roles = cut_roles(data, None, splitter="group_kfold", folds=2, repeats=2, seed=0)
    write(tmp_path / "split", data, roles=roles)
    held_out = [read_images(tmp_path / "split/repeat-1" / f"fold_{fold}_val.csv") for fold in range(2)]
    split = read_split(tmp_path / "split")

    assert (split.repeats, split.folds) == (2, 2)
    assert sorted(path for table in held_out for path in table["image_path"]) == sorted(data["image_path"])


def test_the_same_roles_have_the_same_id_wherever_the_files_lie(tmp_path, data):
    moved = images_in(tmp_path / "elsewhere")

    assert write(tmp_path / "one", data) == write(tmp_path / "two", moved.sample(frac=1, random_state=0))
    assert write(tmp_path / "one", data) != write(tmp_path / "three", data, data_id="other")


def test_a_changed_role_is_refused_with_the_file(tmp_path, data):
    write(tmp_path / "split", data)
    path = tmp_path / "split/roles/repeat-0/fold-1.parquet"
    rows = pd.read_parquet(path)
    rows.assign(role=rows["role"].replace({HELD_OUT: TRAIN})).to_parquet(path)

    with pytest.raises(SplitError, match=r"fold-1\.parquet was changed after the split was cut: a role"):
        read_split(tmp_path / "split")


@pytest.mark.parametrize(("name", "message"), [
    ("manifest.json", "there is no split here"),
    ("images.csv", "images.csv is missing"),
    ("roles/repeat-0/fold-2.parquet", "fold-2.parquet is missing"),
    ("mask_profile.parquet", "mask_profile.parquet is missing"),
])
def test_a_missing_file_is_refused_by_name(tmp_path, data, name, message):
    write(tmp_path / "split", data)
    (tmp_path / "split" / name).unlink()

    with pytest.raises(SplitError, match=message):
        read_split(tmp_path / "split")


def test_a_damaged_file_is_refused_by_name(tmp_path, data):
    write(tmp_path / "split", data)
    path = tmp_path / "split/roles/repeat-0/fold-2.parquet"
    path.write_bytes(path.read_bytes()[:100])

    with pytest.raises(SplitError, match=r"fold-2\.parquet is damaged"):
        read_split(tmp_path / "split")


def test_a_fold_that_was_added_is_refused_by_name(tmp_path, data):
    write(tmp_path / "split", data)
    roles = tmp_path / "split/roles/repeat-0"
    (roles / "fold-4.parquet").write_bytes((roles / "fold-3.parquet").read_bytes())

    with pytest.raises(SplitError, match=r"fold-4\.parquet is not part of this split"):
        read_split(tmp_path / "split")


def test_a_regrouped_images_table_is_refused(tmp_path, data):
    write(tmp_path / "split", data)
    path = tmp_path / "split/images.csv"
    path.write_text(path.read_text().replace(",a,column", ",b,column", 1))

    with pytest.raises(SplitError, match=r"images\.csv was changed.*group of an image"):
        read_split(tmp_path / "split")


def test_a_manifest_of_another_split_is_refused(tmp_path, data):
    write(tmp_path / "split", data)
    path = tmp_path / "split/manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"data_id": "other"}))

    with pytest.raises(SplitError, match=r"manifest\.json: split_id .* does not match"):
        read_split(tmp_path / "split")


def test_a_table_with_other_images_does_not_fit(tmp_path, data):
    write(tmp_path / "split", data)
    split = read_split(tmp_path / "split")
    grown = pd.concat([data[1:], data[:1].assign(image_id="z9")])

    with pytest.raises(SplitError, match=r"manifest\.json: the split does not match the table: "
                                         r"1 images were added \(z9\); 1 images were removed \(a0\)"):
        check_split_fits(split, grown)


def test_other_content_does_not_fit(tmp_path, data):
    write(tmp_path / "split", data)
    split = read_split(tmp_path / "split")
    profile = profile_of(data)
    profile.loc[4, "mask_hash"] = "new"

    with pytest.raises(SplitError, match=r"1 masks have changed content \(b1\)"):
        check_split_fits(split, data, data_id="new", profile=profile)
    with pytest.raises(SplitError, match=r"the data changed \(data_id data when it was cut, now new"):
        check_split_fits(split, data, data_id="new")


def test_another_group_column_does_not_fit(tmp_path, data):
    write(tmp_path / "split", data)
    split = read_split(tmp_path / "split")

    with pytest.raises(SplitError, match=r"1 images have a changed group_id \(a0: 'a' when it was cut, now 'b'\)"):
        check_split_fits(split, data.assign(group_id=["b", *data["group_id"][1:]]))
