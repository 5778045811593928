"""The reason for segcv: a random split of patches promises what a new flight strip does not keep."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from segcv import train as command
from segcv.errors import SegcvWarning
from segcv.metrics import counts_from_rows, miou_pooled
from segcv.settings import SplitSettings, TrainCommand, TrainerSettings
from segcv.study import open_study


def held_out_miou(folder: Path, split: str) -> float:
    """Pooled mIoU of one fold of the demo under a splitter."""
    settings = TrainCommand(split=SplitSettings(name=split, folds=3), fold=0, workers=0,
                            trainer=TrainerSettings(epochs=6, train_scores=False), runs=str(folder / "runs"),
                            cache=str(folder / "cache"))
    study = open_study(settings.data, settings.group, settings.split, splits=folder / "splits", cache=folder / "cache")
    scores = pd.read_parquet(command.train(settings, study) / "scores.parquet")
    _, _, counts = counts_from_rows(scores["image_id"].factorize()[0], scores["class_id"].to_numpy(),
                                    **{name: scores[name].to_numpy() for name in ("tp", "fp", "fn", "valid")})
    return float(miou_pooled(counts))


@pytest.mark.slow
def test_a_random_split_promises_more_than_new_strips_keep(tmp_path: Path):
    """Same network, same settings, same number of images: only the split differs."""
    with pytest.warns(SegcvWarning, match="random_kfold leaks: 12 of 12 groups are on both sides"):
        promised = held_out_miou(tmp_path, "random_kfold")
    kept = held_out_miou(tmp_path, "group_kfold")

    assert promised > kept + 0.03
    assert kept > 0.4, "the network must learn something for the comparison to mean anything"
