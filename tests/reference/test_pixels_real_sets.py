"""The four real sets: encodings and pixel shares as their notes describe them, on a sample of files."""

from __future__ import annotations

from pathlib import Path

import imagehash
import numpy as np
import pytest
from PIL import Image

from segcv.errors import MaskError
from segcv.pixels import LabelMap, check_data, label_map, look, read_image
from segcv.tables import read_images

DUBAI = {"3C1098": 0, "8429F6": 1, "6EC1E4": 2, "FEDD3A": 3, "E2A929": 4, "9B9B9B": 255}
SETS = {
    "camvid": (label_map(num_classes=11, ignore=11), 3, "uint8"),
    "crackforest": (label_map(num_classes=2, values={1: 0, 2: 1, 3: 255, 4: 255}), 3, "uint8"),
    "dubai": (label_map(num_classes=5, colors=DUBAI | {"000000": 255}), 3, "uint8"),
    "hippocampus": (label_map(num_classes=3), 1, "uint16"),
}
EVERY = {"camvid": 12, "crackforest": 6, "dubai": 9, "hippocampus": 8}        # of so many rows one, to stay fast


@pytest.mark.parametrize("name", SETS)
def test_a_sample_of_each_set_passes_the_check(shared: Path, name: str):
    """Sizes agree in all four sets; bands and types are those of the notes."""
    labels, bands, dtype = SETS[name]
    images = read_images(shared / "data" / name / "dataset.csv").iloc[::EVERY[name]]

    profile = check_data(images, labels, workers=2)

    assert set(zip(profile.images["bands"], profile.images["dtype"], strict=True)) == {(bands, dtype)}
    pixels = (profile.images["height"] * profile.images["width"]).sum()
    assert profile.masks["pixels"].sum() == pixels


def test_hippocampus_shares_are_those_of_its_notes(shared: Path):
    """All 560 files are tiny: 94.8077, 2.6086 and 2.5837 % of the pixels."""
    images = read_images(shared / "data/hippocampus/dataset.csv")
    masks = check_data(images, SETS["hippocampus"][0], workers=2).masks
    shares = 100 * masks.groupby("class_id")["pixels"].sum() / masks["pixels"].sum()

    assert shares[[0, 1, 2]].round(4).tolist() == [94.8077, 2.6086, 2.5837]


def test_dubai_palette_and_rgb_masks_are_decoded_by_the_same_colours(shared: Path):
    """Second method: Pillow's own conversion to RGB, compared colour by colour."""
    images = read_images(shared / "data/dubai/dataset.csv")
    labels = SETS["dubai"][0]
    assert labels.colors is not None
    for mode in ("P", "RGB"):
        path = Path(images.loc[images["mask_mode"] == mode, "mask_path"].iloc[0])
        with Image.open(path) as picture:
            colours = np.asarray(picture.convert("RGB"))
        read = labels.read(path)
        for color, to in labels.colors.items():
            assert ((colours == color).all(axis=2) <= (read == to)).all()


def test_the_undeclared_black_of_dubai_is_reported(shared: Path):
    """#000000 is in no legend and covers pixels of 9 masks."""
    undeclared = label_map(num_classes=5, colors=DUBAI)
    images = read_images(shared / "data/dubai/dataset.csv")
    found = 0
    for path in images.loc[images["group_id"] == "tile8", "mask_path"]:
        try:
            undeclared.read(Path(path))
        except MaskError as error:
            assert "#000000" in str(error)
            found += 1

    assert found > 0


@pytest.mark.parametrize("name", ["camvid", "crackforest"])
def test_hashes_of_real_pictures_are_those_of_the_imagehash_library(shared: Path, name: str):
    """Second method: imagehash on the opened file."""
    for path in read_images(shared / "data" / name / "dataset.csv")["image_path"].iloc[::25]:
        with Image.open(path) as picture:
            assert look(read_image(Path(path))).phash == int(str(imagehash.phash(picture)), 16)


@pytest.mark.parametrize(("case", "labels", "pixels"), [
    ("D01", label_map(num_classes=3), {-1: 32, 0: 168, 1: 32, 2: 24}),
    ("D03", label_map(num_classes=3, colors={"000000": 0, "FF0000": 1, "0000FF": 2}), {-1: 0, 0: 192, 1: 48, 2: 16}),
    ("D07", label_map(num_classes=4, values={0: 0, 1: 1, 256: 2, 300: 3}), {-1: 0, 0: 126, 1: 24, 2: 18, 3: 24}),
    ("D30", label_map(num_classes=2), {-1: 0, 0: 220, 1: 36}),
])
def test_cases_of_mask_encodings_are_counted_as_they_say(shared: Path, case: str, labels: LabelMap,
                                                         pixels: dict[int, int]):
    """The numbers stand in the cases' own case.json."""
    masks = check_data(read_images(shared / "cases" / case / "dataset.csv"), labels).masks

    assert masks.groupby("class_id")["pixels"].sum().to_dict() == pixels
