"""A bootstrap of training groups reaches everything that learns: rows that count twice are learned from twice."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tiny_images import square_image, write_squares

from segcv.errors import TrainingError
from segcv.pixels import class_pixels, fit_preprocessing, label_map
from segcv.splits import cut_roles
from segcv.statistics import scored_images, trivial_baseline
from segcv.training import Fit, fit, run_seeds
from segcv.training.augment import Augmentation
from segcv.training.cropping import Cropping
from segcv.training.data import TrainingImages, pair_reader, training_rows

COUNTS = [2, 1, 3, 1]


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    return write_squares(tmp_path_factory.mktemp("squares"), 4).assign(train_count=COUNTS)


def test_the_normalisation_weighs_an_image_as_often_as_it_counts(rows):
    """Mean and SD over 2 + 1 + 3 + 1 images, by numpy; the file is read once, and named once."""
    pixels = np.concatenate([square_image(k)[0].reshape(-1, 3) for k, n in enumerate(COUNTS) for _ in range(n)])
    fitted = fit_preprocessing(rows)

    assert fitted.mean == pytest.approx(pixels.mean(axis=0))
    assert fitted.std == pytest.approx(pixels.std(axis=0))
    assert fitted.fitted_on == fit_preprocessing(rows.drop(columns="train_count")).fitted_on


def test_class_weights_see_the_counted_pixels(rows):
    """A square of 16 x 16 in each of four images of 32 x 32, counted 2 + 1 + 3 + 1 times."""
    masks = pd.DataFrame({"image_id": np.repeat(rows["image_id"], 2), "class_id": [0, 1] * 4,
                          "pixels": [32 * 32 - 256, 256] * 4})

    assert class_pixels(masks, rows, n_classes=2).tolist() == [7 * 768, 7 * 256]


def test_an_epoch_has_as_many_images_as_counts(rows, tmp_path: Path):
    """Seven images in batches of two, the last one of three."""
    def fitted(table: pd.DataFrame, out: str) -> Fit:
        return fit(table, labels=label_map(num_classes=2), preprocessing=fit_preprocessing(rows), epochs=1,
                   seeds=run_seeds(0, repeat=0, fold=0), out=tmp_path / out, batch_size=2)

    counted, once = fitted(rows, "counted"), fitted(rows.drop(columns="train_count"), "once")

    assert counted.history["images"].tolist() == [7]
    assert once.history["images"].tolist() == [4]
    assert counted.read == once.read == frozenset(rows["image_id"])


def test_copies_of_an_image_are_cut_anew_and_the_first_as_it_was(rows):
    """Windows of 8 px: the first copy is what an image without count gives, the others lie elsewhere."""
    preprocessing, labels = fit_preprocessing(rows), label_map(num_classes=2)

    def windows(table: pd.DataFrame) -> list[np.ndarray]:
        images = TrainingImages(training_rows(table), read=pair_reader(labels, preprocessing, max_pixels=10**6),
                                preprocessing=preprocessing, stride=1, root=0,
                                cropping=Cropping(8, foreground=0, void=255),
                                augmentation=Augmentation("none", bands=3, dtype="uint8", void=255, side=8))
        return [images.sample(0, position).image for position in range(len(images))]

    counted, once = windows(rows), windows(rows.drop(columns="train_count"))
    assert [counted[place].tolist() for place in (0, 2, 3, 6)] == [window.tolist() for window in once]
    assert len({window.tobytes() for window in counted}) == 7


def test_a_row_that_does_not_count_cannot_train(rows, tmp_path: Path):
    with pytest.raises(TrainingError, match="square_1 trains, and its train_count is below 1"):
        fit(rows.assign(train_count=[1, 0, 1, 1]), labels=label_map(num_classes=2), preprocessing=fit_preprocessing(
            rows.drop(columns="train_count")), seeds=run_seeds(0, repeat=0, fold=0), out=tmp_path, epochs=1)


def test_the_trivial_predictor_is_that_of_the_counted_pixels():
    """Two training groups, one class each, the lesser one drawn twice: 2 x 60 pixels beat 100."""
    images = pd.DataFrame({"image_id": ["i0", "i1", "i2"], "group_id": ["a", "b", "c"]})
    roles = cut_roles(images, None, splitter="leave_one_group_out", folds=None, repeats=1, seed=0, bootstrap=True)
    masks = pd.DataFrame({"image_id": ["i0", "i1", "i2"], "class_id": [0, 1, 0], "pixels": [100, 60, 10]})
    scores = pd.DataFrame({"run_id": "r", "image_id": "i2", "class_id": [0, 1], "group_id": "c", "source_id": "",
                           "tp": 0, "fp": 0, "fn": [10, 0], "valid": 10, "repeat": 0, "fold": 2, "seed": 0})
    fold = roles[roles["fold"] == 2].set_index("image_id")
    for counts, right in (([1, 1], 10), ([1, 2], 0)):
        fold["train_count"] = [*counts, 0]
        fold["role"] = ["train", "train", "held_out"]

        assert trivial_baseline(scored_images(scores), masks, fold.reset_index()).counts.tp[0, 0] == right
