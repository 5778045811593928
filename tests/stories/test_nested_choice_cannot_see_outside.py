"""A nested evaluation from end to end on tiny strips: nothing outside reaches the choice, and what is there is kept."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from dataclasses import asdict
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
