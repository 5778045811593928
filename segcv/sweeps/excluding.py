"""Scored images that people found to be labelled wrongly: a list with reasons, left out of every number when asked."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import pandas as pd

from segcv.errors import TableError
from segcv.scoring import scored_ids
from segcv.splits import Split
from segcv.tables import read_csv

REASON = "reason"


def read_excluded(path: Path, scored: Collection[str]) -> pd.DataFrame:
    """image_id and reason of the images in the CSV `path`, each once; all of them are among the `scored` ids.

    Raises:
        TableError: a column is missing, an image has no reason or is there twice, or was not scored.
    """
    table = read_csv(path)
    lacking = [name for name in ("image_id", REASON) if name not in table]
    if lacking:
        raise TableError(f"{path} has no column {' and none '.join(lacking)}; report.exclude takes a CSV with image_id "
                         f"and reason, and found {', '.join(map(str, table.columns)) or 'nothing'}.")
    table = table[["image_id", REASON]].fillna("").astype("str")
    for row, image_id, reason in table.itertuples(name=None):
        if not reason.strip():
            raise TableError(f"{path}, row {row + 2}: {image_id} has no reason. Say why its label is wrong; a report "
                             "that leaves images out must say so.")
    twice = table["image_id"].duplicated()
    if twice.any():
        raise TableError(f"{path} names {table.loc[twice, 'image_id'].iloc[0]} twice; keep one of its rows.")
    unknown = sorted(set(table["image_id"]) - set(scored))
    if unknown:
        raise TableError(f"{path} names {len(unknown)} images that these runs did not score, such as {unknown[0]}. "
                         "Ids are those of the report's images table; correct or delete these rows.")
    return table.reset_index(drop=True)


def without(table: pd.DataFrame, left_out: Collection[str]) -> pd.DataFrame:
    """The rows of a table with image_id whose image is not left out."""
    return table[~table["image_id"].isin(set(left_out))].reset_index(drop=True) if left_out else table


def images_without(split: Split, left_out: Collection[str]) -> pd.DataFrame:
    """The split's images whose scored image (their source, where patches were stitched) is not left out."""
    return split.images[~scored_ids(split.images).isin(set(left_out)).to_numpy()].reset_index(drop=True)
