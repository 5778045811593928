"""The lists that a program is given: what it trains on, what it may stop on, what it predicts."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from segcv.tables import replacing

OUT = "out"
_OURS = ("repeat", "fold", "role", "reason")        # of roles; the lists say these by their names


def hand_out(folder: Path, training: pd.DataFrame, *, inner: pd.DataFrame | None, held_out: pd.DataFrame,
             masks: bool) -> dict[str, str]:
    """Write train.csv, val.csv and test.csv into `folder`, make its folder `out`; place -> absolute path of each.

    Paths in them are absolute. train.csv has all columns of the images table (and train_count, where images count
    several times), val.csv, where `inner` is given, too; test.csv has image_id and image_path of the held-out images,
    and mask_path where `masks` asks for it.
    """
    places = {}
    columns = ["image_id", "image_path", *(["mask_path"] if masks else [])]
    lists = {"train": training.drop(columns=list(_OURS), errors="ignore"), "test": held_out[columns]}
    if inner is not None:
        lists["val"] = inner.drop(columns=list(_OURS), errors="ignore")
    for name, rows in lists.items():
        table = folder.absolute() / f"{name}.csv"
        with replacing(table) as beside:
            rows.sort_values("image_id").to_csv(beside, index=False, lineterminator="\n")
        places[f"{name}_csv"] = str(table)
    out = folder.absolute() / OUT
    out.mkdir(exist_ok=True)
    return places | {"out": str(out)}


def forget_predictions(out: Path, image_ids: Sequence[str]) -> None:
    """Delete what an earlier try left as the prediction of one of these images; the rest of `out` stays.

    A program that is killed may leave half a mask, and one that ends early may leave the masks of a network that it
    has trained since.
    """
    names = {"/".join(parts[start:]) for image_id in image_ids
             for parts in [image_id.split("/")] for start in range(len(parts))}
    for folder, _, files in os.walk(out):
        for file in files:
            path = Path(folder, file)
            below = path.relative_to(out).as_posix()
            if {below[:below.rfind(".")], below.removesuffix(".nii.gz")} & names:
                path.unlink()
