"""Predictions at the image's own size, whatever the tiles, the batch and the neighbours."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_images import write_squares
from tiny_models import Blur

from segcv.errors import ConfigError, ImageFileError, ModelError
from segcv.pixels import Preprocessing
from segcv.prediction import predict, tiles
from segcv.training import ModelChoice, Network, build_model

CONTRACT = Preprocessing(bands=3, dtype="uint8", mean=(100.0, 110.0, 120.0), std=(50.0,) * 3, nodata=None, pixels=1,
                         images=1, fitted_on="")


def network_of(name: str, *, n_classes: int = 3) -> Network:
    torch.manual_seed(0)
    return build_model(ModelChoice(name), bands=3, n_classes=n_classes)


def picture(height: int, width: int, *, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 255, (height, width, 3)).astype(np.uint8)


def predicted(network: Network, *images: np.ndarray, **settings):
    pairs = [(f"image {index}", image) for index, image in enumerate(images)]
    return list(predict(network, pairs, preprocessing=CONTRACT, device="cpu", probabilities=True, **settings))


@pytest.mark.parametrize(("height", "width"), [(1, 1), (7, 9), (16, 16), (17, 40), (64, 33)])
def test_class_ids_come_at_the_size_of_the_image(height: int, width: int):
    """unet_small needs multiples of 8; none of the odd sizes is."""
    found, = predicted(network_of("unet_small"), picture(height, width))

    assert found.labels.shape == (height, width) and found.labels.dtype == np.uint8
    assert found.probabilities.shape == (3, height, width)
    np.testing.assert_allclose(found.probabilities.sum(axis=0), 1, rtol=1e-5)
    assert (found.labels == found.probabilities.argmax(axis=0)).all()
    assert found.mean_top_probability == pytest.approx(found.probabilities.max(axis=0).mean(), rel=1e-6)


def test_labels_are_those_of_the_network_itself():
    """Against a plain forward pass of the normalised image, whose sides need no padding."""
    network, image = network_of("unet_small"), picture(32, 40)

    found, = predicted(network, image)

    with torch.no_grad():
        logits = network.module.eval()(torch.from_numpy(CONTRACT.apply(image))[None])[0]
    np.testing.assert_allclose(found.probabilities, logits.softmax(dim=0).numpy(), rtol=1e-4, atol=1e-6)


@given(height=st.integers(1, 50), width=st.integers(1, 50), side=st.integers(1, 30), share=st.floats(0, 0.9))
@settings(max_examples=40, deadline=None)
def test_tiles_of_a_network_that_sees_single_pixels_give_the_whole_image(height, width, side, share):
    """Where the answer at a pixel is the same in every tile, so is its weighted mean."""
    network, image = network_of("tiny_models:pixelwise"), picture(height, width)

    cut, = predicted(network, image, tile=side, overlap=int(share * side))
    whole, = predicted(network, image, tile=None)

    np.testing.assert_allclose(cut.probabilities, whole.probabilities, rtol=1e-5, atol=1e-6)


def test_tiles_of_a_network_that_sees_further_agree_but_for_the_seams():
    """A 5 x 5 mean is wrong at a tile's edge only, where the window's weight is small."""
    network, image = Network(Blur(bands=3, n_classes=2), bands=3, n_classes=2, stride=4), picture(64, 88)

    cut, = predicted(network, image, tile=32, overlap=12)
    whole, = predicted(network, image, tile=None)

    error = np.abs(cut.probabilities - whole.probabilities)
    assert error.max() < 0.02
    assert (error[:, :16, :16] < 1e-6).all()         # the first tile alone: nothing is lost at the image's own corner


@given(length=st.integers(1, 300), side=st.integers(1, 64), overlap=st.integers(0, 63))
def test_tiles_cover_every_pixel_with_weight_and_overlap_as_asked(length: int, side: int, overlap: int):
    overlap = min(overlap, side - 1)
    cut = tiles(length, 5, side=side, overlap=overlap)

    weight = np.zeros((length, 5))
    for piece in cut:
        assert piece.weight.shape[0] == min(side, length) and piece.weight.min() > 0 and piece.weight.max() <= 1
        weight[piece.window] += piece.weight
    assert (weight > 0).all()
    assert (weight[[0, -1]] > 0.5).all() if side > 2 * overlap else True
    tops = sorted({piece.top for piece in cut})
    assert all(later - earlier <= side - overlap for earlier, later in pairwise(tops))


@pytest.mark.parametrize("batch_size", [1, 3, 8])
def test_neither_the_batch_nor_the_neighbours_change_a_prediction(batch_size: int):
    """Alone, and among images of the same and of other sizes."""
    network = network_of("unet_small")
    images = [picture(40, 40, seed=1), picture(24, 24, seed=2), picture(24, 24, seed=3), picture(40, 17, seed=4)]
    alone = [predicted(network, image, tile=32, overlap=8, batch_size=1)[0] for image in images]

    together = predicted(network, *images, tile=32, overlap=8, batch_size=batch_size)

    assert [found.image_id for found in together] == ["image 0", "image 1", "image 2", "image 3"]
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_allclose(one.probabilities, other.probabilities, rtol=1e-5, atol=1e-6)
        assert (one.labels == other.labels).all()


def test_pixels_without_data_are_zero_for_the_network():
    """Whatever the nodata value is, the answer there is the one for the mean colour."""
    contract = Preprocessing(bands=3, dtype="uint8", mean=(100.0,) * 3, std=(50.0,) * 3, nodata=0, pixels=1,
                             images=1, fitted_on="")
    empty, average = np.zeros((8, 8, 3), np.uint8), np.full((8, 8, 3), 100, np.uint8)

    found = list(predict(network_of("unet_small"), [("a", empty), ("b", average)], preprocessing=contract, device="cpu",
                         probabilities=True))

    assert (found[0].probabilities == found[1].probabilities).all()


def test_rows_are_read_one_by_one_and_no_other_file(tmp_path: Path):
    """The rows' masks are not there at all."""
    rows = write_squares(tmp_path, 3)
    for path in rows["mask_path"]:
        Path(path).unlink()

    found = predict(network_of("unet_small"), rows.iloc[:2], preprocessing=CONTRACT, device="cpu")

    assert [one.image_id for one in found] == ["square_0", "square_1"]


