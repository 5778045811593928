"""Two candidates: a table worked by hand, scipy's tests, what is refused, and what a winner must not do."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from tiny_scores import CLASSES, tiny_scores
from tiny_spread import tiny_spread

from segcv.errors import ConfigError, RunError
from segcv.statistics import candidate, compare, compare_candidates, compare_results, holm, sign_flip

HAND = pd.DataFrame([(k, s, f"{k}{g}", f"{k}{g}", value / 10) for k in range(2) for g, row in enumerate(
    [(1, 3), (3, 3), (2, 6)]) for s, value in enumerate(row)], columns=["fold", "seed", "group", "image", "score"])


def test_a_difference_worked_by_hand():
    """Two folds of three groups, two columns, differences (1,3), (3,3), (2,6) tenths; the other candidate scores 0.

    Per fold SSres 4, SScol 6: MSres = 8/4 = 2, A = 12, m2 = (12 - 2·2)/6 = 4/3. U_g = 2, 3, 4: s2 = .8, s2/G = .1333.
    c = .5 - (1 - (3 - 1)/5)/6 = .4; V = .1333 + (4/3)(.4)/2 = .4 (in hundredths: .004).
    df = 2·.16 / (2·.1333²/5 + 2·.4²/2 + 2·.1333²/4) = .32/.176 = 1.8182. Mean .3.
    """
    found = compare(HAND, HAND.assign(score=0.0))
    half = stats.t(1 / .55).ppf(.975) * np.sqrt(.004)

    assert found.difference.value == pytest.approx(.3)
    assert found.df == pytest.approx(1 / .55)
    assert found.difference.low == pytest.approx(max(-1, .3 - half))
    assert found.p_value == pytest.approx(2 * stats.t(1 / .55).sf(.3 / np.sqrt(.004)))
    assert found.spread.model == pytest.approx(4 / 3 / 100)


def test_one_seed_falls_back_to_the_paired_t_over_folds():
    """scipy.stats.ttest_rel of the fold means; the group statement is about these models, with a sign-flip test."""
    rng = np.random.default_rng(4)
    a, b = (tiny_spread(rng, columns=1) for _ in range(2))
    means = [each.groupby("fold")["score"].mean() for each in (a, b)]
    theirs = stats.ttest_rel(*means)
    groups = a.groupby("group")["score"].mean() - b.groupby("group")["score"].mean()
    flipped = stats.permutation_test((groups.to_numpy(),), np.mean, permutation_type="samples", n_resamples=4999,
                                     rng=np.random.default_rng(0))

    found = compare(a, b)

    assert found.p_value == pytest.approx(theirs.pvalue)
    assert found.difference.target.endswith("the recipe") and "seed=0,1,2" in found.difference.note
    assert found.these_models.target.endswith("these models")
    assert found.sign_flip_p == pytest.approx(flipped.pvalue, abs=.03)
    assert found.binds == "unknown"


def test_the_sign_flip_of_five_equal_signs_is_two_in_32():
    assert sign_flip(np.array([.1, .2, .3, .1, .4]), rng=np.random.default_rng(0)) == 2 / 32


def test_the_corrected_t_is_that_of_the_same_folds_as_a_results_table():
    """Nadeau & Bengio of the fold means, also reached by `compare_results`; t = mean / sqrt(s² (1/5 + 1/4))."""
    rng = np.random.default_rng(1)
    a, b = (tiny_spread(rng) for _ in range(2))
    rows = pd.concat([each.groupby(["fold", "seed"])["score"].mean().reset_index().assign(candidate=name)
                      for name, each in (("a", a), ("b", b))])

    found, theirs = compare(a, b), compare_results(rows, "a", "b")

    assert found.corrected_p == pytest.approx(theirs.p_corrected)
    assert found.fold_p == pytest.approx(theirs.p_plain)
    assert found.corrected_t.low == pytest.approx(theirs.mean_difference.low)


def test_a_frozen_model_each_is_compared_over_groups_and_says_for_whom():
    """One fold, one column: the external cohort. The test is the exact sign flip: 12 equal signs, 2/4096."""
    cohort = pd.DataFrame({"group": [f"{g:02d}" for g in range(12)], "image": [f"{g:02d}" for g in range(12)],
                           "score": .5 + .01 * np.arange(12)})

    found = compare(cohort, cohort.assign(score=cohort["score"] - .05 - .001 * (np.arange(12) % 5)))

    assert found.frozen and found.p_value == 2 / 4096
    assert (found.difference.low, found.difference.high) == (found.these_models.low, found.these_models.high)
    assert found.difference.target.endswith("these models") and "nothing is known about the recipes" in (
        found.difference.note)
    assert found.verdict == "A better (these models, not their recipes)"


def test_below_five_groups_nothing_is_called_better():
    table = tiny_spread(np.random.default_rng(0), groups_in_fold=(2, 2))

    found = compare(table, table.assign(score=table["score"] - .3))

    assert np.isnan(found.p_value) and found.verdict.startswith("not separable: fewer than 5 groups")


def test_the_verdict_names_the_smallest_difference_that_could_have_been_seen():
    """Power .8 from the noncentral t with the test's own V and df, checked with scipy.stats.nct."""
    rng = np.random.default_rng(8)
    found = compare(tiny_spread(rng), tiny_spread(rng))
    error = (found.difference.high - found.difference.low) / 2 / stats.t(found.df).ppf(.975)
    power = stats.nct(found.df, found.detectable / error).sf(stats.t(found.df).ppf(.975))

    assert power == pytest.approx(.8, abs=1e-4)
    assert f"{found.detectable:.3f}" in found.verdict or "better" in found.verdict


