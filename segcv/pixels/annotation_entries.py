"""Annotation files read, and the one entry of each image found in them."""

from __future__ import annotations

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from segcv.errors import MaskError
from segcv.pixels.annotated import AnnotatedPicture
from segcv.pixels.annotation_rules import ONE_PICTURE_A_FILE, SUFFIXES, AnnotationRules, reader
from segcv.pixels.coding import listed
from segcv.pixels.files import Fault, content_hash, read_bytes
from segcv.tables import fingerprint

SHOWN = 5                                # files, labels or images named in a message


@dataclass(frozen=True, slots=True)
class Entry:
    """What one file says of one picture."""

    file: Path
    picture: AnnotatedPicture


Entries = dict[str, list[Entry]]         # by the picture's name, or LabelMe's file name, without folder and suffix


def annotation_files(place: Path, format: str) -> list[Path]:
    """The annotation files of a format: `place` itself, or all below the folder `place` that have its suffix.

    Raises:
        MaskError: there is none.
    """
    if not place.is_dir():
        return [place]
    suffix = SUFFIXES[format]
    found = sorted(path for path in place.rglob("*") if path.suffix.lower() == suffix and path.is_file()
                   and not any(part.startswith(".") for part in path.relative_to(place).parts))
    if not found:
        raise MaskError(f"{place}: no file that ends in {suffix} below this folder.")
    return found


def labels_found(places: Iterable[str], format: str) -> dict[str, int]:
    """Label -> number of its regions in annotation files or folders of them, by name.

    Raises:
        MaskError: a file cannot be read.
    """
    seen = Counter(region.label for entries in read_entries(places, format).values() for named in entries.values()
                   for entry in named for region in entry.picture.regions)
    return dict(sorted(seen.items()))


def annotations_id(images: pd.DataFrame, rules: AnnotationRules) -> str:
    """Name of what a conversion gives: 12 hexadecimal digits from image ids, paths, annotation files and rules.

    Raises:
        MaskError: a file is missing or cannot be opened.
    """
    contents = []
    for place in images["mask_path"].unique():
        for file in annotation_files(Path(place), rules.format):
            try:
                contents.append([str(place), file.name, content_hash(read_bytes(file))])
            except Fault as fault:
                raise MaskError(fault.about(file)) from fault.__cause__
    rows = images[["image_id", "image_path", "mask_path"]].sort_values("image_id", kind="stable")
    return fingerprint([rules.to_json(), contents, *rows.to_numpy().tolist()])


def read_entries(places: Iterable[str], format: str) -> dict[str, Entries]:
    """The entries of each place, a file or a folder; faults of all files are collected."""
    found: dict[str, Entries] = {}
    faults: list[str] = []
    files = 0
    for place in places:
        entries: Entries = defaultdict(list)
        for file in annotation_files(Path(place), format):
            files += 1
            try:
                for picture in reader(format)(file):
                    entry = Entry(file, picture)
                    for name in {*picture.parts[-1:], *([file.stem] if format == ONE_PICTURE_A_FILE else [])}:
                        entries[name].append(entry)
            except Fault as fault:
                faults.append(fault.about(file))
        found[place] = entries
    refuse_faults(faults, files)
    return found


def paired(images: pd.DataFrame, found: Mapping[str, Entries]) -> list[Entry]:
    """The entry of each image; faults of all images are collected."""
    entries, faults = [], []
    for image, place in zip(images["image_path"], images["mask_path"], strict=True):
        try:
            entries.append(_entry(found[place], Path(image)))
        except Fault as fault:
            faults.append(fault.about(Path(place)))
    refuse_faults(faults, len(images))
    return entries


def _entry(found: Entries, image: Path) -> Entry:
    """The entry whose name ends as the image's path does; where several fit, the one that says most of the path."""
    parts = [unicodedata.normalize("NFC", part) for part in image.with_suffix("").parts]
    fits = found.get(parts[-1], [])
    if not fits:
        known = sorted(found)
        raise Fault(f"has no entry for the image {image} (it has {listed(known[:SHOWN], len(known))})",
                    "Not annotated is not background: take the image out, or annotate it. Names are compared without "
                    "suffix.")
    shared = [_alike(parts, entry.picture.parts) for entry in fits]
    best = [entry for entry, depth in zip(fits, shared, strict=True) if depth == max(shared)]
    if len(best) > 1:
        names = [f"{entry.picture.name} in {entry.file.name}" for entry in best[:2]]
        raise Fault(f"has {len(best)} entries that fit the image {image} ({', '.join(names)})",
                    "Keep one, or write their folders into the names.")
    return best[0]


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    depth = 0
    while depth < min(len(one), len(other)) and one[-1 - depth] == other[-1 - depth]:
        depth += 1
    return depth


def left_over(found: Mapping[str, Entries], entries: Sequence[Entry]) -> Iterator[str]:
    """What is to be said of entries that belong to no image."""
    names = {id(entry): entry.picture.name for named in found.values() for fits in named.values() for entry in fits}
    for entry in entries:
        names.pop(id(entry), None)
    if names:
        left = [*names.values()]
        yield (f"{len(left)} annotated pictures are no image of the table, and are left out: "
               f"{listed(left[:SHOWN], len(left))}.")


def refuse_faults(faults: Sequence[str], number: int) -> None:
    """Raise MaskError if there are faults, of `number` files or images, naming the first."""
    if len(faults) == 1 and number == 1:
        raise MaskError(faults[0])
    if faults:
        lines = [f"{len(faults)} of {number} cannot be converted:", *(f"- {fault}" for fault in faults[:SHOWN])]
        if len(faults) > SHOWN:
            lines.append(f"- and {len(faults) - SHOWN} more")
        raise MaskError("\n".join(lines))
