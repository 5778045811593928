"""The contract between images and a model: which bands, in which range, brought to which scale."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from segcv.errors import ConfigError, ImageFileError, SegcvWarning
from segcv.pixels.decoded import Decoded
from segcv.pixels.files import MAX_PIXELS
from segcv.pixels.moments import Moments, valid_pixels
from segcv.pixels.reading import read_image
from segcv.tables import Progress, fingerprint, quiet

TRAINING, IMAGE, SOURCE = "training", "image", "source"
STATISTICS = ("training_fold", "per_source")


@dataclass(frozen=True, slots=True)
class BandMoments:
    """Mean and population standard deviation per band; 0 and 1 without a pixel, and 1 for a band that never changes."""

    mean: tuple[float, ...]
    std: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Preprocessing:
    """Normalisation that was fitted on training images, and what an image must be to pass through it.

    Bands are in the order in which images are read (red, green, blue, then further bands) and in which the model gets
    them. Mean and standard deviation (of the population) are in the stored range, 0..255 for 8-bit images.
    """

    bands: int
    dtype: str                       # uint8, uint16 or float32
    mean: tuple[float, ...]          # per band
    std: tuple[float, ...]           # per band; 1 for a band that never changes
    nodata: float | None             # a pixel whose bands all hold it does not exist
    pixels: int                      # that mean and std were taken over
    images: int
    fitted_on: str                   # fingerprint of the sorted ids of the images that were read
    low: tuple[float, ...] = ()      # per band: the least and the greatest value met
    high: tuple[float, ...] = ()
    scope: str = TRAINING            # whose mean and std are used: those above, or each image's or source's own

    @property
    def by_own(self) -> bool:
        """Is each image normalised by its own or its source's mean and std?"""
        return self.scope != TRAINING

    @property
    def by_source(self) -> bool:
        """By its source's, of which an image alone does not tell all?"""
        return self.scope == SOURCE

    def on(self, image: NDArray[Any]) -> Preprocessing:
        """What normalises this image taken alone: with its own mean and std, where each image or source has its own."""
        if not self.by_own:
            return self
        own = self.own([image])
        return replace(self, mean=own.mean, std=own.std, scope=TRAINING)

    def trained(self) -> Preprocessing:
        """The same with the training images' mean and std for every image."""
        return replace(self, scope=TRAINING)

    def own(self, images: Iterable[NDArray[Any]]) -> BandMoments:
        """Mean and std over all pixels with data of these images, windows or slices, each H x W x bands."""
        moments = Moments(self.bands)
        for image in images:
            moments.add(image[valid_pixels(image, self.nodata)])
        if not moments.pixels:
            return BandMoments((0.0,) * self.bands, (1.0,) * self.bands)
        return BandMoments(tuple(moments.mean().tolist()), tuple(value or 1.0 for value in moments.std().tolist()))

    def apply(self, image: NDArray[Any]) -> NDArray[np.float32]:
        """The image, H x W x bands, as a model gets it: bands x H x W, (value - mean) / std.

        Pixels without data (`nodata`, or a float band that is not finite) are 0, the mean, in every band. Where each
        image or source has its own mean and std, this image is taken alone.
        """
        if self.by_own:
            return self.on(image).apply(image)
        valid = valid_pixels(image, self.nodata)
        scaled: NDArray[np.float32] = image.transpose(2, 0, 1).astype(np.float32)
        scaled -= np.array(self.mean, np.float32)[:, None, None]
        scaled /= np.array(self.std, np.float32)[:, None, None]
        if not valid.all():
            scaled[:, ~valid] = 0
        return scaled

    def check(self, image: NDArray[Any], path: Path) -> None:
        """Refuse an image of another number of bands or another type than the model was trained on.

        Raises:
            ImageFileError: naming `path`, what it holds and what is expected.
        """
        found = (image.shape[2], image.dtype.name)
        if found != (self.bands, self.dtype):
            expected = band_count(self.bands, self.dtype)
            raise ImageFileError(f"{path}: has {band_count(*found)}, and the model was trained on {expected}. "
                                 "Convert the image the way the training images were made.")

    def to_json(self) -> dict[str, Any]:
        """Plain data that `from_json` turns back, without losing a bit."""
        plain = asdict(self)
        return plain | {name: list(getattr(self, name)) for name in ("mean", "std", "low", "high")}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Preprocessing:
        """The contract that `to_json` described."""
        listed = {name: tuple(data[name]) for name in ("mean", "std", "low", "high") if name in data}
        return cls(**{**data, **listed})


