"""Any table of scores, from any tool: one row per image and pass, with its group, fold and run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from segcv.errors import RunError
from segcv.statistics.by_group import GroupScores
from segcv.statistics.scored import Floats, Ints
from segcv.tables import Column, Schema

SCORE_TABLE = Schema(
    "score table",
    (
        Column("run", required=False), Column("repeat", "integer", required=False),
        Column("fold", "integer", required=False), Column("seed", "integer", required=False),
        Column("group"), Column("image"), Column("score", "number", blank=True),
    ),
    key=(), extra=True,
)
ALSO_CALLED = {"run_id": "run", "group_id": "group", "image_id": "image"}
Table = pd.DataFrame | GroupScores
Names = NDArray[Any]


def table_groups(table: Table) -> GroupScores:
    """Group scores of a table with columns group, image, score and, where they are known, repeat, fold, seed, run.

    A *column* is one pass over all folds. Columns are told apart by repeat and seed; without `seed` the runs of a fold
    are numbered in the order of their names, which is enough because every fold has its own networks. Without `fold`
    there is one fold: a frozen model on an external cohort. An image without a score (blank) in one pass leaves all
    and is counted. `run_id`, `group_id` and `image_id` are taken for run, group and image. GroupScores pass through.

    >>> groups = table_groups(pd.DataFrame({"group": ["a", "a", "b"], "image": ["1", "2", "3"], "score": [.5, .7, .9]}))
    >>> groups.group_ids, groups.means.round(3).tolist()
    (('a', 'b'), [0.6, 0.9])

    Raises:
        TableError: a column is missing or holds no number.
        RunError: an image is in two groups, a group in two folds of one pass, or an image was not scored in each pass.
    """
    if isinstance(table, GroupScores):
        return table
    named = {old: new for old, new in ALSO_CALLED.items() if old in table and new not in table}
    rows = SCORE_TABLE.check(table.rename(columns=named), where="scores")
    if rows.empty:
        raise RunError("The score table has no row.")
    for name in {"repeat", "fold"} - set(rows):
        rows[name] = 0
    if "seed" not in rows:
        run = rows["run"] if "run" in rows else pd.Series("", index=rows.index)
        rows["seed"] = run.groupby([rows["repeat"], rows["fold"]]).rank("dense").astype("int64") - 1
    column = rows.groupby(["repeat", "seed"], sort=True).ngroup().to_numpy().astype(np.int64)
    image_ids, image = np.unique(rows["image"].to_numpy(dtype=object), return_inverse=True)
    columns, images = int(column.max()) + 1, len(image_ids)
    times = np.zeros((images, columns), np.int64)
    np.add.at(times, (image, column), 1)
    _refuse_uneven(times, image_ids, rows, column)
    group_ids, number = np.unique(rows["group"].to_numpy(dtype=object), return_inverse=True)
    scores = np.full((images, columns), np.nan)
    scores[image, column] = rows["score"].to_numpy(dtype=float)
    group = np.zeros(images, np.int64)
    group[image] = number
    if (group[image] != number).any():
        at = image_ids[image[np.flatnonzero(group[image] != number)[0]]]
        raise RunError(f"Image {at} is in two groups. Give every image one group.")
    fold = np.zeros((len(group_ids), columns), np.int64)
    fold[number, column] = rows["fold"]
    torn = fold[number, column] != rows["fold"].to_numpy()
    if torn.any():
        raise RunError(f"Group {rows['group'][int(np.flatnonzero(torn)[0])]} is in two folds of one pass: a split that "
                       "tears groups apart says nothing about new groups. Split by group, or name the repeats in a "
                       "column repeat.")
    repeat = np.zeros(columns, np.int64)
    repeat[column] = rows["repeat"]
    return groups_of_images(scores, group=group, group_ids=list(map(str, group_ids)), fold=fold, repeat=repeat,
                            image_ids=list(map(str, image_ids)))


def groups_of_images(
    scores: Floats, *, group: Ints, group_ids: Sequence[str], fold: Ints, repeat: Ints,
    image_ids: Sequence[str] | None = None,
) -> GroupScores:
    """Group scores of a complete table: an image with NaN in any column leaves all and is counted.

    Shapes: `scores` images x columns, `group` images, `fold` groups x columns, `repeat` columns.
    """
    whole = np.isfinite(scores).all(axis=1)
    names, place = np.unique(group[whole], return_inverse=True)
    kept, size = scores[whole], np.bincount(place, minlength=len(names))
    means = np.stack([np.bincount(place, weights=kept[:, s], minlength=len(names)) for s in range(scores.shape[1])],
                     axis=1) / np.maximum(1, size)[:, None]
    folds = fold[names]
    return GroupScores(tuple(group_ids[name] for name in names), means, folds, repeat, size.astype(np.int64),
                       int((~whole).sum()), kept, place.astype(np.int64), folds[place, 0],
                       tuple(image_ids[int(at)] for at in np.flatnonzero(whole)) if image_ids is not None else None)


def _refuse_uneven(times: Ints, image_ids: Names, rows: pd.DataFrame, column: Ints) -> None:
    if (times == 1).all():
        return
    at = tuple(np.argwhere(times != 1)[0])
    first = rows.iloc[int(np.flatnonzero(column == at[1])[0])]
    place = f"repeat={first['repeat']} seed={first['seed']}"
    if times[at] > 1:
        raise RunError(f"Image {image_ids[at[0]]} has {times[at]} scores in the pass {place}. Each image counts once; "
                       "name the passes in a column seed, run or repeat.")
    raise RunError(f"Image {image_ids[at[0]]} has no row in the pass {place} ({int((times == 0).sum())} cells are "
                   "missing): passes must score the same images. Run the missing cells, or leave the pass out.")
