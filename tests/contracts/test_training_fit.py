"""What a fit reads, what it learns, and what stops it."""

from __future__ import annotations

import builtins
import io
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image
from tiny_images import write_squares

import segcv.training.data
from segcv.errors import ConfigError, ImageFileError, MaskError, ModelError, TrainingError
from segcv.pixels import Preprocessing, fit_preprocessing, label_map, read_image, write_mask
from segcv.prediction import predict
from segcv.tables import HISTORY
from segcv.training import Fit, ModelChoice, NetworkInput, StepInfo, Stopping, environment, fit, run_seeds
from segcv.training.data import nodata_pixels

LABELS = label_map(names=["background", "square"])


@pytest.fixture(scope="module")
def rows(tmp_path_factory) -> pd.DataFrame:
    return write_squares(tmp_path_factory.mktemp("squares"), 6)


def fitted(rows: pd.DataFrame, out: Path, **changed: Any) -> Fit:
    settings: dict[str, Any] = {"labels": LABELS, "seeds": run_seeds(0, repeat=0, fold=0), "epochs": 1, "batch_size": 2,
                                "lr": 3e-3, "device": "cpu"}
    settings |= changed
    if "preprocessing" not in settings:
        settings["preprocessing"] = fit_preprocessing(rows)
    return fit(rows, out=out, **settings)


def test_a_fit_opens_the_files_of_its_rows_and_no_others(rows, tmp_path, monkeypatch):
    """The held-out files lie beside the training files. Every way Python has to open a file is watched, and read_image
    too: of all image files, exactly those of the rows are opened."""
    train = rows.iloc[:4].assign(role="train")
    preprocessing = fit_preprocessing(train)
    opened: set[str] = set()

    def watched(real):
        def call(path, *args, **kwargs):
            if isinstance(path, str | os.PathLike):
                opened.add(os.fspath(path))
            return real(path, *args, **kwargs)
        return call

    monkeypatch.setattr(builtins, "open", watched(builtins.open))
    monkeypatch.setattr(io, "open", watched(io.open))
    monkeypatch.setattr(os, "open", watched(os.open))
    monkeypatch.setattr(segcv.training.data, "read_image", watched(segcv.training.data.read_image))

    fitted(train, tmp_path, preprocessing=preprocessing, augment="light", epochs=2)

    pictures = {path for path in opened if path.endswith(".png")}
    assert pictures == {*train["image_path"], *train["mask_path"]}


def test_a_fit_does_not_miss_the_files_outside_its_rows(rows, tmp_path):
    """The same weights from a folder in which no other file ever was."""
    alone = write_squares(tmp_path / "alone", 4)
    beside, apart = fitted(rows.iloc[:4], tmp_path / "a"), fitted(alone, tmp_path / "b")

    weights = [one.network.module.state_dict() for one in (beside, apart)]
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])


def test_a_row_that_is_not_for_training_is_refused(rows, tmp_path):
    with pytest.raises(TrainingError, match="square_1 has the role held_out"):
        fitted(rows.assign(role=["train", "held_out", "train", "train", "train", "train"]), tmp_path)


def test_stopping_on_training_groups_is_refused(rows, tmp_path):
    """square_0 and square_1 are of one group: stopping on one while training on the other is no hold-out."""
    with pytest.raises(TrainingError, match="group_id g0 is in the training rows and in the inner hold-out"):
        fitted(rows.iloc[1:], tmp_path, stopping=Stopping(rows.iloc[:1]))
    with pytest.raises(TrainingError, match="empty"):
        fitted(rows, tmp_path, stopping=Stopping(rows.iloc[:0]))


def test_it_learns_and_says_how_it_went(rows, tmp_path):
    """Bright squares on dark noise, 6 images: mIoU is not asked for, but nearly every pixel must be right."""
    steps: list[StepInfo] = []

    found = fitted(rows, tmp_path, epochs=20, lr=1e-2, watch=steps.append)

    answers = predict(found.network, rows, preprocessing=fit_preprocessing(rows), device="cpu")
    truths = [LABELS.read(Path(path)) for path in rows["mask_path"]]
    right = [(one.labels == truth).mean() for one, truth in zip(answers, truths, strict=True)]
    assert min(right) > 0.97
    pd.testing.assert_frame_equal(HISTORY.check(found.history, where="here"), found.history)
    assert found.history["images"].tolist() == [6] * 20 and found.best_epoch == 19
    assert found.history["loss"].iloc[-1] < found.history["loss"].iloc[0]
    assert [info.step for info in steps] == list(range(1, 61)) and steps[-1].seconds_left == 0
    assert not found.nondeterministic


