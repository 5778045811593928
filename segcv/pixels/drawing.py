"""Regions of annotation files as pixels, each drawn as the tool that wrote it draws them.

COCO and CVAT follow the rule of pycocotools: a polygon covers about the pixels whose centres it holds, pixel (0, 0)
reaching from 0 to 1. LabelMe's own rule also takes the pixels its outline passes through, pixel (0, 0) being at 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from segcv.pixels.files import Fault

Points = NDArray[np.float64]             # n x 2: x to the right, y down
_MARGIN = 2                              # pixels around a region that its drawing may touch
_FAR = 4                                 # sides of the picture beyond which a coordinate is not of this picture


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """A region's pixels: a window of the picture, and which of its pixels are inside."""

    rows: slice
    columns: slice
    inside: NDArray[np.bool_]


def points(numbers: object, *, least: int) -> Points:
    """Coordinates as an array; raises Fault when they are no numbers, or fewer than `least` points."""
    try:
        found = np.array(numbers, dtype=np.float64)
    except (TypeError, ValueError):
        found = np.full((0, 2), np.nan)
    if found.ndim != 2 or found.shape[1] != 2 or len(found) < least or not np.isfinite(found).all():
        raise Fault(f"has coordinates that are not {least} or more points x, y: {str(numbers)[:60]}",
                    "Correct or delete it in the annotation tool.")
    return found


def polygons(rings: Sequence[Points], *, height: int, width: int) -> Drawn:
    """The union of polygons by the rule of pycocotools."""
    from pycocotools import mask as coco

    rows, columns = _around(np.concatenate(rings), height, width)
    if rows.start == rows.stop or columns.start == columns.stop:
        return Drawn(rows, columns, np.zeros((rows.stop - rows.start, columns.stop - columns.start), bool))
    packed = coco.merge(coco.frPyObjects([ring.ravel().tolist() for ring in rings], height, width))
    ends = np.cumsum(unpacked_runs(packed["counts"].decode("ascii")))        # of runs down the columns
    lengths = np.diff(np.clip(ends, columns.start * height, columns.stop * height), prepend=columns.start * height)
    inside = np.repeat(np.arange(len(lengths)) % 2 == 1, lengths).reshape(-1, height).T
    return Drawn(rows, columns, inside[rows])


def polygon_with_outline(ring: Points, *, height: int, width: int) -> Drawn:
    """A polygon by the rule of LabelMe."""
    return _by_pillow(ring, height, width, lambda pen, at: pen.polygon(at, outline=1, fill=1))


def rectangle_with_outline(corners: Points, *, height: int, width: int) -> Drawn:
    """The upright rectangle of two opposite corners, by the rule of LabelMe."""
    low_high = np.array([corners.min(axis=0), corners.max(axis=0)])
    return _by_pillow(low_high, height, width, lambda pen, at: pen.rectangle(at, outline=1, fill=1))


def circle_with_outline(centre_and_rim: Points, *, height: int, width: int) -> Drawn:
    """The circle of a centre and a point on it, by the rule of LabelMe."""
    centre, rim = centre_and_rim
    radius = math.dist(centre, rim)
    low_high = np.array([centre - radius, centre + radius])
    return _by_pillow(low_high, height, width, lambda pen, at: pen.ellipse(at, outline=1, fill=1))


def turned_corners(low: tuple[float, float], high: tuple[float, float], degrees: float) -> Points:
    """The corners of an upright rectangle after a turn about its centre, clockwise as seen."""
    (left, top), (right, bottom) = low, high
    centre = np.array([(left + right) / 2, (top + bottom) / 2])
    corners = np.array([[left, top], [right, top], [right, bottom], [left, bottom]]) - centre
    angle = math.radians(degrees)
    turn = np.array([[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]])
    turned: Points = (corners @ turn if degrees else corners) + centre
    return turned


