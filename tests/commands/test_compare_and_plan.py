"""compare and plan on a small sweep whose predictions are noise of known amounts."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np
import pandas as pd
import pytest

from segcv.pixels import write_flight_strips

SEEDS = (0, 1)


def run(folder: Path, *typed: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", *typed], cwd=folder, capture_output=True, text=True)


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two candidates on 8 strips: `old` gets a quarter of the pixels wrong, `new` a tenth, both more on some strips."""
    folder = tmp_path_factory.mktemp("sweep")
    table = write_flight_strips(folder / "data", strips=8, patches=3, size=24)
    rng = np.random.default_rng(0)
    for name, wrong in (("old", 0.25), ("new", 0.1)):
        for seed in SEEDS:
            for row in pd.read_csv(table, dtype="str").itertuples():
                truth = cv2.imread(str(table.parent / row.mask_path), cv2.IMREAD_UNCHANGED)
                missed = rng.random(truth.shape) < wrong + 0.03 * (int(row.group_id[-2:]) % 3)
                labels = np.where(missed, (truth + 1) % 4, truth % 4).astype(np.uint8)
                path = folder / f"predictions/{name}/seed-{seed}/{Path(row.image_path).with_suffix('')}.png"
                path.parent.mkdir(parents=True, exist_ok=True)
                cv2.imwrite(str(path), labels)
    done = run(folder, "segcv.evaluate", f"data.table={table}", "data.num_classes=4", "split=group_kfold",
               "split.folds=4", "predictions=predictions/{candidate}/seed-{seed}/{image_id}.png", "workers=0")
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def group_means(sweep: Path, name: str) -> pd.Series:
    """By pandas alone: IoU of the classes an image has, mean over them, over images and seeds of a group."""
    tables = sweep.glob(f"runs/{name}-*/repeat-*/fold-*/seed-*/scores.parquet")
    scores = pd.concat([pd.read_parquet(path) for path in tables])
    there = scores[scores["tp"] + scores["fn"] > 0].copy()
    there["iou"] = there["tp"] / (there["tp"] + there["fp"] + there["fn"])
    images = there.groupby(["run_id", "group_id", "image_id"])["iou"].mean()
    return images.groupby("group_id").mean()


def test_the_difference_is_that_of_group_means_and_the_better_one_is_named(sweep: Path):
    """Second method: pandas on the scores tables."""
    done = run(sweep, "segcv.compare", "candidates=[old,new]", "gate=better", "out=better")

    assert done.returncode == 0, done.stdout + done.stderr
    (pair,) = json.loads((sweep / "better/summary.json").read_text(encoding="utf-8"))["pairs"]
    expected = float((group_means(sweep, "old") - group_means(sweep, "new")).mean())
    assert pair["mean_difference"] == pytest.approx(expected, abs=1e-12)
    assert pair["verdict"] == "new better" and pair["difference"]["high"] < 0
    assert "gate new: passed" in done.stdout


def test_a_gate_that_is_not_passed_ends_with_an_error(sweep: Path):
    done = run(sweep, "segcv.compare", "candidates=[new,old]", "gate=not_worse", "margin=0.05", "out=gate")

    assert done.returncode == 1
    assert "gate not passed; old: not passed: old may be" in done.stderr
    assert (sweep / "gate/comparison.md").is_file()


def test_other_splits_are_not_compared(sweep: Path):
    """Both split ids are named: a difference would mix the candidates with the splits."""
    done = run(sweep, "segcv.evaluate", "data.table=data/images.csv", "data.num_classes=4", "split=group_kfold",
               "split.folds=2", "predictions=predictions/new/seed-{seed}/{image_id}.png", "name=other", "workers=0")
    assert done.returncode == 0, done.stdout + done.stderr

    done = run(sweep, "segcv.compare", "candidates=[old,other]", "out=other")

    assert done.returncode == 1 and not (sweep / "other").exists()
    assert "Different splits: split_id" in done.stderr


def test_a_plan_says_what_binds_and_how_many_groups_are_needed(sweep: Path):
    done = run(sweep, "segcv.plan", "candidate=new", "interval=0.01", "out=planned")

    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads((sweep / "planned/plan.json").read_text(encoding="utf-8"))
    assert (found["groups"], found["columns"], found["wanted"]) == (8, 2, 0.01)
    assert "How to run it" in done.stdout and found["designs"][0]["commands"]
    truth = f"{group_means(sweep, 'new').mean():.3f}"                # by pandas alone
    assert f"policy truth, whose cells are the same in every run ({truth} here" in done.stdout
    assert "headline is under union (" in done.stdout


def test_stated_components_give_the_detectable_difference_of_the_methods_page(tmp_path: Path):
    """The page's figures: .020 at 50 groups and three seeds, floor .0136 (definition 13)."""
    done = run(tmp_path, "segcv.plan", "components={group:.06,model:.012,interaction:.02,residual:.05,h:.137,folds:5}",
               "groups=50", "columns=3", "difference=0.03", "out=planned")

    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads((tmp_path / "planned/plan.json").read_text(encoding="utf-8"))
    assert found["reached"] == pytest.approx(0.020, abs=5e-4)
    assert found["floor"] == pytest.approx(0.0136, abs=5e-5)


@pytest.mark.parametrize(("typed", "told"), [
    (["segcv.compare", "candidates=[one]"], "name two or more different ones"),
    (["segcv.compare", "candidates=[a,b]", "gate=maybe"], "gate=maybe is not known"),
    (["segcv.compare", "candidates=[a,b]", "margin=0.1"], "has an effect with gate=not_worse only"),
    (["segcv.plan", "interval=0.01", "difference=0.02"], "plan for one of them"),
    (["segcv.plan", "components={group:.1}"], "model is missing"),
    (["segcv.plan", "components={group:.1,model:.01}"], "groups=NUMBER"),
])
def test_settings_without_effect_or_sense_are_refused(tmp_path: Path, typed: list[str], told: str):
    done = run(tmp_path, *typed)

    assert done.returncode == 1 and told in done.stderr and "Traceback" not in done.stderr


def test_a_single_hold_out_above_the_folds_is_a_finding(sweep: Path):
    """The masks themselves handed in as predictions of one hold-out: 1.0 is above any fold of `old`."""
    shutil.copytree(sweep / "runs", sweep / "held")
    for row in pd.read_csv(sweep / "data/images.csv", dtype="str").itertuples():
        truth = cv2.imread(str(sweep / "data" / row.mask_path), cv2.IMREAD_UNCHANGED)
        path = sweep / f"once/{Path(row.image_path).with_suffix('')}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        cv2.imwrite(str(path), (truth % 4).astype(np.uint8))
    for typed in (("evaluate", "data.table=data/images.csv", "data.num_classes=4", "split=repeated_holdout",
                   "split.folds=1", "predictions=once", "name=old", "workers=0", "runs=held"),
                  ("aggregate", "runs=held", "candidate=old", "report.html=false", "out=held/report")):
        done = run(sweep, f"segcv.{typed[0]}", *typed[1:])
        assert done.returncode == 0, done.stdout + done.stderr

    said = json.loads((sweep / "held/report/summary.json").read_text(encoding="utf-8"))["sources"]["diagnoses"]
    (found,) = [each for each in said if each["rule"] == "hold_out_high"]
    assert found["what"].startswith("The single hold-out is easier than the folds") and "1.000" in found["evidence"]
