"""The model that is delivered: predicted windows, its contract, its export, and what a service feeds it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pandas as pd
import pytest
import tifffile
import torch

from segcv.errors import ConfigError, ModelError, SegcvError
from segcv.pixels import LabelMap, fit_preprocessing, label_map, open_image, read_image
from segcv.prediction import (
    Members,
    compare_serving,
    contract_faults,
    effect_of_serving,
    export_onnx,
    load_members,
    predict_members,
    predicted_rows,
)
from segcv.training import Calibration, ModelChoice, SavedModel, build_model, save_model, write_calibration

RNG = np.random.default_rng(11)
CHOICES: dict[str, Any] = {"tile": None, "overlap": 16, "device": "cpu", "threads": 1, "precision": "fp32"}


def labels() -> LabelMap:
    return label_map(num_classes=2, ignore=255)


@pytest.fixture()
def folder(tmp_path: Path) -> Path:
    """A small network with random weights, saved with the normalisation of two images."""
    rows = []
    for number in range(2):
        path = tmp_path / f"train{number}.png"
        cv2.imwrite(str(path), RNG.integers(20, 200, (64, 64, 3), np.uint8))
        rows.append({"image_id": path.stem, "image_path": str(path)})
    torch.manual_seed(3)
    network = build_model(ModelChoice(), bands=3, n_classes=2)
    save_model(tmp_path / "model", network, choice=ModelChoice(), labels=labels(),
               preprocessing=fit_preprocessing(pd.DataFrame(rows)))
    return tmp_path


def model_of(folder: Path) -> SavedModel:
    return load_members(folder).models[0]


def test_a_raster_in_windows_is_predicted_like_the_whole_where_the_margin_holds_what_the_network_sees(folder: Path):
    """The small U-Net sees less than 64 px far: with that margin, aligned to its stride, windows change nothing."""
    raster = folder / "raster.tif"
    tifffile.imwrite(raster, RNG.integers(20, 200, (256, 320, 3), np.uint8), tile=(64, 64), photometric="rgb")
    members = load_members(folder)

    with open_image(raster) as image:
        rows = list(predicted_rows(members, image, window=128, margin=64, refuse=lambda piece: None, **CHOICES))

    whole = predict_members(members, "whole", read_image(raster), **CHOICES)
    assert np.concatenate([probabilities for _, probabilities in rows], axis=1) == pytest.approx(
        whole.probabilities, abs=1e-5)


def test_an_image_of_other_units_breaks_the_contract(folder: Path):
    preprocessing = model_of(folder).preprocessing
    fine = RNG.integers(20, 200, (64, 64, 3), np.uint8)

    assert contract_faults(fine, preprocessing, path=Path("fine.png"), smallest=8) == []
    for image, told in [(fine[:4], "needs at least 8 px"), (fine[:, :, :1], "1 band of uint8"),
                        (fine.astype(np.uint16), "uint16"), ((fine > 100).astype(np.uint8), "scaled to 0..1")]:
        (fault,) = contract_faults(image, preprocessing, path=Path("odd.png"), smallest=8)
        assert told in fault


def test_values_far_outside_the_training_range_are_told_by_band():
    """Training reaches 0..1 in both bands; 0..255 in the second is another unit."""
    from segcv.pixels import Preprocessing
    preprocessing = Preprocessing(2, "float32", (0.5, 0.5), (0.1, 0.1), None, 10, 1, "x", (0.0, 0.0), (1.0, 1.0))
    image = np.stack([RNG.random((8, 8)), 255 * RNG.random((8, 8))], axis=2).astype(np.float32)

    (fault,) = contract_faults(image, preprocessing, path=Path("odd.tif"), smallest=8)

    assert "band 2 reaches" in fault and "other units" in fault


@pytest.mark.parametrize(("serve", "told"), [
    (lambda x, image, p: x, ""),
    (lambda x, image, p: x[None], ""),
    (lambda x, image, p: p.apply(image[:, :, ::-1]), "BGR instead of RGB"),
    (lambda x, image, p: x[::-1], "exchanged after normalising"),
    (lambda x, image, p: image.transpose(2, 0, 1) / 255, "divided by 255 only"),
    (lambda x, image, p: (image.transpose(2, 0, 1) / 255 - np.reshape(p.mean, (3, 1, 1)))
     / np.reshape(p.std, (3, 1, 1)), "before mean and standard deviation"),
    (lambda x, image, p: image.transpose(2, 0, 1), "as stored, not normalised"),
    (lambda x, image, p: x.transpose(1, 2, 0), "band axis is last"),
    (lambda x, image, p: x[:, :, ::-1], "flipped left to right"),
    (lambda x, image, p: p.apply(cv2.resize(image, (40, 40), interpolation=cv2.INTER_AREA)), "(area)"),
    (lambda x, image, p: x[:, 16:48, 16:48], "cropped to 32x32"),
    (lambda x, image, p: (image[:, :, ::-1].transpose(2, 0, 1) / 255 - np.reshape([.485, .456, .406], (3, 1, 1)))
     / np.reshape([.229, .224, .225], (3, 1, 1)), "ImageNet"),
])
def test_the_step_that_a_service_gets_wrong_is_named(folder: Path, serve: Any, told: str):
    model = model_of(folder)
    image = cv2.GaussianBlur(RNG.integers(20, 200, (64, 64, 3), np.uint8), (0, 0), 2)
    image = np.clip(image * np.array([0.5, 1.0, 1.2]), 0, 255).astype(np.uint8)

    found = compare_serving(image, np.asarray(serve(model.preprocessing.apply(image), image, model.preprocessing)),
                            preprocessing=model.preprocessing)

    assert not found.unexplained
    assert (found.steps == ()) if not told else any(told in step for step in found.steps)
    if told and found.served.shape == found.expected.shape:
        assert "of the pixels change their class" in effect_of_serving(model, found, device="cpu")


def test_a_tensor_that_nothing_explains_is_said_to_be_unexplained(folder: Path):
    model = model_of(folder)
    image = RNG.integers(20, 200, (64, 64, 3), np.uint8)

    found = compare_serving(image, RNG.normal(size=(3, 64, 64)), preprocessing=model.preprocessing)

    assert found.unexplained and found.error > 0.5


def test_a_tensor_of_other_bands_is_refused(folder: Path):
    model = model_of(folder)

    with pytest.raises(ModelError, match="it is bands x H x W"):
        compare_serving(np.zeros((8, 8, 3), np.uint8), np.zeros((5, 8, 9)), preprocessing=model.preprocessing)


def test_the_exported_network_answers_like_torch_on_images_of_other_sizes(folder: Path):
    images = [RNG.integers(0, 256, size, np.uint8) for size in ((64, 64, 3), (40, 72, 3))]

    worst = export_onnx(model_of(folder), folder / "model.onnx", images)

    assert worst < 1e-4 and (folder / "model.onnx").is_file()


def test_an_ensemble_answers_with_the_mean_of_its_members(folder: Path):
    """Second method: each member alone, averaged by numpy; the second one's probabilities are calibrated."""
    write_calibration(folder / "model", Calibration("temperature", scale=(0.5, 0.5), bias=(0.0, 0.0)))
    one, image = load_members(folder), RNG.integers(20, 200, (64, 64, 3), np.uint8)
    torch.manual_seed(4)
    save_model(folder / "other/model", build_model(ModelChoice(), bands=3, n_classes=2), choice=ModelChoice(),
               labels=labels(), preprocessing=one.models[0].preprocessing)
    two = load_members(folder / "other")

    both = predict_members(Members((*one.models, *two.models), ("a", "b"), "x"), "image", image, **CHOICES)

    alone = [predict_members(member, "image", image, **CHOICES).probabilities for member in (one, two)]
    assert both.probabilities == pytest.approx(np.mean(alone, axis=0), abs=1e-6)


