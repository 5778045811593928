"""Whole sets of pictures that a plain perceptual hash takes for one: nothing unrelated is joined, copies still are.

Every set holds so many unrelated pictures, and of some of them a copy with noise of compression; which belong together
is known from how they were made.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import cv2
import numpy as np
import pandas as pd
import pytest

from segcv.errors import SegcvWarning
from segcv.groups import assign_groups
from segcv.pixels import look

NUMBER, COPIED, SIDE = 60, 12, 96


def relief(number: int) -> np.ndarray:
    """Heights of one landscape, SIDE x SIDE, mean 0 and SD 1."""
    rng = np.random.default_rng(number)
    noise = cv2.GaussianBlur(rng.normal(0, 1, (SIDE, SIDE)), (0, 0), 3) * 8 + rng.normal(0, 0.3, (SIDE, SIDE))
    return (noise - noise.mean()) / noise.std()


def noisy(seen: np.ndarray, number: int, copy: bool, sd: float) -> np.ndarray:
    return seen + np.random.default_rng(1000 + number).normal(0, sd, seen.shape) if copy else seen


def bit_8(number: int, copy: bool) -> np.ndarray:
    return np.clip(noisy(120 + 35 * relief(number), number, copy, 2), 0, 255).astype(np.uint8)


def bit_16(number: int, copy: bool) -> np.ndarray:
    """12 bits in 16, as of a scanner: cut to 8 bits, all of it is one white."""
    return np.clip(noisy(1500 + 350 * relief(number), number, copy, 20), 0, 4095).astype(np.uint16)


def fractions(number: int, copy: bool) -> np.ndarray:
    """Reflectance, 0 to 1: cut to 8 bits, all of it is one black."""
    return np.clip(noisy(0.4 + 0.12 * relief(number), number, copy, 0.007), 0, 1).astype(np.float32)


def on_the_border(number: int, copy: bool) -> np.ndarray:
    """The lower half is outside the flight: no data, the same in all of them."""
    seen = np.maximum(bit_8(number, copy), 1)
    seen[SIDE // 2:] = 0
    return seen


def in_the_corner(number: int, copy: bool) -> np.ndarray:
    """A triangle of a quarter of the picture has data."""
    seen = np.maximum(bit_8(number, copy), 1)
    seen[np.add.outer(np.arange(SIDE), np.arange(SIDE)) > SIDE / np.sqrt(2)] = 0
    return seen


def looks_of(pictures: dict[str, np.ndarray], nodata: float | None = None) -> pd.DataFrame:
    seen = {name: look(one[:, :, None], nodata=nodata, marks="landmarks") for name, one in pictures.items()}
    return pd.DataFrame({
        "image_id": list(seen), "height": SIDE, "width": SIDE, "flat": [one.flat for one in seen.values()],
        "phash": np.array([one.phash for one in seen.values()], np.uint64),
        **{name: [getattr(one, name).tobytes() for one in seen.values()]
           for name in ("thumbnail", "blocks", "landmarks")}})


def grouped(looks: pd.DataFrame) -> pd.Series:
    images = pd.DataFrame({"image_id": looks["image_id"], "image_path": looks["image_id"],
                           "mask_path": looks["image_id"]})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SegcvWarning)
        return assign_groups(images, looks, pattern=None, max_distance=5, overlaps="landmarks",
                             folds=5).set_index("image_id")["group_id"]


@pytest.mark.parametrize(("make", "nodata"), [(bit_8, None), (bit_16, None), (fractions, None), (on_the_border, 0.0),
                                             (in_the_corner, 0.0)])
def test_unrelated_pictures_stay_apart_and_copies_are_found(make: Callable[..., np.ndarray], nodata: float | None):
    pictures = {f"p{number:02d}": make(number, False) for number in range(NUMBER)}
    copies = {f"p{number:02d} copy": make(number, True) for number in range(COPIED)}
    group = grouped(looks_of(pictures | copies, nodata))

    assert group.nunique() == NUMBER
    assert all(group[f"p{number:02d} copy"] == group[f"p{number:02d}"] for number in range(COPIED))


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32])
def test_blank_tiles_of_all_greys_are_as_many_groups(dtype: type):
    """256 greys, with the least noise of a sensor in every second one; a plain hash knows two of them."""
    top = {np.uint8: 255, np.uint16: 65535, np.float32: 1.0}[dtype]
    rng = np.random.default_rng(0)
    pictures = {}
    for level in range(0, 256, 4):
        blank = np.full((SIDE, SIDE), level / 255 * top)
        if dtype is np.uint8 and level % 8:
            blank = np.clip(blank + rng.integers(0, 2, blank.shape), 0, 255)
        pictures[f"grey {level:03d}"] = blank.astype(dtype)
    looks = looks_of(pictures)

    assert looks["flat"].all()
    assert grouped(looks).nunique() == 64


def test_tiles_without_data_are_as_many_groups():
    """All nodata, or all but a corner of a few pixels that differs."""
    pictures = {}
    for number in range(20):
        tile = np.zeros((SIDE, SIDE), np.uint8)
        if number % 2:
            tile[:5, :5] = bit_8(number, False)[:5, :5]
        pictures[f"n{number:02d}"] = tile

    assert grouped(looks_of(pictures, nodata=0.0)).nunique() == 20
