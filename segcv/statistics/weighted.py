"""Images that count by what they are worth: a column of weights, and two candidates compared under it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from segcv.errors import ConfigError
from segcv.statistics.by_group import GroupScores
from segcv.statistics.comparison import Asked, Comparison, comparison_of, fold_differences
from segcv.statistics.scored import Floats, Ints
from segcv.statistics.spread import row_mean_of
from segcv.statistics.targets import weights_of


def column_weights(images: pd.DataFrame, column: str) -> pd.Series:
    """The weights in a column of the images table, by image_id.

    >>> images = pd.DataFrame({"image_id": ["a", "b"], "worth": ["1", "2.5"]})
    >>> column_weights(images, "worth").to_dict()
    {'a': 1.0, 'b': 2.5}

    Raises:
        ConfigError: there is no such column, a weight is missing, no number or below zero, or all are the same, which
            has no effect.
    """
    if column not in images:
        raise ConfigError(f"weights={column} is not a column of the images table; it has "
                          f"{', '.join(map(str, images.columns))}. Columns are kept when the split is made: add it to "
                          "the table, then make the split again.")
    values = pd.to_numeric(images[column], errors="coerce").astype(float)
    bad = ~np.isfinite(values) | (values < 0)
    if bad.any():
        at = int(np.flatnonzero(bad)[0])
        raise ConfigError(f"weights={column}: image {images['image_id'].iloc[at]} has {images[column].iloc[at]!r}, and "
                          f"every image needs a weight of zero or more ({int(bad.sum())} such images).")
    if values.nunique() < 2:
        raise ConfigError(f"weights={column} has no effect: every image has {values.iloc[0]:g}.")
    return pd.Series(values.to_numpy(), index=images["image_id"].astype("str"), name=column)


def compare_weighted(difference: GroupScores, weights: pd.Series, asked: Asked) -> Comparison | None:
    """`compare_difference` of two candidates whose images count by their weights (indexed by image_id): CR2 over
    groups with the model term. None where the images behind the groups are not known, or weigh nothing."""
    by_image = weights_of(difference, weights)
    if by_image is None or difference.image_scores is None or difference.image_group is None:
        return None
    group: Ints = difference.image_group
    total: Floats = np.bincount(group, weights=by_image, minlength=len(difference.images)).astype(np.float64)
    there = total > 0                            # groups without weight have no part in the mean
    if there.sum() < 2:
        return None
    scores = np.stack([_mean(by_image * each, group, total) for each in difference.image_scores.T],
                      axis=1)
    weighed = replace(difference, group_ids=tuple(np.array(difference.group_ids, dtype=object)[there]),
                      scores=scores[there], fold=difference.fold[there], images=difference.images[there],
                      image_scores=None, image_group=None, image_fold=None, image_ids=None)
    named = replace(asked, target="weighted", drawn=False)
    return comparison_of(weighed, row_mean_of(difference, by_image),
                         fold_differences(weighed, "weighted", total[there]), named, total[there])


def _mean(values: Floats, group: Ints, total: Floats) -> Floats:
    sums = np.bincount(group, weights=values, minlength=len(total))
    mean: Floats = np.divide(sums, total, out=np.zeros(len(total)), where=total > 0)
    return mean
