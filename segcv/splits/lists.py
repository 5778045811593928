"""Each fold's images as lists, for people and for other tools; all of them can be read again (given_lists.py)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from segcv.tables import HELD_OUT, TRAIN, replacing, write_json, write_text

NNUNET = "splits_final.json"
SIDES = {TRAIN: "train", HELD_OUT: "val"}      # what lists call the two roles


def write_lists(folder: Path, images: pd.DataFrame, roles: pd.DataFrame, *, seen_from: Path) -> None:
    """Write the lists of every fold into `folder`, those of repeat R > 0 into repeat-R/.

    fold_K_train.csv and fold_K_val.csv: image_path, mask_path, image_id, group_id, and train_count where the roles have
    it. lists/fold_K_train.txt and lists/fold_K_val.txt: a path a line, as often as it trains. splits_final.json: the
    names of all folds as nnU-Net reads them (`case_names`). Paths are relative to the list, as it will lie when
    `folder` is renamed to `seen_from`. Excluded images are in no list.
    """
    ordered = images.sort_values("image_id", ignore_index=True)
    ordered = ordered.assign(case=case_names(ordered)).set_index("image_id", drop=False)
    for repeat, of_repeat in roles.groupby("repeat"):
        inside = "" if repeat == 0 else f"repeat-{repeat}"
        tables = ordered.assign(**_relative(ordered, seen_from / inside))
        lines = pd.Series(_relative(ordered, seen_from / inside / "lists")["image_path"], index=ordered.index)
        folds = []
        for fold, rows in of_repeat.groupby("fold"):
            cases = {}
            for role, side in SIDES.items():
                mine = rows[rows["role"].eq(role)].sort_values("image_id")
                listed = tables.loc[mine["image_id"], ["image_path", "mask_path", "image_id", "group_id"]]
                ids = mine["image_id"].tolist()
                if role == TRAIN and "train_count" in mine:
                    listed = listed.assign(train_count=mine["train_count"].to_numpy())
                    ids = np.repeat(np.array(ids, object), mine["train_count"]).tolist()
                with replacing(folder / inside / f"fold_{fold}_{side}.csv") as beside:
                    listed.to_csv(beside, index=False, lineterminator="\n")
                write_text(folder / inside / "lists" / f"fold_{fold}_{side}.txt",
                           "".join(f"{path}\n" for path in lines[ids]))
                cases[side] = ordered.loc[ids, "case"].tolist()
            folds.append(cases)
        write_json(folder / inside / NNUNET, folds)


def case_names(images: pd.DataFrame) -> list[str]:
    """What nnU-Net calls each image: the name of its mask without suffix, where no two masks share it; else its id."""
    stems = [Path(path).stem for path in images["mask_path"]]
    return stems if len(set(stems)) == len(stems) else images["image_id"].tolist()


def _relative(images: pd.DataFrame, start: Path) -> dict[str, Sequence[str]]:
    place = start.absolute()
    return {column: [Path(os.path.relpath(path, place)).as_posix() for path in images[column]]
            for column in ("image_path", "mask_path")}
