"""Which step differs between what a service feeds its model and what the model was trained on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from segcv.errors import ModelError
from segcv.pixels import Preprocessing

IMAGENET_MEAN, IMAGENET_STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
INTERPOLATIONS = {"nearest": cv2.INTER_NEAREST, "bilinear": cv2.INTER_LINEAR, "bicubic": cv2.INTER_CUBIC,
                  "area": cv2.INTER_AREA, "Lanczos": cv2.INTER_LANCZOS4}


@dataclass(frozen=True, slots=True)
class ServingDifference:
    """What explains the served tensor best.

    `steps`: each difference in words, none: the tensor is the model's own input. `error`: what these steps leave
    unexplained, root mean square in training standard deviations; `unexplained`: that is above the tolerance.
    """

    steps: tuple[str, ...]
    error: float
    unexplained: bool
    expected: NDArray[np.float32]        # bands x H x W
    served: NDArray[np.float32]          # bands x H x W: the served tensor, its axes put in the model's order


def compare_serving(image: NDArray[Any], served: NDArray[Any], *, preprocessing: Preprocessing,
                    tolerance: float = 0.01) -> ServingDifference:
    """Explain `served` (bands x H x W or H x W x bands, maybe with a batch axis of one) for `image` (H x W x bands).

    Every combination of channel order, scaling, flip, crop and resize that services are known to get wrong is tried;
    the one that leaves least is given, of equal ones that with the fewest steps.

    Raises:
        ModelError: the model normalises whole sources; or the tensor has another number of axes or bands, or holds
            values that are no numbers.
    """
    if preprocessing.by_source:
        raise ModelError("this model normalises each source by the mean and standard deviation of all its images, which"
                         " one image does not tell: its serving cannot be checked image by image.")
    expected = preprocessing.apply(image)
    layouts = list(_layouts(served, preprocessing.bands))
    if not np.isfinite(served.astype(np.float64)).all():
        raise ModelError("the served tensor holds values that are not numbers; look at the service before its model.")
    best: tuple[float, int, tuple[str, ...], NDArray[np.float32]] | None = None
    for axes, tensor in layouts:
        for where, shaped in _geometries(image, tensor.shape[1:]):
            for order, ordered in _orders(shaped):
                for scaling, values in _scaled(ordered, preprocessing):
                    error = float(np.sqrt(np.mean((values - tensor) ** 2, dtype=np.float64)))
                    steps = tuple(step for step in (axes, where, order, scaling) if step)
                    score = round(error / max(tolerance, 1e-12))
                    if best is None or (score, len(steps), error) < (round(best[0] / max(tolerance, 1e-12)),
                                                                     best[1], best[0]):
                        best = error, len(steps), steps, tensor
    assert best is not None
    error, _, steps, tensor = best
    return ServingDifference(steps, error, error > tolerance, expected, tensor)


def _layouts(served: NDArray[Any], bands: int) -> Iterator[tuple[str, NDArray[np.float32]]]:
    tensor = served[0] if served.ndim == 4 and len(served) == 1 else served
    if tensor.ndim == 2 and bands == 1:
        tensor = tensor[None]
    if tensor.ndim != 3 or bands not in (tensor.shape[0], tensor.shape[2]):
        raise ModelError(f"the served tensor has the shape {served.shape}; for one image of {bands} bands it is bands "
                         "x H x W, maybe with a batch axis of one in front.")
    if tensor.shape[0] == bands:
        yield "", tensor.astype(np.float32)
    if tensor.shape[2] == bands:
        yield ("the band axis is last, and the model takes it first (H x W x bands instead of bands x H x W)",
               np.ascontiguousarray(tensor.transpose(2, 0, 1)).astype(np.float32))


def _geometries(image: NDArray[Any], size: tuple[int, ...]) -> Iterator[tuple[str, NDArray[Any]]]:
    height, width = image.shape[:2]
    if (height, width) == size:
        yield "", image
        yield "the image is flipped left to right", image[:, ::-1]
        yield "the image is flipped upside down", image[::-1]
        yield "the image is turned by 180 degrees", image[::-1, ::-1]
        if height == width:
            yield "rows and columns are exchanged", image.swapaxes(0, 1)
        return
    if (width, height) == size:
        yield "rows and columns are exchanged", image.swapaxes(0, 1)
    for name, how in INTERPOLATIONS.items():
        resized = cv2.resize(image, (size[1], size[0]), interpolation=how)
        yield (f"the image is resized from {height}x{width} to {size[0]}x{size[1]} px ({name}); the model takes it at "
               "its own size", resized.reshape(*size, -1))
    if size[0] <= height and size[1] <= width:
        top, left = (height - size[0]) // 2, (width - size[1]) // 2
        for name, y, x in (("centre", top, left), ("top left corner", 0, 0)):
            yield (f"the image is cropped to {size[0]}x{size[1]} px of its {height}x{width} ({name})",
                   image[y:y + size[0], x:x + size[1]])


def _orders(image: NDArray[Any]) -> Iterator[tuple[str, NDArray[Any]]]:
    yield "", image
    if image.shape[2] == 3:
        yield "red and blue are exchanged (BGR instead of RGB)", image[:, :, ::-1]


def _scaled(image: NDArray[Any], preprocessing: Preprocessing) -> Iterator[tuple[str, NDArray[np.float32]]]:
    yield from _scalings(image, preprocessing)
    if image.shape[2] == 3:
        yield "red and blue are exchanged after normalising (BGR)", preprocessing.apply(image)[::-1]


def _scalings(image: NDArray[Any], preprocessing: Preprocessing) -> Iterator[tuple[str, NDArray[np.float32]]]:
    full = {"uint8": 255.0, "uint16": 65535.0}.get(preprocessing.dtype)
    raw = image.transpose(2, 0, 1).astype(np.float32)
    here = preprocessing.on(image)
    mean, std = (np.array(values, np.float32)[:, None, None] for values in (here.mean, here.std))
    yield "", here.apply(image)
    yield "values are as stored, not normalised", raw
    yield "the mean is taken off, and nothing is divided by the standard deviation", raw - mean
    yield "values are divided by the standard deviation, and no mean is taken off", raw / std
    if preprocessing.by_own:
        yield ("bands are normalised by the training images' mean and standard deviation, not by the image's own",
               preprocessing.trained().apply(image))
    else:
        yield ("bands are normalised by the image's own mean and standard deviation, not by the training images'",
               (raw - raw.mean(axis=(1, 2), keepdims=True)) / np.maximum(raw.std(axis=(1, 2), keepdims=True), 1e-6))
    if full is not None:
        yield f"values are divided by {full:g} only, not normalised", raw / full
        yield f"values are divided by {full:g} twice, not normalised", raw / full / full
        yield (f"values are divided by {full:g} before mean and standard deviation, which are of undivided values",
               (raw / full - mean) / std)
        yield "values are scaled to -1..1, not normalised", raw / full * 2 - 1
    if full is not None and len(raw) == 3:
        own_mean, own_std = (np.array(values, np.float32)[:, None, None] for values in (IMAGENET_MEAN, IMAGENET_STD))
        yield ("ImageNet's mean and standard deviation are used, not the training images'",
               (raw / full - own_mean) / own_std)
        yield ("ImageNet's mean and standard deviation (of 0..1) are used on values that were not divided by "
               f"{full:g}", (raw - own_mean) / own_std)