def test_an_image_that_breaks_the_contract_is_refused():
    with pytest.raises(ImageFileError, match=r"image 0: has 3 bands of uint16, and .* on 3 bands of uint8"):
        predicted(network_of("unet_small"), picture(8, 8).astype(np.uint16))


@pytest.mark.parametrize(("settings", "says"), [
    ({"tile": 100, "overlap": 10}, "tile=100 is not a multiple of 8, which this model needs. Use tile=96"),
    ({"tile": 64, "overlap": 64}, "overlap=64 must be from 0 to below the tile's 64 px"),
    ({"batch_size": 0}, "batch_size=0"),
])
def test_a_setting_that_cannot_be_is_refused(settings: dict, says: str):
    with pytest.raises(ConfigError, match=says):
        predicted(network_of("unet_small"), picture(8, 8), **settings)


def test_a_network_that_has_diverged_predicts_nothing():
    """One weight that is no number makes every logit NaN, and the largest of these would be class 0."""
    network = network_of("unet_small")
    with torch.no_grad():
        next(network.module.parameters()).fill_(float("nan"))

    with pytest.raises(ModelError, match=r"image 0: the model answers .*NaN\) in 256 pixels"):
        predicted(network, picture(16, 16))


def test_the_networks_flags_and_threads_are_as_before_between_two_images():
    before = torch.get_num_threads()

    for _ in predict(network_of("unet_small"), [("a", picture(8, 8)), ("b", picture(8, 8))], preprocessing=CONTRACT,
                     device="cpu", threads=before + 1):
        assert torch.get_num_threads() == before and not torch.are_deterministic_algorithms_enabled()
