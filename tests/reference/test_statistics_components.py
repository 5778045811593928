"""Components of any table of scores: against statsmodels' REML, against sums worked by hand, and what is refused."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from tiny_spread import tiny_spread

from segcv.errors import RunError, TableError
from segcv.statistics import decompose, table_groups


def reml(table: pd.DataFrame, *, images: bool) -> dict[str, float]:
    """The same components by statsmodels MixedLM with fixed fold means."""
    from statsmodels.formula.api import mixedlm

    rows = table.assign(run=table["fold"].astype(str) + "/" + table["seed"].astype(str),
                        cell=table["group"] + "/" + table["seed"].astype(str))
    parts = {"group": "0 + C(group)", "model": "0 + C(run)"}
    parts |= {"interaction": "0 + C(cell)", "image": "0 + C(image)"} if images else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = mixedlm("score ~ C(fold)", rows, groups="fold", re_formula="0", vc_formula=parts).fit(reml=True)
    return dict(zip(fit.model.exog_vc.names, map(float, fit.vcomp), strict=True)) | {"rest": float(fit.scale)}


def test_equal_folds_agree_with_reml_to_a_thousandth():
    """Interior estimates of a balanced table: ANOVA and REML are the same numbers."""
    table = tiny_spread(np.random.default_rng(3), sd=(.06, .03, .02, 0, .02))
    found, theirs = decompose(table), reml(table, images=False)

    assert found.group.value == pytest.approx(theirs["group"], rel=1e-3)
    assert found.model.value == pytest.approx(theirs["model"], rel=1e-3)
    assert found.interaction.value == pytest.approx(theirs["rest"], rel=1e-3)


def test_unequal_folds_and_groups_stay_within_a_third_of_the_interval_of_reml():
    """Unbalanced: both are consistent and differ by less than the sampling error; the REML value is inside."""
    rng = np.random.default_rng(5)
    for _ in range(3):
        table = tiny_spread(rng, groups_in_fold=(6, 3, 4, 5, 2), images=(1, 2, 3, 4, 5), sd=(.06, .04, .03, .05, .02))
        found, theirs = decompose(table), reml(table, images=True)
        for name in ("group", "model", "interaction", "image"):
            part = getattr(found, name)
            assert abs(part.value - theirs[name]) < (part.high - part.low) / 3
            assert part.low < theirs[name] < part.high
        assert found.residual.value == pytest.approx(theirs["rest"], rel=.05)


def test_the_shares_sum_to_one_and_say_what_folds_vary_by():
    """By the formula with one image a group: a2 H + x2 H + m2, H = mean over folds of 1/n_k = 1/4."""
    table = tiny_spread(np.random.default_rng(3), sd=(.06, .03, .02, 0, .02))
    found = decompose(table)
    expected = found.group.value / 4 + found.interaction.value / 4 + found.model.value

    assert found.expected_fold_variance == pytest.approx(expected)
    assert found.shares["model"].value == pytest.approx(found.model.value / expected)
    assert sum(share.value for share in found.shares.values()) == pytest.approx(1)
    assert all(0 <= share.low <= share.high <= 1 for share in found.shares.values())


def test_the_worked_example_of_shares_81_to_9_at_ten_groups_and_30_to_66_at_two_hundred():
    """Truth (.06, .015, .02, .06, .03), group sizes drawn: averaged over tables, groups with images against model.

    81/9 and 30/66 per cent; within 6 points, because sizes are drawn and estimates are clipped at 0.
    """
    rng = np.random.default_rng(0)
    for per_fold, groups, model in ((2, .81, .09), (40, .30, .66)):
        sizes = np.clip(np.ceil(rng.lognormal(np.log(12), 1.2, 5 * per_fold)), 1, 200).astype(int)
        said = np.mean([[each["group"].value + each["image"].value, each["model"].value] for each in (
            decompose(tiny_spread(rng, groups_in_fold=(per_fold,) * 5, images=sizes), draws=9).shares
            for _ in range(12 if per_fold == 2 else 3))], axis=0)
        assert said == pytest.approx([groups, model], abs=.09)


def test_one_seed_gives_no_number_for_the_model_and_says_what_to_run():
    found = decompose(tiny_spread(np.random.default_rng(0), columns=1, images=(3,)))

    assert np.isnan([found.model.value, found.interaction.value, found.residual.value]).all()
    assert np.isnan(found.sd("model"))
    assert "seed=0,1,2" in found.model.note
    assert found.group.has_interval and "interaction" in found.group.note
    assert not found.shares["group"].has_interval


def test_every_group_a_fold_of_its_own_identifies_no_component():
    found = decompose(tiny_spread(np.random.default_rng(0), groups_in_fold=(1,) * 6))

    assert np.isnan([found.group.value, found.model.value, found.interaction.value]).all()
    assert "fold of its own" in found.model.note


def test_the_model_spread_says_how_sure_it_is():
    """K(S - 1) = 10 is the least for the SD, 34 for the variance."""
    rng = np.random.default_rng(0)

    assert "roughly" in decompose(tiny_spread(rng, columns=2), draws=99).precision
    assert "within a factor 1.5" in decompose(tiny_spread(rng, columns=3), draws=99).precision
    assert "its variance would" not in decompose(tiny_spread(rng, columns=8), draws=99).precision


def test_repeats_with_new_partitions_are_decomposed_too():
    """Each repeat cuts new folds; 20 groups x 4 repeats with model SD .03: the interval holds the truth."""
    rng = np.random.default_rng(2)
    base = rng.normal(.5, .06, 20)
    rows = []
    for repeat in range(4):
        fold = rng.permutation(20) % 5
        model = rng.normal(0, .03, 5)
        rows += [(repeat, fold[g], f"g{g}", f"g{g}", base[g] + model[fold[g]] + rng.normal(0, .02)) for g in range(20)]
    found = decompose(pd.DataFrame(rows, columns=["repeat", "fold", "group", "image", "score"]))

    assert found.repeats == 4 and found.columns == 4
    assert found.model.low < .03**2 < found.model.high
    assert "training sets" in found.model.note


def test_runs_without_seeds_are_numbered_within_their_fold():
    """A network of its own per fold and seed, named anyhow: the same sums as with seeds."""
    table = tiny_spread(np.random.default_rng(0))
    named = table.assign(run=[f"r{f}{s}" for f, s in zip(table["fold"], table["seed"], strict=True)]).drop(
        columns="seed")

    assert decompose(named, draws=99).model.value == decompose(table, draws=99).model.value


@pytest.mark.parametrize(("change", "says"), [
    (lambda t: t.drop(columns="score"), "column score is missing"),
    (lambda t: t.iloc[1:], "1 cells are missing"),
    (lambda t: pd.concat([t, t.iloc[:1]]), "has 2 scores"),
    (lambda t: t.assign(fold=[int(name[-1]) % 2 for name in t["image"]]), "two folds of one pass"),
    (lambda t: t.assign(group=t["seed"].astype(str)), "is in two groups"),
])
def test_tables_that_are_no_scores_of_new_groups_are_refused(change, says: str):
    table = tiny_spread(np.random.default_rng(0), images=(2,))

    with pytest.raises((RunError, TableError), match=says):
        table_groups(change(table))


def test_an_image_without_a_score_leaves_every_column_and_is_counted():
    table = tiny_spread(np.random.default_rng(0), images=(2,))
    table.loc[table["image"].eq("g000/1") & table["seed"].eq(0), "score"] = np.nan

    groups = table_groups(table)

    assert groups.undefined == 1
    assert groups.images[0] == 1 and groups.images[1] == 2
