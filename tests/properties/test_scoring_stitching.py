"""Overlapping patches count each pixel of their source once, as the whole source does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from segcv.errors import ScoreError
from segcv.pixels import label_map, predicted_coding, write_mask
from segcv.scoring import (
    Place,
    PredictionForm,
    Reading,
    RunPlan,
    Stitcher,
    read_confusion,
    read_scores,
    refuse_overlaps,
    score_run,
    scored_ids,
)

LABELS = label_map(num_classes=3)
SOFT = Reading(LABELS, predicted_coding(LABELS), PredictionForm("probabilities"))


def soft_source(height: int, width: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Truth with a tenth ignored, and probabilities classes x H x W in steps of 1/64, which float32 adds exactly."""
    truth = rng.integers(0, 3, (height, width)).astype(np.uint8)
    truth[rng.random(truth.shape) < 0.1] = LABELS.void
    cuts = np.sort(rng.integers(0, 65, (2, height, width)), axis=0)
    return truth, (np.diff(np.concatenate([np.zeros((1, height, width)), cuts, np.full((1, height, width), 64)]),
                           axis=0) / 64).astype(np.float32)


def cut(places: list[Place]) -> list[tuple[str, Place]]:
    return [(f"p{number:02d}", place) for number, place in enumerate(sorted(places))]


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.lists(st.tuples(st.integers(0, 9), st.integers(0, 11), st.integers(1, 8),
                                                  st.integers(1, 8)), min_size=1, max_size=8))
def test_patches_of_one_prediction_count_as_the_covered_source_does(seed: int, boxes: list[tuple[int, ...]]):
    """Second way: the whole source, uncovered pixels ignored, counted by numpy."""
    rng = np.random.default_rng(seed)
    truth, soft = soft_source(18, 20, rng)
    places = [Place(*box) for box in boxes]
    stitcher = Stitcher("s", tuple(places), SOFT)
    covered = np.zeros(truth.shape, bool)
    for name, place in cut(places):
        window = slice(place.y, place.y + place.h), slice(place.x, place.x + place.w)
        covered[window] = True
        stitcher.add(name, place, truth[window], soft[:, window[0], window[1]])

    found = stitcher.scored(run_id="r", group_id="g").score

    counted = np.zeros((3, 3), np.int64)
    valid = covered & (truth != LABELS.void)
    np.add.at(counted, (truth[valid], soft.argmax(axis=0)[valid]), 1)
    assert found.cells.tolist() == [[t, p, counted[t, p]] for t in range(3) for p in range(3) if counted[t, p]]
    assert found.valid == valid.sum()


def test_where_patches_disagree_the_mean_decides():
    """By hand: .6 and .1 for class 1 of two make .35: class 0; alone the first would say 1."""
    labels = label_map(num_classes=2)
    reading = Reading(labels, predicted_coding(labels), PredictionForm("probabilities"))
    left, right = Place(0, 0, 1, 2), Place(0, 1, 1, 2)
    stitcher = Stitcher("s", (left, right), reading)
    truth = np.zeros((1, 2), np.uint8)
    stitcher.add("a", left, truth, np.array([[[0.9, 0.4]], [[0.1, 0.6]]], np.float32))
    stitcher.add("b", right, truth, np.array([[[0.9, 0.2]], [[0.1, 0.8]]], np.float32))

    found = stitcher.scored(run_id="r", group_id="g").score

    assert found.cells.tolist() == [[0, 0, 2], [0, 1, 1]]
    assert found.mean_top_probability == pytest.approx((0.9 + 0.65 + 0.8) / 3)


def write_patches(folder: Path, truth: np.ndarray, soft: np.ndarray, places: list[Place]) -> pd.DataFrame:
    rows = []
    for name, place in cut(places):
        window = slice(place.y, place.y + place.h), slice(place.x, place.x + place.w)
        write_mask(folder / f"{name}.png", truth[window])
        np.save(folder / f"{name}.npy", soft[:, window[0], window[1]])
        rows.append((name, str(folder / f"{name}.png"), "g", "scene", place.x, place.y, place.w, place.h,
                     str(folder / f"{name}.npy")))
    return pd.DataFrame(rows, columns=["image_id", "mask_path", "group_id", "source_id", "x", "y", "w", "h", "path"])


