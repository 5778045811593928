"""COCO, LabelMe and CVAT files become label masks: one class list, regions as their tools draw them, no guess."""

from __future__ import annotations

import base64
import io
import json
import unicodedata
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from segcv.errors import ConfigError, ImageFileError, MaskError, SegcvWarning
from segcv.pixels import annotation_rules, convert_annotations, label_map, labels_found
from tests.tiny_annotations import (
    box,
    corners,
    images_table,
    write_coco,
    write_cvat,
    write_image,
    write_labelme,
)

CLASSES = label_map(names=["background", "cat", "dog"])


def drawn(tmp_path: Path, annotations: Path, format: str, *, height: int = 4, width: int = 6, **rules: Any,
          ) -> list[list[int]]:
    """The mask of the image a.png, made here."""
    image = write_image(tmp_path / "images" / "a.png", height, width)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SegcvWarning)
        convert_annotations(images_table([image], annotations), annotation_rules(CLASSES, format=format, **rules),
                            folder=tmp_path / "out")
    with Image.open(tmp_path / "out" / "masks" / "a.png") as mask:
        return np.asarray(mask).tolist()


def refused(tmp_path: Path, annotations: Path, format: str, **told: Any) -> str:
    with pytest.raises(MaskError) as caught:
        drawn(tmp_path, annotations, format, **told)
    assert not (tmp_path / "out" / "images.csv").exists()
    return str(caught.value)


def test_coco_run_lengths_go_down_the_columns_plain_and_packed(tmp_path):
    """By hand, 4 rows and 6 columns: runs 4, 2, 2, 2, 14 set the 5th, 6th, 9th and 10th pixel counted down the columns;
    the packed text is 17, 3, 1, 3: the 18th to 20th and 22nd to 24th."""
    path = write_coco(tmp_path / "a.json", [
        {"segmentation": {"size": [4, 6], "counts": [4, 2, 2, 2, 14]}},
        {"category_id": 8, "segmentation": {"size": [4, 6], "counts": "a0310"}}])

    assert drawn(tmp_path, path, "coco") == [[0, 1, 1, 0, 0, 0], [0, 1, 1, 0, 2, 2], [0, 0, 0, 0, 2, 2],
                                             [0, 0, 0, 0, 2, 2]]


def test_several_polygons_of_one_coco_region_are_their_union(tmp_path):
    path = write_coco(tmp_path / "a.json", [{"segmentation": [box(0, 0, 2, 1), box(4, 2, 6, 4)]}])

    assert drawn(tmp_path, path, "coco") == [[1, 1, 0, 0, 0, 0], [0] * 6, [0, 0, 0, 0, 1, 1], [0, 0, 0, 0, 1, 1]]


LARGE, SMALL = {"segmentation": [box(0, 0, 4, 1)]}, {"category_id": 8, "segmentation": [box(1, 0, 3, 1)]}


@pytest.mark.parametrize(("overlap", "regions", "row", "overlapped"), [
    ("later", [LARGE, SMALL], [1, 2, 2, 1, 0, 0], 2), ("later", [SMALL, LARGE], [1, 1, 1, 1, 0, 0], 2),
    ("smaller", [SMALL, LARGE], [1, 2, 2, 1, 0, 0], 2), ("later", [LARGE, LARGE], [1, 1, 1, 1, 0, 0], 0),
])
def test_where_regions_overlap_the_declared_rule_decides_and_pixels_are_counted(tmp_path, overlap, regions, row,
                                                                                overlapped):
    """By hand: a row of 4 pixels of cat, 2 of them also dog. Two regions of one class are no conflict."""
    path = write_coco(tmp_path / "a.json", regions)
    image = write_image(tmp_path / "a.png", 4, 6)
    rules = annotation_rules(CLASSES, format="coco", overlap=overlap)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        done = convert_annotations(images_table([image], path), rules, folder=tmp_path / "out")

    assert np.asarray(Image.open(tmp_path / "out" / "masks" / "a.png"))[0].tolist() == row
    assert [str(one.message) for one in said] == list(done.notes)
    assert (f"in {overlapped} pixels" in "".join(done.notes)) == bool(overlapped)
    assert json.loads((tmp_path / "out" / "conversion.json").read_text())["overlap"] == overlap


