"""Predictions as files, open for reading by windows: label masks and bands through `pixels`, .npy and .npz here."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segcv.errors import ScoreError
from segcv.pixels import PredictedCoding, open_image, open_mask, read_volume
from segcv.scoring.forms import LABELS, PredictionForm
from segcv.scoring.sizes import nearest_places

ARRAYS = frozenset({".npy", ".npz"})
VOLUMES = frozenset({".nii", ".nii.gz"})
PICTURES = frozenset({".png", ".tif", ".tiff", ".bmp", ".jpg", ".jpeg"})
ROUNDED_WITHIN = 1e-3


@dataclass(frozen=True, slots=True)
class OpenPrediction:
    """A stored prediction open for reading by windows. Made by `open_prediction`."""

    path: Path
    shape: tuple[int, int]                                   # height, width
    channels: int                                            # 1 for class ids, else as stored
    _stored: Callable[[slice, slice], NDArray[Any]]          # rows, columns -> H x W ids, or channels x H x W

    def read(self, rows: slice, columns: slice, *, height: int, width: int) -> NDArray[Any]:
        """The window of a picture of `height` x `width`, to which the prediction is brought by nearest neighbour.

        Class ids H x W (outside 0..C-1: no class), or stored channels x H x W.

        Raises:
            MaskError, ImageFileError, ScoreError: the file does not hold what was declared; the message names it.
        """
        if (height, width) == self.shape:
            return self._stored(rows, columns)
        down, across = nearest_places(height, self.shape[0])[rows], nearest_places(width, self.shape[1])[columns]
        part = self._stored(slice(int(down[0]), int(down[-1]) + 1), slice(int(across[0]), int(across[-1]) + 1))
        resized: NDArray[Any] = part[..., (down - down[0])[:, None], across - across[0]]
        return resized


@contextmanager
def open_prediction(path: Path, form: PredictionForm, coding: PredictedCoding, *, n_classes: int,
                    max_pixels: int, plane: int = -1, volume_rows: str | None = None) -> Iterator[OpenPrediction]:
    """The prediction in a file, open for reading by windows in bounded memory: .npy is mapped, of TIFF only the strips
    or tiles that are needed are decoded, other files are decoded whole. Of a volume the one `plane` is taken.

    Raises:
        MaskError, ImageFileError, ScoreError: the file cannot be read, or its shape does not fit; the message names it.
    """
    array = path.suffix.lower() in ARRAYS
    if plane >= 0:
        yield _of_volume(path, form, coding, n_classes, plane, volume_rows)
        return
    if path.name.lower().endswith(tuple(VOLUMES)):
        raise ScoreError(f"{path}: is a volume. Its planes are scored as images: the images table needs source_id (the "
                         "volume's name) and slice (the number of the plane).")
    with ExitStack() as files:
        if form.kind == LABELS and array:
            values = np.squeeze(load_array(path, form.key))
            if values.ndim != 2:
                raise ScoreError(f"{path}: has the shape {values.shape}; class ids are H x W. If these are "
                                 "probabilities or logits: kind=probabilities or kind=logits")
            yield OpenPrediction(path, values.shape, 1, lambda rows, columns: coding.ids(
                _whole(np.array(values[rows, columns]), path)))
        elif form.kind == LABELS:
            mask = files.enter_context(open_mask(path, max_pixels=max_pixels))
            yield OpenPrediction(path, mask.shape, 1, lambda rows, columns: mask.read(rows, columns, coding.decode))
        elif array:
            channels = _classes_first(load_array(path, form.key), path, form, n_classes)
            yield OpenPrediction(path, channels.shape[1:], len(channels),
                                 lambda rows, columns: np.array(channels[:, rows, columns]))
        else:
            image = files.enter_context(open_image(path, max_pixels=max_pixels))
            bands = image.read(slice(0, 1), slice(0, 1)).shape[2]
            shaped = np.broadcast_to(np.zeros((), np.float32), (*image.shape, bands))       # takes no memory
            if _classes_first(shaped, path, form, n_classes).shape[1:] != image.shape:
                raise ScoreError(f"{path}: the bands of a picture are its last axis; use channels=last.")
            yield OpenPrediction(path, image.shape, bands,
                                 lambda rows, columns: np.moveaxis(image.read(rows, columns), -1, 0))


def _of_volume(path: Path, form: PredictionForm, coding: PredictedCoding, n_classes: int, plane: int,
               volume_rows: str | None) -> OpenPrediction:
    """One plane of a volume: class ids x, y, z in NIfTI, or channels x z x y x x in .npz, as nnU-Net writes both."""
    if volume_rows is None:
        raise ScoreError(f"{path}: is a volume; say which of its axes the rows of your masks follow: volume_rows=y "
                         "(slices as SimpleITK reads them) or volume_rows=x (slices of nibabel's array).")
    nifti = path.name.lower().endswith(tuple(VOLUMES))
    if nifti != (form.kind == LABELS):
        raise ScoreError(f"{path}: volumes are class ids in NIfTI (kind=labels), or probabilities or logits in .npz.")
    volume = read_volume(path) if nifti else np.moveaxis(load_array(path, form.key), 1, -1)
    if volume.ndim != (3 if nifti else 4) or plane >= volume.shape[-1]:
        raise ScoreError(f"{path}: has the shape {volume.shape}, and plane {plane} is asked for.")
    found = volume[..., plane]                            # x x y, or channels x y x x
    if (volume_rows == "y") == nifti:
        found = np.swapaxes(found, -1, -2)
    if nifti:
        ids = coding.ids(_whole(np.array(found), path))
        return OpenPrediction(path, ids.shape, 1, lambda rows, columns: ids[rows, columns])
    channels = _classes_first(np.array(found), path, form, n_classes)
    return OpenPrediction(path, channels.shape[1:], len(channels), lambda rows, columns: channels[:, rows, columns])


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
    except FileNotFoundError:
        raise ScoreError(f"{path}: there is no such file; this prediction is missing. Every image counts: predict it, "
                         "or take its row out of the table.") from None
    except OSError as error:
        raise ScoreError(f"{path}: cannot be opened ({error.strerror}).") from error
    if not size:
        raise ScoreError(f"{path}: is empty (0 bytes). Write it again.")
    if path.suffix.lower() == ".npy":
        array = load_array(path, None)
        if form.kind != LABELS:
            _classes_first(array, path, form, n_classes)


def _classes_first(stored: NDArray[Any], path: Path, form: PredictionForm, n_classes: int) -> NDArray[Any]:
    if stored.dtype.kind not in "fiub":
        raise ScoreError(f"{path}: holds {stored.dtype}, not numbers.")
    try:
        return form.classes_first(stored, n_classes=n_classes)
    except ScoreError as error:
        raise ScoreError(f"{path}: {error}.") from error


def _whole(values: NDArray[Any], path: Path) -> NDArray[np.integer[Any]]:
    if values.dtype.kind in "iu":
        return values
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
