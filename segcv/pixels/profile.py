"""One look at every file of a data set: are all images and masks fit for use, and what do they hold."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from segcv.errors import ImageFileError, MaskError, SegcvWarning
from segcv.pixels.coding import listed
from segcv.pixels.facts import class_brightness, image_facts, pixels_hash, unmeant
from segcv.pixels.files import MAX_PIXELS, Fault, content_hash, read_bytes
from segcv.pixels.labels import LabelMap, Labels
from segcv.pixels.looks import look
from segcv.pixels.masks import decode_mask
from segcv.pixels.preprocessing import band_count
from segcv.pixels.profile_cache import ProfileCache, places_of
from segcv.pixels.reading import decode_stored
from segcv.pixels.seen_pair import SeenPair, state_of
from segcv.tables import IMAGE_PROFILE, MASK_PROFILE, Progress, fingerprint, quiet

_SHOWN = 5                           # faulty files named in a message

_Row = tuple[str, str, str]          # image id, and the paths of image and mask


@dataclass(frozen=True, slots=True)
class Profile:
    """What the files of a data set hold, read once."""

    images: pd.DataFrame             # IMAGE_PROFILE, and image_state, mask_state: "size:time of change" of the files
    masks: pd.DataFrame              # MASK_PROFILE: every class, and class -1, ignored, in every image
    looks: pd.DataFrame              # image_id, height, width, phash (uint64), flat (bool), thumbnail (bytes of 32 x 32
                                     # grey), blocks and landmarks (bytes of MARK records)


@dataclass(frozen=True, slots=True)
class _Faults:
    """What is wrong with one row's two files."""

    image: tuple[str, ...] = ()
    mask: tuple[str, ...] = ()


def check_data(images: pd.DataFrame, labels: LabelMap, *, bands: int | None = None, nodata: float | None = None,
               max_pixels: int = MAX_PIXELS, marks: str | None = None, workers: int = 1,
               kept: Path | None = None, progress: Progress = quiet) -> Profile:
    """The Profile of an images table, after decoding every image and mask once; rows stay in the table's order,
    whatever the number of `workers` (threads).

    `bands` is the number of bands images must have (all the same, if not given). Brightness and contrast are mean and
    population standard deviation of the grey value (0.299 red + 0.587 green + 0.114 blue, else the first band), in the
    stored range, over pixels with data; nodata_share is NaN when no nodata value is set. `marks` as in `look`. In the
    folder `kept`, if given, what was seen is kept: files that have not changed since are not read again.

    Raises:
        ImageFileError, MaskError: one error for all faults found, naming the first five files and the number of all:
            missing, damaged or oversized files, sizes that differ, values without a meaning; then images that differ in
            bands or type, masks without any labelled pixel, and 0/255 masks read with 255 as the ignore value.
    """
    rows = list(zip(images["image_id"], images["image_path"], images["mask_path"], strict=True))
    if not rows:
        raise ImageFileError("the images table has no row, so there is nothing to check.")
    work: Callable[[_Row], SeenPair | _Faults] = partial(
        _check_pair, labels=labels, nodata=nodata, max_pixels=max_pixels, marks=marks)
    if kept is not None:
        way = {"labels": labels.to_json(), "nodata": nodata, "max_pixels": max_pixels, "marks": marks}
        cache = ProfileCache(kept, way, [path for row in rows for path in row[1:]])
        work = partial(_remembered, work, cache)
    with ThreadPoolExecutor(max(1, workers)) as pool:           # decoders, zlib and hashing release the lock
        found = list(progress(pool.map(work, rows), total=len(rows), what="checking images and masks"))
    if kept is not None:
        cache.save()
    _refuse_faults([one for one in found if isinstance(one, _Faults)], len(found))
    pairs = [one for one in found if isinstance(one, SeenPair)]
    profile = _profile(rows, pairs, labels)
    _refuse_mixed_kinds(profile.images, images["image_path"].tolist(), bands)
    refuse_unlabelled(np.array([pair.counts for pair in pairs]), np.array([pair.ignored for pair in pairs]), labels)
    for note in _notes(pairs):
        warnings.warn(note, SegcvWarning, stacklevel=2)
    return profile


def data_id(profile: Profile, labels: LabelMap) -> str:
    """Name of the data: 12 hexadecimal digits from image ids, contents of images and masks, and the label map.

    Paths, row order, groups and other columns do not count.
    """
    rows = profile.images[["image_id", "image_hash", "mask_hash"]].sort_values("image_id", kind="stable")
    return fingerprint([labels.to_json(), *rows.to_numpy().tolist()])


