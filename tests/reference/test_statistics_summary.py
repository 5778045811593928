"""Scores of images to numbers: the worked example of the averages, groups, baselines, pooled scores."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from tiny_scores import CLASSES, tiny_scores, tiny_tables

from segcv.errors import RunError, SegcvWarning, TableError
from segcv.metrics import image_scores, iou
from segcv.statistics import (
    Estimate,
    LeakGap,
    averages_table,
    fold_table,
    group_profile,
    grouping_verdict,
    intraclass_correlation,
    leak_gap,
    pooled_estimates,
    scored_images,
    summarise,
    train_beside_held_out,
    trivial_baseline,
    undefined_table,
)


def example() -> pd.DataFrame:
    """Three images of 2x4, three classes, one ignored pixel; IoU [[6/7, 1/2, -], [6/7, 0, -], [4/5, -, 3/4]]."""
    cells = [("a", 0, 6, 1, 0, 8), ("a", 1, 1, 0, 1, 8), ("a", 2, 0, 0, 0, 8),
             ("b", 0, 6, 0, 1, 7), ("b", 1, 0, 1, 0, 7), ("b", 2, 0, 0, 0, 7),
             ("c", 0, 4, 1, 0, 8), ("c", 1, 0, 0, 0, 8), ("c", 2, 3, 0, 1, 8)]
    table = pd.DataFrame(cells, columns=["image_id", "class_id", "tp", "fp", "fn", "valid"])
    return table.assign(run_id="r", group_id=["g"] * 3 + ["h"] * 6, source_id="", fold=0, seed=0)


def test_the_worked_example_gives_every_average_under_every_policy():
    """Values of the methods page, by hand from the nine cells above."""
    table = averages_table(scored_images(example())).set_index("average")

    assert table.loc["miou_pooled", "union"] == pytest.approx(.6418, abs=1e-4)
    assert table.loc["miou_image", ["union", "truth", "zero", "one"]].tolist() == pytest.approx(
        [.6274, .7702, .4183, .7516], abs=1e-4)
    assert table.loc["miou_class", ["union", "truth"]].tolist() == pytest.approx([.6127, .6960], abs=1e-4)
    assert table.loc["micro_iou", "union"] == pytest.approx(.7692, abs=1e-4)
    assert table.loc["frequency_weighted_iou", "union"] == pytest.approx(.7818, abs=1e-4)
    assert table.loc["miou_image", "span"] == pytest.approx(.7702 - .4183, abs=2e-4)


def test_groups_count_once_or_by_their_images():
    """Image means .6786, .4286, .775: equal rows .6274; g = a, h = (b + c)/2 = .6018: (.6786 + .6018)/2 = .6402."""
    table = averages_table(scored_images(example())).set_index("average")

    assert table.loc["equal_row", "union"] == pytest.approx(.6274, abs=1e-4)
    assert table.loc["equal_group", "union"] == pytest.approx(.6402, abs=1e-4)
    assert table.loc["worst_group", "union"] == pytest.approx(.6018, abs=1e-4)


def test_patches_of_a_source_are_added_before_they_are_scored():
    """a and b as one source: class 0 12/14, class 1 1/3; mean .5952; with c .775: (.5952 + .775)/2 = .6851."""
    rows = example().assign(group_id="g", source_id=["s"] * 6 + [""] * 3)

    table = averages_table(scored_images(rows)).set_index("average")

    assert table.loc["miou_source", "union"] == pytest.approx((.5952 + .775) / 2, abs=1e-4)


def test_cells_are_counted_by_state():
    table = undefined_table(scored_images(example(), class_names=CLASSES)).set_index("class")

    assert table.loc["road", ["hit", "missed", "false_alarm", "absent"]].tolist() == [1, 0, 1, 1]
    assert table.loc["road", "false_alarm_rate"] == pytest.approx(1 / 2)
    assert math.isnan(table.loc["field", "false_alarm_rate"])


def test_the_fold_table_adds_pixels_before_it_divides():
    table = fold_table(scored_images(example()))

    assert table["miou_pooled"].tolist() == pytest.approx([.6418], abs=1e-4)
    assert table["iou class 0"].tolist() == pytest.approx([16 / 19])
    assert table["dice class 2"].tolist() == pytest.approx([6 / 7])
    assert table[["images", "groups"]].values.tolist() == [[3, 2]]


def test_icc_of_two_groups_of_two():
    """By hand: means .15, .55; MSB = 2(.2² + .2²) = .16, MSW = 4 · .05²/2 = .005, n0 = 2: .155/.165."""
    found = intraclass_correlation(np.array([.1, .2, .5, .6]), np.array([0, 0, 1, 1]))

    assert found.value == pytest.approx(.155 / .165)
    assert found.low < found.value < found.high


def test_icc_with_one_image_a_group_is_undefined_and_says_so():
    found = intraclass_correlation(np.array([.1, .2, .5]), np.array([0, 1, 2]))

    assert math.isnan(found.value)
    assert "one image in every group" in found.note


def test_the_grouping_verdict_follows_its_convention():
    """Strong from .25; weak while the design effect 1 + (n0 - 1) ICC stays below 2."""
    assert grouping_verdict(.25, 3) == "strong"
    assert grouping_verdict(.1, 10) == "weak"
    assert grouping_verdict(.1, 11.5) == "medium"


def test_the_group_profile_counts_images_and_effective_groups():
    """Sizes 1 and 2: shares 1/3, 2/3; 1 / (1/9 + 4/9) = 1.8."""
    scored = scored_images(example())

    profile = group_profile(scored, image_scores(scored.counts))

    assert (profile.images, profile.groups, profile.largest_group) == (3, 2, "h")
    assert profile.largest_share == pytest.approx(2 / 3)
    assert profile.effective == pytest.approx(1.8)


def test_the_trivial_predictor_takes_its_class_from_training_pixels_only():
    """Fold 0 trains on class 1 (9 px against 1): on a held-out image of 6 + 2 px it scores IoU 0 and 2/8, mean 1/8."""
    scores = pd.DataFrame({"run_id": "r", "image_id": "a", "class_id": [0, 1], "group_id": "g", "source_id": "",
                           "tp": [6, 2], "fp": 0, "fn": 0, "valid": 8, "fold": 0, "seed": 0})
    masks = pd.DataFrame({"image_id": ["a", "a", "b", "b"], "class_id": [0, 1, 0, 1], "pixels": [6, 2, 1, 9]})
    roles = pd.DataFrame({"repeat": 0, "fold": 0, "image_id": ["a", "b"], "role": ["held_out", "train"]})

    guessed = trivial_baseline(scored_images(scores), masks, roles)

    assert iou(guessed.counts).tolist() == [[0, .25]]
    assert fold_table(guessed)["miou_pooled"].tolist() == pytest.approx([1 / 8])


def test_the_jackknife_of_a_share_of_equal_groups_is_their_t_interval():
    """Pixel accuracy of groups of 100 px is their mean; for a mean the jackknife variance is s²/G exactly.

    One class with 100 true pixels a group: equal leverage, G_eff = 6, df 5, t = 2.5706.
    """
    hits = np.array([50, 60, 65, 70, 80, 90])
    table = pd.DataFrame({"run_id": "r", "image_id": [f"i{g}" for g in range(6)], "class_id": 0, "source_id": "",
                          "group_id": [f"g{g}" for g in range(6)], "tp": hits, "fp": 0, "fn": 100 - hits, "valid": 100,
                          "fold": 0, "seed": 0})
    half = 2.570582 * np.std(hits / 100, ddof=1) / math.sqrt(6)

    these, _ = pooled_estimates(scored_images(table), image_scores, unit="IoU", level=.95)

    assert these.value == pytest.approx(hits.mean() / 100)
    assert (these.low, these.high) == pytest.approx((hits.mean() / 100 - half, hits.mean() / 100 + half), abs=1e-5)


def test_a_class_in_fewer_than_five_groups_has_no_interval():
    scores, runs = tiny_scores(groups=10)
    scores.loc[(scores["class_id"] == 2) & (scores["group_id"] > "g03"), ["tp", "fn"]] = 0

    with pytest.warns(SegcvWarning):
        found = summarise(scores, runs, folds=5, class_names=CLASSES)

    assert not found.classes["car"].has_interval
    assert "4 groups" in found.classes["car"].note or "3 groups" in found.classes["car"].note
    assert found.classes["road"].has_interval


def test_an_image_without_labelled_pixels_is_left_out_and_counted():
    scores, runs = tiny_scores()
    scores.loc[scores["image_id"] == "g00/0", ["tp", "fp", "fn", "valid"]] = 0

    with pytest.warns(SegcvWarning):
        found = summarise(scores, runs, folds=5)

    assert found.headline.undefined == 1
    assert found.images["score"].isna().sum() == 1


def test_training_scores_stand_beside_held_out_scores():
    scores, _ = tiny_scores(groups=2, folds=1)
    held = scored_images(scores.assign(fold=0, seed=0))
    perfect = scored_images(scores.assign(tp=scores["tp"] + scores["fn"], fp=0, fn=0, fold=0, seed=0))

    table = train_beside_held_out(perfect, held)

    assert table["train"].tolist() == pytest.approx([1, 1])
    assert (table["gap"] == table["train"] - table["held_out"]).all()


def test_the_leak_gap_is_paired_by_group():
    """The leaking runs find one more pixel in ten of every class: every group gains, so the interval excludes 0."""
    scores, runs = tiny_scores()
    more = np.minimum(scores["fn"], 3)
    leaking = scores.assign(tp=scores["tp"] + more, fn=scores["fn"] - more)

    found = leak_gap(scored_images(leaking, runs=runs), scored_images(scores, runs=runs))

    assert found.difference.value == pytest.approx(found.random.value - found.group.value)
    assert found.difference.low > 0


def test_seeds_give_the_recipe_an_interval_and_repeats_too():
    for chosen in ({"seeds": (0, 1, 2)}, {"repeats": 3}):
        scores, runs = tiny_scores(**chosen)
        found = summarise(scores, runs, folds=5, **chosen) if "seeds" in chosen else summarise(
            scores, runs, folds=5, repeats=3)
        recipe, these = found.targets["equal_group"][3], found.targets["equal_group"][0]

        assert recipe.low <= these.low < these.high <= recipe.high


def test_tables_that_do_not_fit_together_are_refused():
    scores, runs = tiny_scores()

    with pytest.raises(TableError, match="is not in the runs table"):
        scored_images(scores, runs=runs.iloc[:2])
    torn = scores.assign(group_id=np.where(scores["class_id"] == 1, "other", scores["group_id"]))
    with pytest.raises(RunError, match="is in two groups"):
        scored_images(torn, runs=runs)


def test_the_summary_holds_every_part_that_its_tables_allow():
    scores, runs = tiny_scores()
    images, masks, roles = tiny_tables(scores, runs)

    with pytest.warns(SegcvWarning):
        found = summarise(scores, runs, folds=5, class_names=CLASSES, images=images, masks=masks, roles=roles,
                          train_scores=scores)

    assert found.trivial is not None and found.trivial.value < found.headline.value
    assert found.shares is not None and found.shares["field"].iloc[-1] == pytest.approx(.6, abs=.05)
    assert found.train is not None and (found.train["gap"] == 0).all()
    assert found.groups["score"].is_monotonic_increasing


@pytest.mark.parametrize(("low", "high", "reading", "words"), [
    (.01, .05, "flatters", "flatters by"), (-.05, -.01, "lower", "scores lower"),
    (-.005, .02, "nothing", "changed nothing to speak of"), (-.005, .366, "open", "not settled by these groups"),
    (np.nan, np.nan, "open", "so it is open"),
])
def test_what_a_leak_gap_says_rests_on_its_whole_interval(low: float, high: float, reading: str, words: str):
    """An interval that holds 0 and reaches far is no evidence that grouping changed nothing."""
    mean = Estimate(.8, .7, .9)

    gap = LeakGap(mean, mean, Estimate(.01, low, high, note="" if low == low else "too few groups"))

    assert gap.reading == reading and words in gap.verdict
