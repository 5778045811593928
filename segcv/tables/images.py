"""The images table: which image goes with which mask, under which id."""

from __future__ import annotations

import os
import unicodedata
import warnings
from collections.abc import Collection
from pathlib import Path, PurePosixPath

import numpy as np
import pandas as pd

from segcv.errors import SegcvWarning, TableError
from segcv.tables.layouts import IMAGES
from segcv.tables.named_files import named_files
from segcv.tables.schema import SHOWN, read_csv

LONGEST_NAME = 240       # bytes of one part of an id; file systems take 255, with a suffix

IMAGE_SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp", ".gif", ".webp"})
MASK_SUFFIXES = IMAGE_SUFFIXES | {".npy", ".npz"}


def read_images(table: Path) -> pd.DataFrame:
    """The images table in a CSV file, with `image_id` and absolute paths.

    Paths in the file are relative to it, and are found as `named_files` does. Without a column image_id the id is the
    image's path relative to the table, '/' as separator, without suffix. A row listed twice (same image, same mask) is
    used once and warned.

    Raises:
        TableError: a column is missing, a path is blank, one image has two masks, or two images share an id.
    """
    if not table.is_file():
        raise TableError(f"{table}: there is no such table. Name it with data.table=PATH, "
                         "or name two folders with data.images=... data.masks=...")
    frame = read_csv(table)
    for column in ("image_path", "mask_path"):
        if column not in frame.columns:
            raise TableError(f"{table}: column {column} is missing; found {', '.join(frame.columns)}. "
                             "A table needs image_path and mask_path, separated by commas.")
    if frame.empty:
        raise TableError(f"{table}: no row below the header.")
    _refuse_blanks(frame, table)
    frame = _once(frame, table)
    if "image_id" not in frame.columns:
        frame.insert(0, "image_id", [image_id_of(path) for path in frame["image_path"]])
    _refuse_unsafe_ids(frame["image_id"].tolist(), table)
    _refuse_shared_ids(frame, table)
    paths = named_files([*frame["image_path"], *frame["mask_path"]], table)
    frame["image_path"], frame["mask_path"] = paths[:len(frame)], paths[len(frame):]
    return IMAGES.check(frame, where=str(table))


def pair_folders(images: Path, masks: Path, *, mask_suffix: str = "",
                 mask_kinds: Collection[str] = MASK_SUFFIXES) -> pd.DataFrame:
    """The images table of two folders: image and mask belong together when they have the same image_id.

    The id is the path below the folder, without suffix; `mask_suffix` is what mask names add to it (`_mask`), and
    `mask_kinds` are the suffixes of mask files. Nothing is paired by position.

    Raises:
        TableError: a folder is missing or empty, an id repeats, or an image or mask has no partner.
    """
    found = {"image": _by_id(images, "", IMAGE_SUFFIXES), "mask": _by_id(masks, mask_suffix, mask_kinds)}
    for one, other, folder in (("image", "mask", masks), ("mask", "image", images)):
        alone = sorted(found[one].keys() - found[other].keys())
        if alone:
            shown = ", ".join(str(found[one][image_id]) for image_id in alone[:SHOWN])
            raise TableError(f"{len(alone)} of {len(found[one])} {one}s have no {other} of the same name in {folder}: "
                             f"{shown}. Pairs are matched by name, never by order"
                             f"{_suffix_hint(found['image'], found['mask'])}; or name the pairs: data.table=PATH.")
    ids = sorted(found["image"])
    return IMAGES.check(pd.DataFrame({
        "image_id": ids,
        "image_path": [os.path.normpath(found["image"][image_id].absolute()) for image_id in ids],
        "mask_path": [os.path.normpath(found["mask"][image_id].absolute()) for image_id in ids],
    }), where=f"{images} and {masks}")


def list_images(images: Path, mask_path: Path) -> pd.DataFrame:
    """The images table of a folder whose images are all described by one file or folder, `mask_path`.

    Raises:
        TableError: the folder is missing or empty, or an id repeats.
    """
    found = _by_id(images, "", IMAGE_SUFFIXES)
    ids = sorted(found)
    return IMAGES.check(pd.DataFrame({
        "image_id": ids,
        "image_path": [os.path.normpath(found[image_id].absolute()) for image_id in ids],
        "mask_path": os.path.normpath(mask_path.absolute()),
    }), where=str(images))


def find_images(where: Path) -> pd.DataFrame:
    """image_id and absolute image_path of images without masks: a folder's, one file, or a CSV with image_path (and
    source_id, which is kept).

    Raises:
        TableError: nothing is there, or an id repeats.
    """
    if where.is_file() and where.suffix.lower() == ".csv":
        frame = read_csv(where)
        if "image_path" not in frame.columns:
            raise TableError(f"{where}: column image_path is missing; found {', '.join(frame.columns)}.")
        if "image_id" not in frame.columns:
            frame.insert(0, "image_id", [image_id_of(path) for path in frame["image_path"]])
        _refuse_unsafe_ids(frame["image_id"].tolist(), where)
        _refuse_shared_ids(frame, where)
        frame["image_path"] = named_files(frame["image_path"].tolist(), where)
        return frame[["image_id", "image_path", *(["source_id"] if "source_id" in frame else [])]]
    if where.is_file():
        return pd.DataFrame({"image_id": [one_form(where.stem)], "image_path": [os.path.normpath(where.absolute())]})
    found = _by_id(where, "", IMAGE_SUFFIXES)
    return pd.DataFrame({"image_id": sorted(found),
                         "image_path": [os.path.normpath(found[name].absolute()) for name in sorted(found)]})


