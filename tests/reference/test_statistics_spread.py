"""Variances of means, against matrices written out and closed forms; columns that share nothing; exact products."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from tiny_scores import tiny_scores
from tiny_spread import tiny_spread

from segcv.metrics import Counts, image_scores
from segcv.statistics import (
    GroupScores,
    decompose,
    drawn_groups,
    drawn_means,
    group_scores,
    group_sums_of,
    jackknife,
    mean_of,
    pooled_estimates,
    pooled_mean,
    product,
    repeated_sums,
    row_mean_of,
    scored_images,
    table_groups,
    trace_df,
)


def test_the_degrees_of_freedom_of_cr2_are_those_of_the_matrix_written_out():
    """M = D (I - 1w') diag(v) (I - w1') D formed in full; tr(M)² / tr(M²)."""
    rng = np.random.default_rng(0)
    w = rng.dirichlet(np.full(9, 2))
    v = rng.uniform(.1, 2, 9)
    apart = np.eye(9) - np.outer(np.ones(9), w)
    d = np.diag(w / np.sqrt(1 - w))
    m = d @ apart @ np.diag(v) @ apart.T @ d

    assert trace_df(w, v) == pytest.approx(np.trace(m) ** 2 / np.trace(m @ m))


def test_without_model_variance_the_mean_is_students_t_over_groups():
    """scipy.stats.ttest_1samp of the group means: one column, V = s²/G, df G - 1."""
    groups = table_groups(tiny_spread(np.random.default_rng(0), groups_in_fold=(5, 2, 4, 3, 6), columns=1))
    low, high = stats.ttest_1samp(groups.means, 0).confidence_interval(.95)
    mean = mean_of(groups)
    half = stats.t(mean.group_df).ppf(.975) * np.sqrt(mean.group_variance)

    assert (mean.value - half, mean.value + half) == pytest.approx((low, high))
    assert np.isnan(mean.variance)


def test_the_seeds_of_a_repeat_are_averaged_before_repeats_are_columns():
    """Two seeds in each of three repeats: the same as the table of their averages, one seed a repeat."""
    rng = np.random.default_rng(1)
    parts = [tiny_spread(rng, columns=2).assign(repeat=r, fold=lambda t, r=r: (
        t["fold"] + r * t["group"].str[-1].astype(int)) % 5) for r in range(3)]
    both = pd.concat(parts)
    averaged = both.groupby(["repeat", "fold", "group", "image"], as_index=False)["score"].mean().assign(seed=0)

    assert mean_of(table_groups(both)) == mean_of(table_groups(averaged))
    assert decompose(both, draws=99).model.value == pytest.approx(decompose(averaged, draws=99).model.value)


def test_repeats_of_one_partition_are_columns_like_seeds():
    """A training-group bootstrap holds out the same folds in every repeat: the analysis is that of seeds."""
    seeds = tiny_spread(np.random.default_rng(2))
    repeats = seeds.rename(columns={"seed": "repeat"}).assign(seed=0)

    assert decompose(repeats, draws=99).model.value == decompose(seeds, draws=99).model.value
    assert "training sets" in decompose(repeats, draws=99).model.note


def test_runs_that_are_not_linked_over_repeats_count_less():
    """5 folds x 3 repeats, new partitions: 15 - 1 = 14; the same partition thrice: 5 (3 - 1) = 10."""
    rng = np.random.default_rng(3)
    linked = np.stack([rng.permutation(20) % 5 for _ in range(3)], axis=1)
    apart = np.tile((np.arange(20) % 5)[:, None], (1, 3))

    assert repeated_sums(rng.random((20, 3)), linked).run_df == 14
    assert repeated_sums(rng.random((20, 3)), apart).run_df == 10


def test_leave_one_group_out_gets_no_model_term_and_t_with_g_minus_one():
    groups = table_groups(tiny_spread(np.random.default_rng(0), groups_in_fold=(1,) * 8))
    mean = mean_of(groups)

    assert (mean.model_variance, mean.df) == (0, 7)
    assert mean.variance == pytest.approx(np.var(groups.means, ddof=1) / 8)


def test_a_group_without_weight_has_no_part_in_the_mean():
    table = tiny_spread(np.random.default_rng(0), images=(2,), columns=1)
    groups = table_groups(table)
    assert groups.image_group is not None
    without = table_groups(table[table["group"] != "g000"])
    found = row_mean_of(groups, (groups.image_group != 0).astype(float))

    assert found.value == pytest.approx(row_mean_of(without).value)
    assert found.group_variance == pytest.approx(row_mean_of(without).group_variance)


def test_redrawn_means_are_those_of_the_groups_taken_again():
    """One draw written out: images of the drawn groups, each as often as drawn, scored by hand."""
    scored = scored_images(tiny_scores()[0], runs=tiny_scores()[1])

    def score(counts: Counts) -> np.ndarray:
        return image_scores(counts, metric="iou", policy="truth")

    weights = next(drawn_groups(10, draws=1, rng=np.random.default_rng(0)))
    found = drawn_means(group_sums_of(scored, score(scored.counts)), weights,
                        targets=("equal_group", "equal_row", "group_pooled", "pooled"), score=score)
    rows = np.concatenate([np.flatnonzero(scored.group == g) for g in range(10) for _ in range(int(weights[0, g]))])
    each = score(scored.counts)
    means = group_scores(scored, each).means
    pooled = Counts(*(part[rows] for part in (scored.counts.tp, scored.counts.fp, scored.counts.fn)),
                    scored.counts.valid[rows]).pooled()

    assert weights.sum() == 10
    assert found["equal_group"][0] == pytest.approx(np.repeat(means, weights[0].astype(int)).mean())
    assert found["equal_row"][0] == pytest.approx(each[rows].mean())
    assert found["pooled"][0] == pytest.approx(score(pooled)[0])
    assert found["group_pooled"][0] == pytest.approx(np.repeat(
        score(scored.counts.by(scored.group)), weights[0].astype(int)).mean())


def test_exact_products_are_near_and_do_not_depend_on_the_order_of_summing():
    rng = np.random.default_rng(0)
    weights, values = rng.integers(0, 4, (20, 300)).astype(float), rng.random((300, 2))
    order = rng.permutation(300)

    assert product(weights, values) == pytest.approx(weights @ values, rel=1e-12)
    assert (product(weights, values) == product(weights[:, order], values[order])).all()


def test_group_scores_without_every_column_are_refused():
    groups = table_groups(tiny_spread(np.random.default_rng(0)))
    torn = GroupScores(groups.group_ids, np.where(np.arange(3) < 2, groups.scores, np.nan), groups.fold, groups.repeat,
                       groups.images, 0)

    with pytest.raises(Exception, match="every column"):
        decompose(torn)


def test_over_repeats_a_pooled_score_of_equal_unions_has_the_model_term_of_the_equal_row_mean():
    """Every image has 100 px in its union and its score as true positives, so the pooled IoU is the mean over images
    of equal groups: the model term of the recipe is that of the equal-row mean, another function."""
    rng = np.random.default_rng(3)
    groups, repeats, folds = 20, 3, 4
    fold = np.stack([rng.permutation(np.arange(groups) % folds) for _ in range(repeats)])         # repeats x groups
    tp = np.rint(100 * np.clip(.6 + .1 * rng.standard_normal((1, groups)) + .1 * rng.standard_normal((repeats, folds))[
        np.arange(repeats)[:, None], fold] + .02 * rng.standard_normal((repeats, groups)), 0, 1)).astype(int)
    rows = [(f"r{r}-f{fold[r, g]}", r, fold[r, g], 0, f"{g:02d}", f"{g:02d}", "", 0, tp[r, g], 0, 100 - tp[r, g], 200)
            for r in range(repeats) for g in range(groups)]
    scored = scored_images(pd.DataFrame(rows, columns=["run_id", "repeat", "fold", "seed", "image_id", "group_id",
                                                       "source_id", "class_id", "tp", "fp", "fn", "valid"]))

    def score(counts: Counts) -> np.ndarray:
        return image_scores(counts, metric="iou", policy="union")

    found = jackknife(scored, score)
    pooled = pooled_mean(found, found.pseudo, found.without, .6)
    by_row = row_mean_of(group_scores(scored, score(scored.counts)))

    assert by_row.model_variance > 0
    assert pooled.model_variance == pytest.approx(by_row.model_variance)
    assert pooled_estimates(scored, score, unit="mIoU", level=.95)[1].has_interval