def test_a_batch_without_a_labelled_pixel_is_skipped_and_counted(rows, tmp_path):
    """One mask of six is all ignored and batches hold one image: cross-entropy over no pixel would be NaN."""
    write_mask(tmp_path / "void.png", np.full((32, 32), 255, np.uint8))
    torn = rows.assign(mask_path=[str(tmp_path / "void.png"), *rows["mask_path"].iloc[1:]])

    found = fitted(torn, tmp_path / "out", batch_size=1, epochs=2)

    assert np.isfinite(found.history["loss"]).all()
    assert found.history["skipped_batches"].tolist() == [1, 1] and found.history["images"].tolist() == [5, 5]
    assert found.unlabelled_images == ("square_0",)
    assert all(torch.isfinite(tensor).all() for tensor in found.network.module.state_dict().values())
    with pytest.raises(TrainingError, match="No training image of this fold has a labelled pixel"):
        fitted(torn.iloc[:1], tmp_path / "none", batch_size=1)


def test_a_last_batch_of_one_does_not_stop_a_model_that_pools_to_one_pixel(rows, tmp_path):
    """Five images in batches of two; DeepLabV3's batch norm over 1 x 1 px fails on a batch of one."""
    deep = ModelChoice("deeplabv3", encoder="resnet18")

    assert fitted(rows.iloc[:5], tmp_path / "five", model=deep).history["images"].tolist() == [5]
    with pytest.raises(TrainingError, match="batch_size=2"):
        fitted(rows, tmp_path / "one", model=deep, batch_size=1)


def test_a_loss_that_is_not_finite_names_the_images_and_what_to_change(tmp_path):
    rows = write_squares(tmp_path, 2)
    broken = Preprocessing(bands=3, dtype="uint8", mean=(0.0,) * 3, std=(1e-45,) * 3, nodata=None, pixels=1, images=2,
                           fitted_on="")

    with pytest.raises(TrainingError, match=r"loss became (nan|inf).*square_\d.*lr=0\.0003.*clip=1"):
        fitted(rows, tmp_path / "out", preprocessing=broken, precision="fp32")


@pytest.mark.parametrize("workers", [0, 1])
def test_a_refusal_of_a_file_is_one_message_with_and_without_workers(rows, tmp_path, workers: int):
    write_mask(tmp_path / "small.png", np.zeros((16, 16), np.uint8))
    torn = rows.assign(mask_path=[str(tmp_path / "small.png"), *rows["mask_path"].iloc[1:]])
    gray = Preprocessing(bands=1, dtype="uint8", mean=(0.0,), std=(1.0,), nodata=None, pixels=1, images=1, fitted_on="")

    with pytest.raises(MaskError, match=r"^\S+small\.png is 16 x 16 px, its image \S+ 32 x 32 px\. [^\n]*$"):
        fitted(torn, tmp_path / "a", workers=workers)
    with pytest.raises(ImageFileError, match="3 bands of uint8, and the model was trained on 1 band"):
        fitted(rows, tmp_path / "b", preprocessing=gray, workers=workers)


def test_images_of_two_sizes_need_windows(rows, tmp_path):
    mixed = pd.concat([rows, write_squares(tmp_path, 1, side=48).assign(image_id="large", group_id="g9")])

    with pytest.raises(TrainingError, match=r"one size.*crop=32"):
        fitted(mixed, tmp_path / "a", batch_size=7)
    assert fitted(mixed, tmp_path / "b", batch_size=7, crop=40).history["images"].tolist() == [7]


@pytest.mark.parametrize(("changed", "says"), [
    ({"crop": 30}, "crop=30 is not a multiple of 8, which unet_small needs. Use crop=32"),
    ({"foreground": 0.5}, r"augment.foreground=0.5 has no effect without windows: set augment.crop=PIXELS"),
    ({"foreground": 1.5, "crop": 16}, "augment.foreground=1.5 is a share of the windows, from 0 to 1"),
    ({"epochs": 0}, "epochs=0 must be 1 or more"),
    ({"lr": 0.0}, "lr=0.0 must be above 0"),
    ({"precision": "fp16"}, "precision=fp16 needs a GPU"),
    ({"precision": "half"}, "Choose from auto, fp32, bf16, fp16"),
    ({"schedule": "one_cicle"}, "did you mean one_cycle"),
    ({"warmup": 1.0}, "share of the steps"),
    ({"class_weights": (1.0,)}, "class_weights has 1 numbers and there are 2 classes"),
    ({"device": "cuda:99"}, "torch sees"),
    ({"device": "gpu"}, "use auto, cpu, cuda"),
])
def test_a_setting_that_cannot_be_is_refused_before_the_first_step(rows, tmp_path, changed, says: str):
    with pytest.raises(ConfigError, match=says):
        fitted(rows, tmp_path, **changed)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("changed", [{"precision": "bf16"}, {"channels_last": True}, {"clip": 0.1}, {"loss": "focal"},
                                     {"class_weights": (1.0, 9.0)}, {"schedule": "constant"}, {"weight_decay": 0.5},
                                     {"augment": "geometric"}, {"crop": 16}, {"batch_size": 3}, {"warmup": 0.5}])
