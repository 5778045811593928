"""Frozen models, bounds that lean on nothing, weights, and the worked examples of what a score is a score of."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from tiny_scores import tiny_scores
from tiny_spread import tiny_spread

from segcv import statistics
from segcv.errors import ConfigError, TableError
from segcv.statistics import (
    Asked,
    column_weights,
    compare_difference,
    compare_weighted,
    conformal_errors,
    equal_row_estimates,
    external_drop,
    frozen_estimates,
    group_difference,
    hoeffding,
    paired_difference,
    scored_images,
    table_groups,
)


def cohort(scores: list[float]) -> pd.DataFrame:
    names = [f"x{n:02d}" for n in range(len(scores))]
    return pd.DataFrame({"group": names, "image": names, "score": scores})


def test_hoeffdings_radius_is_304_thousandths_at_20_groups_and_a_tenth_of_it_if_rows_are_miscounted():
    """sqrt(ln 40 / 40) = .3037; the same 20 groups counted as 2,000 rows: sqrt(ln 40 / 4000) = .0304."""
    assert hoeffding(.5, 20, level=.95)[1] - .5 == pytest.approx(math.sqrt(math.log(40) / 40))
    assert hoeffding(.5, 20, level=.95)[1] - .5 == pytest.approx(.304, abs=5e-4)
    assert hoeffding(.5, 2000, level=.95)[1] - .5 == pytest.approx(.0304, abs=5e-5)
    assert hoeffding(.9, 20, level=.95) == pytest.approx((.9 - .3037, 1.0), abs=1e-4)


def test_hoeffding_is_given_for_one_frozen_model_and_not_over_folds():
    external = frozen_estimates(cohort([.6, .7, .8, .65, .75, .9] * 3))
    folds = frozen_estimates(tiny_spread(np.random.default_rng(0), columns=1))

    assert external[3].has_interval and "18 groups" in external[3].method
    assert not folds[3].has_interval and "folds" in folds[3].note
    assert all(each.target.endswith("these models") for each in external)


def test_the_drop_to_an_external_cohort_is_welchs_two_samples_of_groups():
    """One seed each side: scipy.stats.ttest_ind of the group means without equal variances."""
    inside = tiny_spread(np.random.default_rng(1), columns=1)
    outside = cohort([.3, .35, .5, .42, .31, .38, .44])
    theirs = stats.ttest_ind(table_groups(inside).means, outside["score"], equal_var=False)

    found = external_drop(inside, outside)

    assert found.value == pytest.approx(table_groups(inside).means.mean() - outside["score"].mean())
    assert (found.low, found.high) == pytest.approx(tuple(theirs.confidence_interval(.95)))
    assert "these models" in found.target and "the recipe" in external_drop(
        tiny_spread(np.random.default_rng(1)), outside).target


def test_a_cohort_that_has_folds_or_other_classes_is_refused():
    scores, runs = tiny_scores()
    frozen, once = tiny_scores(folds=1, names=list("abcdefghij"))

    with pytest.raises(ConfigError, match="5 folds and 1 repeats: they are a cross-validation"):
        statistics.cohort(scored_images(scores, runs=runs))
    with pytest.raises(ConfigError, match="scores the classes class 0, class 1, class 2, the external cohort x, y, z"):
        statistics.cohort(scored_images(frozen, runs=once, class_names=["x", "y", "z"]),
                  inside=scored_images(scores, runs=runs))


def test_a_cohort_that_shares_a_group_is_not_external():
    inside = tiny_spread(np.random.default_rng(1), columns=1)

    with pytest.raises(ConfigError, match="g000 is in the cross-validation"):
        external_drop(inside, cohort([.5] * 6).replace("x00", "g000"))


def test_conformal_takes_the_worst_image_of_each_calibration_group():
    """Nine groups, worst errors .1 .. .9: ceil(10 · .8) = 8th smallest is .8; 95 % needs 19 groups."""
    names = [f"g{n}" for n in range(9)]
    table = pd.DataFrame({"group": names * 2, "image": [f"{n}a" for n in names] + [f"{n}b" for n in names],
                          "score": [1 - .1 * (n + 1) for n in range(9)] + [1.0] * 9})

    assert conformal_errors(table, level=.8).value == pytest.approx(.8)
    assert math.isnan(conformal_errors(table, level=.95).value)
    assert "19 are needed" in conformal_errors(table, level=.95).note


def test_conformal_covers_new_groups():
    """200 calibrations of 19 groups at 90 %: 18/20 of new groups' worst images lie below; 4 standard errors."""
    rng = np.random.default_rng(0)
    hits = 0
    for _ in range(200):
        errors = rng.beta(2, 8, (20, 5)).max(axis=1)
        hits += errors[19] <= conformal_errors(cohort(list(errors[:19])), level=.9, error=True).value

    assert hits / 200 == pytest.approx(.9, abs=4 * math.sqrt(.9 * .1 / 200))


