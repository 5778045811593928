"""Predictions as files: label masks and pictures through `pixels`, .npy and .npz here; shapes without decoding."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segcv.errors import ScoreError
from segcv.pixels import PredictedCoding, read_image
from segcv.scoring.forms import LABELS, PredictionForm

ARRAYS = frozenset({".npy", ".npz"})
PICTURES = frozenset({".png", ".tif", ".tiff", ".bmp", ".jpg", ".jpeg"})
ROUNDED_WITHIN = 1e-3


def read_labels(path: Path, form: PredictionForm, coding: PredictedCoding, *, max_pixels: int) -> NDArray[Any]:
    """The predicted class ids in a file, H x W whole numbers; what lies outside 0..C-1 is no class.

    Raises:
        MaskError, ScoreError: the file cannot be read or does not hold class ids; the message names it.
    """
    if path.suffix.lower() not in ARRAYS:
        return coding.read(path, max_pixels=max_pixels)
    values = np.squeeze(load_array(path, form.key))
    if values.ndim != 2:
        raise ScoreError(f"{path}: has the shape {values.shape}; class ids are H x W. If these are probabilities or "
                         "logits: kind=probabilities or kind=logits")
    return coding.ids(_whole(values, path))


def read_channels(path: Path, form: PredictionForm, *, n_classes: int, max_pixels: int) -> NDArray[Any]:
    """The probabilities or logits in a file as stored, channels x H x W.

    Raises:
        ImageFileError, ScoreError: the file cannot be read, or its shape does not fit; the message names it.
    """
    stored = (load_array(path, form.key) if path.suffix.lower() in ARRAYS
              else read_image(path, max_pixels=max_pixels))
    if stored.dtype.kind not in "fiub":
        raise ScoreError(f"{path}: holds {stored.dtype}, not numbers.")
    try:
        return form.classes_first(stored, n_classes=n_classes)
    except ScoreError as error:
        raise ScoreError(f"{path}: {error}.") from error


def load_array(path: Path, key: str | None) -> NDArray[Any]:
    """The array in a .npy file (mapped, not read), or the one called `key` in a .npz file.

    Raises:
        ScoreError: there is no such file or array, it is damaged, or it holds Python objects.
    """
    try:
        if path.suffix.lower() == ".npy":
            array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
            return array
        with np.load(path, allow_pickle=False) as arrays:
            if key is None and len(arrays.files) != 1:
                raise ScoreError(f"{path}: holds the arrays {', '.join(arrays.files)}; say which: "
                                 f"key={arrays.files[0] if arrays.files else 'NAME'}")
            if key is not None and key not in arrays.files:
                raise ScoreError(f"{path}: has no array {key!r}; it holds {', '.join(arrays.files)}.")
            found: NDArray[Any] = arrays[key if key is not None else arrays.files[0]]
            return found
    except FileNotFoundError:
        raise ScoreError(f"{path}: there is no such file.") from None
    except (ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise ScoreError(f"{path}: damaged, or no array of numbers ({error}). Write it again with numpy.save.") \
            from error


def check_file(path: Path, form: PredictionForm, *, n_classes: int) -> None:
    """Refuse, before any work, a file that is missing, empty, or an array whose shape does not fit.

    Raises:
        ScoreError: it does; the message names the file.
    """
    try:
        size = path.stat().st_size
    except OSError as error:
        raise ScoreError(f"{path}: cannot be opened ({error.strerror}).") from error
    if not size:
        raise ScoreError(f"{path}: is empty (0 bytes). Write it again.")
    if path.suffix.lower() == ".npy":
        array = load_array(path, None)
        if form.kind != LABELS:
            try:
                form.classes_first(array, n_classes=n_classes)
            except ScoreError as error:
                raise ScoreError(f"{path}: {error}.") from error


def _whole(values: NDArray[Any], path: Path) -> NDArray[np.integer[Any]]:
    if values.dtype.kind in "iu":
        return np.asarray(values)
    if values.dtype.kind == "b":
        return values.astype(np.uint8)
    if values.dtype.kind != "f":
        raise ScoreError(f"{path}: holds {values.dtype}, not class ids.")
    rounded = np.round(values)
    with np.errstate(invalid="ignore"):
        far = ~(np.abs(values - rounded) <= ROUNDED_WITHIN)
    if far.any():
        raise ScoreError(f"{path}: holds {int(far.sum())} numbers that are no class ids, such as "
                         f"{float(values[far][0]):g}. If these are probabilities or logits: kind=probabilities or "
                         "kind=logits")
    return rounded.astype(np.int64)


