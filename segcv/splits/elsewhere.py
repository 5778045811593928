"""Folds that were cut elsewhere, read into a roles table and held against the images."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from segcv.errors import SplitError
from segcv.splits.checks import check_roles
from segcv.splits.dealing import roles_of
from segcv.splits.given_lists import known_ids, roles_from_folder, roles_from_nnunet
from segcv.tables import EXCLUDED, ROLES, read_csv

SHOWN = 3


def roles_from_table(path: Path, images: pd.DataFrame, *, leaking: bool = True) -> pd.DataFrame:
    """The roles (ROLES) of the folds in a file or folder.

    A CSV has image_id or image_path, and fold (0, 1, ...): each image is held out in its fold and trains in all others.
    Or it is a roles table itself: image_id, role, and maybe repeat, fold, reason, train_count. A JSON file has
    {"fold": {path: fold}} and maybe "n_splits" and "rows", or is a splits_final.json of nnU-Net. A folder has the lists
    fold_K_train and fold_K_val (`roles_from_folder`). Paths are relative to the file, or are image ids. With `leaking`
    (the default: one does not know) groups may be on two sides; see `groups_on_two_sides`.

    Raises:
        SplitError: the file cannot be read, its images are not exactly those of the table, or a fold is unfit.
    """
    if path.is_dir():
        return _checked(path, roles_from_folder(path, images), images, leaking)
    if not path.is_file():
        raise SplitError(f"{path}: there is no such split file.")
    if path.suffix.lower() == ".json":
        data = _json(path)
        if isinstance(data, list):
            return _checked(path, roles_from_nnunet(path, data, images), images, leaking)
        names, folds = _from_json(path, data)
    else:
        frame = read_csv(path)
        column = next((name for name in ("image_id", "image_path") if name in frame.columns), None)
        if column is None or not {"fold", "role"} & set(frame.columns):
            raise SplitError(f"{path}: a split table has image_id or image_path, and fold; "
                             f"found {', '.join(frame.columns)}.")
        if "role" in frame.columns:
            return _given_roles(path, frame.assign(image_id=_matched(path, frame[column], images)), images, leaking)
        names, folds = frame[column], frame["fold"]
    ids = _matched(path, names, images)
    twice = ids[ids.duplicated()]
    if len(twice):
        raise SplitError(f"{path}: {twice.iloc[0]} is listed more than once ({len(twice)} repeated rows).")
    return roles_from_folds(images, pd.Series(folds.to_numpy(), index=ids.to_numpy()), where=str(path), leaking=leaking)


def roles_from_folds(images: pd.DataFrame, fold: pd.Series, *, where: str, leaking: bool = True) -> pd.DataFrame:
    """The roles (ROLES, repeat 0) when `fold`, indexed by image id, names each image's fold, as a number or its text.

    Raises:
        SplitError: a fold is not a whole number from 0 on, one is empty, there is one only, or an image has none.
    """
    number = pd.to_numeric(fold, errors="coerce")
    bad = number.isna() | number.mod(1).ne(0) | number.lt(0)
    if bad.any():
        raise SplitError(f"{where}: fold {fold[bad].iloc[0]!r} of {fold.index[bad][0]} is not a whole number from 0 on "
                         f"({int(bad.sum())} of {len(fold)} rows).")
    own = images["image_id"].map(number)
    if own.isna().any():
        missing = images.loc[own.isna(), "image_id"]
        raise SplitError(f"{where}: does not match the table: {len(missing)} of {len(images)} images have no fold in "
                         f"it ({', '.join(missing.iloc[:SHOWN])}).")
    folds = int(own.max()) + 1
    filled = set(own.astype(int))
    empty = [k for k in range(folds) if k not in filled]
    if empty or folds < 2:
        found = ", ".join(map(str, sorted(filled)))
        raise SplitError(f"{where}: folds are numbered 0, 1, ... with at least two of them and none empty; "
                         f"found {found}.")
    roles = roles_of(images, own.to_numpy(np.int64)).sort_values(["repeat", "fold", "image_id"], ignore_index=True)
    check_roles(roles, images, whole_groups=not leaking)
    return roles


def _given_roles(path: Path, frame: pd.DataFrame, images: pd.DataFrame, leaking: bool) -> pd.DataFrame:
    group = frame["image_id"].map(images.set_index("image_id")["group_id"])
    filled = pd.DataFrame({
        "repeat": frame.get("repeat", 0), "fold": frame.get("fold", 0), "image_id": frame["image_id"],
        "group_id": group, "role": frame["role"],
        "reason": frame.get("reason", frame["role"].map({EXCLUDED: "as given"}).fillna("")),
    })
    if "train_count" in frame:
        filled = filled.assign(train_count=frame["train_count"])
    roles = ROLES.check(filled, where=str(path)).sort_values(["repeat", "fold", "image_id"], ignore_index=True)
    return _checked(path, roles, images, leaking)


def _checked(path: Path, roles: pd.DataFrame, images: pd.DataFrame, leaking: bool) -> pd.DataFrame:
    try:
        check_roles(roles, images, whole_groups=not leaking, held_out_once=False)
    except SplitError as error:
        raise SplitError(f"{path}: {error}") from error
    return roles


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise SplitError(f"{path}: not a readable JSON file: {error}") from error


def _from_json(path: Path, data: Any) -> tuple[pd.Series, pd.Series]:
    fold = data.get("fold") if isinstance(data, Mapping) else None
    if not isinstance(fold, Mapping) or not fold:
        raise SplitError(f'{path}: a split in JSON is {{"fold": {{path: fold number, ...}}}}, maybe with "n_splits" '
                         'and "rows", or a list of {"train": [names], "val": [names]}.')
    folds = pd.Series(list(fold.values()), dtype=object)
    wanted = data.get("n_splits")
    if wanted is not None and folds.nunique() != wanted:
        raise SplitError(f"{path}: n_splits is {wanted} and does not match the {folds.nunique()} folds in it.")
    listed = data.get("rows")
    if isinstance(listed, list) and set(listed) != set(fold):
        other = sorted(set(listed) ^ set(fold))
        raise SplitError(f"{path}: rows and fold do not match: {', '.join(map(str, other[:SHOWN]))} is in one only.")
    return pd.Series([str(name) for name in fold], dtype=object), folds


def _matched(path: Path, names: pd.Series, images: pd.DataFrame) -> pd.Series:
    """The image id of each name in the file; every image of the table must be there, and no other."""
    found = known_ids(path, names.tolist(), images)
    strange = [name for name, image_id in zip(names, found, strict=True) if not image_id]
    missing = sorted(set(images["image_id"]) - set(found))
    if strange or missing:
        told = []
        if missing:
            told.append(f"{len(missing)} of {len(images)} images of the table are missing in it "
                        f"({', '.join(missing[:SHOWN])})")
        if strange:
            told.append(f"{len(strange)} of its {len(names)} rows are not in the table ({', '.join(strange[:SHOWN])})")
        raise SplitError(f"{path}: does not match the images table: {' and '.join(told)}. "
                         "It was made for another version of the table: cut a new split, or bring back the table.")
    return pd.Series(found, dtype=object)
