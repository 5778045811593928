"""Groups for the images of a study, from what settings say and what the files hold."""

from __future__ import annotations

import warnings
from collections.abc import Mapping

import numpy as np
import pandas as pd

from segcv.errors import MaskError, SegcvWarning
from segcv.groups import assign_groups, candidate_groupings, near_duplicate_sensitivity, rank_groupings
from segcv.pixels import Profile
from segcv.settings import GroupSettings, SplitSettings
from segcv.splits import SPLITTERS

NO_GROUP = frozenset({"image_id", "image_path", "mask_path", "group_evidence", "x", "y", "w", "h", "time"})
USED = "as used"
SHOWN = 3


def grouped_images(images: pd.DataFrame, profile: Profile, group: GroupSettings, split: SplitSettings,
                   overlaps: pd.DataFrame | None, copies: Mapping[str, str]) -> pd.DataFrame:
    """The images with their groups and evidence; `overlaps`: pairs whose rectangles overlap.

    `copies` (image_id -> the one that is kept) ties nothing together: a copy has the group of the one that is kept. A
    splitter that cuts by ground takes care of overlaps by itself.
    """
    contents = profile.images[["image_id", "pixels_hash"]].rename(columns={"pixels_hash": "image_hash"})
    known = SPLITTERS.get(split.name)
    cuts_ground = known is not None and known.reads_ground
    unique = images[~images["image_id"].isin(list(copies))].reset_index(drop=True)
    grouped = assign_groups(unique, profile.looks.merge(contents, on="image_id"), pattern=group.pattern,
                            max_distance=group.near_duplicates, turns=group.turns,
                            overlaps=None if cuts_ground else group.overlaps,
                            ground=None if cuts_ground or overlaps is None else _without(overlaps, copies),
                            levels=group.levels, large_joins=group.large_joins, folds=split.folds or 2)
    _warn_alone(grouped, pattern=group.pattern)
    return _with_copies(images, grouped, copies) if copies else grouped


def exact_copies(images: pd.DataFrame, profile: Profile) -> dict[str, str]:
    """image_id -> the one that is kept, for images with the pixels of another one and the same labels; flat ones aside.

    The first by name of those that have a group is kept, or of all when none has.

    Raises:
        MaskError: the same pixels come with different labels.
    """
    seen = images[["image_id", "group_id"]].merge(profile.images, on="image_id").merge(
        profile.looks[["image_id", "flat"]], on="image_id")
    seen = seen[~seen["flat"].astype(bool)].assign(bare=seen["group_id"].eq(""))
    seen = seen.sort_values(["bare", "image_id"])
    first = seen.drop_duplicates("pixels_hash").set_index("pixels_hash")
    again = seen[seen.duplicated("pixels_hash")]
    other = again[again["labels_hash"].ne(again["pixels_hash"].map(first["labels_hash"]))]
    if len(other):
        one = other.iloc[0]
        raise MaskError(f"{one['image_id']} and {first.loc[one['pixels_hash'], 'image_id']} are the same picture with "
                        f"different masks ({len(other)} such images), so neither can be removed. Correct the masks, or "
                        "type group.copies=join.")
    kept = dict(zip(again["image_id"], again["pixels_hash"].map(first["image_id"]), strict=True))
    if kept:
        shown = ", ".join(f"{name} (of {of})" for name, of in sorted(kept.items())[:SHOWN])
        warnings.warn(f"{len(kept)} of {len(images)} images are exact copies of others and are left out of training "
                      f"and scores: {shown}{', ...' if len(kept) > SHOWN else ''}.", SegcvWarning, stacklevel=2)
    return kept


def _with_copies(images: pd.DataFrame, grouped: pd.DataFrame, copies: Mapping[str, str]) -> pd.DataFrame:
    known = grouped.set_index("image_id")
    one = images["image_id"].map(copies).fillna(images["image_id"])
    evidence = known["group_evidence"][one].to_numpy(object)
    evidence = np.where(images["image_id"].isin(list(copies)), "exact copy of " + one.to_numpy(object), evidence)
    return images.assign(group_id=known["group_id"][one].to_numpy(), group_evidence=evidence)


def _without(pairs: pd.DataFrame, copies: Mapping[str, str]) -> pd.DataFrame:
    gone = list(copies)
    return pairs[~(pairs["first"].isin(gone) | pairs["second"].isin(gone))]


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


def _warn_alone(images: pd.DataFrame, *, pattern: str | None) -> None:
    alone = images.loc[images["group_evidence"] == "alone", "image_id"]
    if len(alone):
        warnings.warn(f"{len(alone)} of {len(images)} images have no group and are each their own "
                      f"({', '.join(alone.head(3))}). If several come from one source, folds tear it: give a column "
                      f"group_id{'' if pattern else ', or group.pattern=NAME'}.", SegcvWarning, stacklevel=2)
