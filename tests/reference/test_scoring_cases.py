"""The public cases about averages, from mask files to numbers through the scores tables."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image

from segcv import metrics
from segcv.metrics import Counts
from segcv.scoring import ScoreTables, counts_of, score_image


def answers(counts: Counts, foreground: int) -> dict[str, Any]:
    """Every number that a case may ask for, under the names the cases use."""
    pooled = metrics.pooled_scores(counts)
    dice = metrics.dice(counts)[:, foreground]
    return {
        "pooled_iou_per_class": pooled, "pooled_miou": metrics.miou_pooled(counts),
        "n_classes_in_mean": int((~np.isnan(pooled)).sum()), "dice_class_1_per_image": dice,
        "mean_dice_class_1_over_images": metrics.mdice_image(counts.take(classes=[foreground])),
        "n_images_in_mean": int((~np.isnan(dice)).sum()),
        "pooled_dice_class_1": metrics.mdice_pooled(counts.take(classes=[foreground])),
        "n_pixels_scored": int(counts.valid.sum()), "micro_iou": metrics.micro_iou(counts),
        "pixel_accuracy": metrics.pixel_accuracy(counts), "iou_per_image_and_class": metrics.iou(counts),
        "miou_per_image": metrics.image_scores(counts), "mean_of_image_miou": metrics.miou_image(counts),
        "n_images_scored": counts.n_images,
    }


@pytest.mark.parametrize("name", ["M01", "M03", "M04", "M05", "M06", "M07", "M08"])
def test_case(shared: Path, name: str) -> None:
    """The expected values stand in the case, with the public thread and the reason."""
    folder = shared / "cases" / name
    case = json.loads((folder / "case.json").read_text())
    n_classes = case["args"]["num_classes"]
    labels: Any = SimpleNamespace(n_classes=n_classes, void=case["args"].get("ignore_index", 255))
    collected = ScoreTables()
    with (folder / "dataset.csv").open() as table:
        for row in csv.DictReader(table):
            truth, prediction = (np.asarray(Image.open(folder / row[key])) for key in ("mask_path", "pred_path"))
            collected.add(score_image(truth, prediction, labels=labels, run_id="run", image_id=row["image_path"],
                                      group_id=row["group_id"]))
    got = answers(counts_of(collected.scores()).counts, foreground=min(1, n_classes - 1))

    expected = {key: value for key, value in case["expected"].items() if not key.startswith("wrong_value")}
    assert expected
    for key, value in expected.items():
        right = np.array(value, dtype=float)        # null becomes NaN
        assert np.asarray(got[key], dtype=float) == pytest.approx(right, abs=1e-6, nan_ok=True), key
