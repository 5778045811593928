"""Intervals over groups, against exact enumeration, closed forms and simulation."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from segcv.statistics import (
    THE_RECIPE,
    Estimate,
    GroupScores,
    bootstrap_t,
    effective_groups,
    equal_group_estimates,
    equal_row_estimates,
    gaffke,
    interval_cautions,
    rank_correlation,
    score_cautions,
)


def group_means(means: list[float], sizes: list[int] | None = None, *, columns: int = 1) -> GroupScores:
    """Groups whose images all score the group's mean, one fold each two groups."""
    count = len(means)
    size = np.array(sizes if sizes is not None else [1] * count)
    group = np.repeat(np.arange(count), size)
    scores = np.tile(np.array(means)[:, None], (1, columns))
    fold = np.tile((np.arange(count) // 2)[:, None], (1, columns))
    return GroupScores(tuple(f"g{number}" for number in range(count)), scores, fold, np.zeros(columns, np.int64),
                       size, 0, scores[group], group, fold[group, 0])


def test_bootstrap_t_agrees_with_every_possible_draw_of_five_groups():
    """All 5^5 = 3,125 draws, studentised one by one; a draw of equal groups counts as infinite."""
    scores = np.array([.2, .5, .6, .65, .9])
    mean, spread = scores.mean(), scores.std(ddof=1)
    t = []
    for draw in itertools.product(scores, repeat=5):
        error = np.std(draw, ddof=1) / math.sqrt(5)
        moved = np.mean(draw) - mean
        t.append(moved / error if len(set(draw)) > 1 else math.copysign(math.inf, moved))
    t.sort()
    half = spread / math.sqrt(5)
    exact = (mean - t[round(.975 * 3125) - 1] * half, mean - t[round(.025 * 3125)] * half)

    low, high = bootstrap_t(scores, level=.95, rng=np.random.default_rng(0), bounds=(-9, 9))

    assert (low, high) == pytest.approx(exact, abs=.03)


def test_bootstrap_t_covers_what_it_says():
    """300 sets of 12 normal groups: 95 % coverage within Monte-Carlo error (3 standard errors = 3.8 points)."""
    rng = np.random.default_rng(1)
    hits = 0
    for _ in range(300):
        low, high = bootstrap_t(rng.normal(.6, .08, 12), level=.95, rng=rng, draws=1_999)
        hits += low <= .6 <= high

    assert hits / 300 == pytest.approx(.95, abs=.038)


def test_the_gaffke_bound_of_one_group_is_the_uniform_one():
    """One score x: upper = x + (1 - x) U, lower = x U with U uniform; 97.5 % and 2.5 % quantiles."""
    low, high = gaffke(np.array([.6]), level=.95, rng=np.random.default_rng(0))

    assert (low, high) == pytest.approx((.6 * .025, .6 + .4 * .975), abs=.005)


def test_the_gaffke_bound_is_wider_than_bootstrap_t_and_stays_in_the_unit_interval():
    scores = np.array([.9, .95, .85, .9, .97, .99])

    low, high = gaffke(scores, level=.95, rng=np.random.default_rng(0))
    narrow = bootstrap_t(scores, level=.95, rng=np.random.default_rng(0))

    assert 0 <= low < narrow[0]
    assert high <= 1


@pytest.mark.parametrize(("losses", "equal_group", "equal_row"), [
    ([0, 0, 1], 1 / 3, .8), ([1 / 2, 1 / 2, 1 / 4], 5 / 12, .3),
])
def test_equal_group_and_equal_row_order_two_predictors_differently(
        losses: list[float], equal_group: float, equal_row: float):
    """Three groups of 1, 1 and 8 rows: (0,0,1) wins by groups and loses by rows against (1/2,1/2,1/4)."""
    groups = group_means(losses, [1, 1, 8])

    by_group = equal_group_estimates(groups, unit="loss", target="equal_group", level=.95, seed=0, runs=1)
    by_row = equal_row_estimates(groups, unit="loss", level=.95, runs=1)

    assert by_group[0].value == pytest.approx(equal_group)
    assert by_row[0].value == pytest.approx(equal_row)


def test_below_five_groups_only_the_bounded_interval_is_given():
    drawn, plain, bounded, recipe = equal_group_estimates(
        group_means([.5, .6, .7, .8]), unit="mIoU", target="equal_group", level=.95, seed=0, runs=5)

    assert [each.has_interval for each in (drawn, plain, bounded, recipe)] == [False, False, True, False]
    assert "fewer than 5 groups" in drawn.note


def test_cr2_of_equal_sizes_is_the_group_variance_with_g_minus_one():
    """By hand: with w = 1/G, sum w²d²/(1-w) = sum d²/(G(G-1)) = s²/G, and the degrees of freedom are G - 1."""
    means = [.4, .5, .6, .7, .5, .9]
    half = 2.570582 * np.std(means, ddof=1) / math.sqrt(6)

    these, _ = equal_row_estimates(group_means(means, [3] * 6), unit="mIoU", level=.95, runs=1)

    assert (these.low, these.high) == pytest.approx((.6 - half, .6 + half), abs=1e-5)
    assert these.method.endswith("df 5.0")


def test_one_seed_gives_no_interval_for_the_recipe_and_says_what_to_run():
    recipe = equal_group_estimates(group_means([.4, .5, .6, .7, .5, .9]), unit="mIoU", target="equal_group", level=.95,
                                   seed=0, runs=5)[3]

    assert not recipe.has_interval
    assert "seed=0,1,2" in recipe.note
    assert recipe.target.endswith(THE_RECIPE)


def test_effective_groups_of_one_half_and_two_quarters():
    """1 / (1/4 + 1/16 + 1/16) = 8/3."""
    assert effective_groups(np.array([2., 1., 1.])) == pytest.approx(8 / 3)


def test_cautions_name_few_groups_dominant_groups_and_failures():
    few = interval_cautions(np.ones(6), what="mean")
    dominant = interval_cautions(np.array([10.] + [1.] * 19), what="mean")
    failures = score_cautions(np.array([.8, .81, .79, .8, .82, .78, .1]), np.arange(1, 8))

    assert any("only 6 groups" in text for text in few)
    assert any("one group holds 34%" in text for text in dominant)
    assert any("1 group far below the rest" in text for text in failures)
    assert interval_cautions(np.ones(20), what="mean") == ()


def test_rank_correlation_and_its_p_value():
    """Five pairs, ranks 1..5 against 2 1 4 3 5: 1 - 6·4/(5·24) = .8; t = .8 sqrt(3/.36) = 2.3094, df 3: p = .1041."""
    value, p = rank_correlation(np.array([1., 2, 3, 4, 5]), np.array([2., 1, 4, 3, 5]))

    assert value == pytest.approx(.8)
    assert p == pytest.approx(.1041, abs=1e-4)


def test_an_estimate_without_interval_must_say_why():
    with pytest.raises(ValueError, match="no note"):
        Estimate(.5, target="mean")
