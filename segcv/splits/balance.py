"""How evenly the folds are filled, and how evenly they could be."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from segcv.splits.columns import value_counts
from segcv.splits.group_table import groups_of
from segcv.tables import EXCLUDED, HELD_OUT


def balance_table(roles: pd.DataFrame, images: pd.DataFrame, masks: pd.DataFrame, *,
                  columns: Sequence[str] = ()) -> pd.DataFrame:
    """Per repeat, fold and role: images, groups, labelled pixels, and share_<class> of those pixels, in [0, 1].

    Then, for every value of the `columns` of the images, the share of the images with it ("site=north"). Pixels without
    a label (ignored) are not counted; shares are NaN where a role has no labelled pixel.
    """
    known = set(images["image_id"])
    seen = masks[np.array([image_id in known for image_id in masks["image_id"]], bool) & masks["class_id"].ge(0)]
    wide = seen.pivot_table(index="image_id", columns="class_id", values="pixels", aggfunc="sum", fill_value=0)
    classes = [int(c) for c in wide.columns]
    rows = roles.merge(wide, left_on="image_id", right_index=True, how="left").fillna(dict.fromkeys(classes, 0))
    keys = ["repeat", "fold", "role"]
    by_role = rows.groupby(keys)
    table = pd.DataFrame({"images": by_role["image_id"].nunique(), "groups": by_role["group_id"].nunique()})
    pixels = by_role[classes].sum().astype("int64") if classes else pd.DataFrame(index=table.index)
    table["pixels"] = pixels.sum(axis=1).astype("int64")
    for c in classes:
        table[f"share_{c}"] = pixels[c] / table["pixels"].where(table["pixels"] > 0)
    for column in columns:
        value = rows["image_id"].map(images.set_index("image_id")[column].astype("str"))
        shares = pd.crosstab([rows[key] for key in keys], value, normalize="index").add_prefix(f"{column}=")
        table = table.join(shares)
    return table.reset_index()


def left_out(roles: pd.DataFrame) -> pd.DataFrame:
    """Per reason why images are excluded: how many different images, and the share it takes of what could train.

    The share is the number of excluded rows divided by that of the rows that are not held out, over all folds of all
    repeats, in [0, 1].
    """
    excluded = roles[roles["role"].eq(EXCLUDED)]
    by_reason = excluded.groupby("reason")["image_id"]
    share = by_reason.size() / int(roles["role"].ne(HELD_OUT).sum())
    return pd.DataFrame({"images": by_reason.nunique(), "share": share}).reset_index()


def balance_floor(images: pd.DataFrame, masks: pd.DataFrame | None, *, folds: int,
                  columns: Sequence[str] = ()) -> pd.DataFrame:
    """What no cut into `folds` folds can beat, for the images, each class ("class 0", ...) and each value of `columns`.

    With the share s of the largest group and g groups that have the column: `worst` bounds the largest
    |folds x share - 1| of a fold from below: max(s x folds - 1, and where g < folds also folds / g - 1 and 1);
    `empty_folds` = max(folds - g, 0) of them must stay without it. Columns: column, groups, largest_group,
    largest_share, empty_folds, worst.
    """
    table, pixels = groups_of(images, masks)
    amounts = pd.concat([table["images"].rename("images"), pixels.rename(columns=lambda c: f"class {c}"),
                         value_counts(images, table.index, columns)], axis=1)
    share = amounts / amounts.sum()                                                     # groups x columns
    groups = (amounts > 0).sum().to_numpy()
    largest = share.max().to_numpy()
    empty = np.maximum(folds - groups, 0)
    worst = np.maximum(largest * folds - 1, np.where(empty > 0, np.maximum(folds / groups - 1, 1.0), 0.0))
    return pd.DataFrame({
        "column": amounts.columns, "groups": groups, "largest_group": share.idxmax().to_numpy(),
        "largest_share": largest, "empty_folds": empty, "worst": np.maximum(worst, 0.0),
    })