def changed_images(images: pd.DataFrame, profile_images: pd.DataFrame) -> list[str]:
    """Ids of images whose image or mask file is not what the profile saw, or which it never saw; in table order.

    Files of the same size and time of change are taken as unchanged; others are compared by content.
    """
    columns = ["image_state", "mask_state", "image_hash", "mask_hash"]
    seen = profile_images.set_index("image_id")[columns].to_dict("index")
    changed = []
    for image_id, *paths in zip(images["image_id"], images["image_path"], images["mask_path"], strict=True):
        if image_id not in seen:
            changed.append(image_id)
            continue
        row = seen[image_id]
        for kind, path in zip(("image", "mask"), map(Path, paths), strict=True):
            if not path.is_file() or (state_of(path) != row[f"{kind}_state"]
                                      and content_hash(path.read_bytes()) != row[f"{kind}_hash"]):
                changed.append(image_id)
                break
    return changed


def _remembered(check: Callable[[_Row], SeenPair | _Faults], cache: ProfileCache, row: _Row) -> SeenPair | _Faults:
    """What is kept of a pair of files, else what `check` sees in it, which is kept."""
    kept = cache.get(*row)
    if kept is not None:
        return kept
    places = places_of(Path(row[1]), Path(row[2]))
    found = check(row)
    if isinstance(found, SeenPair):
        cache.put(row[1:], places, found)
    return found


def _check_pair(row: _Row, *, labels: LabelMap, nodata: float | None, max_pixels: int,
                marks: str | None) -> SeenPair | _Faults:
    image_id, image_path, mask_path = row[0], Path(row[1]), Path(row[2])
    image_faults: list[str] = []
    mask_faults: list[str] = []
    image = mask = None
    facts: dict[str, object] = {"image_id": image_id}
    try:
        data = read_bytes(image_path)
        facts |= {"image_hash": content_hash(data), "image_state": state_of(image_path)}
        image, stored = decode_stored(data, max_pixels=max_pixels)
    except Fault as fault:
        image_faults.append(fault.about(image_path))
    try:
        data = read_bytes(mask_path)
        facts |= {"mask_hash": content_hash(data), "mask_state": state_of(mask_path)}
        stored_mask = decode_mask(data, max_pixels=max_pixels)
        mask = labels.decode(stored_mask)
    except Fault as fault:
        mask_faults.append(fault.about(mask_path))
    if image is None or mask is None:
        return _Faults(tuple(image_faults), tuple(mask_faults))
    if mask.labels.shape != image.shape[:2]:
        return _Faults(mask=(_other_size(image_path, image.shape, mask_path, mask),))
    facts |= image_facts(image, nodata)
    facts |= {"orientation": stored.orientation, "palette": stored.palette, "alpha": stored.alpha,
              "mask_kind": stored_mask.kind, "pixels_hash": pixels_hash(image), "labels_hash": pixels_hash(mask.labels)}
    return SeenPair(facts, look(image, nodata=nodata, marks=marks), mask.counts, mask.ignored,
                    class_brightness(image, mask.labels, labels.n_classes, nodata=nodata), mask.rounded,
                    *unmeant(image, nodata))


def _other_size(image_path: Path, image_shape: Sequence[int], mask_path: Path, mask: Labels) -> str:
    (height, width), (tall, wide) = image_shape[:2], mask.labels.shape
    turned = (height, width) == (wide, tall)
    hint = " The mask fits the image turned by 90°: was it drawn on the stored view of a photo shown turned (EXIF)?"
    return (f"{mask_path}: the mask is {tall}x{wide}, and its image {image_path} is {height}x{width} (height x width)."
            f"{hint if turned else ''} Masks are never resized; make both of one size.")


def _refuse_faults(faulty: Sequence[_Faults], number: int) -> None:
    faults = [fault for pair in faulty for fault in (*pair.image, *pair.mask)]
    if not faults:
        return
    n_images, n_masks = sum(bool(pair.image) for pair in faulty), sum(bool(pair.mask) for pair in faulty)
    counts = [f"{n} of {number} {what}" for n, what in ((n_images, "images"), (n_masks, "masks")) if n]
    lines = [f"{' and '.join(counts)} cannot be used:", *(f"- {fault}" for fault in faults[:_SHOWN])]
    if len(faults) > _SHOWN:
        lines.append(f"- and {len(faults) - _SHOWN} more")
    raise (ImageFileError if n_images else MaskError)("\n".join(lines))


def _refuse_mixed_kinds(profile: pd.DataFrame, paths: Sequence[str], bands: int | None) -> None:
    kinds = list(zip(profile["bands"].tolist(), profile["dtype"].tolist(), strict=True))
    fitting = [kind for kind in kinds if bands is None or kind[0] == bands]
    usual = Counter(fitting).most_common(1)[0][0] if fitting else None
    others = [i for i, kind in enumerate(kinds) if kind != usual]
    if not others:
        return
    shown = [f"{paths[i]} has {band_count(*kinds[i])}" for i in others[:_SHOWN]]
    text = f"{len(others)} of {len(kinds)} images are of another kind: {listed(shown, len(others))}; "
    if usual is None:
        found = Counter(kinds).most_common(1)[0][0][0]
        raise ImageFileError(f"{text}and data.bands={bands}. Set data.bands={found}, or convert the images.")
    said = f" (data.bands={bands})" if bands is not None else ""
    raise ImageFileError(f"{text}the others have {band_count(*usual)}{said}. One model reads one kind: convert them, "
                         "or take them out of the table; data.bands=N says which number of bands is right.")


