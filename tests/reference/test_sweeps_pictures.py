"""Which images of a sweep are shown, what their pictures say, and whose truth looks wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from tiny_scores import CLASSES, tiny_scores
from tiny_sweep import write_tiny_sweep

from segcv.runs import find_runs
from segcv.statistics import image_means, scored_images
from segcv.sweeps import (
    chosen_sweep,
    cut_differences,
    cut_pictures,
    scores_of,
    split_of,
    suspect_images,
    table_of,
    worth_looking_at,
)


def means(sweep: list, split, scores: pd.DataFrame) -> pd.DataFrame:
    from segcv.metrics import image_scores

    scored = scored_images(scores, runs=table_of(sweep), class_names=split.class_names)
    return image_means(scored, image_scores(scored.counts, metric="iou", policy="union"))


def test_worst_median_and_best_of_fold_class_and_group_are_shown():
    """By hand, from five images in one fold and two groups, their class `field` in the opposite order."""
    images = pd.DataFrame({"image_id": list("abcde"), "group_id": list("ppqqq"), "fold": 0,
                           "score": [.1, .2, .3, .4, .5]})
    scores = pd.DataFrame({"image_id": list("abcde"), "class_id": 0, "tp": [50, 40, 30, 20, 10], "fp": 0,
                           "fn": [0, 10, 20, 30, 40]})

    why = worth_looking_at(images, scores, class_names=("field",), suspects=["d"])

    assert why["a"] == ("worst fold", "worst group", "best class field")
    assert why["b"] == ("worst fold", "median group", "best group")
    assert why["c"] == ("worst fold", "worst class field", "worst group", "median fold", "median class field")
    assert why["d"] == ("suspicious", "worst class field", "median group")
    assert why["e"] == ("worst class field", "best fold", "best group")


def test_the_bound_keeps_the_worst_of_folds_before_the_best_of_groups():
    scores, _ = tiny_scores(groups=10)
    images = scores.drop_duplicates("image_id")[["image_id", "group_id"]].reset_index(drop=True)
    images["fold"] = images["group_id"].str[1:].astype(int) % 5
    images["score"] = np.linspace(.1, .9, len(images))

    few = worth_looking_at(images, scores, class_names=CLASSES, most=15)

    assert len(few) == 15
    assert sum("worst fold" in why for why in few.values()) == 15          # 5 folds x 3


def test_pictures_carry_scores_of_their_classes(tmp_path: Path):
    """By hand: image 0 is field left of column 6 of 24; with 3 rows said to be field, road has 21 of 24 rows and field
    gains 3 x 18 pixels: IoU field 144 / 198, road 21 / 24."""
    sweep, _ = chosen_sweep(write_tiny_sweep(tmp_path, {"unet": 3}) / "runs", candidate="unet")
    split = split_of(sweep[0])
    scores = scores_of(tmp_path / "runs", sweep, split)

    found = cut_pictures(tmp_path / "runs", sweep, split, means(sweep, split, scores), scores)

    first = next(picture for picture in found if picture.image_id == "g0/0")
    assert dict(zip(first.classes, first.scores, strict=True)) == pytest.approx({"field": 144 / 198, "road": 21 / 24})
    assert first.score == pytest.approx((144 / 198 + 21 / 24) / 2)
    assert [name for name, _ in first.panels] == ["image", "truth", "prediction", "errors"]


def test_a_missing_file_leaves_its_picture_out(tmp_path: Path):
    sweep, _ = chosen_sweep(write_tiny_sweep(tmp_path, {"unet": 3}) / "runs", candidate="unet")
    split = split_of(sweep[0])
    scores = scores_of(tmp_path / "runs", sweep, split)
    (tmp_path / "images/g0/0.png").unlink()

    found = cut_pictures(tmp_path / "runs", sweep, split, means(sweep, split, scores), scores)

    assert "g0/0" not in {picture.image_id for picture in found}
    assert "g0/1" in {picture.image_id for picture in found}


def test_differences_show_both_candidates(tmp_path: Path):
    write_tiny_sweep(tmp_path, {"old": 4, "new": 1})
    old, new = (chosen_sweep(tmp_path / "runs", candidate=name)[0] for name in ("old", "new"))
    split = split_of(old[0])
    scores = scores_of(tmp_path / "runs", old, split)

    found = cut_differences(tmp_path / "runs", (old, new), split, means(old, split, scores).head(2), scores)

    assert [picture.image_id for picture in found] == ["g0/0", "g0/1"]
    assert [name for name, _ in found[0].panels] == ["image", "truth", "first", "second", "difference"]
    assert found[0].why == ("changed",)


def test_an_image_with_specks_and_a_sure_failure_are_suspects(tmp_path: Path):
    """Four lone pixels are planted in one mask; the model is sure everywhere, and the last group fails most."""
    write_tiny_sweep(tmp_path, {"unet": 1}, sure=.95, groups=8)
    mask = np.asarray(Image.open(tmp_path / "masks/g1/2.png")).copy()
    mask[[2, 8, 14, 20], 1] = 1
    Image.fromarray(mask).save(tmp_path / "masks/g1/2.png")
    sweep = find_runs(tmp_path / "runs")
    split = split_of(sweep[0])
    images = means(sweep, split, scores_of(tmp_path / "runs", sweep, split))

    found = suspect_images(tmp_path / "runs", sweep, split, images).set_index("image_id")

    assert found.loc["g1/2", "reason"] == "tiny specks"
    assert found.loc["g1/2", "specks"] == 4
    lowest = images.sort_values("score")["image_id"].iloc[0]
    assert found.loc[lowest, "reason"] == "sure and wrong"
    assert "g0/1" not in found.index


def test_without_probabilities_and_masks_nothing_is_suspected(tmp_path: Path):
    write_tiny_sweep(tmp_path, {"unet": 1}, sure=float("nan"))
    sweep = find_runs(tmp_path / "runs")
    split = split_of(sweep[0])
    images = means(sweep, split, scores_of(tmp_path / "runs", sweep, split))

    found = suspect_images(tmp_path / "runs", sweep, split, images, masks=False)

    assert found.empty
    assert list(found.columns) == ["image_id", "group_id", "fold", "score", "sure", "specks", "ragged", "reason"]
