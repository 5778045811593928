"""What to do next, each piece tied to the evidence that triggers it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from segcv.statistics.components import Components
from segcv.statistics.diagnosis import ACTIONS, COLLECT, HALF, SPLIT, STABILISE, SUBGROUPS, SURE, Diagnosis
from segcv.statistics.estimate import Estimate
from segcv.statistics.intervals import FEW_GROUPS, FEWEST_GROUPS, LARGEST_SHARE
from segcv.statistics.permutation import PermutationTest
from segcv.statistics.planning import spread_of
from segcv.statistics.shift import FeatureTests
from segcv.statistics.spread import binding

STABLE = 0.5                   # rank correlation of group difficulty between columns
HOW = {
    STABILISE: "train longer or with a smoother schedule, average the networks of several seeds, compare by more seeds",
    SUBGROUPS: "open the lowest groups in the report, test what they share (size, classes, light, time)",
    SPLIT: "cut balanced folds (split=balanced_group_kfold), keep groups whole, check how group ids were formed",
    COLLECT: "label more groups rather than more images of the same groups; plan how many: python -m segcv.plan",
}


@dataclass(frozen=True, slots=True)
class Advice:
    """One action, the evidence that speaks for it, and how to go about it."""

    action: str
    because: tuple[str, ...]
    how: str


def advise(
    components: Components | None, *, diagnoses: Sequence[Diagnosis] = (), groups_test: PermutationTest | None = None,
    folds_test: PermutationTest | None = None, features: FeatureTests | None = None,
    stability: Estimate | None = None, effective_groups: float | None = None, largest_share: float | None = None,
) -> tuple[Advice, ...]:
    """The actions that something speaks for, those with the most evidence first; empty when nothing does."""
    because: dict[str, list[str]] = {action: [] for action in ACTIONS}
    for found in diagnoses:
        for action in found.actions:
            because[action].append(f"{found.what} ({found.evidence})")
    if components is not None:
        for action, why in _of_components(components):
            because[action].append(why)
    if groups_test is not None and groups_test.p_value < SURE:
        if stability is not None and stability.value >= STABLE:
            because[SUBGROUPS].append("the same groups are hard in every column: rank correlation "
                                      f"{stability.value:.2f}, and groups differ (p = {groups_test.p_value:.4f})")
        if features is not None:
            because[SUBGROUPS] += [f"group scores go with {row['feature']}: rank correlation "
                                   f"{row['rank_correlation']:.2f}, Holm-adjusted p = {row['p_holm']:.4f}"
                                   for row in features.table.to_dict("records") if row["p_holm"] < SURE]
    if folds_test is not None and folds_test.p_value < SURE:
        because[SPLIT].append(f"folds differ beyond their groups (p = {folds_test.p_value:.4f})")
    if largest_share is not None and largest_share > LARGEST_SHARE:
        because[SPLIT].append(f"one group holds {largest_share:.0%} of the images: its fold is not like the others")
        because[COLLECT].append(f"one group holds {largest_share:.0%} of the images")
    if effective_groups is not None and effective_groups < FEWEST_GROUPS:
        because[COLLECT].append(f"by images the groups weigh like {effective_groups:.1f} equal ones")
    given = [Advice(action, tuple(dict.fromkeys(why)), HOW[action]) for action, why in because.items() if why]
    return tuple(sorted(given, key=lambda each: -len(each.because)))


def next_step(components: Components) -> str:
    """One sentence: more seeds, more groups, or a sub-group analysis, and the reason."""
    model, group = components.shares["model"], components.shares["group"]
    if not np.isfinite(model.value):
        return f"Next: {model.note}; until then the spread over folds cannot be told apart."
    spread = spread_of(components)
    binds = binding(spread, groups=components.groups, columns=components.columns)
    by_groups = (spread.group + spread.interaction / components.columns) / components.groups
    by_models = max(0.0, spread.model) / (components.folds * components.columns)
    reason = (f"the groups add {np.sqrt(max(0.0, by_groups)):.4f} to the standard error of the recipe's mean, the "
              f"models {np.sqrt(by_models):.4f}")
    if binds == "models":
        return f"Next: more seeds or repeats, because {reason}."
    if group.value >= HALF and components.groups >= FEW_GROUPS:
        return (f"Next: a sub-group analysis, then more groups, because {reason}, and differences between groups are "
                f"{group.value:.0%} of the spread over folds.")
    return f"Next: more groups, because {reason}."


def _of_components(components: Components) -> list[tuple[str, str]]:
    model = components.shares["model"]
    if components.groups < FEW_GROUPS:
        return [(COLLECT, f"only {components.groups} groups")]
    if not np.isfinite(model.value):
        return []
    binds = binding(spread_of(components), groups=components.groups, columns=components.columns)
    if binds == "models" and model.value >= HALF:
        return [(STABILISE, f"the networks are {model.value:.0%} ({model.low:.0%} to {model.high:.0%}) of the spread "
                            "over folds and limit the recipe's interval")]
    if binds == "groups":
        return [(COLLECT, next_step(components).removeprefix("Next: ").rstrip("."))]
    return []

