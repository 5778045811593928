"""Lists of training and held-out images, by us or by other tools, read into a roles table."""

from __future__ import annotations

import os
import re
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from segcv.errors import SegcvWarning, SplitError
from segcv.splits.lists import SIDES
from segcv.tables import EXCLUDED, HELD_OUT, ROLES, TRAIN, read_csv

SHOWN = 3
NOT_LISTED = "not listed"
_REPEAT = re.compile(r"repeat-(\d+)")
_VAL = re.compile(r"fold_(\d+)_val\.(csv|txt)")
Lists = dict[str, list[str]]                 # train or val -> names


def roles_from_folder(folder: Path, images: pd.DataFrame) -> pd.DataFrame:
    """The roles of fold_K_train and fold_K_val (.csv or .txt) in the folder, further repeats in its repeat-R/.

    A CSV has image_id or image_path, and maybe train_count; a text file a path or an image id a line, as often as it
    trains. Paths are relative to the list. Images that a fold does not list are excluded from it.

    Raises:
        SplitError: a list is missing, names an image that the table lacks, or puts an image on both sides.
    """
    found = {}
    for repeat, place in _repeats(folder):
        for fold, suffix in _folds(place):
            found[repeat, fold] = {side: _listed(place / f"fold_{fold}_{side}.{suffix}", images)
                                   for side in SIDES.values()}
    return _roles(folder, found, images)


def roles_from_nnunet(path: Path, folds: Sequence[Any], images: pd.DataFrame) -> pd.DataFrame:
    """The roles of a splits_final.json: a list of {"train": [names], "val": [names]}, a fold each.

    A name is an image id, or the name of a mask or image without suffix (and without nnU-Net's _0000), where no two
    share it.

    Raises:
        SplitError: an entry is no such mapping, a name is not in the table, or an image is on both sides.
    """
    known = ids_by_name(images)
    found: dict[tuple[int, int], Lists] = {}
    for fold, entry in enumerate(folds):
        if not isinstance(entry, Mapping) or not all(isinstance(entry.get(side), list) for side in SIDES.values()):
            raise SplitError(f'{path}: entry {fold} is not {{"train": [names], "val": [names]}}.')
        found[0, fold] = {}
        for side in SIDES.values():
            names = [str(name) for name in entry[side]]
            strange = [name for name in names if name not in known]
            if strange:
                _refuse_strange(path, strange, len(names), images)
            found[0, fold][side] = [known[name] for name in names]
    return _roles(path, found, images)


def _repeats(folder: Path) -> Iterator[tuple[int, Path]]:
    yield 0, folder
    for place in sorted(folder.glob("repeat-*")):
        if match := _REPEAT.fullmatch(place.name):
            yield int(match[1]), place


def _folds(place: Path) -> list[tuple[int, str]]:
    for suffix in ("csv", "txt"):
        matches = [_VAL.fullmatch(path.name) for path in place.glob(f"fold_*_val.{suffix}")]
        numbers = sorted(int(match[1]) for match in matches if match)
        if numbers:
            return [(number, suffix) for number in numbers]
    raise SplitError(f"{place}: there is no fold_0_val.csv or fold_0_val.txt (and fold_0_train) in this folder.")


def _listed(path: Path, images: pd.DataFrame) -> list[str]:
    if not path.is_file():
        raise SplitError(f"{path}: this list is missing; a fold has a train and a val list.")
    if path.suffix == ".txt":
        lines = path.read_text(encoding="utf-8").splitlines()
        names = [line for line in lines if line.strip()]
    else:
        frame = read_csv(path)
        column = next((name for name in ("image_id", "image_path") if name in frame.columns), None)
        if column is None:
            raise SplitError(f"{path}: a list has image_id or image_path; found {', '.join(frame.columns)}.")
        names = np.repeat(frame[column].to_numpy(dtype=object), _times(path, frame)).tolist()
    ids = known_ids(path, names, images)
    strange = [name for name, image_id in zip(names, ids, strict=True) if not image_id]
    if strange:
        _refuse_strange(path, strange, len(names), images)
    return ids


