"""What must not matter: the order of rows, the names of groups; and what must: the same seed, the same bytes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_scores import tiny_scores

from segcv.errors import SegcvWarning
from segcv.statistics import Summary, bootstrap_t, gaffke, intraclass_correlation, summarise


def numbers(summary: Summary) -> str:
    estimates = [each.to_json() for target in summary.targets.values() for each in target]
    return json.dumps([estimates, summary.profile.icc.to_json(), summary.averages.to_dict("records")], default=float)


def summary(scores: pd.DataFrame, runs: pd.DataFrame) -> Summary:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SegcvWarning)
        return summarise(scores, runs, folds=5, seeds=(0, 1))


def test_the_order_of_rows_does_not_matter():
    scores, runs = tiny_scores(seeds=(0, 1))
    shuffled = scores.sample(frac=1, random_state=3), runs.sample(frac=1, random_state=4)

    assert numbers(summary(*shuffled)) == numbers(summary(scores, runs))


def test_the_names_of_groups_do_not_matter():
    """Names in the opposite order: sums run in another order, so equal to 1e-12 and not to the bit."""
    scores, runs = tiny_scores(seeds=(0, 1))
    other, _ = tiny_scores(seeds=(0, 1), names=[f"z{20 - number}" for number in range(10)])
    one, two = summary(scores, runs), summary(other, runs)

    for name, estimates in one.targets.items():
        for first, second in zip(estimates, two.targets[name], strict=True):
            np.testing.assert_allclose([first.value, first.low, first.high], [second.value, second.low, second.high],
                                       rtol=1e-12)
    np.testing.assert_allclose(one.profile.icc.value, two.profile.icc.value, rtol=1e-12)


def test_the_same_seed_gives_the_same_bytes():
    scores, runs = tiny_scores(seeds=(0, 1))

    assert numbers(summary(scores, runs)) == numbers(summary(scores, runs))


SCORES = st.lists(st.floats(0, 1), min_size=5, max_size=12).map(np.array)


@settings(max_examples=40, deadline=None)
@given(SCORES)
def test_intervals_lie_in_the_unit_interval_around_the_mean(scores: np.ndarray):
    rng = np.random.default_rng(0)
    bounded = gaffke(scores, level=.95, rng=rng, draws=999)
    drawn = bootstrap_t(scores, level=.95, rng=rng, draws=999)

    assert 0 <= bounded[0] <= scores.mean() + 1e-9
    assert scores.mean() - 1e-9 <= bounded[1] <= 1
    assert np.isnan(drawn).all() or 0 <= drawn[0] <= drawn[1] <= 1


@settings(max_examples=40, deadline=None)
@given(SCORES, st.integers(2, 4), st.floats(.1, .5))
def test_icc_does_not_change_with_the_unit_of_the_score(scores: np.ndarray, groups: int, scale: float):
    group = np.arange(len(scores)) % groups
    one = intraclass_correlation(scores, group).value
    other = intraclass_correlation(scale * scores + .1, group).value

    assert np.isnan(one) == np.isnan(other) or scores.std() < 1e-6
    if np.isfinite(one) and scores.std() > 1e-6:
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)


THREADS = """
import sys
import numpy as np
sys.path.insert(0, {tests!r})
from tiny_spread import tiny_spread
from segcv.statistics import bootstrap_t, compare, decompose, drawn_groups, drawn_means, table_groups
from segcv.statistics import GroupSums
rng = np.random.default_rng(0)
a, b = (tiny_spread(rng, groups_in_fold=(60,) * 5, images=(3,)) for _ in range(2))
sums = GroupSums(rng.random((300, 3)), np.ones((300, 3)), *(rng.integers(0, 9999, (300, 3, 10)) for _ in range(3)))
means = [drawn_means(sums, weights, targets=("equal_group", "equal_row", "pooled"),
                     score=lambda counts: (counts.tp / counts.union).mean(axis=1))
         for weights in drawn_groups(300, draws=2_000, rng=rng)]
print([part.tobytes().hex() for each in means for part in each.values()])
print(compare(a, b), decompose(a, draws=999))
"""


def test_the_number_of_threads_does_not_change_a_byte():
    """The same program with one and with four threads of the linear algebra under numpy."""
    tests = str(Path(__file__).parents[1])
    printed = {subprocess.run([sys.executable, "-c", THREADS.format(tests=tests)], capture_output=True, text=True,
                              check=True, env=os.environ | dict.fromkeys(
                                  ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), threads)).stdout
               for threads in ("1", "4")}

    assert len(printed) == 1 and len(printed.pop()) > 1_000
