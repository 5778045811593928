"""CVAT files ("CVAT for images"): many pictures in one XML file; higher z_order is drawn later."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from segcv.pixels.annotated import AnnotatedPicture, Region, drawn_by
from segcv.pixels.drawing import Drawn, ellipse, points, polygons, runs, turned_corners
from segcv.pixels.files import Fault, read_bytes

_AREAS = ("polygon", "box", "mask", "ellipse")
_NO_AREA = ("polyline", "points", "cuboid", "skeleton")
_CORRECT = "Correct or delete it in CVAT."


def read_cvat(path: Path) -> list[AnnotatedPicture]:
    """The pictures of a CVAT file, regions by z_order and then in the file's order; raises Fault."""
    try:
        root = ElementTree.fromstring(read_bytes(path))
    except ElementTree.ParseError as error:
        raise Fault(f"is no XML file ({error})", "Export the annotations again.") from error
    if root.tag != "annotations":
        raise Fault(f"begins with <{root.tag}> and not with <annotations>", "Export as 'CVAT for images 1.1'.")
    if root.find("track") is not None:
        raise Fault("holds tracks of a video", "Export as 'CVAT for images 1.1'.")
    return [_picture(image) for image in root.iter("image")]


def _picture(image: Element) -> AnnotatedPicture:
    name = image.get("name")
    if not name:
        raise Fault(f"has an image without a name (id {image.get('id')})", "Export the annotations again.")
    found = []
    for number, shape in enumerate(image, start=1):
        label = shape.get("label", "")
        where = f"{shape.tag} {number} ({label}) of image {name}"
        if shape.tag in _NO_AREA:
            raise Fault(f"{where} has no area", "Draw it as a polygon, or delete it.")
        if shape.tag in _AREAS:
            order = int(_numbers(shape, where, "z_order")[0]) if shape.get("z_order") else 0
            found.append((order, Region(label, drawn_by(where, partial(_draw, shape)), where)))
    regions = [region for _, region in sorted(found, key=lambda pair: pair[0])]
    height, width = (int(_numbers(image, f"image {name}", side)[0]) for side in ("height", "width"))
    return AnnotatedPicture(name, height, width, tuple(regions))


def _draw(shape: Element, height: int, width: int) -> Drawn:
    turn = _numbers(shape, "", "rotation")[0] if shape.get("rotation") else 0.0
    if shape.tag == "polygon":
        pairs = [pair.split(",") for pair in (shape.get("points") or "").split(";")]
        return polygons([points(pairs, least=3)], height=height, width=width)
    if shape.tag == "box":
        left, top, right, bottom = _numbers(shape, "", "xtl", "ytl", "xbr", "ybr")
        return polygons([turned_corners((left, top), (right, bottom), turn)], height=height, width=width)
    if shape.tag == "ellipse":
        x, y, rx, ry = _numbers(shape, "", "cx", "cy", "rx", "ry")
        return ellipse((x, y), (rx, ry), turn, height=height, width=width)
    try:
        lengths = [int(run) for run in (shape.get("rle") or "").split(",")]
    except ValueError:
        raise Fault("has run lengths that are no whole numbers", _CORRECT) from None
    left, top, wide, tall = map(int, _numbers(shape, "", "left", "top", "width", "height"))
    return runs(lengths, height=height, width=width, top=top, left=left, tall=tall, wide=wide, by_column=False)


def _numbers(element: Element, where: str, *names: str) -> list[float]:
    try:
        return [float(element.attrib[name]) for name in names]
    except (KeyError, ValueError):
        told = {name: element.get(name) for name in names}
        raise Fault(f"{where} has {told}, and these are numbers".strip(), _CORRECT) from None
