"""Found predictions laid out as runs: for each candidate, repeat, fold and seed the images that it holds out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import numpy as np
import pandas as pd

from segcv.errors import ConfigError, ScoreError
from segcv.scoring.finding import match_images, refuse_missing
from segcv.tables import EXCLUDED, HELD_OUT, ROLES, TRAIN

SHOWN = 3


@dataclass(frozen=True, slots=True, eq=False)
class RunPlan:
    """One run of predictions made elsewhere: the rows it is scored on, sorted by image id, each with its `path`."""

    candidate: str
    repeat: int
    fold: int
    seed: int
    rows: pd.DataFrame               # images table with columns path and plane (of a volume; -1: the file is one image)
    left_alone: int                  # predictions of images that this run does not hold out


def plan_runs(found: pd.DataFrame, images: pd.DataFrame, *, roles: pd.DataFrame | None, where: str,
              name: str | None = None, repeat: int | None = None, fold: int | None = None,
              seed: int | None = None) -> list[RunPlan]:
    """The runs in `found` (see `find_predictions`), sorted by cell.

    With `roles` a run is scored on the images that its fold holds out; without, on all images, or, where `where` has a
    place for the fold, on those predicted in it, which must be each image once. `name`, `repeat`, `seed` and, with
    `roles`, `fold` say what `where` does not, and choose among what it does.

    Raises:
        ConfigError: a cell is not said, or said without effect.
        ScoreError: a prediction belongs to no image, or an image that is to be scored has none.
    """
    found = match_images(found, images, where=where)
    found = _named(found, where, name)
    found = _numbered(found, "seed", seed, otherwise=0, where=where)
    repeats = 1 if roles is None else int(roles["repeat"].max()) + 1
    if repeats > 1 and repeat is None and not found["repeat"].ne("").any():
        raise ConfigError(f"The split has {repeats} repeats, and {where} does not say which these predictions are of: "
                          "repeat=0, or a place {repeat} in the path.")
    found = _numbered(found, "repeat", repeat, otherwise=0, where=where)
    by_fold = bool(found["fold"].ne("").any())
    if roles is None and not by_fold:
        if fold is not None:
            raise ConfigError(f"fold={fold} has an effect with a split (split=NAME) or a place {{fold}} in the path.")
        found = found.assign(fold=0)
    elif by_fold:
        found = _numbered(found, "fold", None if roles is None else fold, otherwise=0, where=where)
    plans = []
    for (candidate, at_repeat, at_seed), rows in found.groupby(["candidate", "repeat", "seed"], sort=True):
        cell = int(str(at_repeat)), int(str(at_seed))
        held_out = _held_out(rows, images, roles, cell[0], fold, by_fold, where)
        for number, ids in held_out.items():
            mine = rows[rows["fold"].eq(number)] if by_fold else rows
            refuse_missing(ids, mine["image_id"], where=f"{where} (fold {number})" if len(held_out) > 1 else where)
            table = images.merge(mine[["image_id", "path", "plane"]], on="image_id")
            table = table[table["image_id"].isin(ids)].sort_values("image_id", ignore_index=True)
            _refuse_shared_files(table)
            table = table if "source_id" in table else table.assign(source_id="")
            plans.append(RunPlan(str(candidate), cell[0], number, cell[1], table, len(mine) - len(table)))
    return plans


def roles_of_plans(plans: Sequence[RunPlan], images: pd.DataFrame,
                   trained: Mapping[tuple[int, int], AbstractSet[str]]) -> pd.DataFrame:
    """The ROLES that the runs of one candidate tell: held out is what is scored, train what `trained` lists for each
    repeat and fold; the rest is excluded, because nobody knows.

    Raises:
        ScoreError: seeds are scored on other images, or the folds are not 0, 1, ...
    """
    scored: dict[tuple[int, int], set[str]] = {}
    for plan in plans:
        ids = set(plan.rows["image_id"])
        other = scored.setdefault((plan.repeat, plan.fold), ids) ^ ids
        if other:
            raise ScoreError(f"{plan.candidate}: the seeds of fold {plan.fold} predict other images ({min(other)} is "
                             "in one only). One fold holds out the same images for all seeds.")
    folds = sorted({fold for _, fold in scored})
    if folds != list(range(len(folds))):
        raise ScoreError(f"the predictions are of the folds {', '.join(map(str, folds))}, which are not 0, 1, ...: "
                         "some are missing. Hand in all, or name the split they belong to: split=NAME")
    parts = []
    for (repeat, fold), ids in sorted(scored.items()):
        listed = trained.get((repeat, fold), frozenset())
        role = np.select([images["image_id"].isin(ids), images["image_id"].isin(listed)], [HELD_OUT, TRAIN], EXCLUDED)
        parts.append(pd.DataFrame({
            "repeat": repeat, "fold": fold, "image_id": images["image_id"], "group_id": images["group_id"],
            "role": role, "reason": np.where(role == EXCLUDED, "not scored, and in no training list", "")}))
    return ROLES.check(pd.concat(parts, ignore_index=True), where="roles").sort_values(
        ["repeat", "fold", "image_id"], ignore_index=True)


def _held_out(rows: pd.DataFrame, images: pd.DataFrame, roles: pd.DataFrame | None, repeat: int, fold: int | None,
              by_fold: bool, where: str) -> dict[int, Sequence[str]]:
    """fold -> the ids it is to be scored on."""
    if roles is None:
        if by_fold:
            _refuse_twice(rows, where)
            refuse_missing(images["image_id"].tolist(), rows["image_id"], where=where)
            return {int(str(number)): sorted(inside["image_id"]) for number, inside in rows.groupby("fold", sort=True)}
        return {0: images["image_id"].tolist()}
    mine = roles[roles["repeat"].eq(repeat) & roles["role"].eq(HELD_OUT)]
    known = sorted(int(number) for number in mine["fold"].unique())
    wanted = sorted(int(number) for number in rows["fold"].unique()) if by_fold else known if fold is None else [fold]
    strange = [number for number in wanted if number not in known]
    if strange or not known:
        raise ScoreError(f"fold={strange[0] if strange else wanted} repeat={repeat} is not in the split, which holds "
                         f"folds {', '.join(map(str, known)) or 'none'} in that repeat.")
    return {number: mine.loc[mine["fold"].eq(number), "image_id"].tolist() for number in wanted}


def _refuse_shared_files(rows: pd.DataFrame) -> None:
    """A file is the prediction of one image; planes of one volume are told apart."""
    shared = rows[rows.duplicated(["path", "plane"], keep=False)].sort_values("path", kind="stable")
    if len(shared):
        same = shared[shared["path"].eq(shared["path"].iloc[0])]
        raise ScoreError(f"{same['path'].iloc[0]} is named as the prediction of {len(same)} images "
                         f"({', '.join(same['image_id'].iloc[:SHOWN])}), the same file for each. Each image has its "
                         "own.")


def _refuse_twice(rows: pd.DataFrame, where: str) -> None:
    twice = rows[rows["image_id"].duplicated(keep=False)].sort_values(["image_id", "fold"])
    if len(twice):
        name = twice["image_id"].iloc[0]
        folds = " and ".join(map(str, twice.loc[twice["image_id"] == name, "fold"]))
        raise ScoreError(f"{name} is predicted in the folds {folds} of {where} ({twice['image_id'].nunique()} such "
                         "images), and only the fold that held it out counts. Name the split: split=NAME")


def _named(found: pd.DataFrame, where: str, name: str | None) -> pd.DataFrame:
    if found["candidate"].ne("").any():
        if name is None:
            return found
        chosen = found[found["candidate"].eq(name)]
        if chosen.empty:
            there = ", ".join(sorted(found["candidate"].unique())[:SHOWN])
            raise ConfigError(f"name={name} is no candidate in {where}, which holds {there}.")
        return chosen
    if name is None:
        raise ConfigError("name must be given: what these predictions are called in reports, such as "
                          "name=unet_from_elsewhere")
    return found.assign(candidate=name)


def _numbered(found: pd.DataFrame, column: str, given: int | None, *, otherwise: int, where: str) -> pd.DataFrame:
    """`found` with numbers in `column`: those of the path, of which `given` chooses one; else `given`."""
    if not found[column].ne("").any():
        return found.assign(**{column: otherwise if given is None else given})
    numbers = found.assign(**{column: found[column].astype("int64")})
    if given is None:
        return numbers
    chosen = numbers[numbers[column].eq(given)]
    if chosen.empty:
        there = ", ".join(map(str, sorted(numbers[column].unique())))
        raise ConfigError(f"{column}={given} is not in {where}, which holds {there}.")
    return chosen