def test_a_folder_without_a_model_is_refused(tmp_path: Path):
    with pytest.raises(ModelError, match="holds no model"):
        load_members(tmp_path)


class TestThePredictCommand:
    """The body of the command, on a folder of images."""

    def settings(self, folder: Path, **changes: Any) -> Any:
        from segcv.settings import PredictCommand
        return PredictCommand(**{"model_folder": str(folder), "images": str(folder / "new"), "out": str(folder / "out"),
                                 "device": "cpu", "precision": "fp32"} | changes)

    def run(self, settings: Any) -> None:
        from segcv import predict
        predict.predicted(settings)

    def test_masks_keep_the_georeference_of_their_images(self, folder: Path):
        """Oracle: rasterio reads transform and CRS of image and mask."""
        rasterio = pytest.importorskip("rasterio")
        (folder / "new").mkdir()
        profile = {"driver": "GTiff", "width": 64, "height": 48, "count": 3, "dtype": "uint8", "crs": "EPSG:32632",
                   "transform": rasterio.transform.from_origin(500000, 5200000, 0.5, 0.5)}
        with rasterio.open(folder / "new/scene.tif", "w", **profile) as file:
            file.write(RNG.integers(20, 200, (3, 48, 64), np.uint8))

        self.run(self.settings(folder, format="tiff", probabilities="tiff", window=32,
                               prediction=_prediction(overlap=16)))

        for name in ("scene.tiff", "probabilities/scene.tiff"):
            with rasterio.open(folder / "out" / name) as made:
                assert made.transform == profile["transform"] and made.crs.to_epsg() == 32632
                assert made.shape == (48, 64)

    def test_refused_images_are_listed_and_the_others_predicted(self, folder: Path):
        (folder / "new").mkdir()
        cv2.imwrite(str(folder / "new/good.png"), RNG.integers(20, 200, (64, 64, 3), np.uint8))
        cv2.imwrite(str(folder / "new/grey.png"), RNG.integers(20, 200, (64, 64), np.uint8))

        with pytest.raises(SegcvError, match=r"1 of 2 images were not predicted:\n.*grey\.png"):
            self.run(self.settings(folder))

        assert pd.read_csv(folder / "out/predictions.csv")["image_id"].tolist() == ["good"]
        assert cv2.imread(str(folder / "out/good.png"), cv2.IMREAD_UNCHANGED).shape == (64, 64)

    def test_predictions_of_two_models_are_not_mixed(self, folder: Path):
        (folder / "new").mkdir()
        cv2.imwrite(str(folder / "new/good.png"), RNG.integers(20, 200, (64, 64, 3), np.uint8))
        self.run(self.settings(folder))
        write_calibration(folder / "model", Calibration("temperature", scale=(0.5, 0.5), bias=(0.0, 0.0)))

        with pytest.raises(ConfigError, match="holds predictions of another model"):
            self.run(self.settings(folder))


