"""Scores tables: the same whatever the order of arrival, exact, refused when an image would count twice."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from segcv import metrics
from segcv.errors import MaskError, ScoreError, SegcvWarning
from segcv.scoring import (
    ImageScore,
    ScoreTables,
    counts_of,
    nearest,
    overlapping_patches,
    read_confusion,
    read_image_facts,
    read_scores,
    score_image,
)


@dataclass(frozen=True)
class Labels:
    """What scoring needs of a label map."""

    n_classes: int = 3
    void: int = 255
    names: tuple[str, ...] = ("ground", "road", "roof")


def scored(truth: Any, prediction: Any, image_id: str = "a", *, run_id: str = "run", n_classes: int = 3,
           group_id: str = "g") -> ImageScore:
    return score_image(np.asarray(truth, np.uint8), np.asarray(prediction, np.uint8), labels=Labels(n_classes),
                       run_id=run_id, image_id=image_id, group_id=group_id)


def tables(scores: list[ImageScore]) -> ScoreTables:
    collected = ScoreTables()
    for score in scores:
        collected.add(score)
    return collected


@pytest.fixture
def scores() -> list[ImageScore]:
    """Six images of two runs, a tenth of the pixels ignored, some predicted outside the label set."""
    rng = np.random.default_rng(3)
    made = []
    for run_id in ("run 1", "run 0"):
        for image_id in ("b/10", "b/9", "a"):
            truth, prediction = rng.integers(0, 3, (2, 9, 11))
            truth[rng.random(truth.shape) < 0.1] = 255
            prediction[rng.random(truth.shape) < 0.1] = 17
            made.append(scored(truth, prediction, image_id, run_id=run_id))
    return made


def test_files_do_not_depend_on_the_order_of_arrival(scores: list[ImageScore], tmp_path: Path) -> None:
    """Three orders, three times the same bytes."""
    orders = [scores, scores[::-1], [scores[i] for i in (3, 0, 5, 1, 4, 2)]]
    for number, order in enumerate(orders):
        tables(order).write(tmp_path / str(number))

    for name in ("scores.parquet", "confusion.parquet", "image_facts.parquet"):
        assert len({(tmp_path / str(number) / name).read_bytes() for number in range(3)}) == 1


def test_tables_hold_each_image_by_run_then_name(scores: list[ImageScore], tmp_path: Path) -> None:
    """By hand: text order, so b/10 comes before b/9; three classes each."""
    tables(scores).write(tmp_path)
    written = read_scores(tmp_path)

    assert written["image_id"].tolist()[::3] == ["a", "b/10", "b/9"] * 2
    assert written["run_id"].tolist()[::9] == ["run 0", "run 1"]
    assert written["class_id"].tolist() == [0, 1, 2] * 6
    assert written[["tp", "fp", "fn", "valid"]].dtypes.eq("int64").all()


def test_scores_confusion_and_facts_tell_the_same(scores: list[ImageScore], tmp_path: Path) -> None:
    """Second way: tp, fn and the pixels outside the label set from the confusion table alone."""
    tables(scores).write(tmp_path)
    cells, facts = read_confusion(tmp_path), read_image_facts(tmp_path)
    key = ["run_id", "image_id"]
    by_cell = read_scores(tmp_path).set_index([*key, "class_id"])

    hits = cells[cells["truth"] == cells["predicted"]].set_index([*key, "truth"])["pixels"]
    misses = cells[cells["truth"] != cells["predicted"]].groupby([*key, "truth"])["pixels"].sum()
    outside = cells[cells["predicted"] == -1].groupby(key)["pixels"].sum()
    assert (hits == by_cell["tp"][hits.index].to_numpy()).all()
    assert (misses == by_cell["fn"][misses.index].to_numpy()).all()
    assert (outside == facts.set_index(key)["outside_label_set"][outside.index]).all()
    assert (cells["pixels"] > 0).all() and facts["mean_top_probability"].isna().all()


def test_counts_come_back_from_a_table_in_any_order(scores: list[ImageScore], tmp_path: Path) -> None:
    """Counting the masks directly is the second way; the rows of the table are shuffled."""
    table = tables(scores).scores()
    shuffled = table.sample(frac=1, random_state=5)

    images = counts_of(shuffled)

    assert images.image_id.tolist() == ["a", "b/10", "b/9"] * 2
    assert images.run_id.tolist() == ["run 0"] * 3 + ["run 1"] * 3
    assert images.class_id.tolist() == [0, 1, 2]
    assert images.counts.tp.reshape(-1).tolist() == table["tp"].tolist()
    assert images.counts.valid.tolist() == table["valid"].tolist()[::3]


def test_an_image_without_one_of_the_classes_is_refused(scores: list[ImageScore]) -> None:
    """A lost row would silently leave the mean."""
    table = tables(scores).scores().drop(index=4)

    with pytest.raises(ScoreError, match=r"Class 1 of image b/10 is missing"):
        counts_of(table)


def test_an_image_in_two_groups_is_refused(scores: list[ImageScore]) -> None:
    """One row of an image says another group."""
    table = tables(scores).scores()
    table.loc[1, "group_id"] = "other"

    with pytest.raises(ScoreError, match="two values of group_id"):
        counts_of(table)


def test_an_image_counts_once() -> None:
    """pytorch/pytorch#22584: a sampler over two processes repeats the first of five images: .67 instead of .8."""
    collected = tables([scored([[0]], [[1 if i == 0 else 0]], f"{i}", n_classes=2) for i in range(5)])

    with pytest.raises(ScoreError, match="0 is scored twice"):
        collected.add(scored([[0]], [[1]], "0", n_classes=2))
    assert metrics.recall(counts_of(collected.scores()).counts)[:, 0].mean() == pytest.approx(0.8)