def test_overlapping_classes_are_refused_when_asked_for(tmp_path):
    path = write_coco(tmp_path / "a.json", [LARGE, SMALL])

    said = refused(tmp_path, path, "coco", overlap="refuse")

    assert "a.json: annotation 2 lies on regions of another class in 2 pixels" in said and "or smaller" in said


def test_crowds_count_as_their_class_or_are_ignored_where_nothing_else_is(tmp_path):
    """By hand: a crowd over the whole row, a dog on 2 pixels of it, whichever comes first."""
    crowd = {"iscrowd": 1, "segmentation": [box(0, 0, 6, 1)]}
    path = write_coco(tmp_path / "a.json", [SMALL, crowd])

    assert drawn(tmp_path, path, "coco")[0] == [1] * 6
    assert drawn(tmp_path, path, "coco", crowd="ignore")[0] == [255, 2, 2, 255, 255, 255]


def test_labelme_ids_come_from_the_class_list_and_special_labels_have_their_meaning(tmp_path):
    """By hand: outlines count. __ignore__ and _background_ are LabelMe's own words."""
    path = write_labelme(tmp_path / "a.json", [
        {"label": "dog", "points": corners(0, 0, 2, 1)},
        {"label": "__ignore__", "shape_type": "rectangle", "points": [[5, 3], [4, 2]]},
        {"label": "_background_", "points": corners(2, 0, 3, 3)},
        {"label": "kitten", "shape_type": "oriented_rectangle", "points": corners(0, 3, 1, 3)}], height=4, width=6)

    assert drawn(tmp_path, path, "labelme", mapping={"kitten": "cat"}) == [
        [2, 2, 0, 0, 0, 0], [2, 2, 0, 0, 0, 0], [0, 0, 0, 0, 255, 255], [1, 1, 0, 0, 255, 255]]


def test_a_labelme_bitmap_is_put_where_its_corner_is(tmp_path):
    """By hand: 2 x 3 pixels, three of them set, from row 1, column 2 on."""
    buffer = io.BytesIO()
    Image.fromarray(np.array([[1, 0, 1], [0, 1, 0]], np.uint8) * 255).save(buffer, "PNG")
    text = base64.b64encode(buffer.getvalue()).decode()
    shape = {"label": "cat", "shape_type": "mask", "points": [[2, 1], [4, 2]], "mask": text}

    assert drawn(tmp_path, write_labelme(tmp_path / "a.json", [shape], height=4, width=6), "labelme") == [
        [0] * 6, [0, 0, 1, 0, 1, 0], [0, 0, 0, 1, 0, 0], [0] * 6]
    outside = write_labelme(tmp_path / "a.json", [shape | {"points": [[4, 1], [6, 2]]}], height=4, width=6)
    assert "columns 4..7" in refused(tmp_path / "again", outside, "labelme")


def test_cvat_shapes_are_drawn_and_a_higher_z_order_lies_on_top(tmp_path):
    """By hand, 8 x 8: a dog box of columns 0-3, rows 0-1 above a cat polygon of columns 2-5, rows 0-1 that comes later;
    a mask at row 4, column 1, 2 rows of 3 along the rows (1 off, 3 on, 2 off); tags say nothing of pixels."""
    path = write_cvat(tmp_path / "a.xml", """
        <box label="dog" xtl="0" ytl="0" xbr="4" ybr="2" z_order="1"><attribute name="x">y</attribute></box>
        <polygon label="cat" points="2.0,0.0;6.0,0.0;6.0,2.0;2.0,2.0" z_order="0"/>
        <mask label="cat" rle="1, 3, 2" left="1" top="4" width="3" height="2" z_order="0"/>
        <tag label="sunny"/>""")
    expected = np.zeros((8, 8), int)
    expected[0:2, 2:6], expected[0:2, 0:4] = 1, 2
    expected[4, 2:4] = expected[5, 1] = 1

    assert drawn(tmp_path, path, "cvat", height=8, width=8) == expected.tolist()