def fit_preprocessing(rows: pd.DataFrame, *, nodata: float | None = None, max_pixels: int = MAX_PIXELS,
                      decoded: Decoded | None = None, statistics: str = "training_fold",
                      progress: Progress = quiet) -> Preprocessing:
    """Mean and population standard deviation per band over the images in `rows`, which must be the training rows.

    Nothing but `image_path` of these rows is opened, or what is kept of them in `decoded`. Exact for 8 and 16 bits; the
    order of rows does not matter. Where rows have a `train_count`, an image weighs as much as that many.
    Pixels without data do not count. A band that never changes keeps std 1, with a warning.

    With `statistics` per_source these only tell what the training images were; what normalises is each image's own mean
    and deviation or, where rows share a `source_id` (the slices of a volume), their source's (see `own_moments`).

    Raises:
        ConfigError: `statistics` is unknown.
        ImageFileError: an image cannot be read, images differ in bands or type, or no pixel holds data.
    """
    if statistics not in STATISTICS:
        raise ConfigError(f"preprocessing.statistics={statistics} is not known; use one of {', '.join(STATISTICS)}.")
    if rows.empty:
        raise ImageFileError("no training image is given to take mean and standard deviation from.")
    ordered = rows.sort_values("image_id", kind="stable")
    paths = [Path(path) for path in ordered["image_path"]]
    pairs = repeat(None, len(paths)) if decoded is None else map(decoded.pair, paths, map(Path, ordered["mask_path"]))
    moments: Moments | None = None
    kind = (0, "")
    low: Any = np.nan
    high: Any = np.nan
    times = dict(zip(paths, ordered["train_count"], strict=True)) if "train_count" in ordered else {}
    for path, kept in progress(zip(paths, pairs, strict=True), total=len(paths), what="mean and standard deviation"):
        image = read_image(path, max_pixels=max_pixels) if kept is None else kept[0]
        if moments is None:
            moments, kind = Moments(image.shape[2]), (image.shape[2], image.dtype.name)
        if (image.shape[2], image.dtype.name) != kind:
            found = band_count(image.shape[2], image.dtype.name)
            raise ImageFileError(f"{path}: has {found}, and {paths[0]} has {band_count(*kind)}. "
                                 "Images of one data set must agree; convert one of them.")
        pixels = image[valid_pixels(image, nodata)]                                # pixels x bands
        for _ in range(times.get(path, 1)):
            moments.add(pixels)
        if len(pixels):
            low, high = np.fmin(low, pixels.min(axis=0)), np.fmax(high, pixels.max(axis=0))
    assert moments is not None
    if not moments.pixels:
        raise ImageFileError(f"the {len(paths)} training images hold no pixel with data"
                             f"{f' (all are nodata, {nodata:g})' if nodata is not None else ''}. Check data.nodata.")
    mean, std = moments.mean(), moments.std()
    still = np.flatnonzero(std == 0)
    if still.size:
        bands = ", ".join(f"{band + 1} (always {mean[band]:g})" for band in still)
        warnings.warn(f"band {bands} never changes in the {len(paths)} training images, so it tells a model nothing; "
                      "it is shifted to 0 and not scaled.", SegcvWarning, stacklevel=2)
    return Preprocessing(
        bands=kind[0], dtype=kind[1], mean=tuple(mean.tolist()),
        std=tuple(1.0 if value == 0 or math.isnan(value) else value for value in std.tolist()),
        nodata=None if nodata is None else float(nodata), pixels=moments.pixels, images=len(paths),
        fitted_on=fingerprint(sorted(rows["image_id"])), low=tuple(map(float, low)), high=tuple(map(float, high)),
        scope=TRAINING if statistics == "training_fold" else SOURCE if _shares_sources(rows) else IMAGE,
    )


def own_moments(rows: pd.DataFrame, preprocessing: Preprocessing, *, max_pixels: int = MAX_PIXELS,
                decoded: Decoded | None = None) -> dict[str, BandMoments]:
    """Image id -> mean and std of the image itself or, under a contract of sources, of all these rows of its source.

    Empty where the training images' mean and std are used. The rows of one role are to be given: what is learned of a
    source is then learned from images of that role.
    """
    if not preprocessing.by_own:
        return {}
    ordered = rows.sort_values("image_id", kind="stable").drop_duplicates("image_id")
    sources = ordered["image_id"]
    if preprocessing.by_source and "source_id" in ordered:
        sources = ordered["source_id"].where(ordered["source_id"].fillna("").ne(""), ordered["image_id"])
    found: dict[str, BandMoments] = {}
    for _, same in ordered.groupby(sources.to_numpy(), sort=True):
        own = preprocessing.own(_images(same, preprocessing, max_pixels, decoded))
        found |= dict.fromkeys(same["image_id"], own)
    return found


def _images(rows: pd.DataFrame, preprocessing: Preprocessing, max_pixels: int,
            decoded: Decoded | None) -> Iterator[NDArray[Any]]:
    for row in rows.to_dict("records"):
        path = Path(row["image_path"])
        kept = None if decoded is None else decoded.pair(path, Path(row["mask_path"]))
        image = read_image(path, max_pixels=max_pixels) if kept is None else kept[0]
        preprocessing.check(image, path)
        yield image


def _shares_sources(rows: pd.DataFrame) -> bool:
    """Do several images come from one source?"""
    named = rows.get("source_id", pd.Series("", rows.index)).fillna("")
    return bool(named[named.ne("")].duplicated().any())


def band_count(bands: int, dtype: str) -> str:
    """What kind of image it is, in words."""
    return f"{bands} band{'s' if bands != 1 else ''} of {dtype}"