def test_other_numbers_of_classes_do_not_mix() -> None:
    """Two label maps in one table would compare unlike classes."""
    with pytest.raises(ScoreError, match="label map"):
        tables([scored([[0]], [[0]]), scored([[0]], [[0]], "b", n_classes=2)])


def test_a_prediction_of_another_size_is_brought_to_the_truth_and_said_once(tmp_path: Path) -> None:
    """By hand: each pixel of the small prediction covers 2 x 2 of the truth; all 16 are right."""
    truth = [[0, 0, 1, 1], [0, 0, 1, 1], [2, 2, 0, 0], [2, 2, 0, 0]]
    small = [[0, 1], [2, 0]]
    collected = tables([scored(truth, small, "a"), scored(truth, small, "b"), scored(truth, truth, "c")])

    with pytest.warns(SegcvWarning, match=r"2 of 3 predictions .* \(first: a, 2 x 2 to 4 x 4\)") as said:
        collected.write(tmp_path)

    assert len(said) == 1
    assert read_scores(tmp_path)["tp"].tolist() == [8, 4, 4] * 3


def test_the_truth_keeps_its_size() -> None:
    """huyquoctrinh/MetaPolyp#1: an object of 1 pixel does not vanish because the prediction is coarse."""
    truth = np.zeros((4, 4), np.uint8)
    truth[1, 2] = 1

    score = scored(truth, np.zeros((2, 2), np.uint8))

    assert (score.valid, score.cells.tolist()) == (16, [[0, 0, 15], [1, 0, 1]])


def test_nearest_takes_the_pixel_under_each_new_centre() -> None:
    """By hand: centres of 3 new pixels over 2 old ones at 1/3, 1 and 5/3; on an edge the right one begins."""
    assert nearest(np.array([[1, 2]]), height=1, width=3).tolist() == [[1, 2, 2]]
    assert nearest(np.arange(6).reshape(1, 6), height=1, width=2).tolist() == [[1, 4]]


def test_messages_name_the_image() -> None:
    """Class 9 is not in the label map; a batch axis was left on."""
    with pytest.raises(MaskError, match=r"^a: The truth holds 9"):
        scored([[9]], [[0]])
    with pytest.raises(ScoreError, match=r"^a: the prediction must be H x W"):
        scored([[0]], [[[0]]])


def test_a_run_without_images_writes_empty_tables(tmp_path: Path) -> None:
    """No image was held out: tables without rows, with their columns."""
    ScoreTables().write(tmp_path)

    assert len(read_scores(tmp_path)) == len(read_confusion(tmp_path)) == 0


def patches(rows: list[tuple[str, str, float, float, float, float]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["image_id", "source_id", "x", "y", "w", "h"])


def test_patches_that_touch_do_not_overlap() -> None:
    """By hand: a 2 x 2 grid of 10-pixel patches; another source may lie at the same place."""
    grid = [(f"{x}-{y}", "strip", x, y, 10, 10) for x in (0, 10) for y in (0, 10)]

    assert overlapping_patches(patches([*grid, ("other", "strip 2", 5, 5, 10, 10)])) == []


def test_overlapping_patches_are_named_for_each_source() -> None:
    """By hand: one pixel row shared in s1; in s2 a small patch inside a large one that starts far to the left."""
    rows = [("a", "s1", 0, 0, 10, 10), ("b", "s1", 0, 9, 10, 10), ("c", "s2", 0, 0, 100, 100),
            ("d", "s2", 1, 200, 5, 5), ("e", "s2", 90, 90, 5, 5), ("f", "", 0, 0, 10, 10), ("g", "", 0, 0, 10, 10)]

    assert overlapping_patches(patches(rows)) == [("a", "b"), ("c", "e")]
    assert overlapping_patches(patches(rows[::-1])) == [("a", "b"), ("c", "e")]


def test_patches_without_a_place_are_not_judged() -> None:
    """Blank x, y, w, h are NaN; a table may lack the columns altogether."""
    unknown = patches([("a", "s", np.nan, 0, 10, 10), ("b", "s", 0, 0, 10, 10)])

    assert overlapping_patches(unknown) == overlapping_patches(unknown.drop(columns="w")) == []
