"""Folds as others write them: a column, a list of folds, a table of roles, nnU-Net's file; read leniently, then judged.

What is wrong with the folds themselves (an empty one, an image on two sides) is for the checks to find. Refused is only
what cannot be matched to the images.
"""

from __future__ import annotations

import json
import os
import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from segcv.errors import SegcvWarning, SplitError
from segcv.leakage.folds import Folds, folds_of_roles
from segcv.splits import ids_by_name
from segcv.tables import EXCLUDED, HELD_OUT, TRAIN, read_csv

SHOWN = 3
TRAIN_WORDS = frozenset({"train", "training", "trn", "fit"})
CHOOSE_WORDS = frozenset({"val", "valid", "validation", "dev", "eval", "tune"})      # chooses, then counts as seen
TEST_WORDS = frozenset({"test", "testing", "holdout", "held_out", "heldout", "hold_out"})
UNUSED_WORDS = frozenset({"", "exclude", "excluded", "ignore", "unused", "none", "locked"})
FOLD_NAMES = frozenset({"fold", "folds", "split", "subset", "partition", "fold_id"})
ALWAYS_TRAINED = "-1"                        # scikit-learn's PredefinedSplit
_NUMBER = re.compile(r"(?:fold[ _-]*)?(-?\d+)(?:\.0)?", re.IGNORECASE)


def folds_of_column(images: pd.DataFrame, column: str) -> Folds:
    """The folds that a column of the images table names: numbers or names of folds, or train, val and test.

    With numbers or names every image is held out in its own fold and trains in all others; -1 always trains. With
    train and test words each of val and test is held out once: val from what train saw, test from what train and val
    saw, because val chooses the model.

    Raises:
        SplitError: there is no such column, or it holds one value only.
    """
    if column not in images.columns:
        raise SplitError(f"fold_column={column} is not a column of the table; it has {', '.join(images.columns)}.")
    values = images[column].astype("str").str.strip()
    return _of_values(images["image_id"], values, f"column {column}")


def refuse_two_folds(table: Path, column: str) -> None:
    """Do nothing unless a repeated row of the images table, which is read once, names another fold.

    Raises:
        SplitError: one does: the image is on both sides.
    """
    rows = read_csv(table)
    if column not in rows.columns or "image_path" not in rows.columns:
        return
    named = rows[column].str.strip().str.lower().groupby(rows["image_path"].map(os.path.normpath)).unique()
    torn = named[named.str.len() > 1]
    if len(torn):
        raise SplitError(f"{table}: {torn.index[0]} is listed more than once with different {column} "
                         f"({', '.join(map(repr, torn.iloc[0][:SHOWN]))}), so it is trained on and held out at once "
                         f"({len(torn)} such images). Keep one row of each image.")


def fold_columns(images: pd.DataFrame) -> list[str]:
    """Columns that look like folds: called fold, split, subset or the like, or holding train and test words only."""
    words = TRAIN_WORDS | CHOOSE_WORDS | TEST_WORDS | UNUSED_WORDS
    found = []
    for column in images.columns:
        values = set(images[column].astype("str").str.strip().str.lower())
        parted = bool(values & TRAIN_WORDS) and bool(values & (CHOOSE_WORDS | TEST_WORDS)) and values <= words
        if parted or (str(column).lower() in FOLD_NAMES and len(values) > 1):
            found.append(str(column))
    return found


