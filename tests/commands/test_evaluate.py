"""python -m segcv.evaluate as a user types it, on the three images of the reference example."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tiny_predictions import PREDICTED, TRUTH, probabilities, write_labels, write_truth

from segcv.scoring import read_confusion, read_scores


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_truth(tmp_path_factory.mktemp("data"))


def evaluate(folder: Path, *overrides: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "segcv.evaluate", *overrides]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done


def summary(folder: Path) -> dict[str, Any]:
    return json.loads(next(folder.glob("runs/*/repeat-0/fold-0/seed-0/summary.json")).read_text())


def test_a_folder_of_label_masks_becomes_scores(tmp_path: Path, data: Path):
    """The reference example's published numbers: pooled .6418, per image .6274, per class .6127, micro .7692."""
    write_labels(tmp_path / "masks")

    said = evaluate(tmp_path, f"data.table={data}", "data.num_classes=3", "predictions=masks", "name=theirs")

    found = summary(tmp_path)
    assert found["pooled_miou"] == pytest.approx(0.6418, abs=5e-5)
    assert found["mean_of_image_miou"] == pytest.approx(0.6274, abs=5e-5)
    assert found["mean_of_class_miou"] == pytest.approx(0.6127, abs=5e-5)
    assert found["micro_iou"] == pytest.approx(0.7692, abs=5e-5)
    assert found["span_over_policies"]["mean_of_class_miou"][0] == pytest.approx(0.4183, abs=5e-5)
    assert found["iou_per_image_and_class"][1] == [pytest.approx(6 / 7), 0, None]
    assert "mIoU of summed pixels 0.642 over 3 of 3 classes" in said.stdout
    assert "held-out not proven" in said.stdout
    scores = read_scores(next(tmp_path.glob("runs/*/repeat-0/fold-0/seed-0")))
    assert scores["image_id"].tolist() == [f"images/{name}" for name in "aaabbbccc"]
    assert scores["group_id"].tolist()[::3] == ["group a", "group b", "group c"]


def test_no_file_is_opened_by_torch(tmp_path: Path, data: Path):
    """With torch blocked the command runs as before."""
    write_labels(tmp_path / "masks")
    given = [f"data.table={data}", "data.num_classes=3", "predictions=masks", "name=theirs", "workers=1"]
    code = (f"import sys; sys.modules['torch'] = None; sys.argv = ['evaluate', *{given!r}]; "
            "import runpy; runpy.run_module('segcv.evaluate', run_name='__main__')")

    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)

    assert done.returncode == 0, done.stderr
    assert summary(tmp_path)["n_images_scored"] == 3


def test_processes_change_no_byte(tmp_path: Path):
    """The same tables from one process and from three, of probabilities of twelve images: four times the example."""
    table = write_truth(tmp_path / "data", {f"{name}{copy}": TRUTH[name] for name in TRUTH for copy in range(4)})
    (tmp_path / "soft").mkdir()
    for name in TRUTH:
        for copy in range(4):
            np.save(tmp_path / f"soft/{name}{copy}.npy", probabilities(PREDICTED[name]))
    given = [f"data.table={table}", "data.num_classes=3", "predictions=soft", "kind=probabilities", "name=soft"]

    for workers in (1, 3):
        evaluate(tmp_path, *given, f"workers={workers}", f"runs={workers}")

    folders = [next(tmp_path.glob(f"{workers}/*/repeat-0/fold-0/seed-0")) for workers in (1, 3)]
    for name in ("scores.parquet", "confusion.parquet", "image_facts.parquet", "histograms.parquet", "summary.json"):
        assert (folders[0] / name).read_bytes() == (folders[1] / name).read_bytes()
    assert read_confusion(folders[0])["pixels"].sum() == 4 * 23


def test_a_finished_run_is_found_again_and_other_predictions_are_refused(tmp_path: Path, data: Path):
    write_labels(tmp_path / "masks")
    given = [f"data.table={data}", "data.num_classes=3", "predictions=masks", "name=theirs"]
    evaluate(tmp_path, *given)

    assert "Scored before" in evaluate(tmp_path, *given).stdout

    write_labels(tmp_path / "masks", PREDICTED | {"c": TRUTH["c"]})
    assert "name=theirs_2" in evaluate(tmp_path, *given, code=1).stderr


