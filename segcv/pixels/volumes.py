"""Volumes as medical tools write them (NIfTI), whose planes are the images here."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segcv.errors import ImageFileError, MissingExtra


@lru_cache(maxsize=1)
def read_volume(path: Path) -> NDArray[Any]:
    """The array of a .nii or .nii.gz file, x x y x z as stored, scaled where the file says so; the last one is kept.

    Raises:
        MissingExtra: nibabel is not installed.
        ImageFileError: the file is missing or damaged.
    """
    try:
        import nibabel
    except ImportError as error:
        raise MissingExtra("reading .nii files needs nibabel: pip install 'segcv[nifti]'") from error
    try:
        image: Any = nibabel.load(path)
        array: NDArray[Any] = np.asanyarray(image.dataobj)
    except FileNotFoundError as error:
        raise ImageFileError(f"{path}: there is no such file. Put it there.") from error
    except Exception as error:       # a decoder meets a broken file with any exception whatever
        raise ImageFileError(f"{path}: is damaged, or not a NIfTI file ({error}). Copy it again from its origin.") \
            from error
    array.flags.writeable = False
    return array
