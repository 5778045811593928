"""Overlapping patches of a source, from training or from elsewhere, to one score of the source in the report."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from tiny_images import square_image
from tiny_predictions import probabilities

from segcv.pixels import write_mask
from segcv.scoring import read_scores

GIVEN = ["data.table=images.csv", "data.num_classes=2", "split=group_kfold", "split.folds=2",
         "group.near_duplicates=null"]


def segcv(folder: Path, name: str, *overrides: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([sys.executable, "-m", f"segcv.{name}", *overrides], cwd=folder, capture_output=True,
                          text=True)
    assert done.returncode == code, done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def patches(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four sources of 32 x 48, each cut into two patches of 32 x 32 that share 16 columns; predictions beside them."""
    folder = tmp_path_factory.mktemp("patches")
    rows = []
    for number in range(4):
        image, truth = (np.hstack(pair) for pair in zip(square_image(number), square_image(number + 9), strict=True))
        for x in (0, 16):
            name = f"s{number}_{x}"
            Image.fromarray(image[:, x:x + 32]).save(folder / f"{name}.png")
            write_mask(folder / f"{name}_mask.png", truth[:, x:x + 32])
            (folder / "soft").mkdir(exist_ok=True)
            np.save(folder / f"soft/{name}.npy", probabilities(truth[:, x:x + 32].tolist(), n_classes=2))
            write_mask(folder / f"hard/{name}.png", truth[:, x:x + 32])
            rows.append((f"{name}.png", f"{name}_mask.png", f"g{number}", f"s{number}", x, 0, 32, 32))
    columns = ["image_path", "mask_path", "group_id", "source_id", "x", "y", "w", "h"]
    pd.DataFrame(rows, columns=columns).to_csv(folder / "images.csv", index=False)
    return folder


def test_training_scores_each_source_once_and_the_report_reads_it(patches: Path):
    """Two of four sources are held out, 32 x 48 pixels each, none ignored: the shared columns count once."""
    segcv(patches, "train", "fold=0", *GIVEN, "trainer.epochs=1", "workers=0")

    scores = read_scores(next(patches.glob("runs/*/repeat-0/fold-0/seed-0")))
    assert scores["image_id"].nunique() == 2 and set(scores["valid"]) == {32 * 48}
    assert (scores["image_id"] == scores["source_id"]).all()
    assert len(list(patches.glob("runs/*/repeat-0/fold-0/seed-0/masks/*.png"))) == 4
    assert "unet_small: mIoU" in segcv(patches, "aggregate", "out=report").stdout


def test_predictions_from_elsewhere_are_stitched_or_refused(patches: Path):
    """The predictions are the truth, so every score is 1; class ids of overlapping patches cannot be averaged."""
    soft = [*GIVEN, "predictions=soft", "kind=probabilities", "name=theirs", "runs=theirs"]
    segcv(patches, "evaluate", *soft)
    segcv(patches, "aggregate", "runs=theirs", "out=theirs_report")

    summaries = [json.loads(path.read_text()) for path in patches.glob("theirs/*/repeat-0/fold-*/seed-0/summary.json")]
    assert [summary["pooled_miou"] for summary in summaries] == [1.0, 1.0]
    assert {summary["n_pixels_scored"] for summary in summaries} == {2 * 32 * 48}

    refused = segcv(patches, "evaluate", *GIVEN, "predictions=hard", "name=hard", "runs=hard_runs", code=1)
    assert "overlap in their source" in refused.stderr
    assert not (patches / "hard_runs").exists()


def test_nested_refuses_them_before_it_fits(patches: Path):
    done = segcv(patches, "nested", *GIVEN, "candidates=[unet_small]", "workers=0", code=1)

    assert "overlap in their source" in done.stderr and "segcv.train" in done.stderr
    assert not (patches / "nested").exists()
