"""Images normalised by their own mean and deviation, or by their source's: alike wherever they are looked at."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import tifffile
import torch
from tiny_images import square_image, write_squares

from segcv.errors import ConfigError, ModelError
from segcv.pixels import Preprocessing, fit_preprocessing, label_map, open_image, own_moments, read_image
from segcv.predict import predicted
from segcv.prediction import compare_serving, contract_faults, load_members, predict, predicted_rows
from segcv.settings import PredictCommand, PredictionSettings
from segcv.training import Fit, ModelChoice, NetworkInput, Stopping, fit, load_model, run_seeds, save_model

LABELS = label_map(names=["background", "square"])
CHOICE = ModelChoice("tiny_models:pixelwise")


def contract(scope: str) -> Preprocessing:
    return Preprocessing(bands=1, dtype="uint16", mean=(500.0,), std=(250.0,), nodata=None, pixels=4, images=1,
                         fitted_on="", low=(0.0,), high=(1000.0,), scope=scope)


def written(folder: Path, **images: list[list[int]]) -> pd.DataFrame:
    """Rows of 16-bit images of one band; what stands before the underscore is the source."""
    folder.mkdir(exist_ok=True)
    for name, values in images.items():
        tifffile.imwrite(folder / f"{name}.tif", np.array(values, np.uint16))
    return pd.DataFrame([(name, str(folder / f"{name}.tif"), name.split("_")[0]) for name in images],
                        columns=["image_id", "image_path", "source_id"])


def test_mean_and_deviation_of_an_image_and_of_a_source_by_hand(tmp_path):
    """Image a_1: 1, 3, mean 2, deviation 1. Source a: 1, 3, 5, 7, mean 4, deviation sqrt(5). b: one value, so 1."""
    rows = written(tmp_path, a_1=[[1, 3]], a_2=[[5, 7]], b_1=[[9, 9]])

    image, source = own_moments(rows, contract("image")), own_moments(rows, contract("source"))

    assert image["a_1"].mean == (2.0,) and image["a_1"].std == (1.0,)
    assert source["a_1"] == source["a_2"] and source["a_1"].mean == (4.0,)
    assert source["a_1"].std == pytest.approx((5**0.5,))
    assert source["b_1"].mean == (9.0,) and source["b_1"].std == (1.0,)
    assert own_moments(rows, contract("training")) == {}
    assert own_moments(rows.iloc[:1], contract("source"))["a_1"] == image["a_1"]      # of the rows of one role only


def test_the_network_gets_what_the_contract_says():
    """apply works in numpy on the CPU; an image without a pixel that counts is 0 everywhere."""
    image = np.random.default_rng(0).integers(0, 900, (8, 8, 1)).astype(np.uint16)
    own = contract("image").own([image])

    found = NetworkInput(contract("image"), device=torch.device("cpu"), own={"a": own}).of_images(image[None], ["a"])

    np.testing.assert_allclose(found[0].numpy(), contract("image").apply(image), rtol=1e-6, atol=1e-6)
    assert float(found.mean()) == pytest.approx(0, abs=1e-6) and float(found.std(correction=0)) == pytest.approx(1)
    assert (contract("image").own([]).mean, contract("image").own([]).std) == ((0.0,), (1.0,))


def test_what_is_written_is_read_and_older_models_are_normalised_as_they_were():
    known = contract("source")
    assert Preprocessing.from_json(known.to_json()) == known
    older = {name: value for name, value in contract("training").to_json().items() if name != "scope"}
    assert not Preprocessing.from_json(older).by_own


def test_sources_are_taken_where_images_share_them(tmp_path):
    rows = write_squares(tmp_path, 4)

    assert fit_preprocessing(rows, statistics="per_source").scope == "image"
    assert fit_preprocessing(rows.assign(source_id=list("aabb")), statistics="per_source").scope == "source"
    assert fit_preprocessing(rows.assign(source_id=list("abcd")), statistics="per_source").scope == "image"
    assert fit_preprocessing(rows.assign(source_id=list("aabb"))).scope == "training"
    with pytest.raises(ConfigError, match=r"preprocessing\.statistics=per_volume is not known; use one of"):
        fit_preprocessing(rows, statistics="per_volume")


def fitted(rows: pd.DataFrame, out: Path, preprocessing: Preprocessing, **changed: Any) -> Fit:
    settings: dict[str, Any] = {"model": CHOICE, "epochs": 2, "batch_size": 2, "lr": 1e-2, "device": "cpu"}
    return fit(rows, labels=LABELS, preprocessing=preprocessing, seeds=run_seeds(0, repeat=0, fold=0), out=out,
               **(settings | changed))


def test_a_gain_and_an_offset_of_each_image_do_not_reach_the_network(tmp_path):
    """Values up to 120, doubled and raised by 10: own mean and deviation take it back out, in training, in stopping
    and in prediction. Weights and answers are equal to float32 rounding; under the training images' they differ."""
    rows = write_squares(tmp_path / "a", 6)
    changed = rows.copy()
    for number in range(6):
        image = square_image(number)[0].astype(np.uint16)
        path = tmp_path / f"plain_{number}.tif"
        tifffile.imwrite(path, image, photometric="rgb")
        rows.loc[number, "image_path"] = str(path)
        path = tmp_path / f"changed_{number}.tif"
        tifffile.imwrite(path, image * (1 + number % 2) + 10 * (number % 2), photometric="rgb")
        changed.loc[number, "image_path"] = str(path)
    found = {}
    for statistics in ("per_source", "training_fold"):
        for name, table in (("plain", rows), ("changed", changed)):
            contract = fit_preprocessing(table.iloc[:4], statistics=statistics)
            done = fitted(table.iloc[:4], tmp_path / f"{statistics}-{name}", contract,
                          stopping=Stopping(table.iloc[4:], patience=2))
            answers = [one.mean_top_probability for one in predict(done.network, table, preprocessing=contract,
                                                                   device="cpu")]
            found[statistics, name] = np.array([*answers, *done.history["loss"], *done.history["inner_score"]])

    np.testing.assert_allclose(found["per_source", "plain"], found["per_source", "changed"], rtol=1e-4)
    assert np.abs(found["training_fold", "plain"] - found["training_fold", "changed"]).max() > 1e-3


