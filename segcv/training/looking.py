"""What the network says of whole images in the middle of a fit; the fit does not notice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from segcv.training.data import NetworkInput, Pair
from segcv.training.freezing import answering
from segcv.training.models import Network
from segcv.training.windows import next_multiple, padded


@dataclass(frozen=True, slots=True)
class Look:
    """One image, its truth and what the network says, as stored or as class ids."""

    image_id: str
    image: NDArray[Any]              # H x W x bands
    truth: NDArray[Any]              # H x W
    predicted: NDArray[Any]          # H x W


def looks(network: Network, rows: pd.DataFrame, *, read: Callable[[Path, Path], Pair], to_input: NetworkInput,
          most_px: int | None = None) -> Iterator[Look]:
    """The network's answer to each row in evaluation mode; between two of them it is in the mode it was in.

    Of an image with a side above `most_px`, the window of that side in its middle.
    """
    for image_id, image_path, mask_path in zip(rows["image_id"], rows["image_path"], rows["mask_path"], strict=True):
        image, truth = read(Path(image_path), Path(mask_path))
        if most_px is not None:
            middle = tuple(slice(max(0, (side - most_px) // 2), max(0, (side - most_px) // 2) + most_px)
                           for side in truth.shape)
            image, truth = image[middle], truth[middle]
        height, width = truth.shape
        grown = padded(image, next_multiple(height, network.stride), next_multiple(width, network.stride))
        with answering(network.module), torch.no_grad():
            x = to_input.of_images(np.stack([grown]), [image_id])
            logits = network.logits(x)[0, :, :height, :width]                        # classes x H x W
        found = logits.argmax(dim=0).to("cpu", torch.int32).numpy().astype(truth.dtype)
        yield Look(image_id, image, truth, found)
