"""Designs that are not one cross-validation: what they leave unsaid, and the intervals that cannot be had from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from segcv.statistics.estimate import THE_RECIPE, Estimate
from segcv.statistics.scored import ScoredImages

TORN = "groups are scored by several networks of one pass: the spread over networks cannot be told from that of groups"
SHARED = "folds share held-out images or groups: their scores are not independent"


@dataclass(frozen=True, slots=True)
class Design:
    """How the folds of one pass (repeat and seed) meet the images; all zero in a cross-validation."""

    images: int            # scored
    several_times: int     # images held out in more than one fold of a pass
    torn_groups: int       # groups scored in more than one fold of a pass
    never: int             # images that no fold holds out

    def cautions(self) -> tuple[str, ...]:
        """What a reader must know of it."""
        said = []
        if self.several_times:
            said.append(f"{self.several_times} of {self.images} images were held out in several folds: each image is "
                        "averaged over them first; pooled numbers weigh an image as often as it was held out")
        if self.torn_groups:
            said.append(f"{self.torn_groups} groups were scored in several folds of a pass: there is no interval over "
                        "folds and none of the recipe")
        if self.never:
            said.append(f"{self.never} of {self.images + self.never} images were never held out (excluded, or before "
                        "the first fold in time): the numbers are about the others")
        return tuple(said)


def design_of(scored: ScoredImages, images: pd.DataFrame | None) -> Design:
    """The Design that the scored rows show; without the images table, nothing is known of images never held out."""
    rows = scored.rows[["image_id", "group_id", "fold"]].assign(column=scored.column)

    def in_several_folds(unit: str) -> int:
        folds = rows.drop_duplicates(["column", unit, "fold"]).groupby(["column", unit]).size()
        return int(folds.gt(1).groupby(unit).any().sum())

    there = set(rows["image_id"])
    return Design(len(there), in_several_folds("image_id"), in_several_folds("group_id"),
                  0 if images is None else len(set(images["image_id"]) - there))


def of_these_models(targets: Mapping[str, tuple[Estimate, ...]]) -> dict[str, tuple[Estimate, ...]]:
    """The same Estimates, those of the recipe refused their interval: groups are torn over networks."""
    return {name: tuple(each.without_interval(TORN) if each.target.endswith(THE_RECIPE) else each for each in estimates)
            for name, estimates in targets.items()}
