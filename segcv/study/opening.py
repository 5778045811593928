"""Open the study that settings describe: make its split folder the first time, afterwards only read it."""

from __future__ import annotations

import warnings
from collections.abc import Collection
from dataclasses import asdict, dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from segcv.errors import GroupError, SegcvWarning, SplitError
from segcv.pixels import LabelMap, Profile, changed_images, check_data, data_id
from segcv.settings import TARGETS, DataSettings, GroupSettings, SplitSettings
from segcv.splits import (
    SPLITTERS,
    Choices,
    Split,
    check_choices,
    check_split_fits,
    cut_roles,
    ground_of,
    groups_on_two_sides,
    read_split,
    refuse_without_effect,
    roles_from_table,
    times_of,
    times_text,
    write_split,
)
from segcv.study.choosing import chosen_groups
from segcv.study.grouping import exact_copies, grouped_images, rankings, sensitivity
from segcv.study.naming import data_name, given_groups, images_table, labels_of
from segcv.study.reading import SEEN, threads
from segcv.study.shared_ground import Placed, placed_images, propose_blocks, refuse_ground
from segcv.study.sheet import write_sheet
from segcv.tables import Progress, fingerprint, make_once, quiet, replacing

FROM_TABLE = "from_table"
JOIN, REMOVE = "join", "remove"
GROUPINGS, SENSITIVITY, SHEET, GROUND = "groupings.csv", "near_duplicates.csv", "groups.html", "ground.csv"


@dataclass(frozen=True, slots=True)
class Study:
    """What an evaluation stands on: images with groups, what their masks mean, and who plays which role."""

    name: str
    labels: LabelMap
    split: Split
    made: bool                    # by this call, with its warnings; else an earlier one made it


def split_folder(data: DataSettings, group: GroupSettings, split: SplitSettings, *, splits: Path) -> Path:
    """Where the split of these settings lies: other settings, or data in another place, give another folder."""
    places = {key: str(Path(value).absolute()) if value else None
              for key, value in (("table", data.table), ("images", data.images), ("masks", data.masks),
                                 ("folds", split.table))}
    settings = {"data": _effective(data, {"table", "images", "masks", "root", "name", "external"}), "places": places,
                "group": asdict(group), "split": _effective(split, {"table"})}
    return splits / data_name(data) / f"{split.name}-{fingerprint([settings], length=8)}"


def open_study(data: DataSettings, group: GroupSettings, split: SplitSettings, *, splits: Path, cache: Path,
               workers: int | None = None, progress: Progress = quiet) -> Study:
    """The study that these settings describe, its split made if it is not there (once, whoever else is asking).

    Making it reads every image and mask once, by `workers` threads (None: one per core), and refuses what cannot be
    trained on; what was seen in them is kept in `cache`. Later calls compare sizes and times of the files, and the
    content of those that differ.

    Raises:
        SegcvError: the data, the groups or the folds cannot be had, or a split that is there no longer fits the data.
    """
    _refuse_settings(split)
    _refuse_copies(group, split)
    folder = split_folder(data, group, split, splits=splits)
    images = given_groups(images_table(data, cache=cache, workers=threads(workers), progress=progress), group)
    made = make_once(folder, partial(_make, data=data, group=group, split=split, images=images, place=folder,
                                     cache=cache, workers=workers, progress=progress))
    saved = read_split(folder)
    if not made:
        check_split_fits(saved, images)
        _refuse_changed_files(saved, images)
    return Study(data_name(data), LabelMap.from_json(saved.settings["labels"]), saved, made)


def _make(beside: Path, *, data: DataSettings, group: GroupSettings, split: SplitSettings, images: pd.DataFrame,
          place: Path, cache: Path, workers: int | None, progress: Progress) -> None:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", SegcvWarning)
        _refuse_columns(images, split)
        refuse_ground(images, group, split)
        chosen = chosen_groups(images, group, split)
        labels = labels_of(data, images)
        profile = check_data(images, labels, bands=data.bands, nodata=data.nodata, max_pixels=data.max_pixels,
                             marks=group.overlaps, workers=threads(workers), kept=cache / SEEN,
                             progress=progress)
        copies = exact_copies(images, profile) if group.copies == REMOVE else {}
        placed = placed_images(images, profile.images, group, split)
        grouped = grouped_images(images, profile, chosen, split, placed.overlaps, copies)
        roles = _roles(placed.on(grouped), profile, labels, split, copies)
        propose_blocks(placed.on(grouped), roles, split)
        if split.name not in SPLITTERS or SPLITTERS[split.name].leaking:
            _warn_torn(roles, split)
    ranked, sensitive = rankings(images, grouped, profile), sensitivity(profile, group)
    known = SPLITTERS.get(split.name)
    if known is not None and known.reads_time:
        grouped = grouped.assign(split_time=times_text(times_of(grouped, choices_of(split).time)))
    settings: dict[str, Any] = {"data": asdict(data), "group": asdict(group), "split": asdict(split),
                                "labels": labels.to_json()}
    notes = [str(warning.message) for warning in said if issubclass(warning.category, SegcvWarning)]
    leaking = known.leaking if known is not None else not groups_on_two_sides(roles).empty
    facts = profile.images.merge(profile.looks[["image_id", "flat"]], on="image_id")
    write_split(beside, images=grouped, roles=roles, profile=facts, masks=profile.masks,
                data_id=data_id(profile, labels), leaking=leaking, settings=settings, seed=split.seed,
                target=split.target, class_names=labels.names, notes=notes,
                held_out_once=known is not None and known.held_out_once,
                known_groups=known is not None and known.known_groups, balanced_on=split.balance_on, seen_from=place)
    _write_table(beside / GROUPINGS, ranked)
    if sensitive is not None:
        _write_table(beside / SENSITIVITY, sensitive)
    if placed.overlaps is not None:
        _write_table(beside / GROUND, _ground_table(grouped, placed))
    write_sheet(beside / SHEET, grouped, rankings=ranked, sensitivity=sensitive, notes=notes, nodata=data.nodata)
    for warning in said:
        warnings.warn(warning.message, warning.category, stacklevel=2)


