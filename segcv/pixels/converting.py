"""Annotation files to label masks: find each image's entry, check it, draw it, write it."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from segcv.errors import MaskError, SegcvWarning
from segcv.pixels.annotated import AnnotatedPicture
from segcv.pixels.annotation_entries import SHOWN, Entry, left_over, paired, read_entries, refuse_faults
from segcv.pixels.annotation_rules import AnnotationRules, DrawnPicture, draw_picture, undeclared
from segcv.pixels.coding import listed
from segcv.pixels.files import Fault
from segcv.pixels.reading import sizes
from segcv.pixels.writing import write_mask
from segcv.tables import Progress, quiet, write_images, write_json, write_text


@dataclass(frozen=True, slots=True)
class Conversion:
    """What was converted."""

    images: pd.DataFrame                 # the table that came in, mask_path being the new masks
    classes: pd.DataFrame                # class_id, class, pixels, images: of each class, and of -1, ignored
    notes: tuple[str, ...]               # what was decided and is to be said


def convert_annotations(images: pd.DataFrame, rules: AnnotationRules, *, folder: Path, seen_from: Path | None = None,
                        workers: int = 1, progress: Progress = quiet) -> Conversion:
    """Masks of an images table whose mask_path names annotation files, or folders of them, written below `folder`.

    `folder`/masks/<image_id>.png holds class ids and the ignore value; `folder`/images.csv is the table with them (its
    paths hold when `folder` is renamed to `seen_from`), classes.csv the class list with pixels, conversion.json the
    rules. All files are read, paired and checked before the first mask is drawn.

    Raises:
        MaskError: a file cannot be read, an image has no entry or several, a label is not declared, a size differs from
            the image's, a region cannot be drawn; the message names the first five.
        ImageFileError: an image is missing or has no readable header.
    """
    found = read_entries(images["mask_path"].unique(), rules.format)
    entries = paired(images, found)
    _refuse_undeclared(entries, rules)
    rows = list(zip(images["image_id"], images["image_path"], entries, strict=True))
    work = partial(_convert, rules=rules, folder=folder / "masks")
    with ThreadPoolExecutor(max(1, workers)) as pool:
        done = list(progress(pool.map(work, rows), total=len(rows), what="drawing masks"))
    refuse_faults([one for one in done if isinstance(one, str)], len(rows))
    drawn = [one for one in done if not isinstance(one, str)]
    notes = (*_notes(drawn, [entry.picture for entry in entries], rules), *left_over(found, entries),
             *_renamed(images, entries))
    for note in notes:
        warnings.warn(note, SegcvWarning, stacklevel=2)
    classes = _class_table(drawn, rules)
    place = folder if seen_from is None else seen_from
    paths = [str(place.absolute() / "masks" / f"{image_id}.png") for image_id in images["image_id"]]
    converted = images.assign(mask_path=paths)
    write_images(converted, folder / "images.csv", seen_from=place)
    write_text(folder / "classes.csv", classes.to_csv(index=False, lineterminator="\n"))
    write_json(folder / "conversion.json", rules.to_json() | {
        "files": sorted({entry.file.name for entry in entries}), "images": len(images), "notes": list(notes)})
    return Conversion(converted, classes, notes)


@dataclass(frozen=True, slots=True)
class _Done:
    """What is remembered of a drawn mask."""

    pixels: Mapping[int, int]            # stored value -> pixels
    drawn: DrawnPicture                  # its mask let go


def _convert(row: tuple[str, str, Entry], *, rules: AnnotationRules, folder: Path) -> _Done | str:
    image_id, image_path, entry = row
    try:
        height, width = _size(entry.picture, Path(image_path))
        drawn = draw_picture(entry.picture, rules, height=height, width=width)
    except Fault as fault:
        return fault.about(entry.file)
    path = folder / f"{image_id}.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_mask(path, drawn.mask)
    values, pixels = np.unique(drawn.mask, return_counts=True)
    return _Done(dict(zip(values.tolist(), pixels.tolist(), strict=True)), drawn.without_mask())


def _size(picture: AnnotatedPicture, image: Path) -> tuple[int, int]:
    shown, stored = sizes(image)
    told = (picture.height or shown[0], picture.width or shown[1])
    if told == shown:
        return shown
    hint = (" That is the image as stored, before its EXIF orientation turns it; images are read as they are shown"
            if told == stored else "")
    raise Fault(f"says that {picture.name} is {told[0]}x{told[1]}, and the image {image} is {shown[0]}x{shown[1]} "
                f"(height x width)", f"Regions are never moved.{hint} Annotate the image as it is, or correct it.")


def _refuse_undeclared(entries: Sequence[Entry], rules: AnnotationRules) -> None:
    seen: Counter[str] = Counter()
    first: dict[str, str] = {}
    for entry in entries:
        for region in entry.picture.regions:
            if rules.class_of(region) is None:
                seen[region.label] += 1
                first.setdefault(region.label, f"{entry.file}: {region.where}, {entry.picture.name}")
    if seen:
        shown = [f"{label!r} in {seen[label]} regions, first in {place}" for label, place in [*first.items()][:SHOWN]]
        raise MaskError(f"{len(seen)} labels are not declared: {listed(shown, len(seen))}. "
                        f"{undeclared(next(iter(first)), rules)}")


def _notes(done: Sequence[_Done], pictures: Sequence[AnnotatedPicture], rules: AnnotationRules) -> Iterable[str]:
    overlapped = [one.drawn.overlapped for one in done if one.drawn.overlapped]
    if overlapped:
        which = {"later": "the one that comes later in its file", "smaller": "the smaller one"}[rules.overlap]
        other = "smaller" if rules.overlap == "later" else "later"
        yield (f"in {len(overlapped)} of {len(done)} images regions of different classes overlap, in {sum(overlapped)} "
               f"pixels; {which} counts (data.annotations.overlap={rules.overlap}; or {other}, or refuse).")
    crowds = sum(one.drawn.crowds for one in done)
    if crowds:
        means = "as their class" if rules.crowd == "class" else "as ignored where no other region is"
        yield (f"{crowds} crowd regions (one outline around many objects) count {means} "
               f"(data.annotations.crowd={rules.crowd}).")
    empty = [f"{where} of {picture.name}" for one, picture in zip(done, pictures, strict=True)
             for where in one.drawn.empty]
    if empty:
        yield f"{len(empty)} regions hold no pixel of their image: {listed(empty[:SHOWN], len(empty))}."
    bare = [picture.name for picture in pictures if not picture.regions]
    if bare:
        left = "ignored" if rules.outside < 0 else rules.labels.names[rules.outside]
        yield (f"{len(bare)} of {len(done)} images have no region, and are {left} entirely: "
               f"{listed(bare[:SHOWN], len(bare))}.")


def _renamed(images: pd.DataFrame, entries: Sequence[Entry]) -> Iterable[str]:
    pairs = zip(images["image_path"], entries, strict=True)
    other = [f"{entry.file.name} ({entry.picture.name})" for path, entry in pairs
             if Path(path).stem not in (entry.picture.parts[-1:] or ("",))]
    if other:
        yield (f"{len(other)} files name another picture than the image they are paired with by their own name: "
               f"{listed(other[:SHOWN], len(other))}.")


def _class_table(done: Sequence[_Done], rules: AnnotationRules) -> pd.DataFrame:
    rows = []
    stored = [*range(rules.labels.n_classes), *([] if rules.labels.ignore is None else [rules.labels.ignore])]
    for value in stored:
        pixels = [one.pixels.get(value, 0) for one in done]
        known = value < rules.labels.n_classes
        rows.append((value if known else -1, rules.labels.names[value] if known else "ignored", sum(pixels),
                     sum(count > 0 for count in pixels)))
    return pd.DataFrame(rows, columns=["class_id", "class", "pixels", "images"])
