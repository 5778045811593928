"""Groups for the images of a study, from what settings say and what the files hold."""

from __future__ import annotations

import warnings

import pandas as pd

from segcv.errors import SegcvWarning
from segcv.groups import assign_groups, candidate_groupings, near_duplicate_sensitivity, rank_groupings
from segcv.pixels import Profile
from segcv.settings import GroupSettings, SplitSettings
from segcv.splits import SPLITTERS

NO_GROUP = frozenset({"image_id", "image_path", "mask_path", "group_evidence", "x", "y", "w", "h", "time"})
USED = "as used"


def grouped_images(images: pd.DataFrame, profile: Profile, group: GroupSettings, split: SplitSettings,
                   overlaps: pd.DataFrame | None) -> pd.DataFrame:
    """The images with their groups and evidence; `overlaps`: pairs whose rectangles overlap.

    A splitter that cuts by ground takes care of overlaps by itself.
    """
    contents = profile.images[["image_id", "pixels_hash"]].rename(columns={"pixels_hash": "image_hash"})
    known = SPLITTERS.get(split.name)
    cuts_ground = known is not None and known.reads_ground
    grouped = assign_groups(images, profile.looks.merge(contents, on="image_id"), pattern=group.pattern,
                            max_distance=group.near_duplicates, turns=group.turns,
                            overlaps=None if cuts_ground else group.overlaps,
                            ground=None if cuts_ground else overlaps, levels=group.levels,
                            large_joins=group.large_joins, folds=split.folds or 2)
    _warn_alone(grouped)
    return grouped


def rankings(images: pd.DataFrame, grouped: pd.DataFrame, profile: Profile) -> pd.DataFrame:
    """All that could be the groups, beside those that are used, by how much of the labels they explain."""
    columns = [name for name in images.columns if name not in NO_GROUP]
    used = grouped["group_id"].set_axis(pd.Index(grouped["image_id"], dtype=object))
    return rank_groupings(profile.masks, candidate_groupings(images, columns) | {USED: used})


def sensitivity(profile: Profile, group: GroupSettings) -> pd.DataFrame | None:
    """What near-duplicates would join at other thresholds; None where they are not looked for."""
    if group.near_duplicates is None:
        return None
    return near_duplicate_sensitivity(profile.looks, turns=group.turns)


def _warn_alone(images: pd.DataFrame) -> None:
    alone = images.loc[images["group_evidence"] == "alone", "image_id"]
    if len(alone):
        warnings.warn(f"{len(alone)} of {len(images)} images have no group and are each their own "
                      f"({', '.join(alone.head(3))}). If several come from one source, folds tear it: give a column "
                      "group_id, or group.pattern=NAME.", SegcvWarning, stacklevel=2)