def ellipse(centre: tuple[float, float], radii: tuple[float, float], degrees: float, *, height: int,
            width: int) -> Drawn:
    """The pixels whose centres lie in an ellipse that is turned by `degrees` about its centre, clockwise as seen."""
    if min(radii) <= 0:
        raise Fault(f"has the radii {radii[0]:g} and {radii[1]:g}", "Correct or delete it in the annotation tool.")
    reach = max(radii)
    rows, columns = _around(np.array([np.subtract(centre, reach), np.add(centre, reach)]), height, width)
    y, x = np.ogrid[rows, columns]
    x, y = x + 0.5 - centre[0], y + 0.5 - centre[1]
    angle = math.radians(degrees)
    along, across = x * math.cos(angle) + y * math.sin(angle), y * math.cos(angle) - x * math.sin(angle)
    return Drawn(rows, columns, (along / radii[0]) ** 2 + (across / radii[1]) ** 2 <= 1)


def runs(lengths: Sequence[int], *, height: int, width: int, top: int = 0, left: int = 0, tall: int | None = None,
         wide: int | None = None, by_column: bool = True) -> Drawn:
    """Pixels outside and inside by turns, as run lengths down the columns (COCO) or along the rows (CVAT) of a window.

    Raises Fault when the runs do not fill the window exactly, or it leaves the picture.
    """
    tall, wide = height if tall is None else tall, width if wide is None else wide
    if not all(isinstance(run, int) and run >= 0 for run in lengths):
        raise Fault(f"has run lengths that are no whole numbers from 0 on: {str(lengths)[:60]}",
                    "Export the annotations again.")
    if sum(lengths) != tall * wide:
        raise Fault(f"has run lengths that sum to {sum(lengths)}, and {tall}x{wide} (height x width) are {tall * wide} "
                    "pixels", "Export the annotations again.")
    if top < 0 or left < 0 or top + tall > height or left + wide > width:
        raise Fault(f"covers rows {top}..{top + tall} and columns {left}..{left + wide} of a picture of "
                    f"{height}x{width} (height x width)", "Export the annotations again.")
    inside = np.repeat(np.arange(len(lengths)) % 2 == 1, lengths)
    shaped = inside.reshape(wide, tall).T if by_column else inside.reshape(tall, wide)
    return Drawn(slice(top, top + tall), slice(left, left + wide), shaped)


def unpacked_runs(text: str) -> list[int]:
    """The run lengths in COCO's packed text: five bits a character, each run from the fourth on as the difference to
    the run two before; raises Fault.

    >>> unpacked_runs("a0310")
    [17, 3, 1, 3]
    """
    found: list[int] = []
    value = shift = 0
    for character in text:
        bits = ord(character) - 48
        if not 0 <= bits < 64:
            raise Fault(f"has packed run lengths with the character {character!r}, which does not belong there",
                        "Export the annotations again.")
        value |= (bits & 31) << shift
        shift += 5
        if not bits & 32:
            if bits & 16:
                value -= 1 << shift
            found.append(value + (found[-2] if len(found) > 2 else 0))
            value = shift = 0
    if shift:
        raise Fault("has packed run lengths that end within a number", "Export the annotations again.")
    return found


def _by_pillow(at: Points, height: int, width: int, draw: Callable[[ImageDraw.ImageDraw, Any], None]) -> Drawn:
    """Drawn on a canvas that begins where the picture does: a shift would round otherwise."""
    rows, columns = _around(at, height, width)
    canvas = Image.new("L", (columns.stop, rows.stop))
    if canvas.width and canvas.height:
        draw(ImageDraw.Draw(canvas), [tuple(point) for point in at.tolist()])
    return Drawn(rows, columns, np.asarray(canvas)[rows, columns].astype(bool))


def _around(at: Points, height: int, width: int) -> tuple[slice, slice]:
    """The window of the picture around points; raises Fault where these cannot be of this picture."""
    side = _FAR * (max(height, width) + 64)
    if at.min() < -side or at.max() > side:
        raise Fault(f"reaches from {at.min():g} to {at.max():g}, and the picture is {height}x{width} (height x width)",
                    "Are these coordinates of another picture, or already scaled?")
    left, top = np.floor(at.min(axis=0)).astype(int) - _MARGIN
    right, bottom = np.ceil(at.max(axis=0)).astype(int) + _MARGIN + 1
    rows = slice(int(np.clip(top, 0, height)), int(np.clip(bottom, 0, height)))
    columns = slice(int(np.clip(left, 0, width)), int(np.clip(right, 0, width)))
    return rows, columns
