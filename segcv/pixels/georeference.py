"""Where GeoTIFFs lie on the ground, told by their transform and coordinate system."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import tifffile

from segcv.errors import ImageFileError

_SUFFIXES = frozenset({".tif", ".tiff"})
_TRANSFORM, _TIE_POINTS, _PIXEL_SCALE = 34264, 33922, 33550      # tags
TURNED = 1e-6                        # of a pixel per pixel; less is rounding


def has_georeferences(images: pd.DataFrame) -> bool:
    """Is any of the images a GeoTIFF?"""
    return any(_has_georeference(Path(path)) for path in images["image_path"])


def _has_georeference(path: Path) -> bool:
    """Does the header of this file say where it lies? False for files that are no TIFF, or no readable one."""
    if path.suffix.lower() not in _SUFFIXES or not path.is_file():
        return False
    try:
        with tifffile.TiffFile(path) as file:
            tags = file.pages[0].aspage().tags
            return _TRANSFORM in tags or (_TIE_POINTS in tags and _PIXEL_SCALE in tags)
    except Exception:                # the check of the images says what is wrong with the file
        return False


def georeferences(images: pd.DataFrame) -> pd.DataFrame:
    """Rows image_id, x, y, w, h, crs, unit, pixel_size, turned of the images that are GeoTIFFs, in table order.

    x, y are the least coordinates and w, h the extent of the picture: in metres for projected systems, whatever their
    unit, in degrees for geographic ones (`unit`: m, degree, or "" where the file names no system). A picture that is
    turned against its axes has the rectangle around it. `crs` is the EPSG code where there is one, else the text;
    coordinates of different ones cannot be compared. `pixel_size` is the longer side of a pixel in that unit.

    Raises:
        ImageFileError: there are GeoTIFFs and rasterio is not installed, or one has a header that it cannot read.
    """
    placed = [(image_id, Path(path)) for image_id, path in zip(images["image_id"], images["image_path"], strict=True)
              if _has_georeference(Path(path))]
    if placed and find_spec("rasterio") is None:
        raise ImageFileError(f"{len(placed)} of {len(images)} images are GeoTIFFs ({placed[0][1].name}, for example), "
                             "and reading where they lie takes rasterio: pip install 'segcv[geo]'")
    names = ["image_id", "x", "y", "w", "h", "crs", "unit", "pixel_size", "turned"]
    return pd.DataFrame([(image_id, *_place(path)) for image_id, path in placed], columns=names)


def _place(path: Path) -> tuple[float, float, float, float, str, str, float, bool]:
    import rasterio

    try:
        with rasterio.open(path) as file:
            transform, crs, corners = file.transform, file.crs, [(0, 0), (file.width, 0), (0, file.height),
                                                                 (file.width, file.height)]
    except Exception as error:       # GDAL reports a broken header in many ways
        raise ImageFileError(f"{path}: its georeference cannot be read ({error}). Write the file anew, or type "
                             "group.ground=null.") from error
    unit, factor = _unit(crs)
    matrix = np.array([[transform.a, transform.b, transform.c], [transform.d, transform.e, transform.f]])
    at = np.column_stack([corners, np.ones(4)]) @ matrix.T * factor                      # corners x (x, y)
    low, size = at.min(axis=0), np.ptp(at, axis=0)
    across, down = np.hypot(transform.a, transform.d), np.hypot(transform.b, transform.e)
    turned = min(abs(transform.b) + abs(transform.d), abs(transform.a) + abs(transform.e)) > TURNED * across
    return (float(low[0]), float(low[1]), float(size[0]), float(size[1]), _name(crs), unit,
            float(max(across, down) * factor), bool(turned))


def _name(crs: Any) -> str:
    """EPSG:number, else the text of the system, "" for none."""
    if crs is None:
        return ""
    number = crs.to_epsg()
    return f"EPSG:{number}" if number is not None else str(crs.to_wkt())


def _unit(crs: Any) -> tuple[str, float]:
    """The unit that coordinates are given in, and what one of the file's units is in it."""
    if crs is None:
        return "", 1.0
    if crs.is_geographic:
        return "degree", 1.0
    return "m", float(crs.linear_units_factor[1])
