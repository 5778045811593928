"""Groups that share ground: seen while the split is made, and what to do about it."""

from __future__ import annotations

import warnings

import pandas as pd

from segcv.errors import SegcvWarning
from segcv.settings import SplitSettings
from segcv.splits import PLACE, SPLITTERS, groups_on_shared_ground, local_coordinates, shared_ground


def with_size(images: pd.DataFrame, profile: pd.DataFrame) -> pd.DataFrame:
    """The images with the columns w and h: where a table with x and y lacks them, the sizes of the files in px."""
    if "x" not in images or "y" not in images or ("w" in images and "h" in images):
        return images
    size = images[["image_id"]].merge(profile, on="image_id")
    given = {name: size[of].to_numpy(float) for name, of in (("w", "width"), ("h", "height")) if name not in images}
    return images.assign(**given)


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