def write_images(frame: pd.DataFrame, table: Path, *, seen_from: Path | None = None) -> None:
    """Write the images table with paths relative to it, or to the folder `seen_from` where it will come to lie."""
    folder = seen_from if seen_from is not None else table.absolute().parent
    relative = frame.copy()
    for column in ("image_path", "mask_path"):
        relative[column] = [Path(os.path.relpath(path, folder.absolute())).as_posix() for path in frame[column]]
    IMAGES.write(relative, table)


def image_id_of(path: str) -> str:
    """The image_id of an image_path: without suffix, '/' as separator, without leading '/', drive or '..'."""
    pure = PurePosixPath(os.path.normpath(path).replace("\\", "/"))
    parts = [part for part in pure.with_suffix("").parts if part not in ("/", "..") and not part.endswith(":")]
    return one_form("/".join(parts))


def one_form(image_id: str) -> str:
    """Letters with accents as one character each: some systems write them as two, and both look the same."""
    return unicodedata.normalize("NFC", image_id)


def _refuse_blanks(frame: pd.DataFrame, table: Path) -> None:
    for column, partner in (("image_path", "mask_path"), ("mask_path", "image_path")):
        rows = [row for row, path in enumerate(frame[column]) if not path.strip()]
        if rows:
            shown = ", ".join(f"line {row + 2}, {frame[partner][row] or 'blank too'}" for row in rows[:SHOWN])
            raise TableError(f"{table}: {column} is blank in {len(rows)} of {len(frame)} rows ({shown}). "
                             "Not labelled is not background: give each row its image and its mask, or take it out.")


def _once(frame: pd.DataFrame, table: Path) -> pd.DataFrame:
    image = frame["image_path"].map(os.path.normpath)
    pairs = pd.DataFrame({"image": image, "mask": frame["mask_path"].map(os.path.normpath)})
    distinct = pairs.drop_duplicates()
    several = distinct[distinct["image"].duplicated(keep=False)]
    torn = several.groupby("image", sort=False)["mask"].agg(list)
    if len(torn):
        raise TableError(f"{table}: {torn.index[0]} is listed {len(torn.iloc[0])} times with different masks "
                         f"({', '.join(torn.iloc[0][:SHOWN])}); {len(torn)} such images. One image has one mask: "
                         "merge the masks, or keep one row.")
    again = pairs.duplicated()
    if again.any():
        names = image[again].unique()
        warnings.warn(f"{table}: {', '.join(names[:SHOWN])} listed twice or more ({int(again.sum())} repeated rows); "
                      f"each image is used once{_dropped(frame, again, image)}.", SegcvWarning, stacklevel=3)
    return frame[~again].reset_index(drop=True)


def _dropped(frame: pd.DataFrame, again: pd.Series, image: pd.Series) -> str:
    """What the repeated rows said differently, of which the first row's is kept."""
    for row in np.flatnonzero(again):
        first = int(np.flatnonzero(image == image[row])[0])
        for column in frame.columns.difference(["image_path", "mask_path"], sort=False):
            kept, lost = frame[column][first], frame[column][row]
            if kept != lost:
                return f", as its first row says ({image[row]}: {column} {kept!r} is kept, {lost!r} dropped)"
    return ""


def _refuse_unsafe_ids(ids: list[str], table: Path) -> None:
    """An image_id names files below a run's folder, so it must not lead out of it, nor to another image's file."""
    for image_id in ids:
        parts = image_id.split("/")
        unfit = (any(part in ("", ".", "..") or len(part.encode()) > LONGEST_NAME for part in parts)
                 or "\\" in image_id or "\x00" in image_id)
        if unfit:
            raise TableError(f"{table}: image_id {image_id[:80]!r} cannot name a file: no leading or trailing '/', no "
                             f"'.' or '..' part, no backslash, no part above {LONGEST_NAME} bytes. Write another id.")


def _refuse_shared_ids(frame: pd.DataFrame, table: Path) -> None:
    shared = frame["image_id"].duplicated(keep=False)
    if shared.any():
        first = frame.loc[shared, "image_id"].iloc[0]
        paths = frame.loc[frame["image_id"] == first, "image_path"].tolist()
        raise TableError(f"{table}: {' and '.join(paths[:SHOWN])} share the image_id {first!r} (the path without "
                         "suffix). Rename one, or give a column image_id.")


def _by_id(folder: Path, name_suffix: str, kinds: Collection[str]) -> dict[str, Path]:
    if not folder.is_dir():
        raise TableError(f"{folder}: there is no such folder.")
    found: dict[str, Path] = {}
    for path in sorted(folder.rglob("*")):
        hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        if path.suffix.lower() not in kinds or hidden or not path.stem.endswith(name_suffix):
            continue
        image_id = one_form(path.relative_to(folder).with_suffix("").as_posix()).removesuffix(name_suffix)
        if image_id in found:
            raise TableError(f"{found[image_id]} and {path} have the same name but for the suffix. Rename one.")
        found[image_id] = path
    if not found:
        raise TableError(f"{folder}: no file {'ending in ' + name_suffix + ' ' if name_suffix else ''}of a known kind "
                         f"({', '.join(sorted(kinds))}).")
    return found


def _suffix_hint(images: dict[str, Path], masks: dict[str, Path]) -> str:
    first = sorted(images)[0]
    longer = [mask for mask in masks if mask.startswith(first) and mask != first]
    return f" (are masks named like {longer[0]}? then data.mask_suffix={longer[0][len(first):]})" if longer else ""
