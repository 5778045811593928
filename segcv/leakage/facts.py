"""Everything the checks may look at, in one bundle: tables only, rows in one order, None where nothing is known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from segcv.leakage.folds import Folds
from segcv.leakage.runs_read import RunFacts

Codes = NDArray[np.int64]
Kept = TypeVar("Kept")


@dataclass(frozen=True, slots=True, eq=False)
class Facts:
    """What is audited. Tables with a row per image are in the order of `images`; a check runs when its needs are met.

    `images.group_id` holds what the user gave, by column or name pattern; "" where nothing is given.
    """

    images: pd.DataFrame | None = None         # IMAGES with group_id
    profile: pd.DataFrame | None = None        # IMAGE_PROFILE with pixels_hash, labels_hash, orientation, ...
    masks: pd.DataFrame | None = None          # MASK_PROFILE
    looks: pd.DataFrame | None = None          # image_id, phash, flat, thumbnail
    georeferences: pd.DataFrame | None = None  # of GeoTIFFs: image_id, x, y, w, h, crs, unit, pixel_size
    folds: Folds | None = None
    ledger: pd.DataFrame | None = None         # fit_id, outer, group_id, role
    runs: tuple[RunFacts, ...] | None = None
    class_names: tuple[str, ...] = ()
    group_column: str = "group_id"             # how the user calls it
    locked_groups: tuple[str, ...] = ()
    max_distance: int | None = 5               # bits, of near-duplicates; None: not looked for
    turns: bool = True                         # near-duplicates also among flipped and turned copies
    overlaps: str | None = None                # shared ground told from pixels: blocks, landmarks; None: not looked for
    declared_levels: tuple[str, ...] = ()      # coarser id columns that the user says must stay whole
    _kept: dict[str, Any] = field(default_factory=dict, init=False)      # what several checks need, worked out once

    def once(self, name: str, work: Callable[[Facts], Kept]) -> Kept:
        """What `work` makes of these facts; later calls with the same name give the same again."""
        if name not in self._kept:
            self._kept[name] = work(self)
        return cast(Kept, self._kept[name])

    def known(self) -> set[str]:
        """Names of the parts that are there."""
        parts = ("images", "profile", "masks", "looks", "folds", "ledger", "runs")
        return {name for name in parts if getattr(self, name) is not None}

    @property
    def ids(self) -> NDArray[np.object_]:
        """The image ids."""
        assert self.images is not None
        return self.images["image_id"].to_numpy(dtype=object)


def facts_of(images: pd.DataFrame, *, profile: pd.DataFrame | None = None, masks: pd.DataFrame | None = None,
             looks: pd.DataFrame | None = None, **others: Any) -> Facts:
    """Facts whose per-image tables are put into the order of `images`."""
    if "group_id" not in images.columns:
        images = images.assign(group_id="")
    images = images.reset_index(drop=True)
    return Facts(images=images, profile=_ordered(profile, images), masks=masks, looks=_ordered(looks, images), **others)


def codes_of(values: pd.Series) -> Codes:
    """A whole number per distinct text, from 0 on; -1 for blanks."""
    text = values.astype("str")
    codes = np.asarray(pd.factorize(text)[0], np.int64)
    return np.where(text.eq("").to_numpy(), -1, codes)


def whole_in_a_group(code: Codes, group: Codes) -> NDArray[np.bool_]:
    """Images whose code occurs in one given group only (both >= 0): the group speaks for them."""
    size = int(code.max()) + 1 if len(code) else 0
    inside = code >= 0
    low, high = np.full(size + 1, np.iinfo(np.int64).max), np.full(size + 1, -1, np.int64)
    np.minimum.at(low, code[inside], group[inside])
    np.maximum.at(high, code[inside], group[inside])
    return np.asarray(inside & ((low == high) & (low >= 0))[code], bool)


def _ordered(table: pd.DataFrame | None, images: pd.DataFrame) -> pd.DataFrame | None:
    if table is None:
        return None
    if len(table) == len(images) and np.array_equal(table["image_id"].to_numpy(object),
                                                    images["image_id"].to_numpy(object)):
        return table.reset_index(drop=True)
    return images[["image_id"]].merge(table, on="image_id", how="left", validate="one_to_one")
