"""Images and masks read and checked, without groups made up and without folds: what an audit looks at."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from joblib import cpu_count

from segcv.errors import GroupError
from segcv.groups import name_groups
from segcv.pixels import LabelMap, Profile, check_data, data_id
from segcv.settings import DataSettings, GroupSettings
from segcv.study.naming import data_name, given_groups, images_table, labels_of
from segcv.study.shared_ground import AUTO, GEOREFERENCE, file_places
from segcv.tables import Progress, quiet

SEEN = "seen"                # folder of the cache that holds what was seen in files


@dataclass(frozen=True, slots=True)
class Data:
    """What the files hold; `group_id` is what the user gave, by column or pattern, and "" where nothing is given."""

    name: str
    labels: LabelMap
    images: pd.DataFrame
    profile: Profile
    data_id: str
    georeferences: pd.DataFrame | None       # of GeoTIFFs, as the room pixels reads them; None where not looked for


def threads(workers: int | None) -> int:
    """As many as are said; not said: one per core that this process may use."""
    return int(cpu_count()) if workers is None else max(1, workers)


def declared_levels(group: GroupSettings) -> tuple[str, ...]:
    """The columns that the settings say must stay whole."""
    return (*group.levels, *([group.level] if group.level not in (None, AUTO) else []))


def open_data(data: DataSettings, group: GroupSettings, *, cache: Path, workers: int | None = None,
              progress: Progress = quiet) -> Data:
    """The Data that these settings describe, every image and mask decoded once, by `workers` threads (None: one per
    core); of files that have not changed since, what was seen is kept in `cache`.

    Raises:
        SegcvError: the table cannot be had, or an image or mask is not fit for use.
    """
    images = given_groups(images_table(data, cache=cache), group)
    evidence = images["group_id"].ne("").map({True: f"column {group.column}", False: ""})
    if group.pattern not in (None, AUTO):
        told = name_groups(images["image_id"], str(group.pattern))
        takes = images["group_id"].eq("") & told.ne("")
        images = images.assign(group_id=images["group_id"].mask(takes, told))
        evidence = evidence.mask(takes, "file names")
    images = images.assign(group_evidence=evidence.to_numpy())
    absent = [level for level in declared_levels(group) if level not in images.columns]
    if absent:
        raise GroupError(f"group.level={absent[0]} is not a column of the table; it has {', '.join(images.columns)}.")
    labels = labels_of(data, images)
    profile = check_data(images, labels, bands=data.bands, nodata=data.nodata, max_pixels=data.max_pixels,
                         marks=group.overlaps, workers=threads(workers), kept=cache / SEEN,
                             progress=progress)
    found = file_places(images, needed=group.ground == GEOREFERENCE) if group.ground in (AUTO, GEOREFERENCE) else None
    return Data(data_name(data), labels, images, profile, data_id(profile, labels), found)
