"""A nested evaluation from end to end on tiny strips: nothing outside reaches the choice, and what is there is kept."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import cv2
import numpy as np
import pandas as pd
import pytest

from segcv import nested
from segcv.candidates import Evaluation, choice_of, fitted, open_evaluation, refuse_settings, result_of
from segcv.errors import ConfigError
from segcv.pixels import write_flight_strips
from segcv.settings import (
    AugmentSettings,
    CalibrationSettings,
    DataSettings,
    InnerSettings,
    NestedCommand,
    SplitSettings,
    TrainerSettings,
)


def settings(table: Path, work: Path) -> NestedCommand:
    return NestedCommand(
        data=DataSettings(table=str(table), num_classes=4), split=SplitSettings(name="group_kfold", folds=3),
        inner=InnerSettings(folds=2, calibration_share=0.3), calibration=CalibrationSettings("temperature"),
        candidates=["a", "b"], workers=0, trainer=TrainerSettings(epochs=1), augment=AugmentSettings("none"),
        splits=str(work / "splits"), nested=str(work / "nested"), cache=str(work))


def evaluation(table: Path, work: Path) -> Evaluation:
    tried = {"a": settings(table, work), "b": settings(table, work)}
    tried["b"].optim.lr = 0.001
    return open_evaluation(tried["a"], tried, plain={name: asdict(one) for name, one in tried.items()})


def fits_of_fold(run: Evaluation, outer: int) -> dict[str, str]:
    """Make every fit of an outer fold; the hash of each file that holds what was learned, and the choice."""
    plan = run.plans[0].folds[outer]
    for fit in plan.inner:
        for name in run.candidates:
            fitted(run, 0, fit, name)
    winner = choice_of(run, 0, outer)
    fitted(run, 0, plan.final, winner)
    learned = {str(path.relative_to(run.home)): hashlib.sha256(path.read_bytes()).hexdigest()
               for path in sorted(run.home.glob(f"fits/repeat-0/outer-{outer}/**/model/*"))}
    return learned | {"chosen": winner}


def test_changing_everything_outside_changes_nothing_that_was_learned(tmp_path: Path):
    """A canary: noise for every pixel and mask of the outer groups; choice, weights, calibration stay the same bits."""
    table = write_flight_strips(tmp_path / "data", strips=9, patches=2, size=32)
    run = evaluation(table, tmp_path / "first")
    before = fits_of_fold(run, 0)
    outer = set(run.plans[0].folds[0].final.parts.judged)
    rng = np.random.default_rng(5)
    images = run.study.split.images
    for row in images[images["group_id"].isin(outer)].itertuples():
        shape = cv2.imread(row.image_path).shape
        cv2.imwrite(row.image_path, rng.integers(0, 256, shape, np.uint8))
        cv2.imwrite(row.mask_path, rng.integers(0, 4, shape[:2], np.uint8))

    again = evaluation(table, tmp_path / "second")
    after = fits_of_fold(again, 0)

    assert again.study.split.data_id != run.study.split.data_id
    assert set(again.plans[0].folds[0].final.parts.judged) == outer
    assert len(before) == 5 * 3 + 1            # 2 inner folds x 2 candidates + 1 refit: weights, model, calibration
    assert after == before


def test_a_nested_evaluation_counts_its_fits_and_judges_each_group_once(
        tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """K (J M + 1) = 3 (2 x 2 + 1) = 15 fits; where a part lacks a class (tiny strips) the fallback answers instead.
    9 strips, each judged once outside. Another report on the same split makes the next one exploratory."""
    table = write_flight_strips(tmp_path / "data", strips=9, patches=2, size=32)
    run = evaluation(table, tmp_path)
    for outer in range(3):
        fits_of_fold(run, outer)

    result = result_of(run, 0)
    nested.write_runs(run, 0, result)
    nested.report(run, {0: result})

    assert result.counts.base_fits + result.counts.fallbacks == 15
    assert 0 < result.counts.base_fits == result.counts.calibrations
    assert len(result.losses) == 9
    assert set(pd.read_parquet(run.home / "ledger.parquet")["role"]) == {"B", "C", "V", "O"}
    assert len(list((run.home / "runs").glob("*/repeat-0/fold-*/seed-0/scores.parquet"))) == 3
    assert f"{1 - float(result.mean_loss):.3f}" in capsys.readouterr().out
    page = run.home / "report/nested_report.md"
    assert "EXPLORATORY" not in page.read_text(encoding="utf-8")
    shutil.copytree(run.home / "report", run.home.with_name("other-1") / "report")
    nested.report(run, {0: result})
    assert "EXPLORATORY: 1 other" in page.read_text(encoding="utf-8")


@pytest.mark.filterwarnings("ignore::segcv.errors.SegcvWarning")          # strips this small lack rare classes
@pytest.mark.parametrize("split", [
    SplitSettings(name="group_kfold", folds=2, repeats=2, max_per_group=1),
    SplitSettings(name="time", folds=2),
])
def test_outer_repeats_and_rolling_origin_run_to_the_report(
        split: SplitSettings, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """Every fit from end to end. Outer repeats judge each of 6 strips once a repeat and are averaged by strip; with
    max_per_group=1 the ledger counts one image of a training group and both of a held-out one. Rolling origin trains
    on strips before the first held-out one only (one strip a day), inside as well as in the refit. The delivered model
    is made from all 6."""
    table = write_flight_strips(tmp_path / "data", strips=6, patches=2, size=24)
    rows = pd.read_csv(table, dtype="str")
    rows.assign(time="2023-04-0" + (rows["group_id"].str[-2:].astype(int) + 1).astype(str)).to_csv(table, index=False)
    alone = replace(settings(table, tmp_path), split=split, calibration=CalibrationSettings(),
                    inner=InnerSettings(folds=2, calibration_share=0))
    run = open_evaluation(alone, {"a": alone}, plain={"a": asdict(alone)})
    for repeat, plan in run.plans.items():
        for fold in plan.folds:
            for fit in fold.inner:
                fitted(run, repeat, fit, "a")
            fitted(run, repeat, fold.final, choice_of(run, repeat, fold.outer))

    results = {repeat: result_of(run, repeat) for repeat in run.plans}
    for repeat, result in results.items():
        nested.write_runs(run, repeat, result)
    nested.report(run, results)

    told = capsys.readouterr().out
    ledger = pd.read_parquet(run.home / "ledger.parquet")
    assert len(ledger.groupby("fit_id")) == len(results) * 2 * (2 * 1 + 1)
    assert len(list((run.home / "runs").glob("*/repeat-*/fold-*/seed-0/scores.parquet"))) == 2 * len(results)
    outside = ledger[ledger["role"].eq("O")]
    if split.repeats == 2:
        by_group = pd.DataFrame([(group, 1 - float(loss)) for result in results.values()
                                 for (_, group), loss in result.losses.items()]).groupby(0)[1]
        assert (by_group.size() == 2).all() and len(by_group) == 6
        assert f"on a new group: {by_group.mean().mean():.3f} " in told
        assert set(ledger.loc[ledger["role"].eq("B"), "rows"]) == {1} and set(outside["rows"]) == {2}
    else:
        inside = ledger[ledger["role"].ne("O")].groupby("outer")["group_id"].max()
        assert (inside < outside.groupby("outer")["group_id"].min()).all()
    delivered = open_evaluation(alone, {"a": alone}, plain={"a": asdict(alone)}, delivered=True)
    (whole,) = delivered.plans[0].folds
    assert sorted(whole.final.parts.base) == sorted(set(rows["group_id"]))        # also the last day, always held out
    assert set(delivered.rows(0, whole.final)["group_id"]) == set(rows["group_id"])


def test_the_command_makes_its_fits_in_processes_of_their_own(tmp_path: Path):
    table = write_flight_strips(tmp_path / "data", strips=4, patches=2, size=32)
    command = [sys.executable, "-m", "segcv.nested", f"data.table={table}", "data.num_classes=4", "split=group_kfold",
               "split.folds=2", "inner.folds=2", "inner.calibration_share=0", "candidates=[unet_small]",
               "trainer.epochs=1", "workers=0", "augment=none"]

    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "mIoU of the whole recipe on a new group" in done.stdout


def test_candidates_that_calibrate_need_groups_to_calibrate_on(tmp_path: Path):
    alone = settings(tmp_path / "none.csv", tmp_path)
    alone.inner.calibration_share = 0.0

    with pytest.raises(ConfigError, match="needs groups to calibrate on"):
        refuse_settings(alone, {"alone": alone})