def read_folds(path: Path, images: pd.DataFrame, *, column: str | None = None) -> Folds:
    """The folds in a file: CSV with image_id or image_path, and fold or role (`column` names another); JSON with
    {"fold": {path: fold}}, or nnU-Net's list of {"train": [...], "val": [...]}.

    Raises:
        SplitError: the file cannot be read, or names images that are not in the table, or none.
    """
    if not path.is_file():
        raise SplitError(f"roles={path}: there is no such file.")
    if path.suffix.lower() == ".json":
        return _from_json(path, images)
    frame = read_csv(path)
    names = next((name for name in ("image_id", "image_path") if name in frame.columns), None)
    wanted = [column] if column is not None else ["fold", "role", "split"]
    values = next((name for name in wanted if name in frame.columns), None)
    if names is None or values is None:
        raise SplitError(f"{path}: needs image_id or image_path, and {' or '.join(wanted)}; it has "
                         f"{', '.join(frame.columns)}. Another column: fold_column=NAME; a ledger has group_id, outer "
                         "and role (B, C, V or O).")
    ids = _matched(path, frame[names], images)
    if column is None and "role" in frame.columns and set(frame["role"]) <= {TRAIN, HELD_OUT, EXCLUDED}:
        roles = pd.DataFrame({"repeat": _whole(frame, "repeat", path), "fold": _whole(frame, "fold", path),
                              "image_id": ids, "role": frame["role"]})
        return folds_of_roles(roles, images["image_id"], each_once=False, origin=str(path))
    return _of_values(ids, frame[values].str.strip(), str(path), images["image_id"])


def _of_values(ids: pd.Series, values: pd.Series, where: str, all_ids: pd.Series | None = None) -> Folds:
    """Folds of a value per row: numbers or names of folds, or words for train, val and test."""
    every = ids if all_ids is None else all_ids
    words = values.str.lower()
    known = TRAIN_WORDS | CHOOSE_WORDS | TEST_WORDS | UNUSED_WORDS
    if words.isin(TRAIN_WORDS).any() and set(words) <= known:
        return _official(ids, words, where, every)
    numbers = values.map(lambda value: match.group(1) if (match := _NUMBER.fullmatch(value)) else value)
    names = sorted(set(numbers) - {"", ALWAYS_TRAINED}, key=lambda name: (not name.isdigit(), name.zfill(9)))
    if len(names) < 2 and not (names and numbers.eq(ALWAYS_TRAINED).any()):
        raise SplitError(f"{where}: holds {names[0] if names else 'nothing'} only, so there are no two sides. It needs "
                         "fold numbers or names, or train and test.")
    placed = set(ids[numbers.ne("")])
    nowhere = [image_id for image_id in every if image_id not in placed]
    if nowhere:
        warnings.warn(f"{where}: {len(nowhere)} of {len(every)} images have no fold, blank or not listed "
                      f"({', '.join(nowhere[:SHOWN])}); they neither train nor are held out, so the score is about "
                      "fewer images than the table has.", SegcvWarning, stacklevel=2)
    parts = []
    for number, name in enumerate(names):
        role = numbers.eq(name).map({True: HELD_OUT, False: TRAIN}).where(numbers.ne(""), EXCLUDED)
        parts.append(pd.DataFrame({"repeat": 0, "fold": number, "image_id": ids, "role": role}))
    said = {number: f"fold {name}" for number, name in enumerate(names)}
    roles = _held_out_first(pd.concat(parts, ignore_index=True), twice=bool(ids.duplicated().any()))
    return folds_of_roles(roles, every, each_once=not numbers.eq(ALWAYS_TRAINED).any(), origin=where, labels=said)


def _held_out_first(roles: pd.DataFrame, *, twice: bool) -> pd.DataFrame:
    """An image listed in two folds is held out in both; its row for another fold does not make it train there."""
    if not twice:
        return roles
    held_out = roles.loc[roles["role"].eq(HELD_OUT), ["fold", "image_id"]].drop_duplicates()
    merged = roles.merge(held_out.assign(here=True), on=["fold", "image_id"], how="left")
    return roles[(merged["here"].isna() | merged["role"].eq(HELD_OUT)).to_numpy()]


