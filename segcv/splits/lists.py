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
    ordered = images.sort_values("image_id", ignore_index=True)
    for repeat, of_repeat in roles.groupby("repeat"):
        inside = "" if repeat == 0 else f"repeat-{repeat}"
        start = (seen_from / inside).absolute()
        listed = pd.DataFrame({column: [Path(os.path.relpath(path, start)).as_posix() for path in ordered[column]]
                               for column in ("image_path", "mask_path")})
        listed = listed.assign(image_id=ordered["image_id"], group_id=ordered["group_id"])
        for fold, rows in of_repeat.groupby("fold"):
            for role, name in ((TRAIN, "train"), (HELD_OUT, "val")):
                chosen = listed["image_id"].isin(rows.loc[rows["role"].eq(role), "image_id"])
                with replacing(folder / inside / f"fold_{fold}_{name}.csv") as beside:
                    listed[chosen].to_csv(beside, index=False, lineterminator="\n")
