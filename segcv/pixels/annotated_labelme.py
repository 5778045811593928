"""LabelMe files: one picture each, shapes drawn as LabelMe itself draws them."""

from __future__ import annotations

import base64
import binascii
from functools import partial
from pathlib import Path
from typing import Any

from segcv.pixels.annotated import AnnotatedPicture, Region, drawn_by, entry, read_json_object
from segcv.pixels.drawing import (
    Drawn,
    circle_with_outline,
    points,
    polygon_with_outline,
    rectangle_with_outline,
)
from segcv.pixels.files import Fault
from segcv.pixels.masks import decode_mask

_LEAST = {"polygon": 3, "oriented_rectangle": 4, "rectangle": 2, "circle": 2, "mask": 2}     # points of each shape


def read_labelme(path: Path) -> list[AnnotatedPicture]:
    """The one picture of a LabelMe file, shapes in the file's order; raises Fault."""
    found = read_json_object(path)
    regions = []
    for number, shape in enumerate(entry(found, "shapes", list, "the file"), start=1):
        where = f"shape {number}"
        label = entry(shape, "label", str, where)
        where = f"{where} ({label})"
        kind = shape.get("shape_type") or "polygon"
        if kind not in _LEAST:
            raise Fault(f"{where} is a {kind}, which has no area", "Draw it as a polygon, or delete it.")
        regions.append(Region(label, drawn_by(where, partial(_draw, kind, shape)), where))
    size = [found.get(name) for name in ("imageHeight", "imageWidth")]
    height, width = (side if isinstance(side, int) else None for side in size)
    return [AnnotatedPicture(entry(found, "imagePath", str, "the file"), height, width, tuple(regions))]


def _draw(kind: str, shape: dict[str, Any], height: int, width: int) -> Drawn:
    at = points(shape.get("points"), least=_LEAST[kind])
    if kind != "polygon" and len(at) != _LEAST[kind]:
        raise Fault(f"has {len(at)} points, and a {kind} has {_LEAST[kind]}", "Correct or delete it in LabelMe.")
    if kind == "rectangle":
        return rectangle_with_outline(at, height=height, width=width)
    if kind == "circle":
        return circle_with_outline(at, height=height, width=width)
    if kind == "mask":
        return _bitmap(shape.get("mask"), int(at[0, 1]), int(at[0, 0]), height, width)
    return polygon_with_outline(at, height=height, width=width)


def _bitmap(text: Any, top: int, left: int, height: int, width: int) -> Drawn:
    try:
        stored = decode_mask(base64.b64decode(text, validate=True)).values
    except (TypeError, ValueError, binascii.Error):
        stored = None
    if stored is None:
        raise Fault("has no readable mask", "Correct or delete it in LabelMe.")
    tall, wide = stored.shape
    if top < 0 or left < 0 or top + tall > height or left + wide > width:
        raise Fault(f"covers rows {top}..{top + tall} and columns {left}..{left + wide} of a picture of "
                    f"{height}x{width} (height x width)", "Correct or delete it in LabelMe.")
    return Drawn(slice(top, top + tall), slice(left, left + wide), stored != 0)
