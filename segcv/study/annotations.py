"""Annotation files as masks: drawn once into the cache for other commands, or into a folder of one's own."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pandas as pd

from segcv.errors import ConfigError
from segcv.pixels import (
    AnnotationRules,
    Conversion,
    annotation_rules,
    annotations_id,
    convert_annotations,
    label_map,
    labels_found,
)
from segcv.settings import AnnotationSettings, DataSettings
from segcv.tables import Progress, list_images, make_once, pair_folders, quiet, read_images

_ONE_PICTURE_A_FILE = "labelme"


def annotated_images(data: DataSettings) -> pd.DataFrame:
    """The images table that the settings name, mask_path being an annotation file or a folder of them.

    Raises:
        TableError: the table or the folders cannot be read or paired.
        ConfigError: nothing is named.
    """
    if data.table is not None:
        return read_images(Path(data.table))
    if data.images is None or data.masks is None:
        raise ConfigError("annotations need their images: data.images=FOLDER data.masks=ANNOTATIONS, or "
                          "data.table=FILE whose column mask_path names the annotation files.")
    images, places = Path(data.images), Path(data.masks)
    if data.annotations.format == _ONE_PICTURE_A_FILE and places.is_dir():
        return pair_folders(images, places, mask_suffix=data.mask_suffix, mask_kinds={".json"})
    if data.mask_suffix:
        raise ConfigError(f"data.mask_suffix={data.mask_suffix} has no effect: pictures are found by the names in "
                          f"{places}.")
    return list_images(images, places)


def rules_of(data: DataSettings, images: pd.DataFrame) -> AnnotationRules:
    """What the labels mean, as the settings declare.

    Raises:
        ConfigError: no class list is declared, or settings contradict each other.
    """
    told = data.annotations
    assert told.format is not None
    if data.classes is None:
        found = labels_found(images["mask_path"].unique(), told.format)
        shown = ", ".join(f"{label} ({count} regions)" for label, count in list(found.items())[:20])
        names = ",".join(["background", *found][:20])
        raise ConfigError(f"annotations name their classes, and one list must hold for all files; found: "
                          f"{shown or 'none'}. Declare it, in the order of class ids: 'data.classes=[{names}]'")
    labels = label_map(names=data.classes, num_classes=data.num_classes, ignore=data.ignore, values=data.values,
                       colors=data.colors)
    return annotation_rules(labels, format=told.format, mapping=told.labels, outside=told.outside,
                            overlap=told.overlap, crowd=told.crowd)


def with_drawn_masks(images: pd.DataFrame, data: DataSettings, *, cache: Path, workers: int = 1,
                     progress: Progress = quiet) -> pd.DataFrame:
    """The table with masks instead of annotation files: drawn into `cache` once for this content and these rules.

    Raises:
        SegcvError: the annotations cannot be read, do not fit the images, or have labels that are not declared.
    """
    rules = rules_of(data, images)
    folder = cache / "annotations" / annotations_id(images, rules)

    def draw(beside: Path) -> None:
        convert_annotations(images, rules, folder=beside, seen_from=folder, workers=workers, progress=progress)

    make_once(folder, draw)
    paths = [str((folder / "masks" / f"{image_id}.png").absolute()) for image_id in images["image_id"]]
    return images.assign(mask_path=paths)


def convert(data: DataSettings, folder: Path, *, workers: int = 1, progress: Progress = quiet) -> Conversion:
    """Masks, their table and their classes as a new folder, which appears when it is whole.

    Raises:
        ConfigError: the folder is there, no format is named, or settings contradict each other.
        SegcvError: the annotations cannot be read, do not fit the images, or have labels that are not declared.
    """
    if data.annotations.format is None:
        raise ConfigError("which format have the annotations? data.annotations.format=coco, labelme or cvat")
    if folder.exists():
        raise ConfigError(f"{folder} is there already, and nothing is overwritten. Name another folder, out=FOLDER, or "
                          "move that one.")
    images = annotated_images(data)
    rules = rules_of(data, images)
    done: list[Conversion] = []

    def draw(beside: Path) -> None:
        done.append(convert_annotations(images, rules, folder=beside, seen_from=folder, workers=workers,
                                        progress=progress))

    if not make_once(folder, draw):
        raise ConfigError(f"{folder} was made by another process just now.")
    return done[0]


def refuse_unused(told: AnnotationSettings) -> None:
    """Refuse settings of annotations where no format is named."""
    given = [name for name, value in asdict(told).items() if value != getattr(AnnotationSettings(), name)]
    if told.format is None and given:
        raise ConfigError(f"data.annotations.{given[0]} has an effect with data.annotations.format only "
                          "(coco, labelme or cvat).")
