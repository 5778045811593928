"""Masks become class ids by declared meaning alone; everything else is refused with its cure."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import tifffile
from PIL import Image

from segcv.errors import ConfigError, MaskError, SegcvWarning
from segcv.pixels import LabelMap, infer_label_map, label_map

IDS = np.array([[0, 1, 2], [2, 1, 255]], np.uint8)
THREE = label_map(num_classes=3)
DUBAI = {"3C1098": 0, "#8429F6": 1, "110,193,228": 2, (155, 155, 155): 255}


def saved(path: Path, stored: np.ndarray, mode: str | None = None) -> Path:
    if path.suffix == ".tif":
        tifffile.imwrite(path, stored)
    else:
        Image.fromarray(stored, mode).save(path)
    return path


def refused(path: Path, labels: LabelMap) -> str:
    with pytest.raises(MaskError) as caught:
        labels.read(path)
    assert str(path) in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("stored", [IDS, IDS.astype(np.uint16), IDS.astype(np.int32), IDS.astype(np.float32)],
                         ids=["uint8", "uint16", "int32", "float32"])
def test_the_stored_number_is_the_class_id(tmp_path, stored):
    """PNG holds unsigned numbers only, TIFF all of them."""
    for suffix in ("png", "tif") if stored.dtype.kind == "u" else ("tif",):
        labels = THREE.read(saved(tmp_path / f"m.{suffix}", stored))

        assert labels.dtype == np.uint8
        assert labels.tolist() == IDS.tolist()


@pytest.mark.parametrize("suffix", ["png", "tif"])
def test_of_a_palette_mask_the_index_is_the_class_id(tmp_path, suffix):
    """Colours of the palette are for the eye: here 1 is red and 2 blue, whose greys are 76 and 29."""
    picture = Image.fromarray(IDS, "P")
    picture.putpalette([0, 0, 0, 255, 0, 0, 0, 0, 255] + [9] * 759)
    picture.save(tmp_path / f"m.{suffix}")

    assert THREE.read(tmp_path / f"m.{suffix}").tolist() == IDS.tolist()


def test_of_a_1_bit_mask_a_set_pixel_is_1_or_255_by_declaration(tmp_path):
    bits = np.array([[True, False]])
    for name in ("m.png", "m.tif"):
        Image.fromarray(bits).save(tmp_path / name)

        assert label_map(num_classes=2).read(tmp_path / name).tolist() == [[1, 0]]
        assert label_map(num_classes=2, values={0: 0, 255: 1}).read(tmp_path / name).tolist() == [[1, 0]]
        assert label_map(num_classes=2, values={0: 1, 1: 0}).read(tmp_path / name).tolist() == [[0, 1]]


def test_declared_values_map_16_bit_numbers(tmp_path):
    """256 and 300 are not 0, 1, 44 or 255, which 8-bit readers make of them. 255 stays the ignore value."""
    labels = label_map(num_classes=4, values={"0": 0, 1: 1, 256: 2, 300: 3})
    path = saved(tmp_path / "m.png", np.array([[0, 1, 256, 300, 255]], np.uint16))

    assert labels.read(path).tolist() == [[0, 1, 2, 3, 255]]


def test_0_and_255_become_two_classes_when_declared(tmp_path):
    labels = label_map(num_classes=2, values={0: 0, 255: 1})

    assert labels.read(saved(tmp_path / "m.png", np.array([[0, 255]], np.uint8))).tolist() == [[0, 1]]


def test_a_declared_value_can_mean_ignored_beside_the_ignore_value(tmp_path):
    labels = label_map(num_classes=2, values={1: 0, 2: 1, 3: 255, -9999: 255})

    assert labels.read(saved(tmp_path / "m.tif", np.array([[1, 2, 3, -9999, 255]], np.int32))).tolist() == [
        [0, 1, 255, 255, 255]]


def test_a_negative_ignore_value_is_stored_as_the_void(tmp_path):
    labels = label_map(num_classes=2, ignore=-9999)

    assert labels.read(saved(tmp_path / "m.tif", np.array([[0, 1, -9999]], np.int16))).tolist() == [[0, 1, 255]]


def test_more_than_255_classes_take_16_bits(tmp_path):
    """Class 255 exists, so the void moves to 65535."""
    labels = label_map(num_classes=300, ignore=65535)
    read = labels.read(saved(tmp_path / "m.png", np.array([[0, 255, 299, 65535]], np.uint16)))

    assert labels.void == 65535 and read.dtype == np.uint16 and read.tolist() == [[0, 255, 299, 65535]]


def test_floats_a_hair_beside_a_whole_number_are_rounded_and_others_refused(tmp_path):
    near = np.array([[0.99999, 2.00001, 0.0]], np.float32)

    assert THREE.read(saved(tmp_path / "near.tif", near)).tolist() == [[1, 2, 0]]
    assert "0.5 in 1 pixels" in refused(saved(tmp_path / "far.tif", near + np.float32([0, 0, 0.5])), THREE)
    assert "inf" in refused(saved(tmp_path / "inf.tif", near + np.float32([0, 0, np.inf])), THREE)


def test_nan_is_refused_unless_declared(tmp_path):
    path = saved(tmp_path / "m.tif", np.array([[0, 1, np.nan]], np.float32))
    labels = label_map(num_classes=2, values={0: 0, 1: 1, "nan": 255})

    assert "nan in 1 of 3 pixels" in refused(path, label_map(num_classes=2))
    assert labels.read(path).tolist() == [[0, 1, 255]]
    assert LabelMap.from_json(json.loads(json.dumps(labels.to_json()))) == labels


@pytest.mark.parametrize("mode", ["RGB", "P", "RGBA"])
def test_colours_are_decoded_in_rgb_order_from_rgb_palette_and_opaque_rgba(tmp_path, mode):
    """Read as blue, green, red, #3C1098 would be #98103C, which is undeclared."""
    colours = np.array([[[0x3C, 0x10, 0x98], [0x84, 0x29, 0xF6]], [[110, 193, 228], [155] * 3]], np.uint8)
    picture = Image.fromarray(colours)
    (picture.quantize(8) if mode == "P" else picture.convert(mode)).save(tmp_path / "m.png")

    assert label_map(num_classes=3, colors=DUBAI).read(tmp_path / "m.png").tolist() == [[0, 1], [2, 255]]


