"""Images, masks and groups without folds: what predictions from elsewhere are held against when no split is named."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from segcv.groups import assign_groups
from segcv.pixels import LabelMap, masks_id
from segcv.settings import DataSettings, GroupSettings
from segcv.study.naming import data_name, given_groups, images_table, labels_of
from segcv.tables import Progress, quiet


@dataclass(frozen=True, slots=True)
class Truth:
    """Images with a group each, what their masks mean, and the name of their content."""

    name: str
    labels: LabelMap
    images: pd.DataFrame
    data_id: str


def open_truth(data: DataSettings, group: GroupSettings, *, cache: Path, progress: Progress = quiet) -> Truth:
    """The Truth that these settings describe; no image is opened, so groups come from the table and from names only.

    Raises:
        SegcvError: the table, the label map or the groups cannot be had, or a mask file is missing.
    """
    images = given_groups(images_table(data, cache=cache), group)
    labels = labels_of(data, images)
    grouped = assign_groups(images, None, pattern=group.pattern, max_distance=None, folds=2)
    return Truth(data_name(data), labels, grouped, masks_id(images, labels, progress=progress))