def test_pixels_in_no_region_are_what_is_declared(tmp_path):
    path = write_coco(tmp_path / "a.json", [{"segmentation": [box(0, 0, 2, 4)]}])

    assert drawn(tmp_path, path, "coco")[0] == [1, 1, 0, 0, 0, 0]
    assert drawn(tmp_path, path, "coco", outside="ignore")[0] == [1, 1, 255, 255, 255, 255]
    assert drawn(tmp_path, path, "coco", outside="dog")[0] == [1, 1, 2, 2, 2, 2]


def test_an_image_without_a_region_is_background_and_said(tmp_path):
    path = write_coco(tmp_path / "a.json", [])
    image = write_image(tmp_path / "a.png", 4, 6)

    with pytest.warns(SegcvWarning, match=r"1 of 1 images have no region, and are background entirely: a\.png"):
        done = convert_annotations(images_table([image], path), annotation_rules(CLASSES, format="coco"),
                                   folder=tmp_path / "out")

    assert done.classes["pixels"].tolist() == [24, 0, 0, 0]


def test_a_region_without_a_pixel_is_said(tmp_path):
    path = write_coco(tmp_path / "a.json", [{"segmentation": [[0.1, 0.1, 0.2, 0.1, 0.2, 0.2]]}, LARGE])
    image = write_image(tmp_path / "a.png", 4, 6)

    with pytest.warns(SegcvWarning, match=r"1 regions hold no pixel of their image: annotation 1 of a\.png"):
        convert_annotations(images_table([image], path), annotation_rules(CLASSES, format="coco"),
                            folder=tmp_path / "out")


def test_images_find_their_entries_by_as_much_of_the_path_as_is_said(tmp_path):
    """Two images of one name in two folders; suffixes and slashes of another system do not matter."""
    images = [write_image(tmp_path / folder / "a.png", 4, 6) for folder in ("north", "south")]
    path = write_coco(tmp_path / "a.json", [{"image_id": 2, "segmentation": [box(0, 0, 6, 4)]}], images=[
        {"id": 1, "file_name": "C:\\photos\\north\\a.jpg", "height": 4, "width": 6},
        {"id": 2, "file_name": "south/a.jpg", "height": 4, "width": 6}])
    table = images_table(images, path).assign(image_id=["north/a", "south/a"])

    with pytest.warns(SegcvWarning, match="no region"):
        convert_annotations(table, annotation_rules(CLASSES, format="coco"), folder=tmp_path / "out")

    assert np.asarray(Image.open(tmp_path / "out/masks/north/a.png")).max() == 0
    assert np.asarray(Image.open(tmp_path / "out/masks/south/a.png")).min() == 1


def test_a_name_is_the_same_in_both_unicode_forms(tmp_path):
    """ü as one character in the file's name, as u and dots in the annotations (as macOS writes it)."""
    image = write_image(tmp_path / unicodedata.normalize("NFC", "Grün.png"), 4, 6)
    name = unicodedata.normalize("NFD", "Grün.png")
    path = write_coco(tmp_path / "a.json", [LARGE], images=[{"id": 1, "file_name": name, "height": 4, "width": 6}])

    done = convert_annotations(images_table([image], path), annotation_rules(CLASSES, format="coco"),
                               folder=tmp_path / "out")

    assert done.classes["pixels"].tolist() == [20, 4, 0, 0]


def test_a_folder_of_files_is_read_as_one_and_entries_without_image_are_said(tmp_path):
    images = [write_image(tmp_path / "images" / name, 4, 6) for name in ("a.png", "b.png")]
    write_coco(tmp_path / "one.json", [LARGE])
    (tmp_path / "exports").mkdir()
    write_coco(tmp_path / "exports" / "one.json", [LARGE])
    write_coco(tmp_path / "exports" / "two.json", [LARGE | {"image_id": 5}, LARGE | {"image_id": 6}], images=[
        {"id": 5, "file_name": "b.png", "height": 4, "width": 6},
        {"id": 6, "file_name": "c.png", "height": 4, "width": 6}])

    with pytest.warns(SegcvWarning, match=r"1 annotated pictures are no image of the table, and are left out: c\.png"):
        done = convert_annotations(images_table(images, tmp_path / "exports"), annotation_rules(CLASSES, format="coco"),
                                   folder=tmp_path / "out")

    assert done.classes["pixels"].tolist() == [40, 8, 0, 0]
    assert labels_found([str(tmp_path / "exports")], "coco") == {"cat": 3}


