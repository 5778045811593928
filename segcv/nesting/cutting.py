"""How the training groups of an outer fold are cut: inner folds, base fit and calibration."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from segcv.errors import SplitError
from segcv.nesting.plan import Halves, InnerFolds
from segcv.splits import cut_roles, inner_holdout
from segcv.tables import HELD_OUT, stream

TRIES = 32      # draws of calibration groups, until both parts hold every class of the training groups


def balanced_inner_folds(images: pd.DataFrame, masks: pd.DataFrame, *, folds: int, seed: int,
                         class_names: Sequence[str]) -> InnerFolds:
    """Inner folds of whole groups, balanced on class pixels, drawn anew for each outer fold from `seed`."""
    def cut(groups: Sequence[str], outer: int) -> list[list[str]]:
        if len(groups) < folds:
            raise SplitError(f"outer fold {outer} has {len(groups)} training groups, and inner.folds={folds} needs at "
                             f"least {folds}. Use inner.folds={max(2, len(groups))}.")
        inside = images[images["group_id"].isin(groups)].reset_index(drop=True)
        roles = cut_roles(inside, masks[masks["image_id"].isin(inside["image_id"])], splitter="balanced_group_kfold",
                          folds=folds, repeats=1, seed=stream(seed, "inner", outer), class_names=class_names)
        judged = roles[roles["role"].eq(HELD_OUT)].drop_duplicates(["fold", "group_id"])
        return [sorted(judged.loc[judged["fold"].eq(fold), "group_id"]) for fold in range(folds)]
    return cut


def drawn_halves(images: pd.DataFrame, masks: pd.DataFrame, *, share: float, seed: int) -> Halves:
    """Base fit and calibration: whole groups with about `share` of the images for calibration, none when it is 0.

    Of up to 32 draws the first is taken in which both parts hold every class that the groups have, so that a rare class
    is not lost by chance. Only labels of these groups are looked at.
    """
    def cut(groups: Sequence[str], name: str) -> tuple[list[str], list[str]]:
        if share == 0 or len(groups) < 2:
            return list(groups), []
        rows = images[images["group_id"].isin(groups)].reset_index(drop=True)
        first = None
        for draw in range(TRIES):
            rng = np.random.default_rng(stream(seed, "calibration", name, draw))
            base, calibration = inner_holdout(rows, share=share, rng=rng)
            parts = sorted(base["group_id"].unique()), sorted(calibration["group_id"].unique())
            first = first or parts
            wanted = _classes(masks, rows)
            if wanted == _classes(masks, base) == _classes(masks, calibration):
                return parts
        assert first is not None
        return first
    return cut


def missing_class(masks: pd.DataFrame, class_names: Sequence[str], *,
                  calibrates: bool) -> Callable[[pd.DataFrame, pd.DataFrame], str]:
    """Why B and C do not do: a class that their groups have and one of the two parts lacks; "" when both hold all."""
    def reason(base: pd.DataFrame, calibration: pd.DataFrame) -> str:
        parts = [("base fit (B)", _classes(masks, base))]
        if calibrates:
            parts.append(("calibration (C)", _classes(masks, calibration)))
        wanted = set().union(*(classes for _, classes in parts))
        for part, classes in parts:
            if lacking := sorted(wanted - classes):
                return f"class {class_names[lacking[0]]} is in no mask of the {part}"
        return ""
    return reason


def _classes(masks: pd.DataFrame, rows: pd.DataFrame) -> set[int]:
    mine = masks[masks["image_id"].isin(rows["image_id"]) & masks["class_id"].ge(0) & masks["pixels"].gt(0)]
    return set(mine["class_id"])
