"""One look at every mask, without its image: what it holds, how large it is, and the name of all of them."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from segcv.errors import MaskError
from segcv.pixels.files import MAX_PIXELS
from segcv.pixels.labels import LabelMap
from segcv.pixels.profile import refuse_unlabelled
from segcv.pixels.windows import open_mask
from segcv.tables import MASK_PROFILE, Progress, fingerprint, quiet

_SHOWN = 5                           # faulty files named in a message
_PART = 1 << 20                      # bytes hashed at once


@dataclass(frozen=True, slots=True)
class MaskCounts:
    """What the masks of a data set hold."""

    masks: pd.DataFrame              # MASK_PROFILE: pixels of every class, and of class -1, ignored, in every image
    data_id: str                     # 12 hexadecimal digits from image ids, contents of the masks, and the label map


def count_masks(images: pd.DataFrame, labels: LabelMap, *, max_pixels: int = MAX_PIXELS, workers: int = 1,
                progress: Progress = quiet) -> MaskCounts:
    """The MaskCounts of an images table after reading every mask once, by windows; no image is opened.

    Raises:
        MaskError: one error for all faults found, naming the first five files; or the masks hold nothing to score.
    """
    rows = sorted(zip(images["image_id"], images["mask_path"], strict=True))
    work = partial(_count, labels=labels, max_pixels=max_pixels)
    with ThreadPoolExecutor(max(1, workers)) as pool:           # decoders and hashing release the lock
        found = list(progress(pool.map(work, [Path(path) for _, path in rows]), total=len(rows), what="reading masks"))
    faults = [one for one in found if isinstance(one, str)]
    if faults:
        more = [f"- and {len(faults) - _SHOWN} more"] if len(faults) > _SHOWN else []
        raise MaskError("\n".join([f"{len(faults)} of {len(rows)} masks cannot be used:",
                                   *(f"- {fault}" for fault in faults[:_SHOWN]), *more]))
    counted = [one for one in found if not isinstance(one, str)]
    pixels = np.stack([counts for counts, _ in counted])        # images x (classes, then ignored)
    refuse_unlabelled(pixels[:, :-1], pixels[:, -1], labels)
    ids: Sequence[str] = [image_id for image_id, _ in rows]
    classes = [*range(labels.n_classes), -1]
    masks = MASK_PROFILE.check(pd.DataFrame({
        "image_id": np.repeat(np.array(ids, object), len(classes)), "class_id": np.tile(classes, len(ids)),
        "pixels": pixels.ravel()}), where="mask profile")
    hashes = [[image_id, content] for image_id, (_, content) in zip(ids, counted, strict=True)]
    return MaskCounts(masks, fingerprint([labels.to_json(), *hashes]))


def _count(path: Path, *, labels: LabelMap, max_pixels: int) -> tuple[NDArray[np.int64], str] | str:
    """Pixels of each class, then ignored ones; and the name of the file's content. Or what is wrong with it."""
    pixels = np.zeros(labels.n_classes + 1, np.int64)
    try:
        with open_mask(path, max_pixels=max_pixels) as mask:
            for rows, columns in mask.windows():
                part = mask.read(rows, columns, labels.decode)
                pixels += np.append(part.counts, part.ignored)
    except MaskError as error:
        return str(error)
    digest = blake2b(digest_size=16)
    with path.open("rb") as file:
        while part_of_file := file.read(_PART):
            digest.update(part_of_file)
    return pixels, digest.hexdigest()
