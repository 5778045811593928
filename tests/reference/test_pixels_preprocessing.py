"""Normalisation from the training images alone, exact, and held against every new image."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import tifffile
from PIL import Image

from segcv.errors import ImageFileError, SegcvWarning
from segcv.pixels import Preprocessing, fit_preprocessing


def rows_of(folder: Path, images: list[np.ndarray]) -> pd.DataFrame:
    paths = []
    for i, image in enumerate(images):
        paths.append(folder / f"{i}.tif")
        rgb = image.ndim == 3 and image.shape[2] == 3
        tifffile.imwrite(paths[-1], image, photometric="rgb" if rgb else "minisblack",
                         planarconfig="contig" if rgb else None)
    return pd.DataFrame({"image_id": [f"i{i}" for i in range(len(images))], "image_path": list(map(str, paths))})


def test_mean_and_std_are_per_band_in_rgb_order_and_of_the_population(tmp_path):
    """By hand: red 190 and 210, green 80 and 120, blue 45 and 55: means 200, 100, 50; half distances 10, 20, 5."""
    rows = rows_of(tmp_path, [np.array([[[190, 80, 45]]], np.uint8), np.array([[[210, 120, 55]]], np.uint8)])

    fitted = fit_preprocessing(rows)

    assert (fitted.mean, fitted.std) == ((200, 100, 50), (10, 20, 5))
    assert (fitted.bands, fitted.dtype, fitted.pixels, fitted.images) == (3, "uint8", 2, 2)


def test_16_bit_statistics_are_exact_where_float_sums_are_not(tmp_path):
    """Half the pixels 65534, half 65535: mean 65534.5, std exactly 1/2."""
    image = np.full((1000, 1000), 65534, np.uint16)
    image[::2] += 1

    fitted = fit_preprocessing(rows_of(tmp_path, [image]))

    assert (fitted.mean, fitted.std) == ((65534.5,), (0.5,))


def test_float_statistics_survive_a_large_offset(tmp_path):
    """Values 1e6 and 1e6 + 1 in two files: mean 1e6 + 0.5, std 0.5; sums of squares would lose it in float32."""
    rows = rows_of(tmp_path, [np.full((300, 400), 1e6, np.float32), np.full((300, 400), 1e6 + 1, np.float32)])

    fitted = fit_preprocessing(rows)

    assert fitted.mean[0] == pytest.approx(1e6 + 0.5, rel=1e-12)
    assert fitted.std[0] == pytest.approx(0.5, rel=1e-9)


def test_pixels_without_data_do_not_count(tmp_path):
    """A pixel is without data when all its bands say so: (0, 0, 0) is left out, (0, 4, 2) is not."""
    rows = rows_of(tmp_path, [np.array([[[0, 0, 0], [0, 4, 2], [2, 8, 4]]], np.uint8)])

    fitted = fit_preprocessing(rows, nodata=0)

    assert (fitted.mean, fitted.std, fitted.pixels) == ((1, 6, 3), (1, 2, 1), 2)


def test_floats_that_are_not_finite_do_not_count(tmp_path):
    rows = rows_of(tmp_path, [np.array([[1, np.nan, 3, np.inf]], np.float32)])

    fitted = fit_preprocessing(rows)

    assert (fitted.mean, fitted.std, fitted.pixels) == ((2,), (1,), 2)


def test_row_order_and_other_columns_change_nothing_and_other_rows_are_never_opened(tmp_path):
    """The mask paths do not exist; a third image is on disk and not among the rows."""
    images = [np.random.default_rng(i).random((40, 50)).astype(np.float32) for i in range(3)]
    rows = rows_of(tmp_path, images).assign(mask_path="nowhere.png")
    (tmp_path / "2.tif").write_bytes(b"never read")

    forward, backward = fit_preprocessing(rows.iloc[:2]), fit_preprocessing(rows.iloc[[1, 0]].assign(group_id="g"))

    assert forward == backward
    assert forward.mean[0] == pytest.approx(np.stack(images[:2]).mean(dtype=np.float64), rel=1e-12)
    assert forward.std[0] == pytest.approx(np.stack(images[:2]).std(dtype=np.float64), rel=1e-12)
    assert forward.fitted_on != fit_preprocessing(rows.iloc[:1]).fitted_on


def test_a_band_that_never_changes_is_shifted_not_scaled_and_said(tmp_path):
    rows = rows_of(tmp_path, [np.array([[[1, 255, 7], [3, 255, 9]]], np.uint8)])

    with pytest.warns(SegcvWarning, match=r"band 2 \(always 255\)"):
        fitted = fit_preprocessing(rows)

    assert fitted.std == (1, 1, 1)
    assert fitted.apply(np.array([[[1, 255, 7]]], np.uint8))[:, 0, 0].tolist() == [-1, 0, -1]


def test_images_of_two_kinds_no_images_and_no_data_are_refused(tmp_path):
    rows = rows_of(tmp_path, [np.zeros((2, 2), np.uint8), np.zeros((2, 2), np.uint16)])

    with pytest.raises(ImageFileError, match=r"1\.tif: has 1 band of uint16, and .*0\.tif has 1 band of uint8"):
        fit_preprocessing(rows)
    with pytest.raises(ImageFileError, match="no training image"):
        fit_preprocessing(rows.iloc[:0])
    with pytest.raises(ImageFileError, match="nodata, 0"):
        fit_preprocessing(rows.iloc[:1], nodata=0)


@pytest.fixture
def contract() -> Preprocessing:
    return Preprocessing(bands=2, dtype="uint8", mean=(1.0, 10.0), std=(2.0, 5.0), nodata=9.0, pixels=4, images=1,
                         fitted_on="x")


def test_apply_gives_bands_first_and_zero_without_data(contract):
    """By hand: (3-1)/2 = 1 and (20-10)/5 = 2; (9, 9) is nodata and becomes 0, 0."""
    applied = contract.apply(np.array([[[3, 20], [9, 9]]], np.uint8))

    assert applied.dtype == np.float32 and applied.shape == (2, 1, 2)
    assert applied.tolist() == [[[1, 0]], [[2, 0]]]


def test_apply_leaves_its_argument_alone(contract):
    image = np.full((2, 2, 2), 3, np.uint8)
    contract.apply(image)

    assert (image == 3).all()


def test_the_contract_refuses_another_number_of_bands_and_another_type(contract):
    contract.check(np.zeros((1, 1, 2), np.uint8), Path("new.png"))
    for image in (np.zeros((1, 1, 3), np.uint8), np.zeros((1, 1, 2), np.uint16)):
        with pytest.raises(ImageFileError, match=r"new\.png: has .* trained on 2 bands of uint8"):
            contract.check(image, Path("new.png"))


def test_a_contract_survives_json_to_the_last_bit(tmp_path):
    rng = np.random.default_rng(0)
    Image.fromarray(rng.integers(0, 256, (9, 7, 3), np.uint8)).save(tmp_path / "a.png")
    fitted = fit_preprocessing(pd.DataFrame({"image_id": ["a"], "image_path": [str(tmp_path / "a.png")]}))

    assert Preprocessing.from_json(json.loads(json.dumps(fitted.to_json()))) == fitted
