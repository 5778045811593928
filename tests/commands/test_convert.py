"""python -m segcv.convert as a user types it, and annotation files given to a command that needs masks."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from segcv.errors import ConfigError, SegcvWarning
from segcv.settings import AnnotationSettings, DataSettings
from segcv.study import images_table
from tests.tiny_annotations import box, corners, write_coco, write_image, write_labelme

CLASSES = "data.classes=[background,cat,dog]"


def segcv(folder: Path, name: str, *overrides: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([sys.executable, "-m", f"segcv.{name}", *overrides], cwd=folder, capture_output=True,
                          text=True)
    assert done.returncode == code, done.stdout + done.stderr
    return done


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """Four photos of 16 x 16 with their LabelMe files beside them in another folder: a cat of 3 x 3 pixels in each."""
    for number in range(4):
        write_image(tmp_path / "photos" / f"{number}.png", 16, 16)
        write_labelme(tmp_path / "drawn" / f"{number}.json", [{"label": "cat", "points": corners(1, 1, 3, 3)}],
                      image=f"../photos/{number}.png")
    return tmp_path


def test_a_converted_folder_is_whole_goes_on_to_a_split_and_is_never_overwritten(photos: Path):
    """By hand: 4 images of 256 pixels, 9 of them cat."""
    given = ["data.images=photos", "data.masks=drawn", "data.annotations.format=labelme"]
    assert "'data.classes=[background,cat]'" in segcv(photos, "convert", *given, "out=new", code=1).stderr
    assert "out must be given" in segcv(photos, "convert", *given, CLASSES, code=1).stderr

    done = segcv(photos, "convert", *given, CLASSES, "out=new")

    assert f"data.table=new/images.csv '{CLASSES}'" in done.stdout
    classes = pd.read_csv(photos / "new/classes.csv")
    assert classes.to_dict("list") == {
        "class_id": [0, 1, 2, -1], "class": ["background", "cat", "dog", "ignored"], "pixels": [988, 36, 0, 0],
        "images": [4, 4, 0, 0]}
    table = pd.read_csv(photos / "new/images.csv", dtype=str)
    assert table["image_path"].tolist()[0] == "../photos/0.png" and table["mask_path"].tolist()[0] == "masks/0.png"
    assert json.loads((photos / "new/conversion.json").read_text())["format"] == "labelme"
    assert {path.name for path in photos.iterdir()} - {".new.lock"} == {"photos", "drawn", "new"}

    before = (photos / "new/classes.csv").stat()
    assert "is there already" in segcv(photos, "convert", *given, CLASSES, "out=new", code=1).stderr
    assert (photos / "new/classes.csv").stat() == before
    fresh = ["group.near_duplicates=null", "split.folds=2"]
    assert "4 images" in segcv(photos, "split", "data.table=new/images.csv", CLASSES, *fresh).stdout


def test_a_command_that_needs_masks_takes_annotations_and_draws_them_once(photos: Path):
    """What `convert` writes is what `split` reads; when a file changes, its masks are drawn anew, beside the old."""
    data = DataSettings(images=str(photos / "photos"), masks=str(photos / "drawn"), classes=["background", "cat"],
                        annotations=AnnotationSettings(format="labelme"))

    def masks() -> list[Path]:
        return [Path(path) for path in images_table(data, cache=photos / "cache")["mask_path"]]

    first = masks()
    assert np.asarray(Image.open(first[0])).sum() == 9 and len(first) == 4
    assert masks() == first
    write_labelme(photos / "drawn" / "0.json", [{"label": "cat", "points": corners(0, 0, 3, 3)}], image="0.png")
    again = masks()

    assert again[0] != first[0] and first[0].exists()
    assert np.asarray(Image.open(again[0])).sum() == 16


def test_one_coco_file_describes_a_folder_of_images(tmp_path: Path):
    write_image(tmp_path / "photos" / "a.png", 4, 6)
    write_coco(tmp_path / "a.json", [{"segmentation": [box(0, 0, 2, 2)]}])
    data = DataSettings(images=str(tmp_path / "photos"), masks=str(tmp_path / "a.json"), classes=["background", "cat"],
                        annotations=AnnotationSettings(format="coco"))

    table = images_table(data, cache=tmp_path / "cache")

    assert table["image_id"].tolist() == ["a"]
    assert np.asarray(Image.open(table["mask_path"][0])).sum() == 4


@pytest.mark.parametrize(("settings", "said"), [
    ({"annotations": AnnotationSettings(overlap="smaller")}, "data.annotations.overlap has an effect with"),
    ({"annotations": AnnotationSettings(format="coco"), "classes": ["background", "cat"]}, "data.table=FILE"),
    ({"annotations": AnnotationSettings(format="coco"), "images": "photos", "masks": "a.json", "mask_suffix": "_m"},
     "no effect"),
])
def test_settings_without_effect_are_refused(tmp_path: Path, settings: dict[str, object], said: str):
    with pytest.raises(ConfigError) as caught:
        images_table(DataSettings(**settings), cache=tmp_path)

    assert said in str(caught.value)


def test_what_was_decided_is_said_once_when_the_masks_are_drawn(tmp_path: Path):
    write_image(tmp_path / "photos" / "a.png", 4, 6)
    write_coco(tmp_path / "a.json", [{"iscrowd": 1, "segmentation": [box(0, 0, 2, 2)]}])
    data = DataSettings(images=str(tmp_path / "photos"), masks=str(tmp_path / "a.json"), classes=["background", "cat"],
                        annotations=AnnotationSettings(format="coco"))

    with pytest.warns(SegcvWarning, match="1 crowd regions"):
        images_table(data, cache=tmp_path / "cache")
    images_table(data, cache=tmp_path / "cache")                             # warnings are errors in tests


def test_a_split_made_of_other_annotations_is_refused(photos: Path):
    """The masks that a split was made of are not the ones that the changed file describes; changed back, they are."""
    given = ["data.images=photos", "data.masks=drawn", "data.annotations.format=labelme",
             "data.classes=[background,cat]", "group.near_duplicates=null", "split.folds=2"]
    segcv(photos, "split", *given)
    before = (photos / "drawn/2.json").read_text()
    write_labelme(photos / "drawn" / "2.json", [{"label": "cat", "points": corners(0, 0, 3, 3)}], image="2.png")

    assert "images or masks have changed since it was made (2)" in segcv(photos, "split", *given, code=1).stderr
    (photos / "drawn/2.json").write_text(before)
    assert "Found" in segcv(photos, "split", *given).stdout
