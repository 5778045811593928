"""What every metric in METRICS promises; a new one is tested by being named there."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from segcv.metrics import AVERAGES, METRICS, POLICIES, Counts, Metric, counts_from_confusion

every_metric = pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS.keys())


@pytest.fixture
def counts() -> Counts:
    """Forty images of five classes, many of them absent."""
    rng = np.random.default_rng(7)
    matrices = rng.integers(0, 50, (40, 5, 6)) * (rng.random((40, 5, 6)) < 0.4)
    return counts_from_confusion(matrices)


def counts_as_rows(**parts: Any) -> Counts:
    return Counts(**{name: np.asarray(values) for name, values in parts.items()})


@every_metric
def test_lies_in_0_to_1_or_is_undefined(metric: Metric, counts: Counts) -> None:
    """By definition of a share."""
    scores = metric(counts)

    assert scores.shape == (40, 5) and scores.dtype == np.float64
    assert ((scores >= 0) & (scores <= 1) | np.isnan(scores)).all()


@every_metric
def test_is_undefined_exactly_where_a_class_is_in_neither_mask(metric: Metric, counts: Counts) -> None:
    """One rule for all metrics, so that a policy means the same cells for each."""
    assert (np.isnan(metric(counts)) == (counts.union == 0)).all()


@every_metric
def test_a_perfect_prediction_scores_1(metric: Metric) -> None:
    """By hand: all pixels of two classes are right, the third is absent."""
    perfect = counts_as_rows(tp=[[3, 5, 0]], fp=[[0, 0, 0]], fn=[[0, 0, 0]], valid=[8])

    assert metric(perfect)[0].tolist()[:2] == [1, 1]


@every_metric
def test_missed_and_falsely_seen_classes_score_0(metric: Metric) -> None:
    """By hand: class 0 is only in the truth, class 1 only in the prediction."""
    wrong = counts_as_rows(tp=[[0, 0]], fp=[[0, 4]], fn=[[4, 0]], valid=[4])

    assert metric(wrong).tolist() == [[0, 0]]


@every_metric
def test_an_image_does_not_see_the_others(metric: Metric, counts: Counts) -> None:
    """Row i of the whole is the score of row i alone."""
    alone = np.concatenate([metric(counts.take([row])) for row in range(counts.n_images)])

    assert np.array_equal(metric(counts), alone, equal_nan=True)


@every_metric
def test_names_of_classes_do_not_matter(metric: Metric, counts: Counts) -> None:
    """Columns permuted before are columns permuted after."""
    order = [3, 0, 4, 1, 2]

    assert np.array_equal(metric(counts.take(classes=order)), metric(counts)[:, order], equal_nan=True)


@every_metric
def test_does_not_change_its_counts(metric: Metric, counts: Counts) -> None:
    """Inputs are never written to."""
    before = counts.tp.copy(), counts.fp.copy(), counts.fn.copy()
    metric(counts)

    assert all(np.array_equal(*pair) for pair in zip(before, (counts.tp, counts.fp, counts.fn), strict=True))


@pytest.mark.parametrize("average", AVERAGES)
def test_policies_differ_only_in_their_cells(average: str) -> None:
    """By hand: with every class in both masks the four policies are one number."""
    full = counts_as_rows(tp=[[3, 5], [1, 2]], fp=[[1, 2], [0, 1]], fn=[[2, 1], [1, 0]], valid=[11, 4])

    values = {AVERAGES[average](full, policy=policy) for policy in POLICIES}
    assert len(values) == 1


@pytest.mark.parametrize("average", AVERAGES)
def test_an_average_of_nothing_is_undefined(average: str) -> None:
    """An image whose every pixel is ignored has no score."""
    nothing = counts_as_rows(tp=[[0, 0]], fp=[[0, 0]], fn=[[0, 0]], valid=[0])

    assert np.isnan(AVERAGES[average](nothing))


def test_the_room_opens_without_compilers_image_libraries_or_torch() -> None:
    """Tables are scored on machines that have none of them; counting a mask loads numba only then."""
    blocked = "import sys; sys.modules.update(dict.fromkeys(['numba', 'cv2', 'PIL', 'torch'])); "
    work = "import segcv.metrics as m; print(m.miou_image(m.trivial_counts([[3, 1]], class_id=0)))"

    done = subprocess.run([sys.executable, "-c", blocked + work], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout.strip()) == (0, "0.375"), done.stderr
