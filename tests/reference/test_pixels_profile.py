"""One check of a whole data set: everything wrong in one message, everything right in one profile."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from segcv.errors import ImageFileError, MaskError, SegcvError, SegcvWarning
from segcv.pixels import changed_images, check_data, data_id, label_map
from segcv.tables import IMAGE_PROFILE, MASK_PROFILE

TWO = label_map(num_classes=2)


def data_set(folder: Path, images: list[np.ndarray], masks: list[list[list[int]]]) -> pd.DataFrame:
    rows = []
    for i, (image, mask) in enumerate(zip(images, masks, strict=True)):
        Image.fromarray(image).save(folder / f"img{i}.png")
        Image.fromarray(np.array(mask, np.uint8)).save(folder / f"m{i}.png")
        rows.append((f"id{i}", str(folder / f"img{i}.png"), str(folder / f"m{i}.png")))
    return pd.DataFrame(rows, columns=["image_id", "image_path", "mask_path"])


def rgb(*pixels: tuple[int, int, int]) -> np.ndarray:
    return np.array([pixels], np.uint8)


@pytest.fixture
def pair(tmp_path: Path) -> pd.DataFrame:
    return data_set(tmp_path, [rgb((100, 0, 0), (0, 100, 0)), rgb((0, 0, 0), (50, 50, 50))], [[[0, 1]], [[1, 255]]])


def test_a_profile_holds_what_the_files_hold(pair):
    """By hand: the greys of red 100 and green 100 are 29.9 and 58.7, mean 44.3, half their distance 14.4."""
    profile = check_data(pair, TWO)

    IMAGE_PROFILE.check(profile.images, where="profile")
    MASK_PROFILE.check(profile.masks, where="profile")
    first = profile.images.iloc[0]
    assert first[["image_id", "height", "width", "bands", "dtype"]].tolist() == ["id0", 1, 2, 3, "uint8"]
    assert first["brightness"] == pytest.approx(44.3)
    assert first["contrast"] == pytest.approx(14.4)
    assert np.isnan(first["nodata_share"])
    assert profile.masks[["image_id", "class_id", "pixels"]].to_numpy().tolist() == [
        ["id0", 0, 1], ["id0", 1, 1], ["id0", -1, 0], ["id1", 0, 0], ["id1", 1, 1], ["id1", -1, 1]]
    assert profile.masks["brightness"].tolist() == pytest.approx([29.9, 58.7, np.nan, np.nan, 0, 50], nan_ok=True)
    assert profile.looks.columns.tolist() == [
        "image_id", "height", "width", "phash", "flat", "thumbnail", "blocks", "landmarks"]
    assert profile.looks["phash"].dtype == np.uint64 and profile.looks["flat"].dtype == bool
    assert [len(thumbnail) for thumbnail in profile.looks["thumbnail"]] == [1024, 1024]


def test_a_profile_names_pixels_whatever_the_file_and_says_how_files_keep_them(tmp_path):
    """One picture as PNG, as palette PNG and lying down with EXIF orientation 6: shown alike, stored in three ways."""
    picture = rgb((0, 0, 0), (200, 0, 0), (0, 9, 0))
    images = data_set(tmp_path, [picture] * 3, [[[0, 1, 0]]] * 3)
    Image.fromarray(picture).convert("P", palette=Image.Palette.ADAPTIVE).save(images["image_path"][1])
    turned = Image.fromarray(np.rot90(picture))
    exif = turned.getexif()
    exif[274] = 6
    turned.save(images["image_path"][2], exif=exif)

    found = check_data(images, TWO).images

    assert found["image_hash"].nunique() == 3
    assert found["pixels_hash"].nunique() == found["labels_hash"].nunique() == 1
    assert found["palette"].tolist() == [False, True, False]
    assert found["orientation"].tolist() == [1, 1, 6]


def test_nodata_pixels_leave_brightness_and_are_counted(pair):
    """Of the second image one of two pixels is black in every band; the other's grey is 50."""
    second = check_data(pair, TWO, nodata=0).images.iloc[1]

    assert second["nodata_share"] == 0.5
    assert (second["brightness"], second["contrast"]) == (pytest.approx(50), pytest.approx(0))


