"""What could be the groups, and how much of the labels each explains: looked at before anything is trained."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import PurePosixPath

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from segcv.errors import GroupError
from segcv.groups.looks import clusters, near_duplicate_pairs
from segcv.groups.names import NAME_PATTERNS, PLACES, name_groups

AUTO = "auto"
LEAST_MATCHED = 0.9                       # of the names, for a pattern to be proposed
LEAST_SIZE = 2.0                          # images per group, on average
DISTANCES = (3, 5, 8)                     # bits at which near-duplicates are counted
_TRIED = ("roboflow", "augmented", "tiles", "numbered", "frames")      # the most particular first


def proposed_pattern(image_ids: pd.Series, *, without: Collection[str] = ()) -> str | None:
    """The ready name pattern that the names speak for, but none of `without`; or None.

    It matches nine in ten names, and tells at least two groups with two images on average, which are not called
    train, val or test.

    >>> proposed_pattern(pd.Series(["clipA_001", "clipA_002", "clipB_001", "clipB_002"]))
    'frames'
    >>> proposed_pattern(pd.Series(["001", "002", "003"])) is None
    True
    """
    for pattern in _TRIED:
        if pattern in without:
            continue
        told = _told(image_ids, pattern)
        matched = told.ne("")
        groups = told[matched].nunique()
        if matched.mean() >= LEAST_MATCHED and 2 <= groups <= matched.sum() / LEAST_SIZE and not (
                set(told[matched].str.lower()) <= PLACES):
            return pattern
    return None


def candidate_groupings(images: pd.DataFrame, columns: Sequence[str] = ()) -> dict[str, pd.Series]:
    """Labels by image_id ("" for none) of all that could be the groups: columns, folders, ready name patterns.

    Only groupings with at least two groups and fewer groups than images are listed.
    """
    ids = images["image_id"]
    found = {f"column {name}": images[name].astype("str") for name in dict.fromkeys(columns) if name in images.columns}
    found["folder"] = ids.map(lambda image_id: str(PurePosixPath(image_id).parent)).replace(".", "")
    found |= {f"name: {pattern}": _told(ids, pattern) for pattern in NAME_PATTERNS}
    kept = {}
    for name, labels in found.items():
        named = labels[labels.ne("")]
        if 2 <= named.nunique() < len(named):
            kept[name] = labels.set_axis(pd.Index(ids, dtype=object))
    return kept


def rank_groupings(masks: pd.DataFrame, groupings: Mapping[str, pd.Series]) -> pd.DataFrame:
    """Per grouping: groups, images (that it names), r2 and icc of their class shares; the highest icc first.

    `masks` holds image_id, class_id, pixels; class -1, ignored, does not count, nor do images without labelled pixels.
    r2 is the part of the variance of the class shares, summed over classes, that lies between groups; it grows with
    the number of groups whatever they are. icc is the intraclass correlation of one-way random effects (Shrout &
    Fleiss 1979, ICC(1,1), with the mean squares summed over classes and the n0 of unequal groups): 0 for groups drawn
    by lot, 1 where all images of a group have the same shares, NaN where it cannot be told.
    """
    labelled = masks[masks["class_id"] >= 0].pivot_table(index="image_id", columns="class_id", values="pixels",
                                                         aggfunc="sum", fill_value=0)
    labelled = labelled[labelled.sum(axis=1) > 0]
    shares = labelled.div(labelled.sum(axis=1), axis=0)                                 # images x classes
    rows = []
    for name, labels in groupings.items():
        named = labels[labels.ne("") & labels.index.isin(shares.index)]
        r2, icc = _explained(shares.loc[named.index].to_numpy(float), named.to_numpy(object))
        rows.append((name, named.nunique(), len(named), r2, icc))
    table = pd.DataFrame(rows, columns=["grouping", "groups", "images", "r2", "icc"])
    return table.sort_values(["icc", "grouping"], ascending=[False, True], ignore_index=True, na_position="last")


def near_duplicate_sensitivity(looks: pd.DataFrame, *, turns: bool = True,
                               distances: Sequence[int] = DISTANCES) -> pd.DataFrame:
    """What near-duplicates would join at each distance: pairs, clusters of two or more, images in them, the largest."""
    if not distances:
        raise GroupError("distances is empty; give the bits at which near-duplicates are counted, such as 3, 5, 8.")
    pairs = near_duplicate_pairs(looks, max_distance=max(distances), turns=turns)
    rows = []
    for distance in distances:
        near = pairs[pairs["distance"] <= distance]
        size = clusters(looks["image_id"], near).value_counts()
        size = size[size > 1]
        rows.append((distance, len(near), len(size), int(size.sum()), int(size.max()) if len(size) else 1))
    return pd.DataFrame(rows, columns=["distance", "pairs", "clusters", "images", "largest"])


def _told(image_ids: pd.Series, pattern: str) -> pd.Series:
    try:
        return name_groups(image_ids, pattern)
    except GroupError:                                         # it matches none of the names
        return pd.Series("", index=image_ids.index, dtype=object)


def _explained(shares: NDArray[np.float64], labels: NDArray[np.object_]) -> tuple[float, float]:
    n = len(labels)
    _, group, size = np.unique(labels.astype("str"), return_inverse=True, return_counts=True)
    k = len(size)
    if k < 2 or k >= n:
        return float("nan"), float("nan")
    mean = np.stack([np.bincount(group, weights=column) for column in shares.T], axis=1) / size[:, None]
    between = float((size[:, None] * (mean - shares.mean(0)) ** 2).sum())
    within = float(((shares - mean[group]) ** 2).sum())
    if between + within <= 0:
        return float("nan"), float("nan")
    ms_between, ms_within = between / (k - 1), within / (n - k)
    n0 = (n - float((size**2).sum()) / n) / (k - 1)
    return between / (between + within), (ms_between - ms_within) / (ms_between + (n0 - 1) * ms_within)