def _roles(images: pd.DataFrame, profile: Profile, labels: LabelMap, split: SplitSettings,
           copies: Collection[str]) -> pd.DataFrame:
    if split.name == FROM_TABLE:
        assert split.table is not None
        return roles_from_table(Path(split.table), images)
    return cut_roles(images, profile.masks, splitter=split.name, folds=split.folds, repeats=split.repeats,
                     seed=split.seed, locked_groups=split.locked_groups, max_per_group=split.max_per_group,
                     first_by=split.first_by, bootstrap=split.bootstrap, copies=copies,
                     class_names=labels.names, choices=choices_of(split))


def _ground_table(images: pd.DataFrame, placed: Placed) -> pd.DataFrame:
    """Where each image lies, how many others it overlaps, and what told it."""
    assert placed.overlaps is not None
    ends = pd.concat([placed.overlaps["first"], placed.overlaps["second"]]).value_counts()
    there = placed.on(images)
    kept = there[["image_id", *(name for name in ("x", "y", "w", "h", "ground") if name in there.columns)]]
    return kept.assign(overlaps=kept["image_id"].map(ends).fillna(0).astype("int64"), told_by=placed.told)


def _warn_torn(roles: pd.DataFrame, split: SplitSettings) -> None:
    torn = groups_on_two_sides(roles)["group_id"].unique()
    if len(torn):
        warnings.warn(f"split={split.name} leaks: {len(torn)} of {roles['group_id'].nunique()} groups are on both "
                      f"sides of a fold, training and held out ({', '.join(torn[:3])}). Scores made with it are marked "
                      "and say nothing about new groups; whole groups: split=balanced_group_kfold", SegcvWarning,
                      stacklevel=2)


def _write_table(path: Path, table: pd.DataFrame) -> None:
    """Replace `path` by a CSV."""
    with replacing(path) as beside:
        table.to_csv(beside, index=False, lineterminator="\n")


def choices_of(split: SplitSettings) -> Choices:
    """What the settings say to the splitter."""
    return Choices(**{entry.name: getattr(split, entry.name) for entry in fields(Choices)})



def _refuse_columns(images: pd.DataFrame, split: SplitSettings) -> None:
    """Refuse columns that the splitter cannot read, before anything slow is done."""
    known = SPLITTERS.get(split.name)
    if (known is not None and known.reads_time) or split.first_by is not None:
        times_of(images, choices_of(split).time)
    if known is not None and known.reads_ground and {"x", "y"} & set(images.columns):
        missing = {"w": 1.0, "h": 1.0} if split.buffer_m is None else {}
        ground_of(images.assign(**{name: size for name, size in missing.items() if name not in images}),
                  column=split.ground_column)


def _refuse_settings(split: SplitSettings) -> None:
    if split.target not in TARGETS:
        raise SplitError(f"split.target={split.target} is not known; use one of {', '.join(TARGETS)}.")
    if split.name == FROM_TABLE and split.table is None:
        raise SplitError("split=from_table needs split.table=FILE, a CSV with image_path or image_id, and fold.")
    if split.name != FROM_TABLE and split.table is not None:
        raise SplitError(f"split.table={split.table} has an effect with split=from_table only.")
    if split.name != FROM_TABLE:
        check_choices(split.name, repeats=split.repeats, max_per_group=split.max_per_group, first_by=split.first_by,
                      bootstrap=split.bootstrap, choices=choices_of(split))
        return
    refuse_without_effect(choices_of(split), frozenset(), split.name)
    said_there = SplitSettings(name=FROM_TABLE, folds=None)
    for name in ("folds", "repeats", "locked_groups", "max_per_group", "first_by", "bootstrap"):
        if getattr(split, name) != getattr(said_there, name):
            raise SplitError(f"split.{name}={getattr(split, name)} has no effect with split=from_table: the table says "
                             "all of it. Leave it out.")


def _refuse_copies(group: GroupSettings, split: SplitSettings) -> None:
    if group.copies not in (JOIN, REMOVE):
        raise GroupError(f"group.copies={group.copies} is not known; use {JOIN} or {REMOVE}.")
    if group.copies == REMOVE and split.name == FROM_TABLE:
        raise GroupError("group.copies=remove has no effect with split=from_table: the table says who trains. Take the "
                         "copies out of it.")


def _refuse_changed_files(saved: Split, images: pd.DataFrame) -> None:
    """Refuse files that changed under their names, and tables that now name files of other content (other masks, or
    annotations that were drawn anew)."""
    places = ["image_id", "image_path", "mask_path"]
    moved = images[~pd.MultiIndex.from_frame(images[places]).isin(pd.MultiIndex.from_frame(saved.images[places]))]
    changed = changed_images(saved.images, saved.profile) or changed_images(moved, saved.profile)
    if changed:
        raise SplitError(f"{saved.folder / 'manifest.json'} does not match the data: {len(changed)} images or masks "
                         f"have changed since it was made ({', '.join(changed[:3])}). Move or delete {saved.folder}, "
                         "then make it again: python -m segcv.split")


def _effective(settings: DataSettings | SplitSettings, without: set[str]) -> dict[str, Any]:
    return {key: str(value) if isinstance(value, dict) else value
            for key, value in asdict(settings).items() if key not in without}