def _official(ids: pd.Series, words: pd.Series, where: str, every: pd.Series) -> Folds:
    """Train, val, test: one fold for each that is held out, the earlier ones counting as seen."""
    part = pd.Series("unused", index=words.index).mask(words.isin(TRAIN_WORDS), TRAIN)
    part = part.mask(words.isin(CHOOSE_WORDS), "val").mask(words.isin(TEST_WORDS), "test")
    present = [name for name in ("val", "test") if part.eq(name).any()]
    if not present:
        raise SplitError(f"{where}: nothing is held out; it needs test (or val) beside train.")
    rows = []
    for number, name in enumerate(present):
        seen = {TRAIN, *present[:number]}
        role = part.map(lambda one, name=name, seen=seen: HELD_OUT if one == name else TRAIN if one in seen
                        else EXCLUDED)
        rows.append(pd.DataFrame({"repeat": 0, "fold": number, "image_id": ids, "role": role}))
    return folds_of_roles(pd.concat(rows, ignore_index=True), every, each_once=False, origin=where,
                          labels=dict(enumerate(present)))


def _from_json(path: Path, images: pd.DataFrame) -> Folds:
    try:
        data: Any = json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise SplitError(f"{path}: not a readable JSON file: {error}") from error
    if isinstance(data, dict) and isinstance(data.get("fold"), dict) and data["fold"]:
        names = pd.Series(list(data["fold"]), dtype=object)
        folds = pd.Series([str(fold) for fold in data["fold"].values()], dtype=object)
        return _of_values(_matched(path, names, images), folds, str(path), images["image_id"])
    if isinstance(data, list) and data and all(isinstance(one, dict) and {"train", "val"} <= set(one) for one in data):
        rows = [(number, str(name), role) for number, one in enumerate(data)
                for key, role in (("train", TRAIN), ("val", HELD_OUT)) for name in one[key]]
        frame = pd.DataFrame(rows, columns=["fold", "image_id", "role"])
        frame["image_id"] = _matched(path, frame["image_id"], images).to_numpy()
        return folds_of_roles(frame.assign(repeat=0), images["image_id"], each_once=len(data) > 1, origin=str(path))
    raise SplitError(f'{path}: folds in JSON are {{"fold": {{path: fold}}}}, or a list of {{"train": [...], "val": '
                     "[...]}.")


def _whole(frame: pd.DataFrame, column: str, path: Path) -> pd.Series:
    if column not in frame.columns:
        return pd.Series(0, index=frame.index)
    number = pd.to_numeric(frame[column], errors="coerce")
    if number.isna().any() or (number % 1 != 0).any() or (number < 0).any():
        row = int((number.isna() | (number % 1 != 0) | (number < 0)).to_numpy().argmax())
        raise SplitError(f"{path}: {column} is {frame[column].iloc[row]!r} in line {row + 2}, and must be 0, 1, ...")
    return number.astype("int64")


def _matched(path: Path, names: pd.Series, images: pd.DataFrame) -> pd.Series:
    """The image id of each name: an id, a path relative to the file, or a name of its image or mask that no other has.
    """
    folder = path.absolute().parent
    known = ids_by_name(images)
    by_path = {os.path.normpath(where): image_id
               for where, image_id in zip(images["image_path"], images["image_id"], strict=True)}
    stems = pd.Series([image_id.rsplit("/", 1)[-1] for image_id in images["image_id"]])
    by_stem = dict(zip(stems, images["image_id"], strict=True)) if stems.is_unique else {}

    def found(written: str) -> str:
        name = written if "/" in written else written.replace("\\", "/")          # as written on Windows
        if name in known:
            return known[name]
        direct: str | None = by_path.get(os.path.normpath(folder / name))
        return direct or str(by_stem.get(Path(name).stem, by_stem.get(name, "")))

    ids = [found(name.strip()) for name in names]
    strange: Sequence[str] = [name for name, image_id in zip(names, ids, strict=True) if not image_id]
    if strange:
        raise SplitError(f"{path}: {len(strange)} of its {len(names)} rows are not in the images table "
                         f"({', '.join(strange[:SHOWN])}). Names are image ids, paths relative to the file, or names "
                         "of image or mask files. Was it made for other data?")
    if not ids:
        raise SplitError(f"{path}: no row below the header.")
    return pd.Series(ids, index=names.index, dtype=object)
