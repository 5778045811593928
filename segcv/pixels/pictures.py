"""Small pictures of one scored image for people: the image, its truth, the prediction, and where they differ."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from segcv.pixels.files import MAX_PIXELS
from segcv.pixels.labels import LabelMap
from segcv.pixels.looks import eight_bit
from segcv.pixels.moments import valid_pixels
from segcv.pixels.reading import read_image

# Okabe and Ito's colours, then others of the same lightness steps; class k takes colour k, again from the start
COLOURS = np.array([(0, 114, 178), (230, 159, 0), (0, 158, 115), (204, 121, 167), (86, 180, 233), (213, 94, 0),
                    (240, 228, 66), (96, 96, 96), (120, 66, 18), (150, 200, 150)], np.uint8)
IGNORED, WRONG, OUTSIDE = (255, 255, 255), (214, 39, 40), (0, 0, 0)


def picture_panels(image_path: Path, mask_path: Path, predicted_path: Path, *, labels: LabelMap, side: int = 160,
                   nodata: float | None = None, max_pixels: int = MAX_PIXELS) -> tuple[tuple[str, bytes], ...]:
    """("image", "truth", "prediction", "errors") with JPEG or PNG bytes, the longer side `side` px.

    Ignored pixels are white, wrong ones red over a grey copy of the image. The prediction is a mask of class ids.
    """
    stored = read_image(image_path, max_pixels=max_pixels)
    image = eight_bit(stored, valid_pixels(stored, nodata))
    truth = labels.read(mask_path, max_pixels=max_pixels)
    predicted = read_image(predicted_path, max_pixels=max_pixels)[:, :, 0]
    if predicted.shape != truth.shape:
        rows = np.arange(truth.shape[0]) * predicted.shape[0] // truth.shape[0]
        columns = np.arange(truth.shape[1]) * predicted.shape[1] // truth.shape[1]
        predicted = predicted[rows[:, None], columns]
    shown = image if image.ndim == 3 else np.repeat(image[:, :, None], 3, axis=2)
    grey = np.repeat((shown.mean(axis=2, keepdims=True) * 0.6 + 90).astype(np.uint8), 3, axis=2)
    wrong = (predicted != truth) & (truth != labels.void)
    errors = np.where(wrong[:, :, None], np.array(WRONG, np.uint8), grey)
    errors[truth == labels.void] = IGNORED
    return (("image", _jpeg(shown, side)), ("truth", _png(coloured(truth, labels), side)),
            ("prediction", _png(coloured(predicted, labels), side)), ("errors", _jpeg(errors, side)))


def picture_row(image: NDArray[Any], truth: NDArray[Any], predicted: NDArray[Any], *, labels: LabelMap,
                side: int = 256) -> NDArray[np.uint8]:
    """Image, truth and prediction side by side as one picture, H x W x 3; the longer side of each is `side` at most."""
    small = eight_bit(image, valid_pixels(image, None))
    shown = small if small.ndim == 3 else np.repeat(small[:, :, None], 3, axis=2)
    parts = [_small(picture, side, how) for picture, how in (
        (shown, Image.Resampling.LANCZOS), (coloured(truth, labels), Image.Resampling.NEAREST),
        (coloured(predicted, labels), Image.Resampling.NEAREST))]
    return np.concatenate([np.asarray(part) for part in parts], axis=1)


def coloured(values: NDArray[Any], labels: LabelMap) -> NDArray[np.uint8]:
    """Class ids, H x W, in colours, H x W x 3: ignored pixels white, values that are no class black."""
    inside = (values >= 0) & (values < labels.n_classes)
    picture: NDArray[np.uint8] = COLOURS[np.where(inside, values, 0).astype(np.intp) % len(COLOURS)]
    picture[~inside] = OUTSIDE
    if labels.void is not None:
        picture[values == labels.void] = IGNORED
    return picture


def _small(picture: NDArray[np.uint8], side: int, how: Image.Resampling) -> Image.Image:
    small = Image.fromarray(picture)
    small.thumbnail((side, side), how)
    return small


def _jpeg(picture: NDArray[np.uint8], side: int) -> bytes:
    buffer = io.BytesIO()
    _small(picture, side, Image.Resampling.LANCZOS).save(buffer, "JPEG", quality=80)
    return buffer.getvalue()


def _png(picture: NDArray[np.uint8], side: int) -> bytes:
    buffer = io.BytesIO()
    _small(picture, side, Image.Resampling.NEAREST).quantize(32, dither=Image.Dither.NONE).save(
        buffer, "PNG", optimize=True)
    return buffer.getvalue()