def test_a_grey_mask_under_a_colour_table_is_its_grey_colours(tmp_path):
    """Grey 155 is the colour 155,155,155."""
    path = saved(tmp_path / "m.png", np.full((2, 2), 155, np.uint8))

    assert (label_map(num_classes=3, colors=DUBAI).read(path) == 255).all()


def test_undeclared_colours_are_listed_with_their_pixels(tmp_path):
    path = saved(tmp_path / "m.png", np.array([[[0, 0, 0], [0, 0, 0], [1, 2, 3], [155] * 3]], np.uint8))

    said = refused(path, label_map(num_classes=3, colors=DUBAI))

    assert "#000000 in 2 of 4 pixels, #010203 in 1 of 4 pixels" in said and "'000000': 255" in said


def test_a_colour_mask_without_a_colour_table_lists_its_colours(tmp_path):
    path = saved(tmp_path / "m.png", np.array([[[255, 0, 0], [0, 0, 255], [0, 0, 255]]], np.uint8))

    said = refused(path, THREE)

    assert "#0000FF in 2 pixels, #FF0000 in 1 pixels" in said and "data.colors=" in said and "equal" not in said
    grey = saved(tmp_path / "g.png", np.repeat(IDS[:, :, None], 3, axis=2))
    assert "all equal" in refused(grey, THREE)


@pytest.mark.parametrize(("channels", "said"), [(2, "2 channels"), (4, "4 channels")])
def test_masks_with_alpha_are_refused(tmp_path, channels, said):
    path = saved(tmp_path / "m.png", np.zeros((2, 2, channels), np.uint8))

    assert "alpha" in refused(path, THREE) and said in refused(path, THREE)
    assert "alpha" in refused(path, label_map(num_classes=2, colors={"000000": 0, "FFFFFF": 1}))


def test_a_tiff_mask_of_many_channels_is_refused(tmp_path):
    tifffile.imwrite(tmp_path / "m.tif", np.zeros((4, 4, 5), np.uint8), photometric="minisblack", planarconfig="contig")

    assert "5 channels" in refused(tmp_path / "m.tif", THREE)


def test_a_jpeg_mask_is_refused_with_the_number_of_other_values(tmp_path):
    mask = np.zeros((32, 32), np.uint8)
    mask[8:20, 5:17] = 255
    path = tmp_path / "m.jpg"
    Image.fromarray(mask).save(path, quality=70)
    with Image.open(path) as picture:
        other = set(np.asarray(picture).ravel().tolist()) - {0, 255}

    assert f"lossy (JPEG, L): {len(other)} values" in refused(path, label_map(num_classes=2, values={0: 0, 255: 1}))


