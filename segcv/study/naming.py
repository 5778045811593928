"""From settings to an images table and a label map: the user's table, the user's two folders, or the demo."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from segcv.errors import ConfigError, GroupError
from segcv.pixels import FLIGHT_STRIP_CLASSES, LabelMap, infer_label_map, label_map, write_flight_strips
from segcv.settings import DataSettings, GroupSettings
from segcv.study.annotations import annotated_images, refuse_unused, with_drawn_masks
from segcv.tables import Progress, make_once, pair_folders, quiet, read_images

DEMO = "demo"


def data_name(data: DataSettings) -> str:
    """What the data are called in folder names: their own name, else that of the folder they lie in, else demo."""
    if data.name is not None:
        return data.name
    named = data.table or data.images
    return (Path(named).absolute().parent.name or "data") if named else DEMO


def images_table(data: DataSettings, *, cache: Path, workers: int = 1, progress: Progress = quiet) -> pd.DataFrame:
    """The images table that the settings name; the demo data are drawn into `cache` when nothing is named, and so are
    the masks of annotation files.

    Raises:
        ConfigError: a table and folders are both named, or one folder of two.
        TableError: the table or the folders cannot be read or paired.
    """
    if data.external is not None:
        raise ConfigError(f"data.external={data.external} is for python -m segcv.evaluate, which scores predictions "
                          "on a cohort that no fold was cut from; data.table names the images here.")
    refuse_unused(data.annotations)
    if data.table is not None and (data.images is not None or data.masks is not None):
        raise ConfigError("data.table and data.images or data.masks are both given; name the table or the two folders.")
    if (data.images is None) != (data.masks is None):
        given, missing = ("images", "masks") if data.masks is None else ("masks", "images")
        raise ConfigError(f"data.{given} is given and data.{missing} is not; name both folders: data.{missing}=FOLDER")
    if data.mask_suffix and data.images is None:
        raise ConfigError(f"data.mask_suffix={data.mask_suffix} has an effect with data.images and data.masks only.")
    if data.annotations.format is not None:
        return with_drawn_masks(annotated_images(data), data, cache=cache, workers=workers, progress=progress)
    if data.table is not None:
        return read_images(Path(data.table))
    if data.images is not None and data.masks is not None:
        return pair_folders(Path(data.images), Path(data.masks), mask_suffix=data.mask_suffix)
    return read_images(demo_table(cache))


def demo_table(cache: Path) -> Path:
    """The images table of the demo data, drawn into `cache` the first time."""
    folder = cache / "demo"

    def draw(beside: Path) -> None:
        write_flight_strips(beside)

    make_once(folder, draw)
    return folder / "images.csv"


def given_groups(images: pd.DataFrame, group: GroupSettings) -> pd.DataFrame:
    """The images with the column that settings name as their group_id; blank where nothing is given."""
    if group.column in images.columns:
        return images.assign(group_id=images[group.column].astype("str"))
    if group.column != GroupSettings.column:
        raise GroupError(f"group.column={group.column} is not a column of the table; "
                         f"it has {', '.join(images.columns)}.")
    return images.assign(group_id="")


def labels_of(data: DataSettings, images: pd.DataFrame) -> LabelMap:
    """The label map that the settings declare; else, where the masks leave no doubt, the one they suggest (warned)."""
    undeclared = data.classes is None and data.num_classes is None
    if undeclared and data_name(data) == DEMO and data.table is None and data.images is None:
        return label_map(names=FLIGHT_STRIP_CLASSES, ignore=data.ignore)
    if undeclared and not data.values and not data.colors:
        return infer_label_map(map(Path, images["mask_path"]), ignore=data.ignore)
    return label_map(names=data.classes, num_classes=data.num_classes, ignore=data.ignore,
                     values=data.values, colors=data.colors)
