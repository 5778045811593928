"""Images, masks and groups without folds: what predictions from elsewhere are held against when no split is named."""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

import pandas as pd

from segcv.errors import ConfigError, SegcvWarning
from segcv.groups import AUTO, assign_groups, proposed_pattern
from segcv.pixels import LabelMap, count_masks
from segcv.settings import DataSettings, GroupSettings, SplitSettings
from segcv.splits import Split, groups_on_two_sides, read_split, split_id_of, write_split
from segcv.study.naming import data_name, given_groups, images_table, labels_of
from segcv.tables import IMAGE_PROFILE, Progress, make_once, quiet

ELSEWHERE = "elsewhere"
EXTERNAL = "external"           # a cohort that no fold was cut from


@dataclass(frozen=True, slots=True)
class Truth:
    """Images with a group each, what their masks mean and hold, and the name of their content."""

    name: str
    labels: LabelMap
    images: pd.DataFrame
    masks: pd.DataFrame           # MASK_PROFILE
    data_id: str


def open_truth(data: DataSettings, group: GroupSettings, *, cache: Path, workers: int = 1,
               progress: Progress = quiet) -> Truth:
    """The Truth that these settings describe; no image is opened, so groups come from the table and from names only.

    Raises:
        SegcvError: the table, the label map or the groups cannot be had, or a mask cannot be read.
    """
    data = with_cohort(data)
    images = given_groups(images_table(data, cache=cache, progress=progress), group)
    labels = labels_of(data, images)
    pattern = None if group.pattern == AUTO else group.pattern
    grouped = assign_groups(images, None, pattern=pattern, max_distance=None, folds=2)
    alone = grouped.loc[grouped["group_evidence"] == "alone", "image_id"]
    if len(alone):
        seen = proposed_pattern(grouped["image_id"]) if group.pattern == AUTO else None
        warnings.warn(f"{len(alone)} of {len(grouped)} images have no group and count as independent "
                      f"({', '.join(alone.head(3))}), so intervals are too narrow if several come from one source: "
                      f"give a column group_id, or group.pattern={seen or 'NAME'}.", SegcvWarning, stacklevel=2)
    counted = count_masks(images, labels, max_pixels=data.max_pixels, workers=max(1, workers), progress=progress)
    return Truth(data_name(data), labels, grouped, counted.masks, counted.data_id)


def with_cohort(data: DataSettings) -> DataSettings:
    """The same data settings with the external cohort, if one is named, as the table.

    Raises:
        ConfigError: the cohort and other data are both named.
    """
    if data.external is None:
        return data
    for name in ("table", "images", "masks"):
        if (given := getattr(data, name)) is not None:
            raise ConfigError(f"data.external={data.external} and data.{name}={given} are both given; the cohort is "
                              "scored alone.")
    return replace(data, table=data.external, external=None)


def keep_roles(truth: Truth, roles: pd.DataFrame, *, data: DataSettings, group: GroupSettings,
               splits: Path) -> tuple[Split, bool]:
    """The split folder of roles that models made elsewhere tell, and whether this call wrote it; it keeps whether the
    images are an external cohort."""
    split_id = split_id_of(truth.data_id, roles)
    kind = ELSEWHERE if data.external is None else EXTERNAL
    folder = splits / truth.name / f"{kind}-{split_id}"
    made = make_once(folder, partial(_write, truth=truth, roles=roles, data=data, group=group, kind=kind, place=folder))
    return read_split(folder), made


def _write(beside: Path, *, truth: Truth, roles: pd.DataFrame, data: DataSettings, group: GroupSettings,
           kind: str, place: Path) -> None:
    settings = {"data": asdict(data), "group": asdict(group), "split": {"name": kind},
                "labels": truth.labels.to_json()}
    write_split(beside, images=truth.images, roles=roles, profile=IMAGE_PROFILE.empty(), masks=truth.masks,
                data_id=truth.data_id, leaking=not groups_on_two_sides(roles).empty, settings=settings, seed=0,
                target=SplitSettings.target, class_names=truth.labels.names, held_out_once=False,
                trained_elsewhere=True, seen_from=place)