def test_an_unknown_value_is_named_with_pixels_and_every_cure(tmp_path):
    path = saved(tmp_path / "m.png", np.array([[0, 1, 3, 3]], np.uint8))

    said = refused(path, label_map(num_classes=2))

    for part in ("value 3 in 2 of 4 pixels", "data.ignore=3", "data.num_classes=4", "3: ?"):
        assert part in said
    assert "num_classes" not in refused(saved(tmp_path / "n.png", np.array([[0, 192]], np.uint8)), THREE)


def test_ids_that_start_at_1_are_explained(tmp_path):
    path = saved(tmp_path / "m.png", np.array([[1, 2, 2]], np.uint8))

    assert "data.values={1: 0, 2: 1}" in refused(path, label_map(num_classes=2))


@pytest.mark.parametrize(("settings", "said"), [
    ({"num_classes": 1}, "data.num_classes=2"),
    ({}, "data.num_classes=N"),
    ({"num_classes": 2, "names": ["a", "b", "c"]}, "a, b, c"),
    ({"names": ["a", "a"]}, "twice"),
    ({"names": ["a", " "]}, "blank"),
    ({"num_classes": 12, "ignore": 11}, "recall"),
    ({"num_classes": 256}, "data.ignore=65535"),
    ({"num_classes": 2, "values": {0: 0, 1: 1}, "colors": {"000000": 0, "FFFFFF": 1}}, "both"),
    ({"num_classes": 2, "values": {0: 0, 255: 2}}, "maps to 2"),
    ({"num_classes": 3, "values": {0: 0, 255: 1}}, "class 2"),
    ({"num_classes": 2, "values": {0: 0, "1": 1, "1.0": 1}}, "twice"),
    ({"num_classes": 2, "values": {0: 0, "3C1098": 1}}, "data.colors"),
    ({"num_classes": 2, "values": {0: 0, 1: "one"}}, "class id"),
    ({"num_classes": 2, "values": {0: 0, 1: 1.5}}, "class id"),
    ({"num_classes": 2, "colors": {"000000": 0, "red": 1}}, "'red'"),
    ({"num_classes": 2, "colors": {"000000": 0, 112233: 1}}, "quotes"),
    ({"num_classes": 2, "colors": {"000000": 0, "1,2,300": 1}}, "'1,2,300'"),
    ({"num_classes": 2, "ignore": None, "values": {0: 0, 1: 1, 2: 255}}, "maps to 255"),
])
def test_contradicting_settings_are_refused(settings, said):
    with pytest.raises(ConfigError) as caught:
        label_map(**settings)

    assert said in str(caught.value)


def test_names_and_numbers_follow_from_what_is_declared():
    assert label_map(names=["land", "water"]).n_classes == 2
    assert label_map(num_classes=2).names == ("class_0", "class_1")
    assert label_map(values={1: 0, 2: 1, 3: 255}).n_classes == 2
    assert label_map(num_classes=2, values={}, colors={}).values is None
    assert label_map(colors={0: 0, "#FFFFFF": 1}).colors == {(0, 0, 0): 0, (255, 255, 255): 1}


@pytest.mark.parametrize("labels", [
    THREE, label_map(names=["a", "b"], ignore=None), label_map(num_classes=3, colors=DUBAI),
    label_map(num_classes=2, values={0: 0, 255: 1, -1: 255}),
])
def test_a_label_map_survives_json(labels):
    assert LabelMap.from_json(json.loads(json.dumps(labels.to_json()))) == labels


def test_undeclared_classes_are_taken_only_without_gaps_and_said(tmp_path):
    masks = [saved(tmp_path / f"{i}.png", row[None]) for i, row in enumerate(IDS)]

    with pytest.warns(SegcvWarning, match=r"0\.\.2, 255 ignored"):
        labels = infer_label_map(masks)

    assert labels == THREE


@pytest.mark.parametrize(("stored", "said"), [
    ([[0, 255]], "data.values={0: 0, 255: 1}"),
    ([[0, 0]], "one class only"),
    ([[1, 2, 3]], "{1: 0, 2: 1, 3: 2}"),
    ([[0, 1, 7]], "without a gap"),
])
def test_undeclared_classes_that_leave_doubt_are_refused_with_what_to_type(tmp_path, stored, said):
    path = saved(tmp_path / "m.png", np.array(stored, np.uint8))

    with pytest.raises(MaskError) as caught:
        infer_label_map([path])

    assert said in str(caught.value)
