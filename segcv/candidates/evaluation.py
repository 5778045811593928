"""A nested evaluation, or the delivered model's fits, as settings describe it: where it lies and what is planned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from segcv.errors import ConfigError
from segcv.nesting import (
    FitPlan,
    Halves,
    InnerFolds,
    NestedPlan,
    balanced_inner_folds,
    drawn_halves,
    plan_final,
    plan_nested,
)
from segcv.scoring import refuse_overlaps
from segcv.settings import NestedCommand
from segcv.study import Study, open_study
from segcv.tables import HELD_OUT, TRAIN, Progress, file_id, fingerprint, quiet, stream

NOT_PART_OF_THE_CONFIG = ("candidates", "splits", "cache", "cache_gb", "workers", "device", "slots", "retries", "fit",
                          "level", "nested", "name", "seed")
FALLBACKS = ("majority", "uncalibrated")


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A nested evaluation: where it lies, its candidates in declared order, and what each outer repeat plans."""

    home: Path
    config_id: str
    settings: NestedCommand
    candidates: dict[str, NestedCommand]
    study: Study
    plans: dict[int, NestedPlan]               # repeat -> plan

    def folder(self, repeat: int, fit: FitPlan, candidate: str) -> Path:
        """Where the files of one fit lie."""
        return self.home / "fits" / f"repeat-{repeat}" / fit.name / candidate

    def rows(self, repeat: int, fit: FitPlan) -> pd.DataFrame:
        """The images that a fit may see: those that its outer fold trains on or holds out, not the ones that the split
        leaves out of it (a buffer, max_per_group); of the delivered model see `delivered_rows`."""
        images, roles = self.study.split.images, self.study.split.roles
        if fit.outer < 0:
            rows = delivered_rows(roles)
        else:
            rows = roles[roles["repeat"].eq(repeat) & roles["fold"].eq(fit.outer)
                         & roles["role"].isin([TRAIN, HELD_OUT])]
        return images[images["image_id"].isin(rows["image_id"])].reset_index(drop=True)


def open_evaluation(settings: NestedCommand, candidates: dict[str, NestedCommand], *, plain: Mapping[str, Any],
                    delivered: bool = False, progress: Progress = quiet) -> Evaluation:
    """The evaluation that the settings describe; everything that can be refused is refused here.

    `plain` holds each candidate's settings as plain dicts, from which the evaluation's id is made. `delivered`: the
    plan is that of the model made from all groups, not of the outer folds.
    """
    refuse_settings(settings, candidates)
    study = open_study(settings.data, settings.group, settings.split, splits=Path(settings.splits),
                       cache=Path(settings.cache), progress=progress)
    refuse_overlaps(study.split.images, why="here each patch is scored by itself. Take patches that do not overlap, or "
                                            "use python -m segcv.train, which puts them together on their source")
    tried = {name: {key: value for key, value in plain[name].items() if key not in NOT_PART_OF_THE_CONFIG}
             for name in candidates}
    for name, config in tried.items():
        if (first := candidates[name].model.weights_file) is not None:
            config["model"] = {**config["model"], "weights_file": file_id(Path(first))}
        config["data"] = {"data_id": study.split.data_id, "nodata": settings.data.nodata}
        config["split"], config["group"] = {"split_id": study.split.split_id}, {}
    config_id = fingerprint([list(tried), tried, settings.seed], length=8)
    home = Path(settings.nested) / f"{settings.name}-{config_id}"
    plans = delivered_plan(settings, study) if delivered else outer_plans(settings, study)
    return Evaluation(home, config_id, settings, candidates, study, plans)


def outer_plans(settings: NestedCommand, study: Study) -> dict[int, NestedPlan]:
    """Repeat -> plan of all fits under that partition."""
    roles, plans = study.split.roles, {}
    for repeat in sorted(roles["repeat"].unique().tolist()):
        here = roles[roles["repeat"].eq(repeat)]
        folds = sorted(here["fold"].unique().tolist())
        train, held_out = ({fold: sorted(here.loc[here["fold"].eq(fold) & here["role"].eq(role), "group_id"].unique())
                            for fold in folds} for role in (TRAIN, HELD_OUT))
        inner, halves = _cuts(settings, study, repeat)
        plans[repeat] = plan_nested(train, held_out, inner=inner, halves=halves)
    return plans


def delivered_plan(settings: NestedCommand, study: Study) -> dict[int, NestedPlan]:
    """The plan of the model that is delivered, on all groups; locked groups stay out."""
    groups = sorted(delivered_rows(study.split.roles)["group_id"].unique())
    inner, halves = _cuts(settings, study, 0)
    return {0: NestedPlan((plan_final(groups, inner=inner, halves=halves),))}


def delivered_rows(roles: pd.DataFrame) -> pd.DataFrame:
    """The roles of images that the delivered model may be made from: all that any fold trains on, and of groups that
    no fold trains on (the latest ones of rolling origin) all that any holds out."""
    trained = roles[roles["role"].eq(TRAIN)]
    latest = roles[roles["role"].eq(HELD_OUT) & ~roles["group_id"].isin(trained["group_id"])]
    return pd.concat([trained, latest]).drop_duplicates("image_id")


def _cuts(settings: NestedCommand, study: Study, repeat: int) -> tuple[InnerFolds, Halves]:
    images, masks, seed = study.split.used_images, study.split.masks, stream(settings.split.seed, "nested", repeat)
    return (balanced_inner_folds(images, masks, folds=settings.inner.folds, seed=seed, class_names=study.labels.names),
            drawn_halves(images, masks, share=settings.inner.calibration_share, seed=seed))


def refuse_settings(settings: NestedCommand, candidates: Mapping[str, NestedCommand]) -> None:
    """Refuse what can be refused before anything is read."""
    if settings.fallback not in FALLBACKS:
        raise ConfigError(f"fallback={settings.fallback} is not known; use one of {', '.join(FALLBACKS)}.")
    if settings.split.bootstrap:
        raise ConfigError("split.bootstrap=true has no effect here: a nested evaluation trains on each group once. Use "
                          "split.repeats=3 for outer repeats, or leave it out.")
    if settings.inner.folds < 2:
        raise ConfigError(f"inner.folds={settings.inner.folds} must be 2 or more.")
    if not 0 <= settings.inner.calibration_share < 1:
        raise ConfigError(f"inner.calibration_share={settings.inner.calibration_share} must lie between 0 and 1.")
    for name, one in candidates.items():
        if one.model.weights_file is not None and not Path(one.model.weights_file).is_file():
            raise ConfigError(f"candidate {name}: model.weights_file={one.model.weights_file}: there is no such file.")
        if one.trainer.command is not None:
            raise ConfigError(f"candidate {name}: trainer.command runs in python -m segcv.train only; here each "
                              "candidate is fitted and calibrated by segcv.")
        if one.trainer.stopping != "fixed":
            raise ConfigError(f"candidate {name}: trainer.stopping={one.trainer.stopping} would hold out groups a "
                              "third time; a nested evaluation trains fixed epochs. Make their number part of the "
                              "candidates: 'candidates=[{short:[\"trainer.epochs=5\"]},unet_small]'.")
        calibrates = one.calibration.method != "none" or one.calibration.threshold != "none"
        if calibrates and one.inner.calibration_share == 0:
            raise ConfigError(f"candidate {name}: calibration.method={one.calibration.method} needs groups to "
                              "calibrate on, and inner.calibration_share is 0. Use inner.calibration_share=0.25.")
