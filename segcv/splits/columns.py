"""Columns of the images table that folds are balanced on, or that groups are dealt by."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from segcv.errors import SplitError

MOST_VALUES = 50       # of a column that is balanced on; more are numbers or ids, not kinds
SHOWN = 3


def value_counts(images: pd.DataFrame, groups: pd.Index, columns: Sequence[str]) -> pd.DataFrame:
    """Images of each group with each value of the columns, as int64: groups x "column=value", values in text order.

    Raises:
        SplitError: there is no such column, a cell is blank, or the column has too many values or only one.
    """
    parts = [pd.DataFrame(index=groups)]
    for column in columns:
        values = _values(images, column, "split.balance_on")
        known = sorted(set(values))
        if len(known) > MOST_VALUES:
            raise SplitError(f"split.balance_on={column} has {len(known)} different values ({', '.join(known[:SHOWN])}"
                             f", ...): it balances kinds, up to {MOST_VALUES}. Bin it into a column of its own first.")
        if len(known) == 1:
            raise SplitError(f"split.balance_on={column} has no effect: every image has {column}={known[0]}.")
        counted = pd.crosstab(images["group_id"].to_numpy(dtype=object), values.to_numpy(dtype=object))
        parts.append(counted.reindex(index=groups, columns=known, fill_value=0).add_prefix(f"{column}="))
    return pd.concat(parts, axis=1).astype("int64")


def strata_of(images: pd.DataFrame, groups: pd.Index, column: str | None) -> NDArray[np.int64] | None:
    """Number of each group's value of the column; None without a column.

    Raises:
        SplitError: there is no such column, a cell is blank, a group has two values, or every group its own.
    """
    if column is None:
        return None
    values = _values(images, column, "split.stratify")
    pairs = pd.DataFrame({"group": images["group_id"], "value": values}).drop_duplicates()
    torn = pairs.loc[pairs["group"].duplicated(), "group"]
    if len(torn):
        found = pairs.loc[pairs["group"].eq(torn.iloc[0]), "value"].tolist()
        raise SplitError(f"split.stratify={column}: group {torn.iloc[0]} has {' and '.join(found[:SHOWN])} ({len(torn)}"
                         f" such groups), and a group is of one kind. Type split.balance_on=[{column}], which counts "
                         "images.")
    kinds, number = np.unique(pairs.set_index("group")["value"].loc[groups].to_numpy(dtype=object), return_inverse=True)
    if len(kinds) == len(groups) or len(kinds) == 1:
        raise SplitError(f"split.stratify={column} has no effect: "
                         f"{'every group has a value of its own' if len(kinds) > 1 else f'it is always {kinds[0]}'}.")
    return number.astype(np.int64)


def _values(images: pd.DataFrame, column: str, setting: str) -> pd.Series:
    if column not in images.columns:
        raise SplitError(f"{setting}={column} is not a column of the table; it has {', '.join(images.columns)}.")
    values = images[column].astype("str").str.strip()
    blank = images.loc[values.eq("") | images[column].isna(), "image_id"]
    if len(blank):
        raise SplitError(f"{setting}={column}: blank in {len(blank)} of {len(images)} rows "
                         f"({', '.join(blank.iloc[:SHOWN])}). Write a value there, such as unknown.")
    return values
