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

# Okabe and Ito's colours, which the colour blind tell apart, then others of the same lightness steps
COLOURS = np.array([(0, 114, 178), (230, 159, 0), (0, 158, 115), (204, 121, 167), (86, 180, 233), (213, 94, 0),
                    (240, 228, 66), (96, 96, 96), (120, 66, 18), (150, 200, 150)], np.uint8)
IGNORED, WRONG, OUTSIDE = (255, 255, 255), (214, 39, 40), (0, 0, 0)
FIRST, SECOND = (0, 114, 178), (230, 159, 0)


def class_colours(n_classes: int) -> tuple[str, ...]:
    """#rrggbb of each class as the panels show it."""
    return tuple("#" + bytes(colour.tolist()).hex() for colour in _colours(np.arange(n_classes)))


def picture_panels(image_path: Path, mask_path: Path, predicted_path: Path, *, labels: LabelMap, side: int = 160,
                   nodata: float | None = None, max_pixels: int = MAX_PIXELS) -> tuple[tuple[str, bytes], ...]:
    """("image", "truth", "prediction", "errors") with JPEG or PNG bytes, the longer side `side` px.

    Ignored pixels are white, wrong ones red over a grey copy of the image. The prediction is a mask of class ids.
    """
    shown, truth = _shown(image_path, nodata, max_pixels), labels.read(mask_path, max_pixels=max_pixels)
    predicted = _predicted(predicted_path, truth.shape, max_pixels)
    wrong = (predicted != truth) & (truth != labels.void)
    errors = _over(shown, truth, labels, {WRONG: wrong})
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


def difference_panels(image_path: Path, mask_path: Path, first_path: Path, second_path: Path, *, labels: LabelMap,
                      side: int = 160, nodata: float | None = None,
                      max_pixels: int = MAX_PIXELS) -> tuple[tuple[str, bytes], ...]:
    """("image", "truth", "first", "second", "difference") as `picture_panels` makes them.

    In the last, pixels are blue where only the first prediction is right, orange where only the second, red where
    both are wrong.
    """
    shown, truth = _shown(image_path, nodata, max_pixels), labels.read(mask_path, max_pixels=max_pixels)
    first, second = (_predicted(path, truth.shape, max_pixels) for path in (first_path, second_path))
    known, one, two = truth != labels.void, first == truth, second == truth
    picture = _over(shown, truth, labels, {FIRST: known & one & ~two, SECOND: known & two & ~one,
                                           WRONG: known & ~one & ~two})
    return (("image", _jpeg(shown, side)), ("truth", _png(coloured(truth, labels), side)),
            ("first", _png(coloured(first, labels), side)), ("second", _png(coloured(second, labels), side)),
            ("difference", _jpeg(picture, side)))


def _shown(path: Path, nodata: float | None, max_pixels: int) -> NDArray[np.uint8]:
    """The image as H x W x 3 bytes."""
    stored = read_image(path, max_pixels=max_pixels)
    image = eight_bit(stored, valid_pixels(stored, nodata))
    return image if image.ndim == 3 else np.repeat(image[:, :, None], 3, axis=2)


def _predicted(path: Path, shape: tuple[int, ...], max_pixels: int) -> NDArray[Any]:
    """Predicted class ids at the size of the truth, nearest neighbour."""
    predicted: NDArray[Any] = read_image(path, max_pixels=max_pixels)[:, :, 0]
    if predicted.shape == shape:
        return predicted
    rows = np.arange(shape[0]) * predicted.shape[0] // shape[0]
    columns = np.arange(shape[1]) * predicted.shape[1] // shape[1]
    resized: NDArray[Any] = predicted[rows[:, None], columns]
    return resized


def _over(shown: NDArray[np.uint8], truth: NDArray[Any], labels: LabelMap,
          marked: dict[tuple[int, int, int], NDArray[np.bool_]]) -> NDArray[np.uint8]:
    """A pale grey copy of the image with marked pixels in their colours, ignored ones white."""
    picture: NDArray[np.uint8] = np.repeat((shown.mean(axis=2, keepdims=True) * 0.6 + 90).astype(np.uint8), 3, axis=2)
    for colour, where in marked.items():
        picture[where] = colour
    picture[truth == labels.void] = IGNORED
    return picture


def _colours(numbers: NDArray[Any]) -> NDArray[np.uint8]:
    """The colour of each class id: ten hues, then the same darker, then paler, and again."""
    hue, turn = COLOURS[numbers % len(COLOURS)].astype(np.float64), (numbers // len(COLOURS) % 3)[..., None]
    shades = np.where(turn == 0, hue, np.where(turn == 1, hue * 0.5, 127 + hue * 0.5))
    return np.asarray(shades, np.uint8)


def coloured(values: NDArray[Any], labels: LabelMap) -> NDArray[np.uint8]:
    """Class ids, H x W, in colours, H x W x 3: ignored pixels white, values that are no class black."""
    inside = (values >= 0) & (values < labels.n_classes)
    picture = _colours(np.arange(labels.n_classes))[np.where(inside, values, 0).astype(np.intp)]
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
