"""Does an image fit what the model was trained on? Bands and type, value range, size."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segcv.errors import ImageFileError
from segcv.pixels import Preprocessing, valid_pixels

SCALED_BELOW = 1.01        # values of an image that was divided by its largest possible value


def contract_faults(image: NDArray[Any], preprocessing: Preprocessing, *, path: Path, smallest: int) -> list[str]:
    """Each way in which the image, H x W x bands, breaks the contract, in words; none: it fits.

    Its bands and type; a side below `smallest` px; values further outside the training images' range than that range
    is wide; values within 0..1 where training went far beyond it. A model's own range is not known for old files,
    and where images are normalised by their own mean and std, theirs may be another.
    """
    try:
        preprocessing.check(image, path)
    except ImageFileError as error:
        return [str(error)]
    faults = []
    if min(image.shape[:2]) < smallest:
        faults.append(f"is {image.shape[0]}x{image.shape[1]} px (height x width), and the network needs at least "
                      f"{smallest} px a side")
    pixels = image[valid_pixels(image, preprocessing.nodata)]
    if not len(pixels) or not preprocessing.low or preprocessing.by_own:
        return [f"{path}: {fault}." for fault in faults]
    low, high = np.array(preprocessing.low), np.array(preprocessing.high)
    least, greatest = pixels.min(axis=0), pixels.max(axis=0)
    wide = high - low
    for band in np.flatnonzero((least < low - wide) | (greatest > high + wide)):
        faults.append(f"band {band + 1} reaches from {least[band]:g} to {greatest[band]:g}, and from {low[band]:g} to "
                      f"{high[band]:g} in training: other units, or another bit depth")
    if greatest.max() <= SCALED_BELOW < high.min() / 10 and greatest.max() > 0:
        faults.append(f"all values lie below {greatest.max():g}, and training images reach {high.max():g}: it seems to "
                      "be scaled to 0..1")
    return [f"{path}: {fault}." for fault in faults]
