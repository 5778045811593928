"""What goes with low scores: scipy and statsmodels say the same; few groups say nothing."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from tiny_spread import tiny_spread

from segcv.errors import TableError
from segcv.statistics import (
    decay_curve,
    difficulty_stability,
    feature_correlations,
    feature_regression,
    table_groups,
)


def with_features(seed: int = 0, *, per_fold: int = 6) -> tuple[pd.DataFrame, pd.DataFrame]:
    """A table, and features of its groups: `light` goes with the score, `size` does not, `place` is a word."""
    rng = np.random.default_rng(seed)
    table = tiny_spread(rng, groups_in_fold=(per_fold,) * 5, images=(2,))
    groups = table_groups(table)
    light = groups.means + rng.normal(0, .03, len(groups.means))
    return table, pd.DataFrame({"light": light, "size": rng.permutation(len(light)), "place": "field"},
                               index=list(groups.group_ids))


def test_rank_correlations_and_p_values_agree_with_scipy():
    """scipy.stats.spearmanr for the value, its permutation_test for p (same kind of draws)."""
    table, features = with_features()
    means = table_groups(table).means
    found = feature_correlations(table, features)
    rows = found.table.set_index("feature")

    assert found.left_out == ("place",)
    for name in ("light", "size"):
        theirs = stats.permutation_test((features[name].to_numpy(),), lambda x: stats.spearmanr(x, means).statistic,
                                        permutation_type="pairings", n_resamples=499, rng=np.random.default_rng(0))
        assert rows.loc[name, "rank_correlation"] == pytest.approx(stats.spearmanr(features[name], means).statistic)
        assert rows.loc[name, "p_value"] == pytest.approx(theirs.pvalue, abs=.07)
    assert rows.loc["light", "p_holm"] == pytest.approx(2 * rows.loc["light", "p_value"])


def test_regression_agrees_with_statsmodels_hc3():
    """Features divided by their SD; statsmodels OLS with cov_type HC3 and t(G - p - 1)."""
    from statsmodels.api import OLS, add_constant

    table, features = with_features()
    numbers = features[["light", "size"]]
    theirs = OLS(table_groups(table).means, add_constant((numbers - numbers.mean()) / numbers.std())).fit(
        cov_type="HC3", use_t=True)
    rows = feature_regression(table, features).table.set_index("feature")

    for name in numbers:
        assert rows.loc[name, "per_sd"] == pytest.approx(theirs.params[name])
        assert rows.loc[name, "standard_error"] == pytest.approx(theirs.bse[name])
        assert rows.loc[name, ["low", "high"]].tolist() == pytest.approx(theirs.conf_int().loc[name].tolist())


def test_below_ten_groups_nothing_is_said_and_the_reason_is():
    table, features = with_features(per_fold=1)

    assert feature_correlations(table, features).table.empty
    assert "fewer than 10 groups" in feature_regression(table, features).note
    assert not difficulty_stability(table).has_interval
    assert not decay_curve(table, features["light"]).slope.has_interval


def test_too_many_features_or_sums_of_others_are_not_fitted():
    table, features = with_features(per_fold=2)
    many = pd.DataFrame({str(n): np.arange(10) ** n % 7 for n in range(1, 6)}, index=features.index)

    assert "choose fewer" in feature_regression(table, many).note
    assert "sums of others" in feature_regression(table, features.assign(double=2 * features["light"])[
        ["light", "double"]]).note


def test_a_group_without_features_is_named():
    table, features = with_features()

    with pytest.raises(TableError, match="Group g000 has no row"):
        feature_correlations(table, features.iloc[1:])


def test_the_decay_curve_finds_the_slope_and_the_growing_spread():
    """Score .9 - .05 distance, its SD growing from 0 by .02 a unit: |deviation| grows by .02 · sqrt(2/pi) = .016."""
    rng = np.random.default_rng(0)
    distance = np.linspace(0, 4, 200)
    names = [f"{n:03d}" for n in range(200)]
    score = .9 - .05 * distance + rng.normal(0, 1, 200) * .02 * distance
    found = decay_curve(pd.DataFrame({"group": names, "image": names, "score": score}), pd.Series(distance, names))

    assert found.slope.low < -.05 < found.slope.high < 0
    assert 0 < found.spread_slope.low < .02 * np.sqrt(2 / np.pi) < found.spread_slope.high
    assert found.strata["groups"].tolist() == [50] * 4
    assert found.strata["mean"].is_monotonic_decreasing and found.strata["sd"].is_monotonic_increasing


def test_difficulty_that_stays_has_rank_correlation_one_and_that_of_noise_includes_none():
    rng = np.random.default_rng(1)
    stays = difficulty_stability(tiny_spread(rng, sd=(.1, 0, 0, 0, 0)))
    noise = difficulty_stability(tiny_spread(rng, sd=(0, 0, .1, 0, 0)))

    assert stays.value == pytest.approx(1)
    assert noise.low < 0 < noise.high


def test_stability_is_the_mean_of_scipys_spearman_over_pairs_of_columns():
    table = tiny_spread(np.random.default_rng(2))
    scores = table_groups(table).scores
    pairs = [stats.spearmanr(scores[:, one], scores[:, two]).statistic for one, two in ((0, 1), (0, 2), (1, 2))]

    assert difficulty_stability(table).value == pytest.approx(np.mean(pairs))
