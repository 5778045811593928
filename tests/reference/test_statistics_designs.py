"""Reports on designs that are no cross-validation: what is said, what is refused, and the same numbers by hand."""

from __future__ import annotations

import math
import warnings
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from tiny_scores import tiny_scores

from segcv.errors import SegcvWarning
from segcv.statistics import Summary, summarise


def summary(scores: pd.DataFrame, runs: pd.DataFrame, **choices: object) -> Summary:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SegcvWarning)
        return summarise(scores, runs, **choices)


def one_image_groups(cells: list[tuple[int, str, int]]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Fold, group, and true positives of 100 px of class 0; the other class is what is missed. One image a group."""
    rows = [(f"f{fold}", group, number, group, "", right if number == 0 else 0, 0 if number == 0 else 100 - right,
             100 - right if number == 0 else 0, 100) for fold, group, right in cells for number in (0, 1)]
    scores = pd.DataFrame(rows, columns=["run_id", "image_id", "class_id", "group_id", "source_id", "tp", "fp", "fn",
                                         "valid"])
    folds = sorted({fold for fold, _, _ in cells})
    return scores, pd.DataFrame({"run_id": [f"f{fold}" for fold in folds], "candidate": "c", "repeat": 0,
                                 "fold": folds, "seed": 0})


def recipes(found: Summary) -> list[float]:
    return [estimate.low for estimates in found.targets.values() for estimate in estimates
            if estimate.target.endswith("the recipe")]


def test_pairs_of_groups_are_averaged_by_group_first():
    """Six groups by twos, 15 folds: group k scores IoU (40 + 5 k + fold) % and 0 for the class that is not there.

    The mIoU of an image is half of that. A group is in five folds; its mean is over these, and the mean over groups
    equals the mean over all 30 cells because all groups come equally often.
    """
    pairs = list(combinations("abcdef", 2))
    cells = [(fold, group, 40 + 5 * "abcdef".index(group) + fold) for fold, pair in enumerate(pairs) for group in pair]
    found = summary(*one_image_groups(cells), folds=15)

    assert found.headline.value == pytest.approx(np.mean([right for _, _, right in cells]) / 200)
    assert found.headline.groups == 6
    assert math.isfinite(found.headline.low)
    assert not np.isfinite(recipes(found)).any()
    assert not found.fold_mean.has_interval
    assert any("6 of 6 images were held out in several folds" in text for text in found.cautions)


def test_groups_seen_again_later_have_no_interval_of_the_recipe():
    """Known groups: other images of the same six groups in each of two folds."""
    scores, runs = one_image_groups([(fold, group, 50 + 5 * place) for fold in (0, 1)
                                     for place, group in enumerate("abcdef")])
    later = scores.assign(image_id=scores["run_id"] + scores["image_id"])
    found = summary(later, runs, folds=2)

    assert not np.isfinite(recipes(found)).any()
    assert any("6 groups were scored in several folds" in text for text in found.cautions)
    assert not any("held out in several" in text for text in found.cautions)


def test_images_that_no_fold_holds_out_are_counted():
    """A cross-validation of ten groups, two of which are not in the scores of any fold."""
    scores, runs = tiny_scores()
    images = scores.drop_duplicates("image_id")[["image_id", "group_id"]]
    earlier = pd.DataFrame({"image_id": ["x/0", "x/1", "y/0"], "group_id": ["x", "x", "y"]})
    found = summary(scores, runs, folds=5, images=pd.concat([images, earlier]))
    whole = summary(scores, runs, folds=5, images=images)

    assert any(f"3 of {len(images) + 3} images were never held out" in text for text in found.cautions)
    assert not any("never held out" in text for text in whole.cautions)


def test_repeats_that_keep_the_held_out_folds_are_columns_as_seeds_are():
    """A bootstrap of training groups leaves the partition: calling its repeats seeds changes no estimate."""
    scores, runs = tiny_scores(seeds=(0, 1, 2))
    as_repeats = summary(scores, runs.assign(repeat=runs["seed"], seed=0), folds=5, repeats=3)
    as_seeds = summary(scores, runs, folds=5, seeds=(0, 1, 2))

    for target, estimates in as_seeds.targets.items():
        for one, other in zip(estimates, as_repeats.targets[target], strict=True):
            assert (one.value, one.low, one.high) == pytest.approx((other.value, other.low, other.high), nan_ok=True)
    assert math.isfinite(as_repeats.recipe.low)


def test_a_cross_validation_needs_no_caution_about_its_design():
    scores, runs = tiny_scores(seeds=(0, 1), repeats=2)
    found = summary(scores, runs, folds=5, repeats=2, seeds=(0, 1))

    assert not any("several folds" in text or "never" in text for text in found.cautions)
    assert math.isfinite(found.recipe.low)