def test_the_number_of_workers_changes_nothing(tmp_path):
    rng = np.random.default_rng(3)
    pictures, masks = rng.integers(0, 256, (12, 8, 8, 3), np.uint8), rng.integers(0, 2, (12, 8, 8))
    images = data_set(tmp_path, list(pictures), masks.tolist())

    one, many = check_data(images, TWO), check_data(images, TWO, workers=4)

    for table in ("images", "masks", "looks"):
        pd.testing.assert_frame_equal(getattr(one, table), getattr(many, table))


def test_progress_sees_every_row(pair):
    seen = []

    def watch(items, *, total, what):
        for item in items:
            seen.append((total, what))
            yield item

    check_data(pair, TWO, progress=watch)

    assert seen == [(2, "checking images and masks")] * 2


def test_all_faults_are_collected_into_one_error_that_names_five(tmp_path):
    """Seven masks with an unknown value, one missing image and one mask that is too narrow: nine faults, five named."""
    images = data_set(tmp_path, [rgb((0, 0, 0), (9, 9, 9))] * 9, [[[0, 7]]] * 7 + [[[0, 1]], [[0]]])
    (tmp_path / "img7.png").unlink()

    with pytest.raises(ImageFileError) as caught:
        check_data(images, TWO)

    said = str(caught.value)
    assert "1 of 9 images and 8 of 9 masks" in said and "and 4 more" in said
    assert all(f"m{i}.png" in said for i in range(5)) and "m5.png" not in said


def test_a_mask_of_another_size_is_named_with_both_sizes(tmp_path):
    images = data_set(tmp_path, [np.zeros((4, 3, 3), np.uint8)] * 2, [[[0, 1, 0]] * 4, [[0, 1]] * 4])

    with pytest.raises(MaskError, match=r"m1\.png: the mask is 4x2, and its image .*img1\.png is 4x3"):
        check_data(images, TWO)


def test_a_mask_drawn_on_the_stored_view_of_a_turned_photo_is_explained(tmp_path):
    exif = Image.Exif()
    exif[274] = 6
    Image.new("RGB", (6, 4)).save(tmp_path / "img0.jpg", exif=exif)
    Image.fromarray(np.eye(4, 6, dtype=np.uint8)).save(tmp_path / "m0.png")
    images = pd.DataFrame({"image_id": ["a"], "image_path": [str(tmp_path / "img0.jpg")],
                           "mask_path": [str(tmp_path / "m0.png")]})

    with pytest.raises(MaskError, match="EXIF"):
        check_data(images, TWO)


def test_images_of_several_kinds_are_refused_naming_the_odd_ones(tmp_path):
    """Three of three bands, one of one band, one of 16 bits."""
    odd = [np.zeros((1, 2), np.uint8), np.zeros((1, 2), np.uint16)]
    images = data_set(tmp_path, [*[rgb((0, 0, 0), (9, 9, 9))] * 3, *odd], [[[0, 1]]] * 5)

    with pytest.raises(ImageFileError) as caught:
        check_data(images, TWO)

    said = str(caught.value)
    assert "2 of 5 images" in said
    assert "img3.png has 1 band of uint8" in said and "img4.png has 1 band of uint16" in said
    assert "the others have 3 bands of uint8" in said


def test_the_declared_number_of_bands_is_held_to(pair):
    assert len(check_data(pair, TWO, bands=3).images) == 2
    with pytest.raises(ImageFileError, match=r"data\.bands=4\. Set data\.bands=3"):
        check_data(pair, TWO, bands=4)


def test_the_pixel_limit_holds_for_images_and_masks(pair):
    with pytest.raises(SegcvError, match=r"2 of 2 images and 2 of 2 masks(.|\n)*data\.max_pixels=2"):
        check_data(pair, TWO, max_pixels=1)


def test_masks_that_are_ignored_entirely_are_refused_only_when_all_are(tmp_path):
    image = rgb((0, 0, 0), (9, 9, 9))
    some = data_set(tmp_path, [image] * 2, [[[255, 255]], [[0, 1]]])

    assert check_data(some, TWO).masks["pixels"].sum() == 4
    with pytest.raises(MaskError, match="ignored entirely"):
        check_data(some.iloc[:1], TWO)


