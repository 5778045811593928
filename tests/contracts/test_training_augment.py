"""Augmentation: names from config, chance that belongs to the image, truth that is never made up."""

from __future__ import annotations

import numpy as np
import pytest

from segcv.errors import ConfigError, TrainingError
from segcv.training import PIPELINES, Augmentation

VOID = 255


def picture(*, bands: int = 3, dtype: str = "uint8", size: tuple[int, int] = (32, 32)) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.integers(0, 200, (*size, bands)).astype(dtype), rng.integers(0, 3, size).astype(np.uint8)


@pytest.mark.parametrize("name", PIPELINES)
@pytest.mark.parametrize(("bands", "dtype"), [(1, "uint8"), (3, "uint8"), (5, "uint8"), (4, "uint16"), (2, "float32")])
def test_ready_pipelines_keep_shape_and_type_or_are_refused(name: str, bands: int, dtype: str):
    """Floats keep their native range, which the brightness step would clip to 0..1: there `light` is refused."""
    if name == "light" and dtype == "float32":
        with pytest.raises(ConfigError, match=r"RandomBrightnessContrast.*clips them"):
            Augmentation(name, bands=bands, dtype=dtype, void=VOID)
        return
    image, truth = picture(bands=bands, dtype=dtype)
    augment = Augmentation(name, bands=bands, dtype=dtype, void=VOID)

    for seed in range(20):
        after, mask, _ = augment(image, truth, None, seed=seed)
        assert (after.shape, after.dtype) == (image.shape, image.dtype)
        assert mask.shape == truth.shape and mask.dtype == truth.dtype and set(np.unique(mask)) <= {0, 1, 2, VOID}


def test_the_seed_decides_and_what_went_before_does_not():
    image, truth = picture()
    augment, other = (Augmentation("geometric", bands=3, dtype="uint8", void=VOID) for _ in range(2))
    for seed in range(5):
        augment(image, truth, None, seed=seed)

    assert all((augment(image, truth, None, seed=seed)[0] == other(image, truth, None, seed=seed)[0]).all()
               for seed in (7, 8, 9))
    assert len({augment(image, truth, None, seed=seed)[0].tobytes() for seed in range(30)}) > 10


def test_ground_from_outside_the_picture_is_ignored_and_not_class_0():
    """Shifted right by half: by hand, the left half comes from outside, so its truth is void and it is nodata."""
    image, truth = picture()
    shift = [{"name": "Affine", "translate_px": {"x": 16, "y": 0}, "p": 1.0}]
    augment = Augmentation(shift, bands=3, dtype="uint8", void=VOID)

    _, mask, nodata = augment(image, truth, np.zeros((32, 32), bool), seed=0)

    assert (mask[:, :16] == VOID).all() and (mask[:, 16:] == truth[:, :16]).all()
    assert nodata[:, :16].all() and not nodata[:, 16:].any()


def test_truth_and_nodata_move_with_the_image():
    image, truth = picture()
    flip = Augmentation([{"name": "HorizontalFlip", "p": 1.0}], bands=3, dtype="uint8", void=VOID)

    after, mask, nodata = flip(image, truth, truth == 1, seed=0)

    assert (after == image[:, ::-1]).all() and (mask == truth[:, ::-1]).all()
    assert (nodata == (truth == 1)[:, ::-1]).all()


@pytest.mark.parametrize(("steps", "bands", "dtype", "says"), [
    ("strong", 3, "uint8", "Choose from none, light, geometric"),
    ([{"name": "HorizontalFlop"}], 3, "uint8", "did you mean HorizontalFlip"),
    ([{"p": 0.5}], 3, "uint8", "Each step is"),
    ([{"name": "HorizontalFlip", "probability": 1}], 3, "uint8", "HorizontalFlip does not take"),
    ([{"name": "HorizontalFlip", "p": 2.0}], 3, "uint8", "HorizontalFlip does not take"),
    ([{"name": "HueSaturationValue"}], 4, "uint8", "HueSaturationValue does not work on 4-band uint8"),
    ([{"name": "CLAHE"}], 1, "uint16", "CLAHE does not work on 1-band uint16"),
    ([{"name": "RandomGamma"}], 3, "uint16", "it returns float64"),
    ([{"name": "RandomCrop", "height": 16, "width": 16}], 3, "uint8", "cut windows with crop=PIXELS"),
])
def test_a_pipeline_that_cannot_be_is_refused_with_its_transform(steps, bands: int, dtype: str, says: str):
    with pytest.raises(ConfigError, match=says):
        Augmentation(steps, bands=bands, dtype=dtype, void=VOID)


def test_quarter_turns_of_oblong_pictures_are_refused():
    image, truth = picture(size=(32, 48))
    turn = Augmentation([{"name": "RandomRotate90", "p": 1.0}], bands=3, dtype="uint8", void=VOID)

    with pytest.raises(TrainingError, match=r"RandomRotate90.*crop=PIXELS"):
        for seed in range(10):
            turn(image, truth, None, seed=seed)