@pytest.fixture
def volumes(tmp_path: Path) -> tuple[Path, pd.DataFrame]:
    """A model that normalises sources, saved, and the rows of two volumes of two slices."""
    rows = write_squares(tmp_path / "images", 4).assign(source_id=list("aabb"))
    preprocessing = fit_preprocessing(rows, statistics="per_source")
    done = fitted(rows, tmp_path / "fit", preprocessing)
    save_model(tmp_path / "model", done.network, choice=CHOICE, labels=LABELS, preprocessing=preprocessing)
    return tmp_path, rows


def command(folder: Path, images: Path, out: str, **changed: Any) -> PredictCommand:
    return PredictCommand(model_folder=str(folder / "model"), images=str(images), out=str(folder / out), device="cpu",
                          prediction=PredictionSettings(tile=32, overlap=8), window=20, **changed)


def test_predict_takes_the_sources_of_a_table_or_of_the_names(volumes):
    """Windows of 20 px, a table and a pattern: the same masks as from whole slices in memory."""
    folder, rows = volumes
    model = load_model(folder / "model")
    wanted = {one.image_id: one.labels for one in predict(model.network, rows, preprocessing=model.preprocessing,
                                                          device="cpu", precision="fp32")}
    rows[["image_id", "image_path", "source_id"]].to_csv(folder / "rows.csv", index=False)
    named = folder / "named"
    named.mkdir()
    for image_id, path, source in rows[["image_id", "image_path", "source_id"]].itertuples(index=False):
        (named / f"{source}-{image_id}.png").write_bytes(Path(path).read_bytes())

    predicted(command(folder, folder / "rows.csv", "from_table", format="npy"))
    predicted(command(folder, named, "from_names", format="npy", source_pattern="^(.)-"))

    for image_id, source in zip(rows["image_id"], rows["source_id"], strict=True):
        np.testing.assert_array_equal(np.load(folder / f"from_table/{image_id}.npy"), wanted[image_id])
        np.testing.assert_array_equal(np.load(folder / f"from_names/{source}-{image_id}.npy"), wanted[image_id])


def test_predict_refuses_where_sources_are_unknown_or_a_pattern_has_no_effect(volumes):
    folder, rows = volumes
    rows[["image_id", "image_path", "source_id"]].to_csv(folder / "rows.csv", index=False)

    with pytest.raises(ConfigError, match="Say which belong together"):
        predicted(command(folder, folder / "images", "a"))
    with pytest.raises(ConfigError, match="finds no source in the image id square_0"):
        predicted(command(folder, folder / "images", "b", source_pattern="^(volume)"))
    with pytest.raises(ConfigError, match="no regular expression with a group"):
        predicted(command(folder, folder / "images", "c", source_pattern="^square"))
    with pytest.raises(ConfigError, match="has no effect: the table says them in source_id"):
        predicted(command(folder, folder / "rows.csv", "d", source_pattern="^(.)"))
    assert not [name for name in "abcd" if (folder / name).exists()]


def test_a_raster_in_windows_is_normalised_as_a_whole(tmp_path):
    rows = write_squares(tmp_path / "images", 2)
    preprocessing = fit_preprocessing(rows, statistics="per_source")
    done = fitted(rows, tmp_path / "fit", preprocessing)
    save_model(tmp_path / "model", done.network, choice=CHOICE, labels=LABELS, preprocessing=preprocessing)
    raster = tmp_path / "raster.tif"
    ramp = np.add.outer(np.arange(64), np.arange(96))[..., None] + np.random.default_rng(0).integers(0, 60, (64, 96, 3))
    tifffile.imwrite(raster, ramp.astype(np.uint8), photometric="rgb")
    choices: dict[str, Any] = {"device": "cpu", "tile": None, "overlap": 0, "batch_size": 1, "threads": 1,
                               "precision": "fp32", "max_pixels": 2**40}

    with open_image(raster) as image:
        parts = list(predicted_rows(load_members(tmp_path / "model"), image, window=32, margin=0,
                                    refuse=lambda piece: None, **choices))

    (whole,) = predict(done.network, [("raster", read_image(raster))], preprocessing=preprocessing, probabilities=True,
                       **choices)
    assert np.concatenate([shares for _, shares in parts], axis=1) == pytest.approx(whole.probabilities, abs=1e-5)


def test_serving_and_contract_know_whose_mean_is_meant():
    image = np.random.default_rng(0).integers(3000, 4000, (16, 16, 1)).astype(np.uint16)
    own, trained = contract("image"), contract("training")

    right = compare_serving(image, own.apply(image), preprocessing=own)
    wrong = compare_serving(image, trained.apply(image), preprocessing=own)

    assert right.steps == () and not right.unexplained
    assert "by the training images' mean and standard deviation" in wrong.steps[0]
    with pytest.raises(ModelError, match="cannot be checked image by image"):
        compare_serving(image, own.apply(image), preprocessing=contract("source"))
    assert contract_faults(image, own, path=Path("a.tif"), smallest=8) == []      # another exposure is what it is for
    assert "other units" in contract_faults(image, trained, path=Path("a.tif"), smallest=8)[0]
