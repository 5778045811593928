"""A split as a folder: written once, then only read, and refused when it or its table has changed."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pandas as pd

from segcv.errors import SplitError, TableError
from segcv.splits.balance import balance_floor, balance_table, left_out
from segcv.splits.checks import check_roles
from segcv.splits.lists import write_lists
from segcv.tables import (
    EXCLUDED,
    IMAGE_PROFILE,
    MASK_PROFILE,
    ROLES,
    fingerprint,
    read_images,
    read_json,
    replacing,
    write_images,
    write_json,
)

FORMAT = 2
SHOWN = 3
SOFTWARE = ("segcv", "numpy", "pandas", "scipy", "numba")


@dataclass(frozen=True, slots=True)
class Split:
    """A split that was read and found intact; paths in `images` are absolute."""

    folder: Path
    split_id: str
    data_id: str
    leaking: bool                  # groups are torn
    known_groups: bool             # groups have a past in training and a future held out, on purpose
    settings: dict[str, Any]       # as given when it was cut
    seed: int
    target: str                    # the primary target, declared before there were scores
    class_names: tuple[str, ...]
    notes: tuple[str, ...]         # warnings raised while it was cut
    images: pd.DataFrame           # IMAGES with group_id and group_evidence
    roles: pd.DataFrame            # ROLES, sorted by repeat, fold, image id
    profile: pd.DataFrame          # IMAGE_PROFILE
    masks: pd.DataFrame            # MASK_PROFILE
    manifest: dict[str, Any]

    @property
    def trained_elsewhere(self) -> bool:
        """Were these roles told by models made elsewhere, whose training images may be unknown?"""
        return bool(self.manifest.get("trained_elsewhere", False))

    @property
    def used_images(self) -> pd.DataFrame:
        """The images that train or are held out in some fold, and not the copies and locked groups that never do."""
        used = self.roles.loc[self.roles["role"].ne(EXCLUDED), "image_id"].unique()
        return self.images[self.images["image_id"].isin(used)].reset_index(drop=True)

    @property
    def repeats(self) -> int:
        """How many times the folds were cut anew."""
        return int(self.roles["repeat"].max()) + 1

    @property
    def folds(self) -> int:
        """Folds per repeat."""
        return int(self.roles["fold"].max()) + 1


def split_id_of(data_id: str, roles: pd.DataFrame) -> str:
    """Name of a split: a fingerprint of the data and of who has which role; the order of rows has no influence."""
    rows = roles.sort_values(["repeat", "fold", "image_id"])
    return fingerprint([data_id, *(rows[column].tolist() for column in _ROLE_COLUMNS if column in rows)])


def write_split(folder: Path, *, images: pd.DataFrame, roles: pd.DataFrame, profile: pd.DataFrame, masks: pd.DataFrame,
                data_id: str, leaking: bool, settings: Mapping[str, Any], seed: int, target: str,
                class_names: Sequence[str], notes: Sequence[str] = (), held_out_once: bool = True,
                known_groups: bool = False, trained_elsewhere: bool = False, balanced_on: Sequence[str] = (),
                seen_from: Path | None = None) -> str:
    """Write the split into `folder` and return its split_id.

    Writes manifest.json, images.csv, profile.parquet, mask_profile.parquet, roles/repeat-R/fold-K.parquet, balance.csv
    and, for people and other tools, fold_K_train.csv and fold_K_val.csv (further repeats in repeat-R/). Paths in the
    files are relative to them, as they will lie when `folder` has been renamed to `seen_from`.
    """
    check_roles(roles, images, whole_groups=not (leaking or known_groups), held_out_once=held_out_once,
                trained_elsewhere=trained_elsewhere)
    place = seen_from if seen_from is not None else folder
    roles = ROLES.check(roles, where="roles").sort_values(["repeat", "fold", "image_id"], ignore_index=True)
    files = {}
    for (repeat, fold), rows in roles.groupby(["repeat", "fold"]):
        name = f"roles/repeat-{repeat}/fold-{fold}.parquet"
        ROLES.write(rows, folder / name)
        files[name] = _rows_id(rows)
    write_images(images, folder / "images.csv", seen_from=place)
    files["images.csv"] = _images_id(images)
    write_lists(folder, images, roles, seen_from=place)
    IMAGE_PROFILE.write(profile, folder / "profile.parquet")
    MASK_PROFILE.write(masks, folder / "mask_profile.parquet")
    files |= {name: _content_id(folder / name) for name in ("profile.parquet", "mask_profile.parquet")}
    balance = balance_table(roles, images, masks, columns=balanced_on)
    with replacing(folder / "balance.csv") as beside:
        balance.to_csv(beside, index=False, lineterminator="\n")
    split_id = split_id_of(data_id, roles)
    folds = int(roles["fold"].max()) + 1
    write_json(folder / "manifest.json", {
        "version": FORMAT, "split_id": split_id, "data_id": data_id, "leaking": leaking,
        "known_groups": known_groups, "held_out_once": held_out_once, "target": target, "seed": seed,
        "trained_elsewhere": trained_elsewhere, "settings": dict(settings),
        "repeats": int(roles["repeat"].max()) + 1, "folds": folds, "images": len(images),
        "groups": int(images["group_id"].nunique()), "class_names": list(class_names), "notes": list(notes),
        "software": {"python": platform.python_version()} | {name: _version(name) for name in SOFTWARE},
        "files": files, "balance": balance.to_dict("records"),
        "left_out": left_out(roles).to_dict("records"),
        "balance_floor": balance_floor(images, masks, folds=folds, columns=balanced_on).to_dict("records"),
    })
    return split_id


def read_split(folder: Path) -> Split:
    """The split in `folder`.

    Raises:
        SplitError: there is none, or a file is missing, damaged or was changed; the message names it.
    """
    where = folder / "manifest.json"
    if not where.is_file():
        raise SplitError(f"{where}: there is no split here. Cut one: python -m segcv.split")
    manifest = read_json(where)
    if not isinstance(manifest, dict) or manifest.get("version") != FORMAT:
        raise SplitError(f"{where}: not a split of format {FORMAT}. Cut it anew: python -m segcv.split")
    images = _intact(folder / "images.csv", read_images)
    listed = [name for name in manifest["files"] if name.startswith("roles/")]
    extra = sorted({path.relative_to(folder).as_posix() for path in folder.glob("roles/*/*")} - set(listed))
    if extra:
        raise SplitError(f"{folder / extra[0]} is not part of this split (manifest.json lists {len(listed)} roles "
                         "files). Remove it.")
    tables = {name: _intact(folder / name, ROLES.read) for name in listed}
    profile = _intact(folder / "profile.parquet", IMAGE_PROFILE.read)
    masks = _intact(folder / "mask_profile.parquet", MASK_PROFILE.read)
    found = {name: _rows_id(rows) for name, rows in tables.items()} | {"images.csv": _images_id(images)}
    found |= {name: _content_id(folder / name) for name in ("profile.parquet", "mask_profile.parquet")}
    changed = [name for name, content in manifest["files"].items() if found.get(name) != content]
    roles = pd.concat(list(tables.values()), ignore_index=True).sort_values(
        ["repeat", "fold", "image_id"], ignore_index=True)
    if changed:
        raise SplitError(f"{folder / changed[0]} was changed after the split was cut{_how(changed[0], images, roles)}. "
                         "Bring it back, or cut a new split into another folder.")
    split_id = split_id_of(manifest["data_id"], roles)
    if split_id != manifest["split_id"]:
        raise SplitError(f"{where}: split_id {manifest['split_id']} does not match the roles, whose id is {split_id}. "
                         "The manifest was changed, or belongs to another split.")
    check_roles(roles, images, whole_groups=not (manifest["leaking"] or manifest["known_groups"]),
                held_out_once=manifest["held_out_once"], trained_elsewhere=manifest.get("trained_elsewhere", False))
    return Split(
        folder=folder, split_id=split_id, data_id=manifest["data_id"], leaking=manifest["leaking"],
        known_groups=manifest["known_groups"], settings=manifest["settings"], seed=manifest["seed"],
        target=manifest["target"], class_names=tuple(manifest["class_names"]), notes=tuple(manifest["notes"]),
        images=images, roles=roles, profile=profile, masks=masks, manifest=manifest)


def fold_roles(split: Split, repeat: int, fold: int) -> pd.DataFrame:
    """The images table of one fold with the columns role, reason and maybe train_count; sorted by image id.

    Raises:
        SplitError: the split has no such repeat or fold.
    """
    for name, number, count in (("repeat", repeat, split.repeats), ("fold", fold, split.folds)):
        if not 0 <= number < count:
            more = f"split.{name}s={number + 1}"
            raise SplitError(f"{name}={number} is not in {split.folder}, which holds {name}s 0 to {count - 1}. "
                             f"Use one of these, or make more: python -m segcv.split {more}")
    rows = split.roles[split.roles["repeat"].eq(repeat) & split.roles["fold"].eq(fold)]
    columns = [name for name in ("image_id", "role", "reason", "train_count") if name in rows]
    own = split.images.drop(columns=["role", "reason", "train_count"], errors="ignore")
    return own.merge(rows[columns], on="image_id").sort_values("image_id", ignore_index=True)


def check_split_fits(split: Split, images: pd.DataFrame, *, data_id: str | None = None,
                     profile: pd.DataFrame | None = None) -> None:
    """Return when the split was cut from this images table, and from data of this `data_id`.

    Groups are compared where the table gives one and the split took it. `profile` (IMAGE_PROFILE, as the files are
    now) names the images whose content changed.

    Raises:
        SplitError: images were added or removed, a group or a file's content changed; it names the manifest and them.
    """
    now, then = set(images["image_id"]), set(split.images["image_id"])
    told = [f"{len(ids)} images were {what} ({', '.join(sorted(ids)[:SHOWN])})"
            for what, ids in (("added", now - then), ("removed", then - now)) if ids]
    told += _changed_groups(split, images)
    if profile is not None:
        both = split.profile.merge(profile, on="image_id", suffixes=("", "_now"))
        for kind in ("image", "mask"):
            other = sorted(both.loc[both[f"{kind}_hash"].ne(both[f"{kind}_hash_now"]), "image_id"])
            if other:
                told.append(f"{len(other)} {kind}s have changed content ({', '.join(other[:SHOWN])})")
    if data_id is not None and data_id != split.data_id and not told:
        told.append(f"the data changed (data_id {split.data_id} when it was cut, now {data_id}: other pixels, masks, "
                    "classes or ignore value)")
    if told:
        raise SplitError(f"{split.folder / 'manifest.json'}: the split does not match the table: {'; '.join(told)}. "
                         f"Bring back the table, or delete {split.folder} and cut it anew: python -m segcv.split")


_ROLE_COLUMNS = ("repeat", "fold", "image_id", "group_id", "role", "reason", "train_count")


def _rows_id(rows: pd.DataFrame) -> str:
    ordered = rows.sort_values(["repeat", "fold", "image_id"])
    return fingerprint([ordered[column].tolist() for column in _ROLE_COLUMNS if column in ordered])


def _content_id(path: Path) -> str:
    return fingerprint([path.read_bytes().hex()])


def _images_id(images: pd.DataFrame) -> str:
    ordered = images.sort_values("image_id")
    return fingerprint([ordered[column].tolist() for column in ("image_id", "group_id")])


def _how(name: str, images: pd.DataFrame, roles: pd.DataFrame) -> str:
    """What a changed file holds, as far as the other files tell."""
    if name == "images.csv":
        ids, used = set(images["image_id"]), set(roles["image_id"])
        if ids != used:
            other = sorted(ids ^ used)
            return f": {len(other)} images are in it or in the roles only ({', '.join(other[:SHOWN])})"
        return ": the group of an image is another"
    return ": a role, group or image in it is another" if name.startswith("roles/") else ""


def _changed_groups(split: Split, images: pd.DataFrame) -> list[str]:
    if "group_id" not in images.columns or "group_evidence" not in split.images.columns:
        return []
    both = split.images.merge(images[["image_id", "group_id"]], on="image_id", suffixes=("", "_now"))
    given = both["group_evidence"].eq("column")
    joined = both["group_evidence"].str.startswith("column;")
    other = (given & both["group_id"].ne(both["group_id_now"])) | (~given & ~joined & both["group_id_now"].ne("")
                                                                  & both["group_id_now"].ne(both["group_id"]))
    if not other.any():
        return []
    first = both[other].iloc[0]
    return [f"{int(other.sum())} images have a changed group_id ({first['image_id']}: {first['group_id']!r} when it "
            f"was cut, now {first['group_id_now']!r})"]


def _intact(path: Path, read: Any) -> pd.DataFrame:
    if not path.is_file():
        raise SplitError(f"{path} is missing from the split. Bring it back, or cut a new split into another folder.")
    try:
        table: pd.DataFrame = read(path)
    except (TableError, OSError, ValueError) as error:
        raise SplitError(f"{path} is damaged: {error}") from error
    return table


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
