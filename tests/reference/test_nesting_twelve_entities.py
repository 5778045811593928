"""The nested protocol on a published-by-hand example: twelve entities, two candidates, exact fractions."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pandas as pd
import pytest

from segcv.nesting import FitPlan, RoleRows, plan_final, plan_nested, run_fit, run_fold, run_nested, take_turns

ENTITIES = "ABCDEFGHIJKL"
X = dict(zip(ENTITIES, [0, 1] * 6, strict=True))
Y = dict(zip(ENTITIES, [1, 1, 1, 1, 0, 1, 1, 1, 0, 1, 0, 1], strict=True))
HALF = Fraction(1, 2)


def rows() -> pd.DataFrame:
    """Two equal rows for each entity."""
    return pd.DataFrame([{"image_id": f"{name}{copy}", "group_id": name, "x": X[name], "y": Y[name]}
                         for name in ENTITIES for copy in (1, 2)])


class Smoothed:
    """Add-one smoothed rate of y over entities, all or within each x; calibrated as q = 1/2 + a (p - 1/2)."""

    calibrates = True

    def __init__(self, name: str, *, by_x: bool) -> None:
        self.name, self.by_x = name, by_x
        self.probabilities = {"V": 0, "O": 0, "C": 0}

    def fit(self, base: RoleRows, *, fit_id: str) -> dict[int, Fraction]:
        table = base.read().drop_duplicates("group_id")           # an entity counts once, whatever its rows
        rate = {}
        for x in (0, 1):
            y = table.loc[table["x"].eq(x), "y"] if self.by_x else table["y"]
            rate[x] = Fraction(int(y.sum()) + 1, len(y) + 2)
        return rate

    def calibrate(self, model: dict[int, Fraction], calibration: RoleRows, *, fit_id: str) -> Any:
        table = calibration.read()
        self.probabilities["C"] += table["group_id"].nunique()
        d = [model[x] - HALF for x in table["x"]]
        below = sum(value * value for value in d)
        above = sum(value * (y - HALF) for value, y in zip(d, table["y"].tolist(), strict=True))
        a = min(max(above / below, Fraction(0)), Fraction(1)) if below else Fraction(0)
        return {x: HALF + a * (p - HALF) for x, p in model.items()}

    def losses(self, composite: dict[int, Fraction], judged: RoleRows, *, fit_id: str) -> dict[str, Fraction]:
        table = judged.read()
        self.probabilities[judged.role] += table["group_id"].nunique()
        squared = {group: [(composite[x] - y) ** 2 for x, y in zip(part["x"].tolist(), part["y"].tolist(), strict=True)]
                   for group, part in table.groupby("group_id")}
        return {group: sum(values, start=Fraction(0)) / len(values) for group, values in squared.items()}


def halves(groups: Any, name: str) -> tuple[list[str], list[str]]:
    middle = len(groups) // 2
    return list(groups[:middle]), list(groups[middle:])


def inner(groups: Any, outer: int) -> list[list[str]]:
    return take_turns(groups, 2)


def candidates() -> list[Smoothed]:
    return [Smoothed("constant", by_x=False), Smoothed("binned", by_x=True)]


def mean(losses: dict[str, Fraction]) -> Fraction:
    return sum(losses.values(), Fraction(0)) / len(losses)


def run_with(inner_means: dict[str, Fraction]) -> Any:
    def run(plan: FitPlan, pipeline: Any) -> Any:
        outcome = run_fit(plan, pipeline, rows(), fallback=pipeline)
        if plan.inner is not None:
            inner_means[f"{plan.name}/{pipeline.name}"] = mean(outcome.losses)
        return outcome
    return run


def test_the_nested_estimate_of_the_example_in_exact_fractions():
    """Fractions worked by hand from the rule: inner losses, choices, outer means, total, and the fit counts."""
    outer = {0: list("ABCD"), 1: list("EFGH"), 2: list("IJKL")}
    train = {k: [name for name in ENTITIES if name not in outer[k]] for k in outer}
    plan = plan_nested(train, outer, inner=inner, halves=halves)
    inner_means: dict[str, Fraction] = {}
    tried = candidates()

    result = run_nested(plan, tried, run_with(inner_means))

    assert [inner_means[f"outer-{k}/inner-{j}/{name}"] for k in range(3) for j in range(2)
            for name in ("constant", "binned")] == [
        Fraction(1, 4), Fraction(7, 36), Fraction(1, 4), Fraction(1, 4),
        Fraction(1, 4), Fraction(5, 18), Fraction(5, 16), Fraction(5, 18),
        Fraction(1, 4), Fraction(1, 4), Fraction(3, 16), Fraction(7, 36)]
    assert [fold.choice.candidate for fold in result.folds] == ["binned", "binned", "constant"]
    assert [mean(fold.losses) for fold in result.folds] == [
        Fraction(5, 32), Fraction(1, 4), Fraction(5, 16)]
    assert result.mean_loss == Fraction(23, 96)
    assert (result.counts.base_fits, result.counts.calibrations) == (15, 15) == (plan.fits(2), plan.fits(2))
    assert sum(pipeline.probabilities["V"] for pipeline in tried) == 48
    assert sum(pipeline.probabilities["O"] for pipeline in tried) == 12
    assert sum(pipeline.probabilities["C"] for pipeline in tried) == 36


def test_with_the_delivered_model_on_all_twelve_there_are_forty_fits():
    """By hand: 30 fits of the nested protocol; inner halves of six make 2 x 2 base fits and the refit one, each with
    its calibration: 10 more. The refit has A-F for the base fit and G-L for calibration."""
    plan = plan_final(list(ENTITIES), inner=inner, halves=halves)

    result, counts, ledger = run_fold(plan, candidates(), run_with({}))

    assert counts.base_fits + counts.calibrations + 30 == 40
    assert (plan.final.parts.base, plan.final.parts.calibration) == (tuple("ABCDEF"), tuple("GHIJKL"))
    assert [len(fit.parts.base) for fit in plan.inner] == [3, 3] == [len(fit.parts.calibration) for fit in plan.inner]
    assert result.losses == {} and "O" not in set(ledger["role"])


def test_a_tie_goes_to_the_first_declared():
    """Two candidates that are the same have the same losses; by the protocol the first declared one is taken."""
    outer = {0: list("ABCD"), 1: list("EFGHIJKL")}
    train = {0: list("EFGHIJKL"), 1: list("ABCD")}
    plan = plan_nested(train, outer, inner=inner, halves=halves)

    result = run_nested(plan, [Smoothed("second", by_x=True), Smoothed("again", by_x=True)], run_with({}))

    assert [fold.choice.candidate for fold in result.folds] == ["second", "second"]
    assert [fold.choice.margin for fold in result.folds] == [0, 0]


def test_the_outer_mean_weighs_groups_and_not_folds():
    """By hand: losses 0, 0, 0, 1 in folds of three and one group give 1/4, not the mean of the fold means, 1/2."""
    outer = {0: list("ABC"), 1: list("D")}
    train = {0: list("EFGH"), 1: list("EFGH")}
    plan = plan_nested(train, outer, inner=inner, halves=halves)

    class Fixed(Smoothed):
        def losses(self, composite: Any, judged: RoleRows, *, fit_id: str) -> dict[str, Fraction]:
            return {group: Fraction(int(group == "D")) for group in judged.read()["group_id"].unique()}

    result = run_nested(plan, [Fixed("fixed", by_x=False)], run_with({}))

    assert result.mean_loss == Fraction(1, 4)


@pytest.mark.parametrize("inner_number", [0, 1])
def test_every_row_of_the_ledger_was_read(inner_number: int):
    """Two rows an entity; in an inner fold four entities are judged, two fit, two calibrate."""
    outer = {0: list("ABCD"), 1: list("EFGH"), 2: list("IJKL")}
    train = {k: [name for name in ENTITIES if name not in outer[k]] for k in outer}

    ledger = run_nested(plan_nested(train, outer, inner=inner, halves=halves), candidates(), run_with({})).ledger

    fit = ledger[ledger["fit_id"].eq(f"outer-1/inner-{inner_number}/binned")]
    judged = list("ABCD") if inner_number == 0 else list("IJKL")
    rest = [name for name in "ABCDIJKL" if name not in judged]
    assert dict(zip(fit["group_id"], fit["role"], strict=True)) == (
        dict.fromkeys(judged, "V") | dict.fromkeys(rest[:2], "B") | dict.fromkeys(rest[2:], "C"))
    assert set(fit["rows"]) == {2}