def test_every_setting_has_an_effect(rows, tmp_path, changed):
    """A setting that is taken and changes nothing would be a lie. channels_last sums in another order on some machines
    only, so it must only run."""
    settings = {"precision": "fp32"}
    plain, other = fitted(rows, tmp_path / "a", **settings), fitted(rows, tmp_path / "b", **(settings | changed))

    weights = [one.network.module.state_dict() for one in (plain, other)]
    same = all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])
    assert not same or "channels_last" in changed


@pytest.mark.parametrize(("dtype", "bands", "nodata"), [("uint8", 3, None), ("uint8", 3, 0), ("uint16", 4, 7),
                                                        ("float32", 2, None), ("float32", 1, -9999.0)])
def test_the_network_gets_what_the_preprocessing_says(tmp_path, dtype: str, bands: int, nodata: float | None):
    """Against Preprocessing.apply, which works on the CPU in numpy; equal to float32 rounding, nodata exactly 0."""
    rng = np.random.default_rng(0)
    image = rng.uniform(0, 200, (16, 16, bands)).astype(dtype)
    image[:4] = 0 if nodata is None else nodata
    if dtype == "float32":
        image[5, 5] = np.nan
    contract = Preprocessing(bands=bands, dtype=dtype, mean=tuple(range(90, 90 + bands)), std=(31.0,) * bands,
                             nodata=nodata, pixels=1, images=1, fitted_on="")

    found = NetworkInput(contract, device=torch.device("cpu")).of_images(image[None].copy())[0].numpy()

    wanted = contract.apply(image)
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-6)
    empty = nodata_pixels(image, contract)
    assert empty is None or (found[:, empty] == 0).all()
    assert (empty is not None and empty.any()) == (nodata is not None or dtype == "float32")


def test_more_than_three_bands_of_16_bits_are_trained_on(tmp_path):
    import tifffile

    rows = write_squares(tmp_path, 2)
    for path in rows["image_path"]:
        image = read_image(Path(path)).astype(np.uint16) * 12
        four = np.dstack([image, image[:, :, 0]])
        tifffile.imwrite(path + ".tif", four, photometric="minisblack", planarconfig="contig")
    rows["image_path"] += ".tif"

    found = fitted(rows, tmp_path / "out", augment="geometric", precision="fp32")

    assert found.network.bands == 4 and np.isfinite(found.history["loss"]).all()


def test_the_environment_names_what_the_bits_depend_on():
    about = environment(torch.device("cpu"), threads=1)

    assert about["versions"]["torch"] and about["threads"] == 1 and about["device"] == "cpu"


def test_a_users_model_is_fitted_by_its_name(rows, tmp_path):
    assert fitted(rows, tmp_path, model=ModelChoice("tiny_models:pixelwise")).network.stride == 1
    with pytest.raises(ModelError, match="needs logits"):
        fitted(rows, tmp_path / "b", model=ModelChoice("tiny_models:half_size"))


def test_pictures_are_grown_by_their_mirror_and_masks_by_void(tmp_path):
    """By hand: a 5 x 6 image grows to 8 x 8; below row 4 comes row 3, and the truth there is ignored."""
    from segcv.training import padded

    image = np.arange(30, dtype=np.uint8).reshape(5, 6, 1)
    Image.fromarray(image[:, :, 0]).save(tmp_path / "gray.png")

    grown, truth = padded(image, 8, 8), padded(image[:, :, 0], 8, 8, fill=255)

    assert (grown[5, :6, 0] == image[3, :, 0]).all() and (grown[:5, 6, 0] == image[:, 4, 0]).all()
    assert (truth[5:] == 255).all() and (truth[:, 6:] == 255).all() and (truth[:5, :6] == image[:, :, 0]).all()