def test_the_report_shows_what_was_kept_beside_the_counts(tmp_path: Path, data: Path):
    """The tables of the report against the run's own summary, which is made from the pixels as they stream."""
    (tmp_path / "soft").mkdir()
    for name in TRUTH:
        np.save(tmp_path / f"soft/{name}.npy", probabilities(PREDICTED[name]))
    evaluate(tmp_path, f"data.table={data}", "data.num_classes=3", "predictions=soft", "kind=probabilities",
             "name=soft", "metrics=[hd95_max,nsd]", "tolerance=1", "spacing=[1,2]")

    done = subprocess.run([sys.executable, "-m", "segcv.aggregate", "out=report"], cwd=tmp_path, capture_output=True,
                          text=True)

    assert done.returncode == 0, done.stderr
    found = summary(tmp_path)
    soft = pd.read_csv(tmp_path / "report/tables/probabilities.csv").iloc[0]
    assert soft[["ECE", "Brier"]].tolist() == pytest.approx([found["ece"], found["brier"]])
    assert soft.filter(like="AUROC").tolist() == pytest.approx(found["auroc_per_class"])
    outlines = pd.read_csv(tmp_path / "report/tables/outlines.csv").set_index("metric")
    for name in ("hd95_max", "nsd"):
        assert outlines.loc[name, ["class_0", "class_1", "class_2"]].tolist() == pytest.approx(
            found[f"mean_{name}_per_class_over_images"])
        assert outlines.loc[name, "false alarm"] == 1        # class 1 on image b


@pytest.mark.parametrize(("overrides", "message"), [
    (["predictions=masks"], "name must be given"),
    (["name=x"], "predictions must be given"),
    (["predictions=masks", "name=x", "foreground=[tree]"], "foreground=['tree']"),
    (["predictions=masks/{imageid}.png", "name=x"], "{imageid} is no place to fill"),
])
def test_a_wrong_setting_is_one_message(tmp_path: Path, data: Path, overrides: list[str], message: str):
    write_labels(tmp_path / "masks")

    done = evaluate(tmp_path, f"data.table={data}", "data.num_classes=3", *overrides, code=1)

    assert message in done.stderr
    assert done.stderr.count("error:") == 1
    assert not (tmp_path / "runs").exists()


def test_nothing_is_left_of_predictions_that_cannot_be_scored(tmp_path: Path, data: Path):
    """One probability is not a number, which shows while the run is scored: neither run nor split is kept for it."""
    (tmp_path / "soft").mkdir()
    for name in TRUTH:
        np.save(tmp_path / f"soft/{name}.npy", probabilities(PREDICTED[name]))
    broken = probabilities(PREDICTED["c"])
    broken[0, 0, 0] = np.nan
    np.save(tmp_path / "soft/c.npy", broken)

    done = evaluate(tmp_path, f"data.table={data}", "data.num_classes=3", "predictions=soft", "kind=probabilities",
                    "name=soft", code=1)

    assert "c.npy: holds NaN" in done.stderr
    assert not list(tmp_path.glob("splits/*/*/manifest.json")) and not list(tmp_path.glob("runs/**/run.json"))


def test_a_warning_of_a_table_that_is_read_twice_is_said_once(tmp_path: Path):
    """The table names images, masks and predictions, all written on Windows."""
    data = write_truth(tmp_path / "truth")
    write_labels(data.parent / "predicted")
    rows = pd.read_csv(data)
    rows["pred_path"] = "predicted/" + rows["image_path"].str.removeprefix("images/")
    for column in ("image_path", "mask_path", "pred_path"):
        rows[column] = rows[column].str.replace("/", "\\")
    rows.to_csv(data, index=False)

    done = evaluate(tmp_path, f"data.table={data}", "data.num_classes=3", f"predictions={data}", "name=windows")

    assert done.stderr.count("written with backslashes") == 1
    assert summary(tmp_path)["n_images_scored"] == 3
