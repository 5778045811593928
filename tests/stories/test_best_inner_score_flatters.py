"""Networks that cannot know anything: the best inner score looks better than they are, the nested estimate does not."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import cv2
import numpy as np
import pandas as pd

from segcv.candidates import choice_of, fitted, open_evaluation, result_of
from segcv.nesting import NestedResult, inner_mean, inner_table
from segcv.settings import (
    AugmentSettings,
    DataSettings,
    GroupSettings,
    InnerSettings,
    NestedCommand,
    SeedSettings,
    SplitSettings,
    TrainerSettings,
)


def noise(folder: Path, *, seed: int) -> Path:
    """Eight groups of two images of noise, with masks of noise: nothing can be learned."""
    rng, rows = np.random.default_rng(seed), []
    folder.mkdir(parents=True)
    for group in range(8):
        for number in range(2):
            image, mask = folder / f"g{group}_{number}.png", folder / f"g{group}_{number}_mask.png"
            cv2.imwrite(str(image), rng.integers(0, 256, (16, 16, 3), np.uint8))
            truth = (rng.random((16, 16)) < rng.uniform(0.1, 0.9)).astype(np.uint8)
            truth[0, :2] = 0, 1
            cv2.imwrite(str(mask), truth)
            rows.append({"image_path": image.name, "mask_path": mask.name, "group_id": f"g{group}"})
    pd.DataFrame(rows).to_csv(folder / "images.csv", index=False)
    return folder / "images.csv"


def nested_result(table: Path, work: Path) -> NestedResult:
    """Five networks that differ in their first weights, chosen among on two inner folds, judged on two outer folds."""
    tried = {f"network{init}": NestedCommand(
        data=DataSettings(table=str(table), num_classes=2), group=GroupSettings(near_duplicates=None),
        split=SplitSettings(name="group_kfold", folds=2), inner=InnerSettings(folds=2, calibration_share=0),
        candidates=["listed"], workers=0, trainer=TrainerSettings(epochs=1, batch_size=8, precision="fp32"),
        augment=AugmentSettings("none"), seeds=SeedSettings(init=init), splits=str(work / "splits"),
        nested=str(work / "nested"), cache=str(work)) for init in range(5)}
    run = open_evaluation(tried["network0"], tried, plain={name: asdict(one) for name, one in tried.items()})
    for fold in run.plans[0].folds:
        for fit in fold.inner:
            for name in tried:
                fitted(run, 0, fit, name)
        fitted(run, 0, fold.final, choice_of(run, 0, fold.outer))
    return result_of(run, 0)


def test_the_best_inner_score_of_worthless_networks_is_too_good_and_the_nested_one_is_not(tmp_path: Path):
    """What a worthless network really gets is the mean over all of them: choosing the best of five lifts the inner
    score well above it, the outer score of the chosen ones stays by it."""
    best, honest, outer = [], [], []
    for seed in range(4):
        result = nested_result(noise(tmp_path / f"data{seed}", seed=seed), tmp_path / f"work{seed}")
        best.append(inner_mean({0: result}))
        honest.append(inner_table({0: result})["inner"].mean())
        outer.append(1 - float(result.mean_loss))

    assert np.mean(best) - np.mean(honest) > 0.01
    assert abs(np.mean(outer) - np.mean(honest)) < (np.mean(best) - np.mean(honest)) / 2
