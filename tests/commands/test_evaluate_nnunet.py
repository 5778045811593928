"""The results folder of nnU-Net, from its masks, its volumes and its probabilities to runs of each fold."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import nibabel
import numpy as np
import pandas as pd
import pytest
from PIL import Image
from tiny_predictions import PREDICTED, TRUTH, probabilities, write_labels, write_truth

from segcv.runs import find_runs
from segcv.scoring import read_confusion

FOLDS = [{"train": ["b", "c"], "val": ["a"]}, {"train": ["a"], "val": ["b", "c"]}]


def segcv(folder: Path, name: str, *overrides: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([sys.executable, "-m", f"segcv.{name}", *overrides], cwd=folder, capture_output=True,
                          text=True)
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Two folds as nnU-Net leaves them: masks, softmax beside them, its own summaries."""
    write_truth(tmp_path / "data")
    for fold, lists in enumerate(FOLDS):
        folder = tmp_path / f"nnUNetTrainer__nnUNetPlans__2d/fold_{fold}/validation"
        write_labels(folder, {name: PREDICTED[name] for name in lists["val"]})
        (folder / "summary.json").write_text("{}")
        for name in lists["val"]:
            np.savez(folder / f"{name}.npz", probabilities=probabilities(PREDICTED[name])[:, None])
            (folder / f"{name}.pkl").write_bytes(b"")
    (tmp_path / "splits_final.json").write_text(json.dumps(FOLDS))
    return tmp_path


@pytest.mark.parametrize("kind", ["labels", "probabilities"])
def test_each_fold_is_a_run_proven_by_the_split_file(results: Path, kind: str):
    """The reference example: 23 scored pixels in all, its pooled confusion by hand from the three masks."""
    segcv(results, "evaluate", "data.table=data/images.csv", "data.num_classes=3", "name=nnunet", f"kind={kind}",
          "predictions=nnUNetTrainer__nnUNetPlans__2d", "trained_on=splits_final.json")

    records = find_runs(results / "runs")
    assert [(record.fold, record.held_out_images, record.train_images) for record in records] == [(0, 1, 2), (1, 2, 1)]
    assert all(record.held_out_proof for record in records)
    cells = pd.concat([read_confusion(results / "runs" / record.run_id) for record in records])
    pooled = cells.groupby(["truth", "predicted"])["pixels"].sum()
    assert pooled.to_dict() == {(0, 0): 16, (0, 1): 1, (1, 0): 1, (1, 1): 1, (2, 0): 1, (2, 2): 3}
    assert "nnunet: mIoU" in segcv(results, "aggregate").stdout


@pytest.mark.parametrize("rows", ["y", "x"])
def test_volumes_are_scored_plane_by_plane(tmp_path: Path, rows: str):
    """One case of three planes, written as NIfTI x, y, z; masks run along y, or along x. The same counts as from the
    masks of the reference example."""
    planes = [np.array(PREDICTED[name], np.uint8) for name in PREDICTED]
    volume = np.stack([plane.T if rows == "y" else plane for plane in planes], axis=-1)
    folder = tmp_path / "results/fold_0/validation"
    folder.mkdir(parents=True)
    nibabel.save(nibabel.Nifti1Image(volume, np.eye(4)), folder / "case_1.nii.gz")
    table = []
    for number, (name, values) in enumerate(TRUTH.items()):
        Image.fromarray(np.array(values, np.uint8)).save(tmp_path / f"{name}.png")
        table.append((f"{name}.png", f"{name}.png", "case_1", number))
    pd.DataFrame(table, columns=["image_path", "mask_path", "source_id", "slice"]).to_csv(
        tmp_path / "images.csv", index=False)
    given = ["data.table=images.csv", "data.num_classes=3", "predictions=results", "name=nnunet"]

    assert "volume_rows=y" in segcv(tmp_path, "evaluate", *given, code=1).stderr
    segcv(tmp_path, "evaluate", *given, f"volume_rows={rows}")

    [record] = find_runs(tmp_path / "runs")
    pooled = read_confusion(tmp_path / "runs" / record.run_id).groupby(["truth", "predicted"])["pixels"].sum()
    assert pooled.to_dict() == {(0, 0): 16, (0, 1): 1, (1, 0): 1, (1, 1): 1, (2, 0): 1, (2, 2): 3}
