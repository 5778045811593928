"""Training groups drawn anew while the held-out fold stays: how much does the choice of training groups matter?"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.random import Generator

from segcv.errors import SplitError
from segcv.splits.group_table import groups_of
from segcv.tables import EXCLUDED, TRAIN

NOT_DRAWN = "not drawn"


def resampled_training(roles: pd.DataFrame, *, rng: Generator) -> pd.DataFrame:
    """The roles with the training groups of each fold drawn with replacement, as many as there are.

    The column `train_count` says how often an image trains in each epoch: as often as its group was drawn, 0 where it
    does not train. Images of groups that were not drawn are excluded. Who is held out stays as it is.

    Raises:
        SplitError: no fold has more than one training group.
    """
    parts, most = [], 0
    for _, rows in roles.groupby("fold"):
        groups = groups_of(rows[rows["role"].eq(TRAIN)], None)[0].index
        most = max(most, len(groups))
        drawn = np.bincount(rng.integers(len(groups), size=len(groups)), minlength=len(groups))
        trains = rows["role"].eq(TRAIN)
        times = rows["group_id"].map(dict(zip(groups, drawn, strict=True))).where(trains, 0).fillna(0).astype("int64")
        never = trains & times.eq(0)
        parts.append(rows.assign(role=rows["role"].mask(never, EXCLUDED), reason=rows["reason"].mask(never, NOT_DRAWN),
                                 train_count=times))
    if most < 2:
        raise SplitError("every fold has one training group only: drawing it anew has no effect. Leave out "
                         "split.bootstrap.")
    return pd.concat(parts, ignore_index=True)