def test_a_renamed_labelme_pair_is_read_and_said(tmp_path):
    image = write_image(tmp_path / "a.png", 16, 16)
    path = write_labelme(tmp_path / "a.json", [{"label": "cat", "points": corners(0, 0, 1, 1)}], image="IMG_1.jpg")

    with pytest.warns(SegcvWarning, match=r"a\.json \(IMG_1\.jpg\)"):
        done = convert_annotations(images_table([image], path), annotation_rules(CLASSES, format="labelme"),
                                   folder=tmp_path / "out")

    assert done.classes["pixels"].tolist() == [252, 4, 0, 0]


def test_every_label_that_is_not_declared_is_named_with_its_place(tmp_path):
    path = write_coco(tmp_path / "a.json", [{"category_id": 8, "segmentation": [box(0, 0, 1, 1)]}, LARGE, LARGE],
                      categories=("cats", "dog", "never used"))

    said = refused(tmp_path, path, "coco")

    for part in ("1 labels are not declared: 'cats' in 2 regions, first in", "a.json: annotation 2, a.png",
                 "background, cat, dog", "'data.annotations.labels={cats: cat}'"):
        assert part in said


def test_a_size_that_is_not_the_images_is_refused(tmp_path):
    path = write_coco(tmp_path / "a.json", [LARGE])

    said = refused(tmp_path, path, "coco", height=4, width=7)

    assert "a.png is 4x6" in said and "is 4x7" in said and "never moved" in said


def test_annotations_of_the_stored_view_of_a_turned_photo_are_refused_and_of_the_shown_view_drawn(tmp_path):
    """Orientation 6: stored 4 high and 6 wide, shown 6 high and 4 wide."""
    exif = Image.Exif()
    exif[274] = 6
    photo = tmp_path / "a.jpg"
    Image.fromarray(np.zeros((4, 6, 3), np.uint8)).save(photo, exif=exif)
    rules = annotation_rules(CLASSES, format="coco")
    shown = images_table([photo], write_coco(tmp_path / "shown.json", [LARGE], height=6, width=4))
    stored = images_table([photo], write_coco(tmp_path / "stored.json", [LARGE], height=4, width=6))

    convert_annotations(shown, rules, folder=tmp_path / "out")

    assert np.asarray(Image.open(tmp_path / "out/masks/a.png")).shape == (6, 4)
    with pytest.raises(MaskError, match="EXIF"):
        convert_annotations(stored, rules, folder=tmp_path / "no")