def _times(path: Path, frame: pd.DataFrame) -> NDArray[np.int64]:
    if "train_count" not in frame.columns:
        return np.ones(len(frame), np.int64)
    times = pd.to_numeric(frame["train_count"], errors="coerce")
    bad = times.isna() | times.lt(1) | times.mod(1).ne(0)
    if bad.any():
        first = frame.loc[bad, "train_count"].iloc[0]
        raise SplitError(f"{path}: train_count {first!r} is not a whole number from 1 on ({int(bad.sum())} rows).")
    return times.to_numpy(np.int64)


def known_ids(path: Path, names: Sequence[str], images: pd.DataFrame) -> list[str]:
    """The image id of each name in the file: an id itself, or an image path relative to the file; "" is neither."""
    folder = path.absolute().parent
    by_path = {os.path.normpath(folder / where): image_id
               for where, image_id in zip(images["image_path"], images["image_id"], strict=True)}
    known = set(images["image_id"])
    slashed = [name if "/" in name else name.replace("\\", "/") for name in names]         # as written on Windows
    return [name if name in known else by_path.get(os.path.normpath(folder / name), "") for name in slashed]


def ids_by_name(images: pd.DataFrame) -> dict[str, str]:
    """Image id by every name that is its own: mask name, image name, image name without _0000; ids go first."""
    ids = images["image_id"].tolist()
    masks, pictures = ([Path(path).stem for path in images[column]] for column in ("mask_path", "image_path"))
    known: dict[str, str] = {}
    for names in ([name.removesuffix("_0000") for name in pictures], pictures, masks, ids):
        if len(set(names)) == len(names):
            known |= dict(zip(names, ids, strict=True))
    return known


def _refuse_strange(path: Path, strange: Sequence[str], names: int, images: pd.DataFrame) -> None:
    raise SplitError(f"{path}: does not match the images table: {len(strange)} of its {names} names are not in the "
                     f"table of {len(images)} images ({', '.join(strange[:SHOWN])}). It was made for another version "
                     "of the table: cut a new split, or bring back the table.")


def _roles(where: Path, found: Mapping[tuple[int, int], Lists], images: pd.DataFrame) -> pd.DataFrame:
    if not found:
        raise SplitError(f"{where}: it holds no fold.")
    parts = []
    for (repeat, fold), lists in found.items():
        train, held_out = Counter(lists["train"]), Counter(lists["val"])
        both = sorted(train.keys() & held_out.keys())
        if both:
            raise SplitError(f"{where}: {both[0]} is on both sides of repeat {repeat}, fold {fold} ({len(both)} such "
                             "images).")
        if held_out and max(held_out.values()) > 1:
            raise SplitError(f"{where}: {held_out.most_common(1)[0][0]} is held out more than once in repeat {repeat}, "
                             f"fold {fold}.")
        ids = images["image_id"]
        role = [TRAIN if name in train else HELD_OUT if name in held_out else EXCLUDED for name in ids]
        parts.append(pd.DataFrame({
            "repeat": repeat, "fold": fold, "image_id": ids.to_numpy(dtype=object),
            "group_id": images["group_id"].to_numpy(dtype=object), "role": role,
            "reason": [NOT_LISTED if each == EXCLUDED else "" for each in role],
            "train_count": [train[name] for name in ids]}))
    table = pd.concat(parts, ignore_index=True)
    if table["train_count"].max() <= 1:
        table = table.drop(columns="train_count")
    names = sorted(set(table["image_id"]) - set(table.loc[table["role"].ne(EXCLUDED), "image_id"]))
    if names:
        warnings.warn(f"{where}: {len(names)} of {len(images)} images of the table are in no list and are left out "
                      f"({', '.join(names[:SHOWN])}).", SegcvWarning, stacklevel=3)
    return ROLES.check(table, where=str(where)).sort_values(["repeat", "fold", "image_id"], ignore_index=True)
