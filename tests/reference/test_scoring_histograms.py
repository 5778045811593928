"""Calibration, ranking and threshold curves from kept histograms: the same as from the pixels, by another library."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import average_precision_score, confusion_matrix, roc_auc_score

from segcv.metrics import iou
from segcv.pixels import label_map, predicted_coding, write_mask
from segcv.scoring import (
    PredictionForm,
    Reading,
    RunPlan,
    RunScores,
    histogram_of,
    probability_scores,
    read_histograms,
    read_scores,
    score_run,
    threshold_counts,
)

LABELS = label_map(num_classes=3)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, RunScores, np.ndarray, np.ndarray]:
    """Five images of 20 x 30, scored; the folder, the scores, and all valid pixels: truth and probability levels."""
    folder = tmp_path_factory.mktemp("soft")
    rng = np.random.default_rng(5)
    rows, truths, levels = [], [], []
    for number in range(5):
        truth = rng.integers(0, 3, (20, 30)).astype(np.uint8)
        sharp = np.eye(3)[truth] * rng.uniform(0, 3) + rng.normal(0, 1, (20, 30, 3))
        soft = np.exp(sharp) / np.exp(sharp).sum(axis=-1, keepdims=True)
        truth[rng.random(truth.shape) < 0.1] = LABELS.void
        write_mask(folder / f"{number}.png", truth)
        np.save(folder / f"{number}.npy", soft)
        rows.append((f"i{number}", folder / f"{number}.png", f"g{number}", "", folder / f"{number}.npy"))
        truths.append(truth[truth != LABELS.void])
        levels.append(np.rint(soft[truth != LABELS.void].astype(np.float32).astype(np.float64) * 255))
    table = pd.DataFrame(rows, columns=["image_id", "mask_path", "group_id", "source_id", "path"])
    reading = Reading(LABELS, predicted_coding(LABELS), PredictionForm("probabilities", channels="last"))
    scores = score_run(RunPlan("x", 0, 0, 0, table, 0), reading, run_id="run", out=folder)
    return folder, scores, np.concatenate(truths), np.concatenate(levels)


def test_auroc_and_average_precision_are_those_of_scikit_learn(run: tuple[Path, RunScores, np.ndarray, np.ndarray]):
    """scikit-learn, on the stored levels of every valid pixel."""
    folder, _, truth, levels = run
    said = probability_scores(histogram_of(read_histograms(folder), n_classes=3))

    for c in range(3):
        assert said["auroc_per_class"][c] == pytest.approx(roc_auc_score(truth == c, levels[:, c]), abs=1e-12)
        assert said["average_precision_per_class"][c] == pytest.approx(
            average_precision_score(truth == c, levels[:, c]), abs=1e-12)
        assert said["share_per_class"][c] == pytest.approx((truth == c).mean())


def test_brier_is_the_mean_squared_distance_to_the_truth(run: tuple[Path, RunScores, np.ndarray, np.ndarray]):
    """From the pixels themselves, numpy."""
    folder, _, truth, levels = run
    said = probability_scores(histogram_of(read_histograms(folder), n_classes=3))

    assert said["brier"] == pytest.approx(((levels / 255 - np.eye(3)[truth]) ** 2).sum(axis=1).mean(), abs=1e-12)


def test_a_threshold_curve_holds_the_counts_at_each_threshold(run: tuple[Path, RunScores, np.ndarray, np.ndarray]):
    """scikit-learn's confusion matrix at some thresholds."""
    folder, _, truth, levels = run
    counts = threshold_counts(histogram_of(read_histograms(folder), n_classes=3)[1])

    for k in (0, 64, 128, 200, 255):
        (_, fp), (fn, tp) = confusion_matrix(truth == 1, levels[:, 1] >= k, labels=[False, True])
        assert (counts.tp[k, 0], counts.fp[k, 0], counts.fn[k, 0]) == (tp, fp, fn)
        assert iou(counts)[k, 0] == pytest.approx(tp / (tp + fp + fn))


def test_the_largest_probability_is_right_as_often_as_the_scores_say(
        run: tuple[Path, RunScores, np.ndarray, np.ndarray]):
    """The top row's right pixels and the scores' true positives, counted apart, image by image."""
    folder, scores, _, _ = run
    table, hits = read_histograms(folder), read_scores(folder).groupby("image_id")["tp"].sum()

    for image_id in scores.image_ids:
        assert histogram_of(table, n_classes=3, image_ids=[image_id])[-1, 1].sum() == hits[image_id]
    assert (histogram_of(table, n_classes=3) == scores.histogram).all()


def test_empty_bins_are_not_kept(run: tuple[Path, RunScores, np.ndarray, np.ndarray]):
    table = read_histograms(run[0])

    assert (table["wrong"] + table["right"] > 0).all()
    assert set(table["class_id"]) == {-1, 0, 1, 2}
    valid = read_scores(run[0]).drop_duplicates("image_id")["valid"].sum()
    assert (table.groupby("class_id")[["wrong", "right"]].sum().sum(axis=1) == valid).all()


def test_labels_leave_no_histograms(tmp_path: Path):
    write_mask(tmp_path / "m.png", np.zeros((4, 4), np.uint8))
    rows = pd.DataFrame({"image_id": ["a"], "mask_path": [tmp_path / "m.png"], "group_id": ["g"], "source_id": [""],
                         "path": [tmp_path / "m.png"]})

    score_run(RunPlan("x", 0, 0, 0, rows, 0), Reading(LABELS, predicted_coding(LABELS), PredictionForm()), run_id="run",
              out=tmp_path)

    assert read_histograms(tmp_path) is None