@pytest.mark.parametrize(("content", "said"), [
    ("{", "no JSON"), ("[]", "not an object"), ("{}", "no categories"),
    ({"images": [{"id": 1, "height": 4, "width": 6}]}, "no file_name"),
    ({"images": [{"id": 1, "file_name": "a.png", "height": "4", "width": 6}]}, "height '4'"),
    ({"images": [{"id": 1, "file_name": "a.png", "height": 4, "width": 6}] * 2}, "two images of id 1"),
    ({"images": [{"id": n, "file_name": "a.png", "height": 4, "width": 6} for n in (1, 2)]}, "2 entries that fit"),
    ({"images": [{"id": 1, "file_name": "b.png", "height": 4, "width": 6}]}, "no entry for the image"),
    ({"annotations": [{"id": 4, "image_id": 9, "category_id": 7}]}, "annotation 4 is of image 9"),
    ({"annotations": [{"id": 4, "image_id": 1, "category_id": 9}]}, "annotation 4 is of category 9"),
    ({"annotations": [{"id": 4, "image_id": 1}]}, "annotation 4 has no category_id"),
    ({"annotations": [{"id": 4, "image_id": 1, "category_id": 7, "bbox": [0, 0, 1, 1]}]}, "4 has no segmentation"),
    ({"annotations": [{"id": 4, "image_id": 1, "category_id": 7, "segmentation": [[0, 0, 1, 1]]}]}, "3 or more points"),
    ({"annotations": [{"id": 4, "image_id": 1, "category_id": 7, "segmentation": [[0, 0, 1, 1, 2]]}]}, "x, y, x, y"),
    ({"annotations": [{"id": 4, "image_id": 1, "category_id": 7,
                       "segmentation": {"size": [6, 4], "counts": [24]}}]}, "size [6, 4]"),
    ({"annotations": [{"id": 4, "image_id": 1, "category_id": 7,
                       "segmentation": {"size": [4, 6], "counts": [20, 3]}}]}, "sum to 23"),
    ({"annotations": [{"id": 4, "image_id": 1, "category_id": 7,
                       "segmentation": {"size": [4, 6], "counts": "a0"}}]}, "sum to 17"),
    ({"annotations": [{"id": 4, "image_id": 1, "category_id": 7, "segmentation": {"size": [4, 6]}}]}, "no run lengths"),
])
def test_what_is_wrong_with_a_coco_file_is_named(tmp_path, content, said):
    path = write_coco(tmp_path / "a.json", [])
    whole = json.loads(path.read_text())
    if isinstance(content, dict):
        path.write_text(json.dumps(whole | content if content else {}))
    else:
        path.write_text("{}" if content == "{}" else content)

    found = refused(tmp_path, path, "coco")

    assert said in found and "a.json" in found


@pytest.mark.parametrize(("shape", "said"), [
    ({"points": corners(0, 0, 1, 1)}, "shape 1 has no label"),
    ({"label": "cat", "shape_type": "linestrip", "points": [[0, 0], [1, 1]]}, "shape 1 (cat) is a linestrip"),
    ({"label": "cat", "points": [[0, 0], [1, 1]]}, "shape 1 (cat) has coordinates"),
    ({"label": "cat", "shape_type": "circle", "points": corners(0, 0, 1, 1)}, "has 4 points, and a circle has 2"),
    ({"label": "cat", "shape_type": "mask", "points": [[0, 0], [1, 1]], "mask": "%%"}, "no readable mask"),
    ({"label": "cat", "shape_type": "mask", "points": [[0, 0], [1, 1]], "mask": "aGVsbG8="}, "(cat) is damaged"),
])
def test_what_is_wrong_with_a_labelme_file_is_named(tmp_path, shape, said):
    path = write_labelme(tmp_path / "a.json", [shape])

    assert said in refused(tmp_path, path, "labelme", height=16, width=16)


@pytest.mark.parametrize(("content", "said"), [
    ("<annotations>", "no XML"), ("<html/>", "begins with <html>"),
    ("<annotations><track/></annotations>", "tracks of a video"),
    ("<annotations><image id='3' width='8' height='8'/></annotations>", "without a name"),
    ("<annotations><image name='a.png' width='8'/></annotations>", "image a.png has"),
    ("<polyline label='cat' points='0,0;1,1'/>", "polyline 1 (cat) of image a.png has no area"),
    ("<polygon label='cat' points='0,0;1,x;2,2'/>", "polygon 1 (cat) of image a.png has coordinates"),
    ("<polygon label='cat' points='0,0;1,1'/>", "3 or more points"),
    ("<box label='cat' xtl='0' ytl='0' xbr='4'/>", "box 1 (cat) of image a.png has"),
    ("<mask label='cat' rle='1,x' left='0' top='0' width='1' height='2'/>", "no whole numbers"),
    ("<mask label='cat' rle='1,2' left='0' top='0' width='1' height='2'/>", "sum to 3"),
    ("<polygon label='' points='0,0;1,1;2,2'/>", "'' in 1 regions"),
])
def test_what_is_wrong_with_a_cvat_file_is_named(tmp_path, content, said):
    path = write_cvat(tmp_path / "a.xml", content)
    if content.startswith(("<annotations", "<html")):
        path.write_text(content)

    found = refused(tmp_path, path, "cvat", height=8, width=8)

    assert said in found and "a.xml" in found


