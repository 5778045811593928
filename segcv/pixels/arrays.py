"""Masks as numpy arrays on disk."""

from __future__ import annotations

import io
import zipfile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segcv.pixels.files import Fault, damaged, refuse_huge

_LARGEST_ITEM = 16                   # bytes of a number
_HEADER = 1 << 16                    # bytes an array's header may take


def decode_array(data: bytes, kind: str, *, max_pixels: int) -> NDArray[Any]:
    """The one array, H x W, in the content of an .npy or .npz file; axes of length 1 beside these are dropped.

    Raises Fault for several arrays, other shapes, pickled objects, and more than `max_pixels`.
    """
    try:
        found = np.load(io.BytesIO(_only_member(data, max_pixels) if kind == "NPZ" else data), allow_pickle=False)
    except Fault:
        raise
    except Exception as error:       # a decoder meets a broken file with any exception whatever
        raise damaged(error) from error
    plane = found
    while plane.ndim > 2 and 1 in (plane.shape[0], plane.shape[-1]):
        plane = plane[0] if plane.shape[0] == 1 else plane[..., 0]
    if plane.ndim != 2 or not plane.size:
        raise Fault(f"holds an array of shape {found.shape}, and a mask is height x width",
                    "Save class ids, one number a pixel.")
    height, width = plane.shape
    refuse_huge(height, width, max_pixels)
    if plane.dtype.kind not in "buif":
        raise Fault(f"holds {plane.dtype.name}, and class ids are numbers", "Save class ids, one number a pixel.")
    return np.ascontiguousarray(plane.astype(plane.dtype.newbyteorder("="), copy=False))


def _only_member(data: bytes, max_pixels: int) -> bytes:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = archive.infolist()
        if len(members) != 1 or not members[0].filename.endswith(".npy"):
            names = ", ".join(member.filename for member in members[:5])
            raise Fault(f"is an archive of {len(members)} files ({names}), and a mask is one array",
                        "Save the mask alone: numpy.savez_compressed(path, mask)")
        if members[0].file_size > _LARGEST_ITEM * max_pixels + _HEADER:
            raise Fault(f"unpacks to {members[0].file_size} bytes, more than {max_pixels} pixels can take",
                        f"Raise the limit if that is right: data.max_pixels={members[0].file_size}")
        return archive.read(members[0])
