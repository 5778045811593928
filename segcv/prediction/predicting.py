"""A fitted network on images of any size: class ids and probabilities at each image's own size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from segcv.errors import ConfigError, ModelError
from segcv.pixels import MAX_PIXELS, BandMoments, Preprocessing, own_moments, read_image
from segcv.prediction.tiles import Tile, tiles
from segcv.training import Network, NetworkInput, chosen_device, chosen_precision, next_multiple, padded, pinned

AUTOCAST = {"bf16": torch.bfloat16, "fp16": torch.float16}


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a network says about one image."""

    image_id: str
    labels: NDArray[np.uint8] | NDArray[np.uint16]       # H x W class ids
    mean_top_probability: float                          # mean over pixels of the largest probability, in (0, 1]
    probabilities: NDArray[np.float32] | None            # classes x H x W, where they were asked for


@dataclass(slots=True)
class _Canvas:
    """An image on its way through the network."""

    image_id: str
    image: NDArray[Any]                                  # H x W x bands
    waiting: int                                         # tiles not yet seen
    probabilities: NDArray[np.float32]                   # classes x H x W, weighted sums
    weight: NDArray[np.float32]                          # H x W


def predict(
    network: Network, images: pd.DataFrame | Iterable[tuple[str, NDArray[Any]]], *, preprocessing: Preprocessing,
    tile: int | None = 1024, overlap: int = 128, batch_size: int = 8, probabilities: bool = False,
    max_pixels: int = MAX_PIXELS, device: str = "auto", threads: int = 1, precision: str = "auto",
    channels_last: bool = False, own: BandMoments | None = None,
) -> Iterator[Prediction]:
    """One Prediction per image, in their order; images are rows (image_id, image_path) or pairs of id and array.

    An image is grown to the network's size multiple by its mirror and cut back. One larger than `tile` px (None: never)
    is predicted in tiles whose probabilities are averaged in their overlap, weighted as `tiles` says, in float32. The
    network is in evaluation mode, so what else is in a batch does not enter a prediction; `batch_size` tiles of one
    size, also of different images, go through it together. Nothing is drawn.

    Where the contract normalises each image by its own mean and std, they are those of the array or the file; of a
    source's, those of all rows of the same `source_id`. `own`: they are these, of what the arrays were cut from.

    Raises:
        ImageFileError: an image cannot be read, or breaks the contract of bands and type.
        ConfigError: `tile` is not a multiple of the network's stride, or a setting is unknown.
        ModelError: the network answers with numbers that are not finite.
    """
    if batch_size < 1:
        raise ConfigError(f"batch_size={batch_size} must be 1 or more.")
    if tile is not None and (tile < 1 or tile % network.stride):
        near = max(1, round(tile / network.stride)) * network.stride
        raise ConfigError(f"tile={tile} is not a multiple of {network.stride}, which this model needs. "
                          f"Use tile={near}.")
    tiles(1, 1, side=tile, overlap=overlap)
    place = chosen_device(device)
    precision = chosen_precision(precision, place)
    network.move(place, channels_last=channels_last).eval()
    moments = own_moments(images, preprocessing, max_pixels=max_pixels) if (
        preprocessing.by_source and isinstance(images, pd.DataFrame)) else {}
    to_input = NetworkInput(preprocessing, device=place, channels_last=channels_last, own=moments)

    def probabilities_of(stored: NDArray[Any], image_ids: list[str]) -> NDArray[np.float32]:
        """Images x classes x H x W, for stored images x H x W x bands."""
        height, width = stored.shape[1:3]
        grown = np.stack([padded(image, next_multiple(height, network.stride), next_multiple(width, network.stride))
                          for image in stored])
        with pinned(place, threads=threads), torch.inference_mode():
            x = to_input.of_images(grown, image_ids)
            with torch.autocast(place.type, dtype=AUTOCAST.get(precision), enabled=precision in AUTOCAST):
                logits: Tensor = network.logits(x)
            found: NDArray[np.float32] = logits.float().softmax(dim=1)[:, :, :height, :width].cpu().numpy()
        return found

    def pieces() -> Iterator[tuple[_Canvas, Tile]]:
        for image_id, image in _read(images, preprocessing, max_pixels):
            if preprocessing.by_own and image_id not in moments:
                moments[image_id] = own or preprocessing.own([image])
            cut = tiles(*image.shape[:2], side=tile, overlap=overlap)
            canvas = _Canvas(image_id, image, len(cut), np.zeros((network.n_classes, *image.shape[:2]), np.float32),
                             np.zeros(image.shape[:2], np.float32))
            yield from ((canvas, piece) for piece in cut)

    for batch in _alike(pieces(), batch_size):
        stored = np.stack([canvas.image[piece.window] for canvas, piece in batch])
        for (canvas, piece), found in zip(
                batch, probabilities_of(stored, [canvas.image_id for canvas, _ in batch]), strict=True):
            canvas.probabilities[:, *piece.window] += found * piece.weight
            canvas.weight[piece.window] += piece.weight
            canvas.waiting -= 1
            if not canvas.waiting:
                yield _finished(canvas, with_probabilities=probabilities)


def _read(images: pd.DataFrame | Iterable[tuple[str, NDArray[Any]]], preprocessing: Preprocessing,
          max_pixels: int) -> Iterator[tuple[str, NDArray[Any]]]:
    if isinstance(images, pd.DataFrame):
        for image_id, path in zip(images["image_id"], images["image_path"], strict=True):
            image = read_image(Path(path), max_pixels=max_pixels)
            preprocessing.check(image, Path(path))
            yield str(image_id), image
    else:
        for image_id, image in images:
            preprocessing.check(image, Path(image_id))
            yield image_id, image


def _alike(pieces: Iterator[tuple[_Canvas, Tile]], size: int) -> Iterator[list[tuple[_Canvas, Tile]]]:
    """Runs of at most `size` tiles of one shape, in order."""
    batch: list[tuple[_Canvas, Tile]] = []
    for canvas, piece in pieces:
        if batch and (len(batch) == size or piece.weight.shape != batch[0][1].weight.shape):
            yield batch
            batch = []
        batch.append((canvas, piece))
    if batch:
        yield batch


def _finished(canvas: _Canvas, *, with_probabilities: bool) -> Prediction:
    shares = canvas.probabilities / canvas.weight                              # classes x H x W
    kind = np.uint8 if len(shares) <= 255 else np.uint16
    top = float(shares.max(axis=0).mean(dtype=np.float64))
    if np.isnan(top):
        raise ModelError(f"{canvas.image_id}: the model answers with numbers that are not finite (NaN) in "
                         f"{int(np.isnan(shares).any(axis=0).sum())} pixels. Its training has diverged (a lower rate, "
                         "optim.lr=0.0005, or optim.clip=1), or the image holds values far from all training images.")
    return Prediction(canvas.image_id, shares.argmax(axis=0).astype(kind), top, shares if with_probabilities else None)
