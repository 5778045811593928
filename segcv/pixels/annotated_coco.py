"""COCO files: many pictures in one file, regions as polygons or run lengths, plain or packed."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from segcv.pixels.annotated import AnnotatedPicture, Region, drawn_by, entry, read_json_object
from segcv.pixels.drawing import Drawn, points, polygons, runs, unpacked_runs
from segcv.pixels.files import Fault


def read_coco(path: Path) -> list[AnnotatedPicture]:
    """The pictures of a COCO file with instance annotations, regions in the file's order; raises Fault."""
    found = read_json_object(path)
    names = {entry(row, "id", (int, str), "a category"): entry(row, "name", str, "a category")
             for row in entry(found, "categories", list, "the file")}
    regions: dict[int | str, list[Region]] = {}
    pictures = {}
    for row in entry(found, "images", list, "the file"):
        number = entry(row, "id", (int, str), "an image")
        if number in regions:
            raise Fault(f"has two images of id {number}", "Give each image an id of its own.")
        regions[number], pictures[number] = [], row
    for row in entry(found, "annotations", list, "the file"):
        where = f"annotation {row.get('id') if isinstance(row, dict) else row}"
        image, category = (entry(row, name, (int, str), where) for name in ("image_id", "category_id"))
        if image not in regions:
            raise Fault(f"{where} is of image {image}, which the file does not list", "Export the annotations again.")
        if category not in names:
            raise Fault(f"{where} is of category {category}, which the file does not list",
                        "Export the annotations again.")
        regions[image].append(Region(names[category], drawn_by(where, partial(_draw, row.get("segmentation"))), where,
                                     crowd=bool(row.get("iscrowd"))))
    return [_picture(row, tuple(regions[number])) for number, row in pictures.items()]


def _picture(row: Any, regions: tuple[Region, ...]) -> AnnotatedPicture:
    where = f"image {row['id']}"
    return AnnotatedPicture(entry(row, "file_name", str, where), entry(row, "height", int, where),
                            entry(row, "width", int, where), regions)


def _draw(segmentation: Any, height: int, width: int) -> Drawn:
    if isinstance(segmentation, dict):
        size, counts = segmentation.get("size"), segmentation.get("counts")
        if size != [height, width]:
            raise Fault(f"has run lengths of a picture of size {size}, and its picture is [{height}, {width}] (height, "
                        "width)", "Export the annotations again.")
        if not isinstance(counts, list | str):
            raise Fault("has no run lengths", "Export the annotations again.")
        return runs(unpacked_runs(counts) if isinstance(counts, str) else counts, height=height, width=width)
    if not isinstance(segmentation, list) or not segmentation:
        raise Fault("has no segmentation, only a box perhaps", "Draw it, or take it out.")
    rings = []
    for ring in segmentation:
        if not isinstance(ring, list) or len(ring) % 2:
            raise Fault(f"has a polygon that is no list of x, y, x, y, ...: {str(ring)[:60]}",
                        "Correct or delete it in the annotation tool.")
        rings.append(points(list(zip(ring[::2], ring[1::2], strict=True)), least=3))
    return polygons(rings, height=height, width=width)
