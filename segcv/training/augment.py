"""Augmentation pipelines from config, on albumentations, with chance that belongs to (epoch, image) and to no worker.

albumentations keeps a generator inside the pipeline: in DataLoader workers each copy would draw the same numbers, and
each epoch would repeat them. Here the pipeline is reseeded for every image.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segcv.errors import ConfigError, TrainingError

Step = Mapping[str, Any]         # {"name": "HorizontalFlip", "p": 0.5, ...}: a transform and its arguments

PIPELINES: dict[str, tuple[Step, ...]] = {
    "none": (),
    "light": (
        {"name": "HorizontalFlip", "p": 0.5},
        {"name": "RandomBrightnessContrast", "p": 0.5, "brightness_by_max": False},
    ),
    "geometric": (
        {"name": "HorizontalFlip", "p": 0.5},
        {"name": "RandomRotate90", "p": 0.75},
        {"name": "Affine", "p": 0.5, "scale": (0.8, 1.25), "translate_percent": (-0.06, 0.06)},
    ),
}

TRIAL_PX = 64        # side of the image on which transforms are tried out when windows have no fixed size


class Augmentation:
    """A pipeline of transforms: (image, truth) in, the same shapes and types out.

    `steps` is the name of a ready pipeline or a list of transforms with their arguments. Where a transform brings in
    ground from outside the picture, its truth is `void` and it counts as nodata.

    Raises:
        ConfigError: a transform or an argument is unknown, or a transform does not work for images of these bands
            and this type, or changes their size. It is tried out here, before the first step.
    """

    def __init__(self, steps: str | Sequence[Step], *, bands: int, dtype: str, void: int,
                 side: int | None = None) -> None:
        size = (side or TRIAL_PX, side or TRIAL_PX)
        self.steps = _named(steps)
        self._compose: Any = None
        if self.steps:
            built = [_transform(step, void) for step in self.steps]
            for step in self.steps:
                _try_out(step, _transform(step | {"p": 1.0}, void), bands=bands, dtype=dtype, size=size)
            self._compose = _albumentations().Compose(built)

    def __call__(
        self, image: NDArray[Any], truth: NDArray[Any], nodata: NDArray[np.bool_] | None, *, seed: int,
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.bool_] | None]:
        """The image (H x W x bands), its truth and its nodata pixels (H x W) after one draw, which `seed` decides."""
        if self._compose is None:
            return image, truth, nodata
        self._compose.set_random_seed(seed % 2**32)
        masks = [truth] if nodata is None else [truth, nodata.astype(truth.dtype)]
        changed = self._compose(image=image, masks=masks)
        after = changed["image"]
        if after.shape != image.shape:
            names = ", ".join(step["name"] for step in self.steps)
            raise TrainingError(f"An image of {image.shape[0]} x {image.shape[1]} px was turned into one of "
                                f"{after.shape[0]} x {after.shape[1]} px by the pipeline ({names}). Train on "
                                "square windows, crop=PIXELS, or leave quarter turns out.")
        return after, changed["masks"][0], None if nodata is None else changed["masks"][1] > 0


def _named(steps: str | Sequence[Step]) -> tuple[dict[str, Any], ...]:
    if not isinstance(steps, str):
        return tuple(dict(step) for step in steps)
    if steps not in PIPELINES:
        raise ConfigError(f"augment={steps} is not a pipeline. Choose from {', '.join(PIPELINES)}, "
                          "or list the transforms: [{name: HorizontalFlip, p: 0.5}].")
    return tuple(dict(step) for step in PIPELINES[steps])


def _albumentations() -> Any:
    os.environ.setdefault("NO_ALBUMENTATIONS_UPDATE", "1")       # its import asks the network for a newer version
    import albumentations
    return albumentations


def _transform(step: Step, void: int) -> Any:
    library = _albumentations()
    name, arguments = step.get("name"), {key: value for key, value in step.items() if key != "name"}
    kinds = {key: kind for key, kind in vars(library).items()
             if isinstance(kind, type) and issubclass(kind, library.BasicTransform)}
    if name not in kinds:
        near = get_close_matches(str(name), kinds, n=3)
        raise ConfigError(f"augment: {name!r} is not a transform of albumentations"
                          f"{'; did you mean ' + ' or '.join(near) + '?' if near else '.'} "
                          "Each step is {name: TRANSFORM, p: CHANCE, its arguments}.")
    transform = _built(kinds[name], arguments)
    if "fill_mask" in transform.get_transform_init_args() and "fill_mask" not in arguments:
        transform = _built(kinds[name], arguments | {"fill_mask": void})
    return transform


def _built(kind: Any, arguments: dict[str, Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error")       # albumentations only warns of an argument that it does not know
        try:
            return kind(**{key: tuple(value) if isinstance(value, list) else value for key, value in arguments.items()})
        except (TypeError, ValueError, UserWarning) as error:
            raise ConfigError(f"augment: {kind.__name__} does not take {arguments}: {error}") from error


def _try_out(step: Step, transform: Any, *, bands: int, dtype: str, size: tuple[int, int]) -> None:
    """Refuse a transform that fails on such images, or returns something else than such an image."""
    kind = np.dtype(dtype)
    high = {"uint8": 255, "uint16": 4000}.get(kind.name, 1000)
    image = np.random.default_rng(0).uniform(0, high, (*size, bands)).astype(kind)
    said = f"augment: {step['name']} does not work on {bands}-band {kind.name} images of {size[0]} x {size[1]} px"
    transform.set_random_seed(0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            after = transform(image=image, mask=np.zeros(size, np.uint8))["image"]
    except Exception as error:      # whatever the library or OpenCV raises, the cure is the same
        raise ConfigError(f"{said} ({str(error).splitlines()[0][:200]}). Take it out of the pipeline.") from error
    if after.shape != image.shape:
        raise ConfigError(f"{said}: it makes them {after.shape[0]} x {after.shape[1]} px. A pipeline keeps the size; "
                          "cut windows with crop=PIXELS.")
    if after.dtype != image.dtype:
        raise ConfigError(f"{said}: it returns {after.dtype}. Take it out of the pipeline.")
    if kind.kind == "f" and after.std() < 0.01 * image.std():
        raise ConfigError(f"{said}: it clips them to 0..1, and these images keep their native range. "
                          "Take it out of the pipeline.")