def test_all_faulty_files_are_counted_and_five_named(tmp_path):
    images = [write_image(tmp_path / f"{n}.png", 4, 6) for n in range(7)]
    files = [write_labelme(tmp_path / f"{n}.json", [{"label": "cat"}], image=f"{n}.png", height=4, width=6)
             for n in range(7)]

    with pytest.raises(MaskError) as caught:
        convert_annotations(images_table(images, files), annotation_rules(CLASSES, format="labelme"),
                            folder=tmp_path / "out")

    assert "7 of 7 cannot be converted" in str(caught.value) and str(caught.value).endswith("and 2 more")


def test_missing_files_are_named(tmp_path):
    table = images_table([tmp_path / "a.png"], write_coco(tmp_path / "a.json", [LARGE]))
    rules = annotation_rules(CLASSES, format="coco")

    with pytest.raises(ImageFileError, match=r"a\.png: there is no such file"):
        convert_annotations(table, rules, folder=tmp_path / "out")
    with pytest.raises(MaskError, match=r"b\.json: there is no such file"):
        convert_annotations(table.assign(mask_path=str(tmp_path / "b.json")), rules, folder=tmp_path / "out")
    (tmp_path / "empty").mkdir()
    with pytest.raises(MaskError, match=r"no file that ends in \.json"):
        convert_annotations(table.assign(mask_path=str(tmp_path / "empty")), rules, folder=tmp_path / "out")


@pytest.mark.parametrize(("labels", "settings", "said"), [
    (CLASSES, {"format": "yolo"}, "coco, labelme, cvat"),
    (CLASSES, {"format": "coco", "overlap": "larger"}, "later, smaller, refuse"),
    (CLASSES, {"format": "coco", "crowd": "drop"}, "class, ignore"),
    (CLASSES, {"format": "cvat", "crowd": "ignore"}, "COCO files only"),
    (CLASSES, {"format": "coco", "outside": "sky"}, "'sky', which is no class"),
    (CLASSES, {"format": "coco", "mapping": {"puppy": "dogs"}}, "'dogs', which is no class"),
    (CLASSES, {"format": "coco", "mapping": ["puppy"]}, "no mapping"),
    (label_map(names=["cat", "dog"]), {"format": "coco"}, "data.annotations.outside=CLASS"),
    (label_map(num_classes=2, values={0: 0, 255: 1}), {"format": "coco"}, "data.values"),
    (label_map(names=["background", "cat"], ignore=None), {"format": "coco", "outside": "ignore"}, "data.ignore=255"),
    (label_map(names=["background", "cat"], ignore=None), {"format": "coco", "crowd": "ignore"}, "data.ignore=255"),
    (label_map(names=["background", "cat"], ignore=-1), {"format": "coco"}, "data.ignore=-1"),
])
def test_rules_that_have_no_effect_or_are_unknown_are_refused(labels, settings, said):
    with pytest.raises(ConfigError) as caught:
        annotation_rules(labels, **settings)

    assert said in str(caught.value)


def test_more_than_255_classes_are_written_with_16_bits(tmp_path):
    """By hand: class 300 of 301, and 65535 for what is ignored."""
    names = ["background", *(f"class {n}" for n in range(1, 301))]
    image = write_image(tmp_path / "a.png", 4, 6)
    path = write_coco(tmp_path / "a.json", [{"segmentation": [box(0, 0, 1, 1)]},
                                            {"category_id": 8, "segmentation": [box(1, 0, 2, 1)]}],
                      categories=("class 300", "unsure"))
    labels = label_map(names=names, ignore=65535)
    rules = annotation_rules(labels, format="coco", mapping={"unsure": "ignore"})

    convert_annotations(images_table([image], path), rules, folder=tmp_path / "out")

    assert labels.read(tmp_path / "out/masks/a.png")[0].tolist() == [300, 65535, 0, 0, 0, 0]
