"""What a recipe does with the cache: says what it lacks, and comes to the same bits without it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
import tifffile
from tiny_images import square_image, write_squares

from segcv.errors import ConfigError
from segcv.pixels import label_map
from segcv.recipes import fit_recipe
from segcv.settings import AugmentSettings, LossSettings, ModelSettings, RecipeCommand, TrainerSettings
from segcv.training import run_seeds

LABELS = label_map(names=["background", "square"])


def fitted(rows: pd.DataFrame, out: Path, settings: RecipeCommand) -> tuple[bytes, list[str]]:
    """The weights as they are written, and what was said."""
    masks = pd.DataFrame({"image_id": rows["image_id"], "class_id": 0, "pixels": 1})
    said: list[str] = []
    found = fit_recipe(settings, rows, labels=LABELS, masks=masks, seeds=run_seeds(0, repeat=0, fold=0), out=out,
                       say=said.append)
    return (found.folder / "model.safetensors").read_bytes(), said


@pytest.fixture
def settings(tmp_path: Path) -> RecipeCommand:
    return RecipeCommand(cache=str(tmp_path / "cache"), device="cpu", workers=1, trainer=TrainerSettings(epochs=1),
                         loss=LossSettings(class_weights="none"), model=ModelSettings("tiny_models:pixelwise"),
                         augment=AugmentSettings("none"))


def test_the_cache_and_its_limit_change_no_bit_and_what_is_not_kept_is_said(tmp_path, settings):
    """0.5 MB of limit would do; 5 kB keep one image of five, each of 4,096 bytes with its mask."""
    rows = write_squares(tmp_path / "images", 5)

    with_cache, said = fitted(rows, tmp_path / "a", settings)
    without, nothing = fitted(rows, tmp_path / "b", replace(settings, cache_gb=0))
    some, told = fitted(rows, tmp_path / "c", replace(settings, cache=str(tmp_path / "small"), cache_gb=5e-6))

    assert with_cache == without == some
    assert said == nothing == []
    assert len(told) == 1 and "4 of 5 because the cache is full (cache_gb=5e-06" in told[0]


def test_float_images_are_said_to_be_decoded_again(tmp_path, settings):
    rows = write_squares(tmp_path / "images", 4)
    for number, path in enumerate(rows["image_path"]):
        tifffile.imwrite(f"{path}.tif", square_image(number)[0].astype("float32"), photometric="rgb")
    rows["image_path"] += ".tif"

    _, said = fitted(rows, tmp_path / "a", settings)

    assert said == ["Decoded again whenever they are read: 4 of 4 because they hold float32."]


def test_a_limit_below_nothing_is_refused(tmp_path, settings):
    with pytest.raises(ConfigError, match=r"cache_gb=-1 must be 0 \(decode images whenever they are read\) or more"):
        fitted(write_squares(tmp_path / "images", 2), tmp_path / "a", replace(settings, cache_gb=-1))
