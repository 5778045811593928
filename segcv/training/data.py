"""Training images as batches of whole numbers: read, cut, augmented per image, normalised on the device."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import Dataset

from segcv.errors import MaskError, SegcvError, TrainingError
from segcv.pixels import BandMoments, Decoded, LabelMap, Preprocessing, read_image, valid_pixels
from segcv.tables import TRAIN, stream
from segcv.training.augment import Augmentation
from segcv.training.cropping import Cropping
from segcv.training.windows import next_multiple, padded

Pair = tuple[NDArray[Any], NDArray[Any]]         # image H x W x bands, truth H x W


@dataclass(frozen=True, slots=True)
class Sample:
    """One image as the network will see it, before normalisation."""

    image_id: str
    image: NDArray[Any]                           # H x W x bands
    truth: NDArray[Any]                           # H x W
    nodata: NDArray[np.bool_] | None              # H x W


@dataclass(frozen=True, slots=True)
class Batch:
    """Images of one size, in their stored type."""

    image_ids: tuple[str, ...]
    images: Tensor                                # images x H x W x bands
    truth: Tensor                                 # images x H x W
    nodata: Tensor | None                         # images x H x W

    def pin_memory(self) -> Batch:
        """The batch in page-locked memory, from which a GPU copies while it computes."""
        nodata = None if self.nodata is None else self.nodata.pin_memory()
        return Batch(self.image_ids, self.images.pin_memory(), self.truth.pin_memory(), nodata)


def training_rows(rows: pd.DataFrame) -> pd.DataFrame:
    """image_id, image_path, mask_path, copy of the training rows, sorted by image_id; nothing else reaches the fit.

    A row with `train_count` n is there n times, as the copies 0 to n - 1; without that column each is there once.

    Raises:
        TrainingError: there is no row, an id repeats, or a row has another role than train.
    """
    if rows.empty:
        raise TrainingError("There is no training image in this fold; nothing can be fitted.")
    if "role" in rows.columns and (rows["role"] != TRAIN).any():
        row = rows[rows["role"] != TRAIN].iloc[0]
        raise TrainingError(f"{row['image_id']} has the role {row['role']} and was given to the fit. Pass only rows "
                            f"with the role {TRAIN}.")
    table = rows[["image_id", "image_path", "mask_path"]].assign(times=rows.get("train_count", 1))
    table = table.sort_values("image_id", ignore_index=True)
    if table["image_id"].duplicated().any():
        again = table.loc[table["image_id"].duplicated(), "image_id"].iloc[0]
        raise TrainingError(f"{again} is listed twice among the training images; each is used once an epoch, "
                            "or as often as its train_count says.")
    if (table["times"] < 1).any():
        never = table.loc[table["times"] < 1, "image_id"].iloc[0]
        raise TrainingError(f"{never} trains, and its train_count is below 1.")
    table = table.loc[table.index.repeat(table["times"])].drop(columns="times").reset_index(drop=True)
    return table.assign(copy=table.groupby("image_id").cumcount())


def pair_reader(labels: LabelMap, preprocessing: Preprocessing, *, max_pixels: int,
                decoded: Decoded | None = None) -> Callable[[Path, Path], Pair]:
    """A function that gives an image and its truth, from `decoded` or from their files, and refuses a pair that the fit
    cannot take. The arrays are not to be written to."""
    def read(image_path: Path, mask_path: Path) -> Pair:
        kept = None if decoded is None else decoded.pair(image_path, mask_path)
        image, truth = kept or (read_image(image_path, max_pixels=max_pixels),
                                labels.read(mask_path, max_pixels=max_pixels))
        preprocessing.check(image, image_path)
        if image.shape[:2] != truth.shape:
            raise MaskError(f"{mask_path} is {truth.shape[0]} x {truth.shape[1]} px, its image {image_path} "
                            f"{image.shape[0]} x {image.shape[1]} px. A mask has the size of its image.")
        return image, truth

    return read


class TrainingImages(Dataset[Sample | SegcvError]):
    """Item (epoch, position): the image at this position of the rows, as this epoch sees it.

    A window where `cropping` has them, else the whole image; grown to a multiple of `stride`, the image by its
    mirror, the truth by void. Nothing is drawn that depends on the worker, the batch, or an earlier item. A refusal is
    returned, not raised: a worker process would bury its message in a traceback. The loop raises it.
    """

    def __init__(self, rows: pd.DataFrame, *, read: Callable[[Path, Path], Pair], preprocessing: Preprocessing,
                 augmentation: Augmentation, cropping: Cropping, stride: int, root: int) -> None:
        self.ids, self.copies = rows["image_id"].tolist(), rows["copy"].tolist()
        self.paths = [(Path(image), Path(mask)) for image, mask in zip(rows["image_path"], rows["mask_path"],
                                                                       strict=True)]
        self.read, self.preprocessing, self.augmentation = read, preprocessing, augmentation
        self.cropping, self.stride, self.void, self.root = cropping, stride, cropping.void, root

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, key: tuple[int, int]) -> Sample | SegcvError:
        try:
            return self.sample(*key)
        except SegcvError as refusal:
            return refusal

    def sample(self, epoch: int, position: int) -> Sample:
        """The image at this position, as this epoch sees it.

        Raises:
            SegcvError: a file, or what the pipeline makes of it, is refused.
        """
        image_id, copy = self.ids[position], self.copies[position]
        view = (epoch, image_id, copy) if copy else (epoch, image_id)
        image, truth = self.read(*self.paths[position])
        height, width = truth.shape
        if self.cropping.side is not None:
            rng = np.random.default_rng(stream(self.root, "crop", *view))
            window = self.cropping.window(image_id, truth, rng=rng)
            image, truth = image[window], truth[window]
            height, width = self.cropping.side, self.cropping.side
        if self.augmentation.steps:              # a transform may write into what it is given
            image, truth = image.copy(), truth.copy()
        nodata = nodata_pixels(image, self.preprocessing)
        height, width = next_multiple(height, self.stride), next_multiple(width, self.stride)
        image, truth = padded(image, height, width), padded(truth, height, width, fill=self.void)
        nodata = None if nodata is None else padded(nodata, height, width)
        seed = stream(self.root, "augment", *view)
        return Sample(image_id, *self.augmentation(image, truth, nodata, seed=seed))


def batch_of(items: list[Sample | SegcvError]) -> Batch | SegcvError:
    """Samples of one size, stacked; or what is to be refused: the first refusal among them, or that sizes differ."""
    samples = [item for item in items if isinstance(item, Sample)]
    refusals = [item for item in items if isinstance(item, SegcvError)]
    if refusals:
        return refusals[0]
    sizes = {sample.truth.shape: sample.image_id for sample in samples}
    if len(sizes) > 1:
        (one, first), (other, second) = list(sizes.items())[:2]
        return TrainingError(f"{first} is {one[0]} x {one[1]} px and {second} {other[0]} x {other[1]} px, and a batch "
                             f"holds images of one size. Train on windows: augment.crop={min(one + other)} or less.")
    masks = [sample.nodata for sample in samples if sample.nodata is not None]        # of all, or of none
    return Batch(
        tuple(sample.image_id for sample in samples),
        images=torch.from_numpy(np.stack([sample.image for sample in samples])),
        truth=torch.from_numpy(np.stack([sample.truth for sample in samples])),
        nodata=torch.from_numpy(np.stack(masks)) if masks else None,
    )


class NetworkInput:
    """Stored images in, what the network takes out: normalised per band, 0 at nodata pixels, on the device.

    The numbers are those of Preprocessing.apply; here they are made after the copy, which so moves whole numbers. Where
    each image or source is normalised by its own mean and std, `own` has them by image id, and ids are to be given.
    """

    def __init__(self, preprocessing: Preprocessing, *, device: torch.device, channels_last: bool = False,
                 own: Mapping[str, BandMoments] | None = None) -> None:
        self.preprocessing, self.device = preprocessing, device
        self.own: Mapping[str, BandMoments] = {} if own is None else own
        self.mean, self.std = (torch.tensor(values, dtype=torch.float32, device=device)
                               for values in (preprocessing.mean, preprocessing.std))
        self.format = torch.channels_last if channels_last else torch.contiguous_format

    def __call__(self, images: Tensor, nodata: Tensor | None, image_ids: Sequence[str] = ()) -> Tensor:
        """Float images x bands x H x W, for images x H x W x bands and their nodata pixels (images x H x W)."""
        mean, std = self._moments(image_ids)
        x = (images.to(self.device, non_blocking=True).to(torch.float32) - mean) / std
        if nodata is not None:
            x = torch.where(nodata.to(self.device, non_blocking=True)[..., None], 0.0, x)
        return x.permute(0, 3, 1, 2).contiguous(memory_format=self.format)

    def of_images(self, images: NDArray[Any], image_ids: Sequence[str] = ()) -> Tensor:
        """As a call, for stored images x H x W x bands that were not augmented."""
        masks = [mask for image in images if (mask := nodata_pixels(image, self.preprocessing)) is not None]
        return self(torch.from_numpy(images), torch.from_numpy(np.stack(masks)) if masks else None, image_ids)

    def _moments(self, image_ids: Sequence[str]) -> tuple[Tensor, Tensor]:
        """Mean and std, to be used on images x H x W x bands."""
        if not self.preprocessing.by_own:
            return self.mean, self.std
        own = [self.own[image_id] for image_id in image_ids]
        mean, std = (torch.tensor(values, dtype=torch.float32).to(self.device)[:, None, None]
                     for values in ([one.mean for one in own], [one.std for one in own]))       # images x 1 x 1 x bands
        return mean, std


def nodata_pixels(image: NDArray[Any], preprocessing: Preprocessing) -> NDArray[np.bool_] | None:
    """H x W, true where Preprocessing.apply finds no measurement; None where images of this kind always hold one."""
    if preprocessing.nodata is None and image.dtype.kind != "f":
        return None
    return ~valid_pixels(image, preprocessing.nodata)
