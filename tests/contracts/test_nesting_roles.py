"""What the nested protocol refuses, what it falls back to, and why choosing inside is not judging."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import product
from typing import Any

import pandas as pd
import pytest

from segcv.errors import ScoreError, SplitError
from segcv.nesting import (
    FitPlan,
    Ledger,
    Parts,
    RoleRows,
    chosen,
    plan_nested,
    refuse_shared_groups,
    run_fit,
    run_nested,
)

ROWS = pd.DataFrame({"image_id": ["a1", "b1", "c1", "d1", "d2"], "group_id": ["a", "b", "c", "d", "d"]})
PLAN = FitPlan(0, None, Parts(base=("a",), calibration=("b",), judged=("d",)))


class Spy:
    """Reads what it is given and answers with fixed losses."""

    calibrates = True

    def __init__(self, name: str = "spy", losses: Mapping[str, Fraction] | None = None) -> None:
        self.name, self.answers, self.given = name, losses or {}, []

    def fit(self, base: RoleRows, *, fit_id: str) -> Any:
        self.given.append(("B", base.read()["image_id"].tolist()))

    def calibrate(self, model: Any, calibration: RoleRows, *, fit_id: str) -> Any:
        self.given.append(("C", calibration.read()["image_id"].tolist()))

    def losses(self, composite: Any, judged: RoleRows, *, fit_id: str) -> dict[str, Fraction]:
        self.given.append((judged.role, judged.read()["image_id"].tolist()))
        return {group: self.answers.get(group, Fraction(0)) for group in judged.groups}


def test_each_step_is_given_the_rows_of_its_role_and_no_others():
    spy = Spy()

    run_fit(PLAN, spy, ROWS, fallback=Spy("fallback"))

    assert spy.given == [("B", ["a1"]), ("C", ["b1"]), ("O", ["d1", "d2"])]


@pytest.mark.parametrize(("parts", "unfit", "reason"), [
    (Parts((), ("b",), ("d",)), None, "no group is left for the base fit (B)"),
    (Parts(("a",), (), ("d",)), None, "no group is left for the calibration (C)"),
    (Parts(("a",), ("b",), ("d",)), lambda base, calibration: "class 2 is missing", "class 2 is missing"),
])
def test_where_a_part_does_not_do_the_fallback_answers_and_says_why(parts: Parts, unfit: Any, reason: str):
    spy, fallback = Spy(), Spy("fallback", {"d": Fraction(1)})

    outcome = run_fit(FitPlan(0, None, parts), spy, ROWS, fallback=fallback, unfit=unfit)

    assert spy.given == [] and outcome.fallback == reason
    assert outcome.losses == {"d": 1}
    trained = ROWS[ROWS["group_id"].isin([*parts.base, *parts.calibration])]
    assert fallback.given == [("B", trained["image_id"].tolist()), ("O", ["d1", "d2"])]
    assert (outcome.counts.base_fits, outcome.counts.calibrations, outcome.counts.fallbacks) == (0, 0, 1)


def test_a_pipeline_that_opens_an_image_of_another_role_is_stopped():
    class Greedy(Spy):
        def fit(self, base: RoleRows, *, fit_id: str) -> Any:
            base.seen(["a1", "d1"])

    with pytest.raises(SplitError, match="opened d1 as B"):
        run_fit(PLAN, Greedy(), ROWS, fallback=Spy())


def test_losses_must_come_for_exactly_the_judged_groups():
    class Silent(Spy):
        def losses(self, composite: Any, judged: RoleRows, *, fit_id: str) -> dict[str, Fraction]:
            return {}

    with pytest.raises(ScoreError, match="1 groups and came for 0"):
        run_fit(PLAN, Silent(), ROWS, fallback=Spy())


def test_a_group_cannot_play_two_parts_in_a_fit():
    with pytest.raises(SplitError, match="groups b would play two parts"):
        Parts(("a", "b"), ("b",), ("c",))


@pytest.mark.parametrize(("first", "second", "told"), [
    (("outer-0/final/m", "B", None), ("outer-0/final/m", "O", None), "roles B and O in the fit outer-0/final/m"),
    (("outer-0/inner-0/m", "V", 0), ("outer-0/final/m", "O", None), "used before it as V in the fit outer-0/inner-0/m"),
])
def test_the_ledger_shows_a_group_in_two_parts(first: Any, second: Any, told: str):
    ledger = Ledger()
    for fit_id, role, inner in (first, second):
        ledger.note(fit_id, role=role, outer=0, inner=inner, candidate="m", groups=["g"])

    with pytest.raises(SplitError, match=told):
        refuse_shared_groups(ledger.table())


def test_a_group_may_have_other_roles_in_other_outer_folds():
    """The point of cross-validation: judged in one outer fold, trained on in another."""
    ledger = Ledger()
    ledger.note("outer-0/final/m", role="O", outer=0, inner=None, candidate="m", groups=["g"])
    ledger.note("outer-1/final/m", role="B", outer=1, inner=None, candidate="m", groups=["g"])

    refuse_shared_groups(ledger.table())


def test_candidates_judged_on_different_groups_are_not_compared():
    with pytest.raises(ScoreError, match="judged on different groups"):
        chosen({"a": {"g": 0.1}, "b": {"h": 0.1}})


def test_an_undefined_loss_is_not_chosen_over():
    with pytest.raises(ScoreError, match="has no loss on group g"):
        chosen({"a": {"g": float("nan")}, "b": {"g": 0.1}})


def test_the_best_inner_score_of_worthless_candidates_is_too_good_and_the_outer_score_is_not():
    """Two candidates guess by fair coins on one inner and one outer point. Over all 16 outcomes, by hand: the smaller
    inner loss is 1 only if both guess wrong, 1/4 on average; the outer loss of the chosen is a coin, 1/2."""
    best, outer = [], []
    plan = plan_nested({0: ["a", "b", "v"]}, {0: ["o"]}, inner=lambda groups, fold: [["v"]],
                       halves=lambda groups, name: (groups[:1], groups[1:]))
    rows = pd.DataFrame({"image_id": ["1", "2", "3", "4"], "group_id": ["a", "b", "v", "o"]})
    for guesses in product([Fraction(0), Fraction(1)], repeat=4):
        tried = [Spy("first", {"v": guesses[0], "o": guesses[1]}), Spy("second", {"v": guesses[2], "o": guesses[3]})]
        result = run_nested(plan, tried, lambda fit, spy: run_fit(fit, spy, rows, fallback=Spy("fallback")))
        best.append(result.folds[0].choice.inner_mean)
        outer.append(result.mean_loss)

    assert sum(best) / 16 == Fraction(1, 4)
    assert sum(outer) / 16 == Fraction(1, 2)