def test_0_and_255_masks_with_255_ignored_are_refused_unless_it_is_declared(tmp_path):
    images = data_set(tmp_path, [rgb((0, 0, 0), (9, 9, 9))] * 2, [[[0, 255]], [[0, 0]]])

    with pytest.raises(MaskError, match=r"255 is the ignore value(.|\n)*data\.values=\{0: 0, 255: 1\}"):
        check_data(images, TWO)
    assert check_data(images, label_map(num_classes=2, values={0: 0, 1: 1, 255: 255})).masks["pixels"].tolist() == [
        1, 0, 1, 2, 0, 0]


def test_masks_that_mix_0_1_and_0_255_are_warned_about(tmp_path):
    images = data_set(tmp_path, [rgb((0, 0, 0), (9, 9, 9))] * 4, [[[0, 255]], [[255, 0]], [[0, 1]], [[1, 0]]])

    with pytest.warns(SegcvWarning, match="in 2 of 4 masks 255"):
        check_data(images, TWO)


def test_rounded_masks_are_said_once(tmp_path):
    images = data_set(tmp_path, [rgb((0, 0, 0), (9, 9, 9))] * 3, [[[0, 1]]] * 3)
    for i in range(3):
        Image.fromarray(np.array([[0, 0.9999]], np.float32)).save(tmp_path / f"m{i}.tif")
    images["mask_path"] = [str(tmp_path / f"m{i}.tif") for i in range(3)]

    with pytest.warns(SegcvWarning, match="3 of 3 masks") as said:
        check_data(images, TWO)

    assert len(said) == 1


def test_floats_that_mean_no_data_are_said_once(tmp_path):
    """Two images: both with nan in one pixel, one with -9999 in another."""
    images = data_set(tmp_path, [rgb((0, 0, 0), (9, 9, 9))] * 2, [[[0, 1, 1]]] * 2)
    for i, low in enumerate((-9999, 3)):
        Image.fromarray(np.array([[low, np.nan, 1]], np.float32)).save(tmp_path / f"img{i}.tif")
    images["image_path"] = [str(tmp_path / f"img{i}.tif") for i in range(2)]

    with pytest.warns(SegcvWarning) as said:
        profile = check_data(images, TWO)

    assert [str(one.message)[:45] for one in said] == [
        "2 of 2 images hold nan or infinity in 2 pixel", "1 of 2 images hold -9999 as their smallest va"]
    assert profile.images["brightness"].tolist() == [-4999, 2]
    with pytest.warns(SegcvWarning, match="nan") as said:
        declared = check_data(images, TWO, nodata=-9999).images
    assert len(said) == 1
    assert declared["nodata_share"].tolist() == [pytest.approx(2 / 3), pytest.approx(1 / 3)]


def test_the_data_id_follows_content_and_not_place_order_or_group(pair, tmp_path):
    there = tmp_path / "elsewhere"
    there.mkdir()
    moved = pair.assign(group_id="g", **{
        column: [shutil.copy(path, there) for path in pair[column]] for column in ("image_path", "mask_path")})
    name = data_id(check_data(pair, TWO), TWO)

    assert data_id(check_data(moved.iloc[::-1], TWO), TWO) == name
    assert data_id(check_data(pair, TWO), label_map(names=["a", "b"])) != name
    assert data_id(check_data(pair.assign(image_id=["x", "y"]), TWO), TWO) != name
    Image.fromarray(np.array([[1, 1]], np.uint8)).save(pair["mask_path"][1])
    assert data_id(check_data(pair, TWO), TWO) != name


def test_changed_files_are_found_by_content_and_a_touched_one_is_not_changed(pair):
    profile = check_data(pair, TWO).images
    assert changed_images(pair, profile) == []

    os.utime(pair["image_path"][0], ns=(1, 1))
    assert changed_images(pair, profile) == []
    Image.fromarray(np.array([[1, 1]], np.uint8)).save(pair["mask_path"][1])
    assert changed_images(pair, profile) == ["id1"]
    Path(pair["image_path"][0]).unlink()
    assert changed_images(pair, profile) == ["id0", "id1"]
    assert changed_images(pair.assign(image_id=["id0", "new"]), profile) == ["id0", "new"]


def test_an_empty_table_is_refused(pair):
    with pytest.raises(ImageFileError, match="no row"):
        check_data(pair.iloc[:0], TWO)