def test_equal_row_weighs_groups_by_their_images():
    """Differences .1 in a group of one image and .4 in one of three (and so on): the plain mean over images."""
    table = tiny_spread(np.random.default_rng(0), images=(1, 3), sd=(0, 0, 0, 0, 0))
    other = table.assign(score=table["score"] - np.where(table["group"].str[-1].astype(int) % 2, .4, .1))

    assert compare(table, other, target="equal_row").difference.value == pytest.approx((.1 * 1 + .4 * 3) / 4)
    assert compare(table, other).difference.value == pytest.approx(.25)


@pytest.mark.parametrize(("change", "says"), [
    (lambda t: t[t["group"] != "g000"], "Group g000 was scored for A only"),
    (lambda t: t[t["seed"] < 2], "columns"),
    (lambda t: t.assign(fold=(t["fold"] + t["group"].eq("g000")) % 5), "different folds"),
    (lambda t: t.replace("g000/0", "g000/x"), "Image g000/"),
])
def test_other_groups_columns_folds_or_images_are_refused(change, says: str):
    table = tiny_spread(np.random.default_rng(0))

    with pytest.raises(RunError, match=says):
        compare(table, change(table))


def test_holm_steps_down():
    """By hand: .01·4 = .04; .02·3 = .06; max(.06, .03·2) = .06; .9: (.04, .9, .06, .06). NaN is no test."""
    assert holm([.01, .9, .03, .02]) == pytest.approx([.04, .9, .06, .06])
    assert np.isnan(holm([.01, np.nan])[1]) and holm([.01, np.nan])[0] == .01


def worse(scores: pd.DataFrame, *, by: int, alarms: bool = False) -> pd.DataFrame:
    """The same with `by` true pixels of every class missed (and, with alarms, absent cars seen)."""
    lost = np.minimum(scores["tp"], by)
    table = scores.assign(tp=scores["tp"] - lost, fn=scores["fn"] + lost)
    if alarms:
        absent = (table["tp"] + table["fn"]).eq(0)
        table.loc[absent, "fp"] = 5
    return table


def test_candidates_are_compared_overall_by_class_and_ranked():
    """`best` loses no pixel, `mid` two, `low` four in every image: the order holds in every draw of groups."""
    scores, runs = tiny_scores(seeds=(0, 1, 2))
    found = compare_candidates([candidate(name, worse(scores, by=by), runs, class_names=CLASSES)
                                for name, by in (("low", 4), ("best", 0), ("mid", 2))], draws=500)

    assert [pair.verdict for pair in found.pairs] == ["best better", "mid better", "best better"]
    assert found.ranks.set_index("candidate").loc["best", "rank 1"] == 1
    assert found.ranks.set_index("candidate").loc["mid", "rank 2"] == 1
    assert set(found.pairs[0].classes) == set(CLASSES)
    assert all(pair.p_holm >= pair.overall.p_value for pair in found.pairs)
    assert found.scores["best"].value > found.scores["mid"].value


@pytest.mark.parametrize("target", ["equal_group", "equal_row", "group_pooled", "pooled"])
def test_every_target_can_be_compared(target: str):
    scores, runs = tiny_scores(seeds=(0, 1))
    better, other = (candidate(name, worse(scores, by=by), runs) for name, by in (("a", 0), ("b", 3)))

    pair = compare_candidates([better, other], target=target, draws=200).pairs[0]

    assert pair.overall.difference.value > 0
    assert pair.overall.difference.low < pair.overall.difference.value < pair.overall.difference.high
    assert pair.verdict == "a better"


def test_nobody_is_better_whose_false_alarms_are_worse():
    """The winner sees cars in every image without one; the policy truth cannot see that, the test beside it does."""
    scores, runs = tiny_scores(groups=20, seeds=(0, 1, 2))
    loud = candidate("loud", worse(scores, by=0, alarms=True), runs)
    quiet = candidate("quiet", worse(scores, by=3), runs)

    pair = compare_candidates([loud, quiet], draws=200).pairs[0]

    assert pair.overall.verdict == "loud better"
    assert pair.false_alarms is not None and pair.false_alarms.difference.value == pytest.approx(1)
    assert pair.verdict == "loud scores higher, but its false alarms are worse: not better"


def test_a_winner_whose_higher_false_alarms_cannot_be_tested_is_not_better():
    """Cars are absent in three of ten groups only: no test of false alarms, and so no winner."""
    scores, runs = tiny_scores(seeds=(0, 1, 2))
    loud = candidate("loud", worse(scores, by=0, alarms=True), runs)
    quiet = candidate("quiet", worse(scores, by=3), runs)

    assert "too few groups to test" in compare_candidates([loud, quiet], draws=200).pairs[0].verdict


def test_other_splits_and_data_are_refused_naming_both_ids():
    scores, runs = tiny_scores()
    one = candidate("a", scores, runs)

    with pytest.raises(RunError, match="split_id p1 of a and split_id p2 of b"):
        compare_candidates([one, candidate("b", scores, runs.assign(split_id="p2"))])
    with pytest.raises(RunError, match="data_id d1 of a and data_id d2 of b"):
        compare_candidates([one, candidate("b", scores, runs.assign(data_id="d2"))])
    with pytest.raises(RunError, match="Different images"):
        compare_candidates([one, candidate("b", scores[scores["image_id"] != "g00/0"], runs)])
    with pytest.raises(ConfigError, match="two or more candidates"):
        compare_candidates([one])
