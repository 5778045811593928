"""One candidate's scores on an external cohort: what its frozen models do there, and what was lost on the way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from segcv.errors import ConfigError
from segcv.metrics import Counts, Policy, image_scores
from segcv.statistics.by_group import GroupScores, group_pooled_scores, group_scores
from segcv.statistics.estimate import Estimate
from segcv.statistics.external import external_drop, frozen_estimates
from segcv.statistics.scored import Floats, ScoredImages

UNITS = {"iou": "mIoU", "dice": "mean Dice"}
ONE = ("It is valid for this model: one network, trained once. Another seed of the same recipe is another model; only "
       "the groups are random here.")
MANY = ("It is valid for these {networks} networks, averaged; only the groups are random here. Hoeffding's bound is "
        "exact for one frozen model alone.")


@dataclass(frozen=True, slots=True)
class Cohort:
    """What is known of frozen models on groups that no fold was cut from.

    `targets` maps equal_group and group_pooled to four Estimates for these models: bootstrap-t, Student t, Gaffke, and
    Hoeffding, which is exact for one frozen model and independent groups. `drop` maps the same names to the
    cross-validated mean minus the one here; empty without a cross-validation. `valid_for` says for whom all this is.
    """

    networks: int
    groups: int
    images: int
    targets: dict[str, tuple[Estimate, ...]]
    drop: dict[str, Estimate]
    valid_for: str


def cohort(
    outside: ScoredImages, *, inside: ScoredImages | None = None, metric: str = "iou", policy: Policy = "union",
    level: float = 0.95, seed: int = 0,
) -> Cohort:
    """What frozen models score on an external cohort, and the drop to it from the cross-validation `inside`.

    Raises:
        ConfigError: `outside` has folds, shares a group with `inside`, or has other classes.
    """
    if outside.folds > 1 or outside.repeats > 1:
        raise ConfigError(f"These scores have {outside.folds} folds and {outside.repeats} repeats: they are a "
                          "cross-validation. A frozen model sees the whole cohort: python -m segcv.evaluate "
                          "data.external=TABLE predictions=FOLDER name=NAME")
    if inside is not None and inside.class_names != outside.class_names:
        raise ConfigError(f"The cross-validation scores the classes {', '.join(inside.class_names)}, the external "
                          f"cohort {', '.join(outside.class_names)}: a drop would mix the two. Score both under one "
                          "label map.")
    unit = UNITS.get(metric, f"mean {metric}")

    def rows(counts: Counts) -> Floats:
        return image_scores(counts, metric=metric, policy=policy)

    there = _means(outside, rows)
    networks = outside.columns
    targets: dict[str, tuple[Estimate, ...]] = {
        name: frozen_estimates(table, unit=unit, target=name, level=level, seed=seed) for name, table in there.items()}
    drop = {} if inside is None else {
        name: external_drop(table, there[name], unit=unit, target=name, level=level)
        for name, table in _means(inside, rows).items()}
    return Cohort(networks, len(there["equal_group"].group_ids), int(outside.rows["image_id"].nunique()), targets, drop,
                  ONE if networks == 1 else MANY.format(networks=networks))


def _means(scored: ScoredImages, rows: Callable[[Counts], Floats]) -> dict[str, GroupScores]:
    """Each group once: the mean of its images, and from its summed pixels."""
    return {"equal_group": group_scores(scored, rows(scored.counts)), "group_pooled": group_pooled_scores(scored, rows)}