def test_a_source_is_scored_once_among_other_images(tmp_path: Path):
    """Four patches of 12 x 12 with 4 px overlap cover 20 x 20; another source's patches touch and stay apart. The
    counts are those of the whole, from one process and from two, outlines and histograms too."""
    rng = np.random.default_rng(3)
    truth, soft = soft_source(20, 20, rng)
    (tmp_path / "whole").mkdir()
    whole = write_patches(tmp_path / "whole", truth, soft, [Place(0, 0, 20, 20)]).assign(image_id="scene", source_id="")
    parts = write_patches(tmp_path, truth, soft, [Place(y, x, 12, 12) for y in (0, 8) for x in (0, 8)])
    apart = pd.concat([parts.iloc[:1].assign(image_id=f"z{n}", source_id="other", x=12 * n) for n in range(9)])
    reading = Reading(LABELS, predicted_coding(LABELS), PredictionForm("probabilities"), metrics=("hd95_max", "nsd"),
                      tolerance=1.0)

    for name, rows, workers in (("1", [whole, apart], 1), ("2", [apart, parts], 1), ("3", [parts, apart], 2)):
        score_run(RunPlan("x", 0, 0, 0, pd.concat(rows, ignore_index=True), 0), reading, run_id="run",
                  out=tmp_path / name, workers=workers)

    scores = [read_scores(tmp_path / name).drop(columns="source_id") for name in "123"]
    assert scores[0]["image_id"].unique().tolist() == ["scene", *(f"z{n}" for n in range(9))]
    pd.testing.assert_frame_equal(scores[0], scores[1])
    for table in ("scores.parquet", "confusion.parquet", "histograms.parquet", "image_facts.parquet"):
        assert (tmp_path / "2" / table).read_bytes() == (tmp_path / "3" / table).read_bytes()
    assert read_confusion(tmp_path / "2").query("image_id == 'scene'")["pixels"].sum() == (truth != 255).sum()


def test_patches_that_contradict_each_other_are_refused(tmp_path: Path):
    truth, soft = soft_source(20, 20, np.random.default_rng(4))
    rows = write_patches(tmp_path, truth, soft, [Place(0, 0, 12, 12), Place(0, 8, 12, 12)])
    wrong = truth[:12, 8:20].copy()
    wrong[3, 1] = (wrong[3, 1] + 1) % 3
    write_mask(tmp_path / "p01.png", wrong)

    with pytest.raises(ScoreError, match=r"p01: .* source scene in 1 pixels that both show, first at x=9, y=3"):
        score_run(RunPlan("x", 0, 0, 0, rows, 0), SOFT, run_id="run", out=tmp_path / "out")
    assert not list(tmp_path.glob("out/*"))


@pytest.mark.parametrize(("column", "value", "message"), [
    ("x", 8.5, "whole pixels"), ("group_id", "other", "in 2 groups"), ("image_id", "scene", "Rename"),
])
def test_places_that_cannot_be_right_are_refused(tmp_path: Path, column: str, value: Any, message: str):
    truth, soft = soft_source(20, 20, np.random.default_rng(4))
    rows = write_patches(tmp_path, truth, soft, [Place(0, 0, 12, 12), Place(0, 8, 12, 12)])
    rows[column] = rows[column].astype(object)
    rows.loc[1, column] = value

    with pytest.raises(ScoreError, match=message):
        scored_ids(rows.infer_objects())


def test_a_place_that_is_not_the_size_of_its_mask_is_refused():
    stitcher = Stitcher("s", (Place(0, 0, 4, 4), Place(0, 2, 4, 4)), SOFT)

    with pytest.raises(ScoreError, match="its mask is 4x5"):
        stitcher.add("a", Place(0, 0, 4, 4), np.zeros((4, 5), np.uint8), np.full((3, 4, 5), 1 / 3, np.float32))


def test_class_ids_of_overlapping_patches_are_refused(tmp_path: Path):
    truth, soft = soft_source(20, 20, np.random.default_rng(4))
    rows = write_patches(tmp_path, truth, soft, [Place(0, 0, 12, 12), Place(0, 8, 12, 12)])

    with pytest.raises(ScoreError, match=r"p00 and p01 overlap .* cannot be averaged"):
        refuse_overlaps(rows, why="class ids cannot be averaged")
    refuse_overlaps(rows.assign(x=[0, 12]), why="they do not overlap")
