"""Groups for the images of a study, from what settings say and what the files hold."""

from __future__ import annotations

import warnings

import pandas as pd

from segcv.errors import SegcvWarning
from segcv.groups import assign_groups
from segcv.pixels import Profile
from segcv.settings import GroupSettings, SplitSettings
from segcv.splits import SPLITTERS


def grouped_images(images: pd.DataFrame, profile: Profile, group: GroupSettings, split: SplitSettings) -> pd.DataFrame:
    """The images with their groups and evidence. A splitter that cuts by ground takes care of overlaps by itself."""
    contents = profile.images[["image_id", "pixels_hash"]].rename(columns={"pixels_hash": "image_hash"})
    known = SPLITTERS.get(split.name)
    cuts_ground = known is not None and known.reads_ground
    grouped = assign_groups(images, profile.looks.merge(contents, on="image_id"), pattern=group.pattern,
                            max_distance=group.near_duplicates, turns=group.turns,
                            overlaps=None if cuts_ground else group.overlaps, levels=group.levels,
                            large_joins=group.large_joins, folds=split.folds or 2)
    _warn_alone(grouped)
    return grouped


def _warn_alone(images: pd.DataFrame) -> None:
    alone = images.loc[images["group_evidence"] == "alone", "image_id"]
    if len(alone):
        warnings.warn(f"{len(alone)} of {len(images)} images have no group and are each their own "
                      f"({', '.join(alone.head(3))}). If several come from one source, folds tear it: give a column "
                      "group_id, or group.pattern=NAME.", SegcvWarning, stacklevel=2)