def _prediction(**changes: Any) -> Any:
    from segcv.settings import PredictionSettings
    return PredictionSettings(**{"tile": 64} | changes)


def test_the_commands_take_a_model_by_its_folder(folder: Path):
    """conf/model is a group of settings for Hydra, and model=FOLDER means a folder here."""
    (folder / "new").mkdir()
    cv2.imwrite(str(folder / "new/good.png"), RNG.integers(20, 200, (64, 64, 3), np.uint8))
    image = read_image(folder / "new/good.png")
    preprocessing = model_of(folder).preprocessing
    np.save(folder / "right.npy", preprocessing.apply(image))
    np.save(folder / "bgr.npy", preprocessing.apply(np.ascontiguousarray(image[:, :, ::-1])))

    def run(*typed: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-m", *typed], cwd=folder, capture_output=True, text=True)

    predicted = run("segcv.predict", "model=model", "images=new", "probabilities=npy")
    right, wrong = (run("segcv.check_serving", "model=model", "image=new/good.png", f"served={name}.npy")
                    for name in ("right", "bgr"))

    assert predicted.returncode == 0, predicted.stderr
    assert np.load(folder / "predictions/probabilities/good.npy").shape == (2, 64, 64)
    assert (right.returncode, wrong.returncode) == (0, 1), right.stderr
    assert "BGR instead of RGB" in wrong.stderr and "Traceback" not in wrong.stderr
    assert "model must be given" in run("segcv.predict", "images=new").stderr
