"""A whole sweep made elsewhere, under folds cut here or told by its folders, on to the report."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from segcv.pixels import write_flight_strips
from segcv.runs import find_runs

SPLIT = ["data.num_classes=4", "split=group_kfold", "split.folds=3"]


def segcv(folder: Path, name: str, *overrides: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([sys.executable, "-m", f"segcv.{name}", *overrides], cwd=folder, capture_output=True,
                          text=True)
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done


@pytest.fixture(scope="module")
def strips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_flight_strips(tmp_path_factory.mktemp("strips"), strips=6, patches=2, size=32)


def predict(folder: Path, rows: pd.DataFrame, *, rng: np.random.Generator) -> None:
    """Each mask with a tenth of its pixels drawn anew, under the image's id."""
    for image_id, mask_path in zip(rows["image_id"], rows["mask_path"], strict=True):
        mask = np.array(Image.open(mask_path))
        wrong = rng.random(mask.shape) < 0.1
        mask[wrong] = rng.integers(0, 4, int(wrong.sum()))
        path = folder / f"{image_id}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(mask).save(path)


def test_a_sweep_under_our_folds_is_scored_and_reported(tmp_path: Path, strips: Path):
    """Two candidates, three folds, two seeds by one path: twelve runs; each fold on its own held-out images only."""
    given = [f"data.table={strips}", *SPLIT]
    segcv(tmp_path, "split", *given)
    split = next(tmp_path.glob("splits/*/*/manifest.json")).parent
    rng = np.random.default_rng(0)
    for candidate in ("swin", "unet"):
        for fold in range(3):
            rows = pd.read_csv(split / f"fold_{fold}_val.csv")
            rows["mask_path"] = [str(split / path) for path in rows["mask_path"]]
            for seed in (0, 1):
                predict(tmp_path / f"theirs/{candidate}/fold-{fold}/seed-{seed}", rows, rng=rng)

    where = "predictions=theirs/{candidate}/fold-{fold}/seed-{seed}/{image_id}.png"
    said = segcv(tmp_path, "evaluate", *given, where)

    records = find_runs(tmp_path / "runs")
    assert [(record.candidate, record.fold, record.seed) for record in records] == [
        (candidate, fold, seed) for candidate in ("swin", "unet") for fold in range(3) for seed in (0, 1)]
    assert all(record.trained_elsewhere and record.held_out_images == 4 for record in records)
    assert said.stdout.count("[held-out not proven]") == 12

    report = segcv(tmp_path, "aggregate", "candidate=unet", "out=report")
    assert "[held-out not proven]" in report.stdout
    assert "HELD-OUT NOT PROVEN" in (tmp_path / "report/cv_report.md").read_text().split("## Data")[0]
    summary = json.loads((tmp_path / "report/summary.json").read_text())
    assert summary["runs"] == 6 and summary["trivial"] is not None

    lists = f"trained_on={split}/fold_{{fold}}_train.csv"
    segcv(tmp_path, "evaluate", *given, where, lists, "runs=proven")
    proven = segcv(tmp_path, "aggregate", "runs=proven", "candidate=unet", "out=proven_report")
    assert "not proven" not in proven.stdout
    swapped = segcv(tmp_path, "evaluate", *given, where, f"trained_on={split}/fold_1_train.csv", "runs=no", code=1)
    assert "images that are scored were trained on" in swapped.stderr
    assert not (tmp_path / "no").exists()


def test_folds_told_by_folders_become_a_split(tmp_path: Path, strips: Path):
    """Without a split each fold holds out what is predicted in it; an image in two folds, or in none, is refused."""
    rows = pd.read_csv(strips)
    rows["image_id"] = [str(Path(path).with_suffix("")) for path in rows["image_path"]]
    rows["mask_path"] = [str(strips.parent / path) for path in rows["mask_path"]]
    rng = np.random.default_rng(1)
    for fold in range(2):
        predict(tmp_path / f"out/fold_{fold}/validation", rows[rows.index % 4 // 2 == fold], rng=rng)
    given = [f"data.table={strips}", "data.num_classes=4", "predictions=out/fold_{fold}/validation", "name=theirs"]

    segcv(tmp_path, "evaluate", *given)
    summary = segcv(tmp_path, "aggregate", "out=report")
    assert [record.held_out_images for record in find_runs(tmp_path / "runs")] == [6, 6]
    assert "theirs: mIoU" in summary.stdout

    predict(tmp_path / "out/fold_1/validation", rows.iloc[:1], rng=rng)
    assert "is predicted in the folds 0 and 1" in segcv(tmp_path, "evaluate", *given, "runs=no", code=1).stderr
    for fold in range(2):
        (tmp_path / f"out/fold_{fold}/validation/{rows['image_id'][0]}.png").unlink()
    assert "1 of 12 images have no prediction" in segcv(tmp_path, "evaluate", *given, "runs=no", code=1).stderr
    assert not (tmp_path / "no").exists()
