"""What one decoded image holds, in few numbers: size, kind, brightness overall and by class, a name of its pixels."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segcv.pixels.moments import Moments, strips, valid_pixels

_MARKERS = (-9999.0, -99999.0, -32767.0, -32768.0, float(np.finfo(np.float32).min))     # usual no-data of rasters
_LUMA = np.array([0.299, 0.587, 0.114])        # ITU-R BT.601: grey of red, green, blue


def image_facts(image: NDArray[Any], nodata: float | None) -> dict[str, object]:
    """Size, bands and type, and the mean and population standard deviation of the grey values with data."""
    height, width, bands = image.shape
    grey, pixels = Moments(1), 0
    for strip in strips(image):
        valid = valid_pixels(strip, nodata)
        colours = strip[:, :, :3] if bands >= 3 else strip[:, :, :1]
        inside = colours.reshape(-1, colours.shape[2]) if valid.all() else colours[valid]         # pixels x bands
        pixels += len(inside)
        grey.add(_grey(inside))
    return {
        "height": height, "width": width, "bands": bands, "dtype": image.dtype.name,
        "brightness": float(grey.mean()[0]), "contrast": float(grey.std()[0]),
        "nodata_share": float("nan") if nodata is None else 1 - pixels / (height * width),
    }


def class_brightness(image: NDArray[Any], labels: NDArray[np.unsignedinteger[Any]], n_classes: int, *,
                     nodata: float | None) -> NDArray[np.float64]:
    """Mean grey value of the pixels of each class, then of the ignored ones, in the stored range; NaN without any."""
    pixels, total = np.zeros(n_classes + 1), np.zeros(n_classes + 1)
    top = 0
    for strip in strips(image):
        code = np.minimum(labels[top:top + len(strip)], n_classes).ravel()
        top += len(strip)
        valid = valid_pixels(strip, nodata).ravel()
        colours = (strip[:, :, :3] if image.shape[2] >= 3 else strip[:, :, :1]).reshape(code.size, -1)
        if not valid.all():
            code, colours = code[valid], colours[valid]
        pixels += np.bincount(code, minlength=n_classes + 1)
        total += np.bincount(code, weights=_grey(colours)[:, 0], minlength=n_classes + 1)
    mean: NDArray[np.float64] = np.divide(total, pixels, out=np.full(n_classes + 1, np.nan), where=pixels > 0)
    return mean


def pixels_hash(samples: NDArray[Any]) -> str:
    """Name of the decoded samples, 32 hexadecimal digits: equal for equal shape, type and values, whatever the file."""
    digest = blake2b(f"{samples.shape} {samples.dtype.name}".encode(), digest_size=16)
    digest.update(np.ascontiguousarray(samples).data)
    return digest.hexdigest()


def unmeant(image: NDArray[Any], nodata: float | None) -> tuple[float | None, int]:
    """What a float image holds that is probably no measurement: a marker of no data, and pixels that are not finite."""
    if image.dtype.kind != "f":
        return None, 0
    finite = np.isfinite(image)
    low = float(image.min(where=finite, initial=np.inf))
    return (low if nodata is None and low in _MARKERS else None,
            int(image.shape[0] * image.shape[1] - finite.all(axis=2).sum()))


def _grey(pixels: NDArray[Any]) -> NDArray[Any]:
    """Grey values, pixels x 1, of pixels x bands; of one band the band itself, with its type."""
    if pixels.shape[1] < 3:
        return pixels
    grey: NDArray[Any] = sum(weight * pixels[:, [band]] for band, weight in enumerate(_LUMA))
    return grey
