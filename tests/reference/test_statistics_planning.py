"""How many groups and seeds: the figures of the methods page, scipy's noncentral t, and what binds."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from tiny_spread import tiny_spread

from segcv.errors import ConfigError, RunError
from segcv.statistics import (
    Spread,
    compare,
    decompose,
    designs,
    detectable,
    detectable_difference,
    half_width,
    plan,
    spread_of,
    spread_of_difference,
)

FIGURES = spread_of_difference(Spread(.06**2, .02**2 + .05**2 * .137, .012**2, 5), effect_sd=.03)


def test_the_smallest_detectable_differences_of_the_methods_page():
    """.044/.027/.020/.015 at 8/20/50/200 groups with three seeds; floors .0285/.0136/.0100 with 1/3/5."""
    assert [detectable(FIGURES, groups=g, columns=3) for g in (8, 20, 50, 200)] == pytest.approx(
        [.044, .027, .020, .015], abs=5e-4)
    assert [detectable(FIGURES, groups=np.inf, columns=s) for s in (1, 3, 5)] == pytest.approx(
        [.0285, .0136, .0100], abs=1e-4)


def test_the_power_at_the_detectable_difference_is_what_scipy_says():
    for df in (1.7, 4, 30):
        critical = stats.t(df).ppf(.975)
        assert stats.nct(df, detectable_difference(1, df)).sf(critical) == pytest.approx(.8, abs=1e-6)


def test_the_groups_needed_reach_the_aim_and_one_less_does_not():
    found = plan(FIGURES, groups=20, columns=3, difference=.016)
    needed = found.groups_needed[3]

    assert needed is not None
    assert detectable(FIGURES, groups=needed, columns=3) <= .016 < detectable(FIGURES, groups=needed - 1, columns=3)
    assert found.floor == pytest.approx(.0136, abs=1e-4)


def test_an_aim_below_the_floor_is_out_of_reach_of_groups_and_says_that_models_bind():
    """With 200 groups and 3 seeds 2 m2/(K S) = 1.9e-5 exceeds v/G = 7e-6; below the floor .0136 only seeds help."""
    found = plan(FIGURES, groups=200, columns=3, difference=.012)

    assert found.binds == "models"
    assert found.groups_needed[3] is None
    assert found.columns_needed is not None and found.columns_needed > 3
    assert "models bind" in found.advice and "no number of groups is enough" in found.advice


def test_the_half_width_for_groups_alone_is_students():
    """No model variance: t(G - 1) sqrt(v/G), v = .06²; the model adds nothing and no degrees of freedom."""
    spread = Spread(.06**2, 0, 0, 5)

    assert half_width(spread, groups=20, columns=3) == pytest.approx(stats.t(19).ppf(.975) * .06 / np.sqrt(20))


def test_a_plan_from_a_pilot_says_what_it_costs():
    pilot = decompose(tiny_spread(np.random.default_rng(0), groups_in_fold=(8,) * 5, images=(4,)))
    found = plan(spread_of(pilot), groups=40, columns=3, interval=.015)

    assert found.aim == "half-width"
    assert found.columns_needed is None or found.columns_needed > 3 or found.reached <= .015
    assert (found.table["runs"] == 5 * found.table["columns"]).all()
    assert found.designs[0].name == "repeats" and found.designs[0].runs == 5 * found.designs[0].columns


def test_a_pilot_of_one_seed_cannot_be_planned_from():
    with pytest.raises(RunError, match="seed=0,1,2"):
        spread_of(decompose(tiny_spread(np.random.default_rng(0), columns=1)))


def test_the_spread_of_a_measured_difference_can_be_planned_from():
    """`Comparison` gives what planning a comparison needs; the detectable difference of the same design is near."""
    rng = np.random.default_rng(2)
    a, b = tiny_spread(rng, groups_in_fold=(10,) * 5), tiny_spread(rng, groups_in_fold=(10,) * 5)
    found = compare(a, b)

    assert plan(found.spread, groups=50, columns=3, question="comparison").reached == pytest.approx(
        found.detectable, rel=.2)


def test_designs_follow_the_number_of_groups_and_the_question():
    assert designs(4)[0].name == "leave_one_group_out" and designs(4)[0].runs == 4
    assert designs(12)[0].name == "leave_one_group_out"
    assert designs(40)[0].name == "repeats"
    assert designs(40, question="seed_noise")[0].name == "seeds"
    assert designs(40, one_partition=True)[0].name == "training_group_bootstrap"


@pytest.mark.parametrize(("asked", "says"), [
    ({"interval": .02, "difference": .02}, "not for both"), ({"interval": 2.0}, "between 0 and 1"),
    ({"question": "all"}, "question=all"), ({"columns": 0}, "columns=0"),
])
def test_impossible_plans_are_refused(asked: dict, says: str):
    with pytest.raises(ConfigError, match=says):
        plan(FIGURES, **({"groups": 20, "columns": 3} | asked))


def test_commands_repeat_what_was_typed_for_the_pilot_but_for_what_the_design_says():
    """By hand: the pilot's own repeats and split give way, its data, target and training settings stay."""
    typed = ("data.table=my images.csv", "split=group_kfold", "split.repeats=2", "split.target=pooled", "optim.lr=0.01")
    ways = {design.name: design.commands for design in designs(5, columns=2, typed=typed)}

    rest = "'data.table=my images.csv' {}split.target=pooled optim.lr=0.01"
    assert ways["leave_one_group_out"] == (
        f"python -m segcv.train -m split=leave_one_group_out fold=0,1,2,3,4 {rest.format('')}",)
    assert ways["repeats"][1] == ("python -m segcv.train -m split.repeats=2 repeat=1 seed=1 fold=0,1,2,3,4 "
                                  + rest.format("split=group_kfold "))
    assert all("split.bootstrap=true" in command for command in ways["training_group_bootstrap"])
