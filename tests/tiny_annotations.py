"""Small annotation files, written for one test each."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from PIL import Image


def write_image(path: Path, height: int, width: int) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.zeros((height, width, 3), np.uint8)).save(path)
    return path


def images_table(images: Sequence[Path], annotations: Path | Sequence[Path]) -> pd.DataFrame:
    places = [annotations] * len(images) if isinstance(annotations, Path) else annotations
    return pd.DataFrame({"image_id": [image.stem for image in images], "image_path": [str(image) for image in images],
                         "mask_path": [str(place) for place in places]})


def write_coco(path: Path, regions: Sequence[dict[str, Any]], *, images: Sequence[dict[str, Any]] | None = None,
               categories: Sequence[str] = ("cat", "dog"), height: int = 4, width: int = 6) -> Path:
    """Categories have the ids 7, 8, ...; a region's keys are added to those of its annotation on image 1."""
    plain = [{"id": 1, "file_name": "a.png", "height": height, "width": width}]
    path.write_text(json.dumps({
        "images": plain if images is None else list(images),
        "categories": [{"id": 7 + number, "name": name} for number, name in enumerate(categories)],
        "annotations": [{"id": number, "image_id": 1, "category_id": 7, "iscrowd": 0} | region
                        for number, region in enumerate(regions, start=1)]}), encoding="utf-8")
    return path


def box(left: float, top: float, right: float, bottom: float) -> list[float]:
    """The corners of a rectangle as COCO lists them."""
    return [left, top, right, top, right, bottom, left, bottom]


def write_labelme(path: Path, shapes: Sequence[dict[str, Any]], *, image: str = "a.png", height: int | None = 16,
                  width: int | None = 16) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"version": "5.0.1", "flags": {}, "imagePath": image, "imageData": None,
                                "imageHeight": height, "imageWidth": width,
                                "shapes": [{"shape_type": "polygon"} | shape for shape in shapes]}), encoding="utf-8")
    return path


def corners(left: float, top: float, right: float, bottom: float) -> list[list[float]]:
    """The corners of a rectangle as LabelMe lists them."""
    return [[left, top], [right, top], [right, bottom], [left, bottom]]


def write_cvat(path: Path, shapes: str, *, name: str = "a.png", height: int = 8, width: int = 8) -> Path:
    path.write_text(f'<?xml version="1.0" encoding="utf-8"?>\n<annotations><version>1.1</version><meta/>\n'
                    f'<image id="0" name="{name}" width="{width}" height="{height}">{shapes}</image></annotations>',
                    encoding="utf-8")
    return path
