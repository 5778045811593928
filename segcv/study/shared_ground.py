"""Where the images of a study lie, which of them share ground, and what to do about groups that do."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import pandas as pd

from segcv.errors import GroupError, ImageFileError, SegcvWarning, SplitError
from segcv.groups import Places, places_by_columns, places_by_georeference, places_by_names, places_by_numbers
from segcv.pixels import georeferences, has_georeferences, rectangles_agree
from segcv.settings import GroupSettings, SplitSettings
from segcv.splits import (
    PIXEL_SIZE,
    PLACE,
    SPLITTERS,
    groups_on_shared_ground,
    local_coordinates,
    overlaps_on_ground,
    shared_ground,
)

AUTO, COLUMNS, GEOREFERENCE, NAMES = "auto", "columns", "georeference", "names"
SHOWN = 3
UNITS = {"px": "pixels", "cells": "cells of a grid", "degree": "degrees", "": "of no known unit"}


@dataclass(frozen=True, slots=True)
class Placed:
    """Where images lie, as far as it is known."""

    columns: pd.DataFrame           # x, y, w, h, ground, ... for splitters, rows of the images; no column: as they are
    overlaps: pd.DataFrame | None   # first, second, share: pairs whose rectangles overlap; None: not known
    told: str                       # by what; "" where nothing tells

    def on(self, images: pd.DataFrame) -> pd.DataFrame:
        """The same images in the same order, with their places."""
        return images.assign(**{str(name): self.columns[name].to_numpy() for name in self.columns})


def refuse_ground(images: pd.DataFrame, group: GroupSettings, split: SplitSettings) -> None:
    """Refuse a word that is not known, and a splitter of ground where nothing tells places, before anything slow.

    Raises:
        GroupError, SplitError: as said.
    """
    how = group.ground
    if how not in (None, AUTO, COLUMNS, GEOREFERENCE, NAMES):
        raise GroupError(f"group.ground={how} is not known; use {COLUMNS}, {GEOREFERENCE}, {NAMES}, {AUTO} or null.")
    if how == COLUMNS and not _has_columns(images):
        raise GroupError(f"group.ground={COLUMNS} needs the columns x and y; there are {', '.join(images.columns)}.")
    if how == GEOREFERENCE and not has_georeferences(images):
        raise GroupError(f"group.ground={GEOREFERENCE}: none of {len(images)} images is a GeoTIFF, such as "
                         f"{images['image_path'].iloc[0]}.")
    if not _cuts_ground(split):
        return
    if how is None:
        raise SplitError(f"split={split.name} needs to know where images lie, and group.ground=null leaves it out. "
                         f"Type group.ground={AUTO}.")
    names = _may_be_names(images)
    if not ((how in (AUTO, COLUMNS) and _has_columns(images)) or (how in (AUTO, NAMES) and names)
            or (how in (AUTO, GEOREFERENCE) and has_georeferences(images))):
        raise SplitError(f"split={split.name} needs to know where images lie: columns x, y (and w, h), GeoTIFFs, or "
                         f"names such as scene_x512_y1024. The table has the columns {', '.join(images.columns)}, and "
                         f"names such as {images['image_id'].iloc[0]}.")


def placed_images(images: pd.DataFrame, profile: pd.DataFrame, group: GroupSettings, split: SplitSettings) -> Placed:
    """Where the images lie, by what `group.ground` says; nothing is made up where nothing tells.

    Positions that only may be pixels (names, or x, y without w, h) count when pictures that should share ground show
    the same there.

    Raises:
        SegcvError: the splitter cuts by ground, and its places cannot be had in one unit on one system.
    """
    how, cuts = group.ground, _cuts_ground(split)
    nowhere = Placed(pd.DataFrame(index=images.index), None, "")
    if how is None:
        return nowhere
    sizes = images[["image_id"]].merge(profile, on="image_id")
    if how in (AUTO, COLUMNS) and _has_columns(images):
        told = places_by_columns(images, sizes, column=split.ground_column)
        columns = _sizes_given(images, sizes)
        if told is None or (not told.sure and _agree(images, told) is False):
            return Placed(columns, None, "")
        return Placed(columns, _overlaps(images, told), told.evidence)
    if how in (AUTO, GEOREFERENCE) and (found := file_places(images, needed=cuts or how == GEOREFERENCE)) is not None:
        told = places_by_georeference(images, found)
        assert told is not None
        _say_systems(found)
        if cuts:
            _refuse_for_cutting(images, told)
        return Placed(_columns(images, _in_unit(told, split, found)), _overlaps(images, told), told.evidence)
    if how in (AUTO, NAMES) and (told := _by_names(images, sizes, needed=cuts or how == NAMES)) is not None:
        if cuts:
            _refuse_for_cutting(images, told)
        return Placed(_columns(images, _in_unit(told, split, None)), None if told.cells else _overlaps(images, told),
                      told.evidence)
    return nowhere


def propose_blocks(images: pd.DataFrame, roles: pd.DataFrame, split: SplitSettings) -> None:
    """Warn where groups share ground and folds tear it: then held-out ground has been seen in training."""
    known = SPLITTERS.get(split.name)
    if (known is not None and (known.reads_ground or not known.whole_groups)) or not {*PLACE} <= set(images.columns):
        return
    if images[list(PLACE)].isna().any(axis=None) or local_coordinates(images):
        return
    shared = shared_ground(images, roles, distance=None)
    if not shared["near_groups"].any():
        return
    pairs = groups_on_shared_ground(images)
    groups = len({group for pair in pairs for group in pair})
    share = 100 * shared["near_groups"].sum() / shared["groups"].sum()
    warnings.warn(f"{groups} of {images['group_id'].nunique()} groups share ground with another one ("
                  f"{' and '.join(pairs[0])}, for example), and with split={split.name} {share:.0f} % of the held-out "
                  "groups lie on ground that training has seen: their scores are too good for new ground. Type "
                  "split=blocks, which holds out neighbouring groups together and leaves out of training what touches "
                  "them.", SegcvWarning, stacklevel=2)


def _cuts_ground(split: SplitSettings) -> bool:
    known = SPLITTERS.get(split.name)
    return known is not None and known.reads_ground


def _has_columns(images: pd.DataFrame) -> bool:
    return {"x", "y"} <= set(images.columns) and bool(images[["x", "y"]].notna().all(axis=1).any())


def _may_be_names(images: pd.DataFrame) -> bool:
    unknown = pd.DataFrame({"width": 1.0, "height": 1.0}, index=images.index)
    return places_by_names(images, None) is not None or bool(places_by_numbers(images, unknown))


def _sizes_given(images: pd.DataFrame, sizes: pd.DataFrame) -> pd.DataFrame:
    """The columns w and h where a table with x and y lacks them: the sizes of the files in px."""
    return pd.DataFrame({name: sizes[of].to_numpy(float) for name, of in (("w", "width"), ("h", "height"))
                         if name not in images.columns}, index=images.index)


def file_places(images: pd.DataFrame, *, needed: bool) -> pd.DataFrame | None:
    """The georeferences of GeoTIFFs; None where there are none, or rasterio is missing, which is warned."""
    try:
        found = georeferences(images)
    except ImageFileError as error:
        if needed:
            raise
        warnings.warn(f"{error}. Until then it is not known whether images share ground.", SegcvWarning, stacklevel=3)
        return None
    return None if found.empty else found


def _say_systems(found: pd.DataFrame) -> None:
    systems = found["crs"].replace("", "no coordinate system").value_counts()
    if len(systems) > 1:
        shown = ", ".join(f"{str(name)[:40]} ({count} images)" for name, count in systems.iloc[:SHOWN].items())
        warnings.warn(f"the images are in {len(systems)} coordinate systems: {shown}. Ground that two of them share is "
                      "not seen; bring them into one (gdalwarp -t_srs) if it may be.", SegcvWarning, stacklevel=3)
    if found["turned"].any():
        warnings.warn(f"{int(found['turned'].sum())} of {len(found)} GeoTIFFs are turned against their axes; the "
                      "rectangle around each is taken for its ground, which is larger.", SegcvWarning, stacklevel=3)


def _by_names(images: pd.DataFrame, sizes: pd.DataFrame, *, needed: bool) -> Places | None:
    told = places_by_names(images, sizes)
    if told is not None:
        agree = told.cells or _agree(images, told)
        if agree is False and needed:
            raise GroupError("positions in the names are no pixels of these images: where two should share ground, "
                             f"they show different things ({images['image_id'].iloc[0]}). Give columns x, y, w, h.")
        return None if agree is False else told
    for guess in places_by_numbers(images, sizes):
        if _agree(images, guess):
            return guess
    if needed:
        raise GroupError(f"names such as {images['image_id'].iloc[0]} tell no positions that the pixels bear out. Give "
                         "columns x, y, w, h.")
    return None


def _agree(images: pd.DataFrame, told: Places) -> bool | None:
    """Do pictures show the same where they should overlap? None: none overlap, or it cannot be seen."""
    pairs = _overlaps(images, told)
    if pairs.empty:
        return None
    place = pd.Series(range(len(told.table)), index=images["image_id"].iloc[told.table.index])
    low = told.table[["x", "y"]].to_numpy(np.float64)
    return rectangles_agree(images["image_path"].iloc[told.table.index].tolist(), low,
                            low + told.table[["w", "h"]].to_numpy(np.float64),
                            np.column_stack([place[pairs["first"]], place[pairs["second"]]]))


def _overlaps(images: pd.DataFrame, told: Places) -> pd.DataFrame:
    known = told.table.rename(columns={"pixel_size": PIXEL_SIZE}).reset_index(drop=True)
    known["image_id"] = images["image_id"].iloc[told.table.index].to_numpy()
    known["ground"] = known["ground"].where(known["ground"].ne(""), " ")           # one ground, which has no name
    return overlaps_on_ground(known, column="ground")


def _columns(images: pd.DataFrame, table: pd.DataFrame) -> pd.DataFrame:
    """The place columns, blank where an image has none."""
    columns = table.rename(columns={"pixel_size": PIXEL_SIZE}).reindex(range(len(images))).set_axis(images.index)
    columns["ground"] = columns["ground"].fillna("").replace("", " ")
    return columns


def _refuse_for_cutting(images: pd.DataFrame, told: Places) -> None:
    lost = images["image_id"].drop(images.index[told.table.index])
    if len(lost):
        raise SplitError(f"{len(lost)} of {len(images)} images have no place ({', '.join(lost.iloc[:SHOWN])}); places "
                         f"are told by {told.evidence}. Give columns x, y, w, h, or use split=group_kfold.")
    systems = told.table["ground"].value_counts()
    if told.unit not in ("px", "cells") and len(systems) > 1:
        raise SplitError(f"split=blocks: the images are in {len(systems)} coordinate systems ({systems.index[0][:40]}, "
                         f"{systems.index[1][:40]}), so which of them are neighbours cannot be told. Bring them into "
                         "one: gdalwarp -t_srs.")


def _in_unit(told: Places, split: SplitSettings, found: pd.DataFrame | None) -> pd.DataFrame:
    """The table in the unit of the buffer: pixels for buffer_px, metres for buffer_m.

    Raises:
        SplitError: it cannot be brought into that unit.
    """
    if split.buffer_m is not None and told.unit != "m":
        raise SplitError(f"split.buffer_m={split.buffer_m}: places are {UNITS[told.unit]} here, by {told.evidence}. "
                         "Reproject the images to a system in metres (UTM), or give columns x, y, w, h in metres.")
    if not split.buffer_px or told.unit == "px":
        return told.table
    if found is None:
        raise SplitError(f"split.buffer_px={split.buffer_px}: places are {UNITS[told.unit]} here, by {told.evidence}. "
                         "Leave it out (neighbours are left out of training), or give columns x, y, w, h.")
    sizes = told.table["pixel_size"]
    if sizes.max() > 1.01 * sizes.min():
        raise SplitError(f"split.buffer_px={split.buffer_px}: pixels are {sizes.min():g} to {sizes.max():g} wide on "
                         "the ground. Use split.buffer_m.")
    return told.table.assign(**{name: told.table[name] / sizes.max() for name in (*PLACE, "pixel_size")})
