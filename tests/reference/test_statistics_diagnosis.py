"""Patterns in the folds, each planted once and found, and none in clean scores; advice tied to its evidence."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tiny_spread import tiny_spread

from segcv.statistics import (
    Advice,
    advise,
    decompose,
    diagnose,
    feature_correlations,
    folds_differ,
    groups_differ,
    next_step,
    table_groups,
)


def clean(seed: int = 0, **change: object) -> pd.DataFrame:
    return tiny_spread(np.random.default_rng(seed), **({"sd": (.02, .005, .01, .02, .01), "mean": .8} | change))


def rules(table: pd.DataFrame, **beside: object) -> dict[str, tuple[str, str, tuple[str, ...]]]:
    return {each.rule: (each.what, each.evidence, each.actions) for each in diagnose(
        table, components=decompose(table), **beside)}


def test_clean_scores_have_no_finding():
    assert rules(clean(), hold_out=.8, trivial=.2, train=pd.DataFrame({"train": [.82], "held_out": [.8]})) == {}


def test_a_fold_that_is_low_with_every_seed_speaks_for_its_groups_or_training_set():
    table = clean()
    table.loc[table["fold"] == 3, "score"] -= .1

    what, evidence, actions = rules(table)["one_fold_low"]

    assert "Fold 3 is low as a whole with every seed" in what
    assert "3 of 3 columns" in evidence and "p = 0.0" in evidence
    assert "change the split" in actions


def test_a_fold_that_is_low_because_of_one_group_names_the_group():
    table = clean(groups_in_fold=(6,) * 5)
    table.loc[table["group"] == "g013", "score"] -= .6      # in fold 2

    found = rules(table)

    assert "one_fold_low" not in found or "g013" in found["one_fold_low"][0]
    assert folds_differ(table).p_value > .01


def test_a_network_that_failed_once_speaks_for_training():
    table = clean()
    table.loc[(table["fold"] == 1) & (table["seed"] == 2), "score"] -= .4

    what, _, actions = rules(table)["one_fold_low"]

    assert "not with every seed" in what
    assert actions == ("stabilise training",)


def test_folds_that_vary_by_their_networks_speak_for_training_and_by_their_groups_for_groups():
    networks = clean(sd=(.01, .15, .01, .01, .01), columns=4)
    groups = clean(sd=(.2, .001, .01, .01, .01), groups_in_fold=(2,) * 5)

    assert rules(networks)["folds_vary"][2] == ("stabilise training",)
    assert rules(groups)["folds_vary"][2] == ("look at sub-groups", "collect groups")
    assert "unknown" in rules(clean(sd=(.2, .1, 0, 0, 0), columns=1))["folds_vary"][0]


def test_a_gap_to_training_and_little_learned_are_told_apart():
    train = pd.DataFrame({"train": [.95, .93], "held_out": [.7, .72]})
    little = pd.DataFrame({"train": [.25], "held_out": [.24]})

    assert "training 0.940, held-out 0.710" in rules(clean(), train=train)["train_high"][1]
    assert "little_learned" in rules(clean(), train=little, trivial=.2)
    assert "train_high" not in rules(clean(), train=little, trivial=.2)


def test_a_single_hold_out_above_the_folds_is_said():
    """Folds near .8 with an SD below .02: .95 is outside t(4) = 2.78 SD · sqrt(1.2); .81 is inside."""
    assert "hold_out_high" in rules(clean(), hold_out=.95)
    assert "hold_out_high" not in rules(clean(), hold_out=.81)


def test_the_rule_of_one_low_fold_is_wrong_five_times_in_a_hundred():
    """200 clean tables without model effects: at most 5 % + 3 standard errors = 9.6 %."""
    wrong = sum(any(each.rule == "one_fold_low" for each in diagnose(
        clean(seed, sd=(.05, 0, 0, .02, 0), columns=1), draws=199)) for seed in range(200))

    assert wrong / 200 <= .096


def actions(given: tuple[Advice, ...]) -> list[str]:
    return [each.action for each in given]


def test_without_evidence_there_is_no_advice():
    assert advise(None) == ()


def test_each_action_comes_with_what_speaks_for_it():
    """Networks vary most and bind: stabilise. Groups differ and go with light: sub-groups. A dominant one: split."""
    noisy = decompose(clean(sd=(.01, .15, .01, .01, .01), columns=4, groups_in_fold=(20,) * 5))
    table = clean(sd=(.2, .001, .01, .01, .01), seed=3, images=(3,))
    light = pd.DataFrame({"light": table_groups(table).means}, index=list(table_groups(table).group_ids))

    stabilise = advise(noisy)
    both = advise(decompose(table), groups_test=groups_differ(table), features=feature_correlations(table, light),
                  largest_share=.4)

    assert actions(stabilise) == ["stabilise training"] and "%" in stabilise[0].because[0]
    assert set(actions(both)) == {"look at sub-groups", "change the split", "collect groups"}
    assert any("light" in text for each in both for text in each.because)


@pytest.mark.parametrize(("sd", "columns", "says"), [
    ((.01, .15, .01, .01, .01), 3, "more seeds or repeats"), ((.2, .001, .01, .01, .01), 3, "sub-group analysis"),
    ((.05, .05, 0, .02, 0), 1, "seed=0,1,2"),
])
def test_the_next_step_names_what_binds_and_why(sd: tuple, columns: int, says: str):
    assert says in next_step(decompose(clean(sd=sd, columns=columns, groups_in_fold=(8,) * 5)))