def refuse_unlabelled(counts: NDArray[np.int64], ignored: NDArray[np.int64], labels: LabelMap) -> None:
    """Refuse masks in which nothing, or only the background, is left beside the ignore value.

    `counts`: pixels of each class, images x classes; `ignored`: pixels, images.

    Raises:
        MaskError: all pixels are ignored, or 0/255 masks are read with 255 as the ignore value.
    """
    number = len(counts)
    objects = counts[:, 1:].sum(axis=1)
    void = labels.ignore
    if not counts.sum():
        raise MaskError(f"all {number} masks are ignored entirely (ignore value {void}), so there is nothing to "
                        "learn or to score. Check data.ignore and data.values.")
    if labels.values is not None or labels.colors is not None or not ignored.sum():
        return
    if not objects.sum():
        raise MaskError(f"all {number} masks hold 0 and {void} only, and {void} is the ignore value, so the whole "
                        f"foreground would be left out of training and scores. If {void} is the object: "
                        f"'data.values={{0: 0, {void}: 1}}'; if it does mean ignored, say so: "
                        f"'data.values={{0: 0, 1: 1, {void}: {void}}}'")
    beside_background = int(((ignored > 0) & (objects == 0) & (counts[:, 0] > 0)).sum())
    if labels.n_classes == 2 and beside_background > 1 and not ((ignored > 0) & (objects > 0)).any():
        warnings.warn(f"in {beside_background} of {number} masks {void} stands beside 0 alone, in none beside "
                      f"class 1: are some masks 0/1 and others 0/{void}? It is taken as ignored; if it is the object: "
                      f"'data.values={{0: 0, 1: 1, {void}: 1}}'", SegcvWarning, stacklevel=3)


def _notes(pairs: Sequence[SeenPair]) -> Iterator[str]:
    """What was read in the only sensible way, and is still to be said."""
    rounded = sum(pair.rounded for pair in pairs)
    if rounded:
        yield (f"{rounded} of {len(pairs)} masks hold floats a hair beside whole numbers; they are rounded "
               "(within 0.001).")
    gaps = [pair.not_finite for pair in pairs if pair.not_finite]
    if gaps:
        yield (f"{len(gaps)} of {len(pairs)} images hold nan or infinity in {sum(gaps)} pixels, which are treated "
               "as being without data.")
    marked = [pair.marker for pair in pairs if pair.marker is not None]
    if marked:
        yield (f"{len(marked)} of {len(pairs)} images hold {marked[0]:g} as their smallest value, which usually means "
               f"no data, and would pull mean and standard deviation. If so, set data.nodata={marked[0]:g}")


def _profile(rows: Sequence[tuple[str, str, str]], pairs: Sequence[SeenPair], labels: LabelMap) -> Profile:
    ids = [row[0] for row in rows]
    images = IMAGE_PROFILE.check(pd.DataFrame([pair.facts for pair in pairs]), where="image profile")
    classes = [*range(labels.n_classes), -1]
    pixels = np.array([[*pair.counts, pair.ignored] for pair in pairs], np.int64)
    masks = MASK_PROFILE.check(pd.DataFrame({
        "image_id": np.repeat(np.array(ids, object), len(classes)),
        "class_id": np.tile(classes, len(ids)),
        "pixels": pixels.ravel(),
        "brightness": np.array([pair.brightness for pair in pairs]).ravel(),
    }), where="mask profile")
    found = [pair.look for pair in pairs]
    looks = pd.DataFrame({
        "image_id": images["image_id"], "height": images["height"], "width": images["width"],
        "phash": np.array([one.phash for one in found], np.uint64),
        "flat": np.array([one.flat for one in found], bool),
        "thumbnail": pd.Series([one.thumbnail.tobytes() for one in found], dtype=object),
        "blocks": pd.Series([one.blocks.tobytes() for one in found], dtype=object),
        "landmarks": pd.Series([one.landmarks.tobytes() for one in found], dtype=object),
    })
    return Profile(images, masks, looks)


def class_pixels(masks: pd.DataFrame, rows: pd.DataFrame, *, n_classes: int) -> NDArray[np.int64]:
    """Labelled pixels of each class in the masks of the rows, by MASK_PROFILE `masks`, times their count."""
    times = rows.assign(train_count=rows.get("train_count", 1)).set_index("image_id")["train_count"]
    mine = masks[masks["image_id"].isin(rows["image_id"]) & masks["class_id"].ge(0)]
    counts = (mine["pixels"] * mine["image_id"].map(times)).groupby(mine["class_id"]).sum()
    return np.asarray(counts.reindex(range(n_classes), fill_value=0).to_numpy())
