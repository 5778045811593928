"""A frozen model, and two, on an external cohort: evaluate, aggregate and compare without folds."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np
import pandas as pd
import pytest
from scipy import stats

from segcv.errors import ConfigError
from segcv.pixels import write_flight_strips
from segcv.settings import DataSettings, GroupSettings
from segcv.study import images_table, open_truth


def run(folder: Path, *typed: str) -> str:
    done = subprocess.run([sys.executable, "-m", *typed], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def predict(folder: Path, table: Path, name: str, wrong: float) -> None:
    """Masks with a share of `wrong` pixels, more on some strips, below predictions/DATA/NAME."""
    rng = np.random.default_rng(0)
    for row in pd.read_csv(table, dtype="str").itertuples():
        truth = cv2.imread(str(table.parent / row.mask_path), cv2.IMREAD_UNCHANGED)
        missed = rng.random(truth.shape) < wrong + .03 * (int(row.group_id[-2:]) % 3)
        path = folder / f"predictions/{table.parent.name}/{name}/{Path(row.image_path).with_suffix('')}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        cv2.imwrite(str(path), np.where(missed, (truth + 1) % 4, truth % 4).astype(np.uint8))


@pytest.fixture(scope="module")
def studies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`new` cross-validated on 6 strips, and `old` and `new` on 7 strips of another place."""
    folder = tmp_path_factory.mktemp("studies")
    here = write_flight_strips(folder / "here", strips=6, patches=2, size=24)
    there = write_flight_strips(folder / "there", strips=7, patches=2, size=24)
    rows = pd.read_csv(there, dtype="str")
    rows.assign(group_id="b" + rows["group_id"]).to_csv(there, index=False)
    predict(folder, here, "new", .1)
    predict(folder, there, "new", .2)
    predict(folder, there, "old", .3)
    run(folder, "segcv.evaluate", f"data.table={here}", "data.num_classes=4", "split=group_kfold", "split.folds=3",
        "predictions=predictions/here/new", "name=new", "workers=0")
    run(folder, "segcv.evaluate", f"data.external={there}", "data.num_classes=4", "runs=outside", "workers=0",
        "predictions=predictions/there/{candidate}/{image_id}.png")
    return folder


def group_means(folder: Path, runs: str, policy: str) -> pd.Series:
    """By pandas alone: mean IoU of an image over the classes that count under the policy, then over a group."""
    scores = pd.concat([pd.read_parquet(path) for path in folder.glob(f"{runs}/repeat-*/fold-*/seed-*/scores.parquet")])
    there = scores["tp"] + scores["fn"] + (scores["fp"] if policy == "union" else 0) > 0
    iou = (scores["tp"] / (scores["tp"] + scores["fp"] + scores["fn"]))[there]
    images = scores[there].assign(iou=iou).groupby(["group_id", "image_id"])["iou"].mean()
    return images.groupby("group_id").mean()


def test_the_drop_to_the_cohort_has_the_interval_of_welch_and_the_cohort_that_of_hoeffding(studies: Path):
    """Group means by pandas; the drop by scipy.stats.ttest_ind without equal variances (one seed: these models), the
    bound from sqrt(ln 40 / 14) over 7 groups."""
    said = run(studies, "segcv.aggregate", "external=outside", "report.html=false", "out=report")
    inside, outside = group_means(studies, "runs/new-*", "union"), group_means(studies, "outside/new-*", "union")
    theirs = stats.ttest_ind(inside, outside, equal_var=False)
    found = json.loads((studies / "report/summary.json").read_text(encoding="utf-8"))["external"]

    drop = found["drop"]["equal_group"]
    assert drop["value"] == pytest.approx(inside.mean() - outside.mean())
    assert (drop["low"], drop["high"]) == pytest.approx(tuple(theirs.confidence_interval(.95)))
    bound, mean = found["targets"]["equal_group"][3], outside.mean()
    assert (bound["low"], bound["high"]) == pytest.approx(
        (max(0.0, mean - math.sqrt(math.log(40) / 14)), min(1.0, mean + math.sqrt(math.log(40) / 14))))
    assert set(found["drop"]) == set(found["targets"]) == {"equal_group", "group_pooled"}
    assert "drop to the external cohort" in said and "valid for this model" in said
    report = (studies / "report/cv_report.md").read_text(encoding="utf-8")
    assert "## External cohort" in report and "HELD-OUT NOT PROVEN on the external cohort" in report
    of_cohort = [line for line in said.splitlines() if "external cohort" in line]
    assert of_cohort and all(line.endswith("[held-out not proven]") for line in of_cohort)


def test_predictions_without_folds_are_no_external_cohort_unless_they_are_named_one(studies: Path):
    """The same predictions, handed in as data.table: one split of its own in the folder, which an audit then names."""
    run(studies, "segcv.evaluate", "data.table=there/images.csv", "data.num_classes=4", "runs=own", "workers=0",
        "predictions=predictions/there/new", "name=new")
    said = run(studies, "segcv.aggregate", "runs=own", "report.html=false", "out=own_report")
    report = (studies / "own_report/cv_report.md").read_text(encoding="utf-8")

    assert "predictions without folds, " in said and "external cohort" not in said
    assert "## Predictions without folds" in report and "## External cohort" not in report
    assert "HELD-OUT NOT PROVEN" in report and "python -m segcv.audit runs=own\n" in report


def test_two_frozen_models_are_compared_by_signs_of_groups_and_for_these_models_only(studies: Path):
    """`new` is better on all 7 groups: the exact sign flip gives 2 / 2^7."""
    said = run(studies, "segcv.compare", "candidates=[old,new]", "runs=outside", "out=comparison")
    (pair,) = json.loads((studies / "comparison/summary.json").read_text(encoding="utf-8"))["pairs"]
    apart = group_means(studies, "outside/old-*", "truth") - group_means(studies, "outside/new-*", "truth")

    assert (apart < 0).all() and pair["p_value"] == 2 / 2**7
    assert pair["mean_difference"] == pytest.approx(apart.mean())
    assert pair["difference"]["high"] < 0 and pair["difference"]["target"].endswith("these models")
    assert "new better (these models, not their recipes)" in said


def test_a_cohort_is_scored_alone_and_by_evaluate_only(tmp_path: Path):
    with pytest.raises(ConfigError, match=r"is for python -m segcv\.evaluate"):
        images_table(DataSettings(external="b.csv"), cache=tmp_path)
    with pytest.raises(ConfigError, match="both given; the cohort is scored alone"):
        open_truth(DataSettings(external="b.csv", table="a.csv"), GroupSettings(), cache=tmp_path)
