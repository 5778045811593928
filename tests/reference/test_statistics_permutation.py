"""Exchanging scores: against every permutation, and the error that the popular test makes."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from tiny_spread import tiny_spread

from segcv.statistics import folds_differ, groups_differ


def test_whole_groups_are_exchanged_over_folds():
    """Group means 0, .1 in fold 0 and .8, 1 in fold 1: of the 24 orders 8 have so large a between-fold SS: 1/3."""
    table = pd.DataFrame({"fold": [0, 0, 1, 1], "group": list("abcd"), "image": list("abcd"), "score": [0, .1, .8, 1]})
    scores = table["score"].to_numpy()
    seen = scores[:2].sum() ** 2 / 2 + scores[2:].sum() ** 2 / 2
    all_orders = [(p[0] + p[1]) ** 2 / 2 + (p[2] + p[3]) ** 2 / 2 for p in itertools.permutations(scores)]
    exact = np.mean(np.array(all_orders) >= seen - 1e-12)

    found = folds_differ(table)

    assert exact == pytest.approx(1 / 3)
    assert found.p_value == pytest.approx(exact, abs=.04)


def test_images_are_exchanged_within_their_fold_only():
    """Two folds of two groups of two images: 3 ways to pair a fold's images, 9 in all; the seen one is the extreme."""
    table = pd.DataFrame({"fold": [0] * 4 + [1] * 4, "group": list("aabbccdd"), "image": list("12345678"),
                          "score": [0, .1, .3, .5, .7, .72, .9, 1.0]})

    assert groups_differ(table).p_value == pytest.approx(1 / 9, abs=.03)


def test_model_noise_alone_is_not_called_group_structure():
    """Folds of different level, no group effect, 100 tables: 5 rejections expected, 12 is 3 standard errors more."""
    rng = np.random.default_rng(0)
    rejected = sum(groups_differ(tiny_spread(rng, sd=(0, .05, 0, .05, 0), images=(5,), columns=1), draws=199,
                                 seed=n).p_value < .05 for n in range(100))

    assert rejected <= 12


def test_group_effects_are_found():
    rng = np.random.default_rng(1)
    found = groups_differ(tiny_spread(rng, sd=(.08, .02, 0, .05, 0), images=(5,), columns=1))

    assert found.p_value < .01
    assert "within a fold" in found.answer and "nothing about leakage" in found.answer


def test_where_nothing_can_be_exchanged_there_is_no_test_and_the_reason_is_said():
    alone = tiny_spread(np.random.default_rng(0), groups_in_fold=(1,) * 6, images=(2,))

    assert np.isnan(folds_differ(alone).p_value) and "fold of its own" in folds_differ(alone).answer
    assert "one image in every group" in groups_differ(tiny_spread(np.random.default_rng(0))).note
