"""Plain lists of each fold's images, for people and for other tools."""

from __future__ import annotations

import os
from pathlib import Path

import pandas as pd

from segcv.tables import HELD_OUT, TRAIN, replacing


def write_lists(folder: Path, images: pd.DataFrame, roles: pd.DataFrame, *, seen_from: Path) -> None:
    """Write fold_K_train.csv and fold_K_val.csv into `folder`, those of repeat R > 0 into repeat-R/.

    Columns image_path, mask_path, image_id, group_id; paths are relative to the list, as it will lie when `folder` is
    renamed to `seen_from`. Excluded images are in neither list.
    """
    for (repeat, fold), rows in roles.groupby(["repeat", "fold"]):
        inside = "" if repeat == 0 else f"repeat-{repeat}"
        start = (seen_from / inside).absolute()
        for role, name in ((TRAIN, "train"), (HELD_OUT, "val")):
            chosen = images[images["image_id"].isin(rows.loc[rows["role"].eq(role), "image_id"])]
            chosen = chosen.sort_values("image_id")
            listed = pd.DataFrame({column: [Path(os.path.relpath(path, start)).as_posix() for path in chosen[column]]
                                   for column in ("image_path", "mask_path")})
            listed["image_id"], listed["group_id"] = chosen["image_id"].to_numpy(), chosen["group_id"].to_numpy()
            with replacing(folder / inside / f"fold_{fold}_{name}.csv") as beside:
                listed.to_csv(beside, index=False, lineterminator="\n")