def test_weights_let_images_count_by_what_they_are_worth():
    """Weights 2 and 1 within each group of two images: (2 · first + second) / 3; equal weights are equal_row."""
    table = tiny_spread(np.random.default_rng(0), images=(2,), columns=2)
    groups = table_groups(table)
    assert groups.image_scores is not None and groups.image_ids is not None
    first = np.array([name.endswith("/0") for name in groups.image_ids])
    y = groups.image_scores.mean(axis=1)
    weighted = equal_row_estimates(groups, unit="score", level=.95, runs=10, weights=np.where(first, 2.0, 1.0))
    same = equal_row_estimates(groups, unit="score", level=.95, runs=10, weights=np.full(len(y), 7.0))
    plain = equal_row_estimates(groups, unit="score", level=.95, runs=10)

    assert weighted[0].value == pytest.approx((2 * y[first].mean() + y[~first].mean()) / 3)
    assert weighted[0].target.startswith("weighted")
    assert [(each.low, each.high) for each in same] == [pytest.approx((each.low, each.high)) for each in plain]
    with pytest.raises(TableError, match="weight of zero or more"):
        equal_row_estimates(groups, unit="score", level=.95, runs=10, weights=np.full(len(y), np.nan))


def test_equal_row_over_repeats_has_an_interval_of_the_recipe():
    table = pd.concat([tiny_spread(np.random.default_rng(n), images=(1, 4), columns=1).assign(
        repeat=n, fold=lambda t, n=n: (t["fold"] + n * t["group"].str[-1].astype(int)) % 5) for n in range(3)])

    these, recipe = equal_row_estimates(table_groups(table), unit="score", level=.95, runs=15)

    assert recipe.has_interval and recipe.high - recipe.low >= these.high - these.low


def memoriser(rng: np.random.Generator, *, entities: int, r: float, by_entity: bool) -> pd.DataFrame:
    """Losses of a predictor that recalls the label of an entity it has seen and else says 0; two rows an entity."""
    label = rng.integers(2, size=entities)
    trains = rng.random((entities, 2)) < r if not by_entity else np.repeat(rng.random((entities, 1)) < r, 2, axis=1)
    rows = [(f"e{n:05d}", f"e{n:05d}/{row}", float(label[n] == 1 and not trains[n].any()))
            for n in range(entities) for row in range(2) if not trains[n, row]]
    return pd.DataFrame(rows, columns=["group", "image", "score"])


def test_the_memoriser_risks_a_tenth_where_rows_are_split_and_a_half_where_entities_are():
    """Two rows an entity at r = .8: a test row's twin trains with probability .8, so its risk is (1 - .8)/2 = .1;
    split by entity no twin trains: 1/2. 20,000 entities; 4 standard errors. The leak gap is their difference.
    """
    rng = np.random.default_rng(0)
    rows, entities = (table_groups(memoriser(rng, entities=20_000, r=.8, by_entity=by)) for by in (False, True))
    risks = [equal_row_estimates(each, unit="loss", level=.95, runs=1)[0] for each in (rows, entities)]

    assert risks[0].value == pytest.approx(.1, abs=4 * math.sqrt(.1 * .9 / 8_000))
    assert risks[1].value == pytest.approx(.5, abs=4 * math.sqrt(.25 / 4_000))
    shared = paired_difference(entities, rows, what="entity minus row", unit="loss", level=.95, seed=0, runs=1)
    assert shared.low > .2


def test_two_candidates_are_compared_by_what_images_are_worth():
    """Weights 2 and 1 within a group of two images, groups alike: (2 · first + second) / 3 of the differences; equal
    weights give the interval and the p-value of target equal_row. A group that weighs nothing has no part."""
    one, two = (table_groups(tiny_spread(np.random.default_rng(n), images=(2,), columns=2)) for n in (0, 1))
    apart = group_difference(one, two)
    assert apart.image_ids is not None and apart.image_scores is not None and apart.image_group is not None
    first = np.array([name.endswith("/0") for name in apart.image_ids])
    y = apart.image_scores.mean(axis=1)

    found = compare_weighted(apart, pd.Series(np.where(first, 2.0, 1.0), index=list(apart.image_ids)), Asked())
    alike = compare_weighted(apart, pd.Series(3.0, index=list(apart.image_ids)), Asked())
    without = compare_weighted(apart, pd.Series(np.where(apart.image_group == 0, 0.0, 1.0), list(apart.image_ids)),
                               Asked())
    rows = compare_difference(apart, Asked(target="equal_row"))

    assert found is not None and found.difference.value == pytest.approx((2 * y[first].mean() + y[~first].mean()) / 3)
    assert found.difference.target.startswith("A minus B, weighted")
    assert alike is not None and alike.p_value == pytest.approx(rows.p_value)
    assert (alike.difference.low, alike.difference.high) == pytest.approx((rows.difference.low, rows.difference.high))
    assert alike.sign_flip_p == rows.sign_flip_p and alike.fold_p == pytest.approx(rows.fold_p)
    assert without is not None and without.groups == rows.groups - 1
    assert without.difference.value == pytest.approx(y[apart.image_group != 0].mean())


@pytest.mark.parametrize(("column", "message"), [
    ("worth", "weights=worth is not a column of the images table"),
    ("blank", "image b has '', and every image needs a weight of zero or more"),
    ("below", "image a has '-1'"),
    ("same", "weights=same has no effect: every image has 2"),
])
def test_a_column_that_weighs_nothing_or_alike_is_refused(column: str, message: str):
    images = pd.DataFrame({"image_id": ["a", "b"], "blank": ["1", ""], "below": ["-1", "1"], "same": ["2", "2.0"]})

    with pytest.raises(ConfigError, match=message):
        column_weights(images, column)
