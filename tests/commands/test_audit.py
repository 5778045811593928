"""The audit as a user types it: what it says, what it writes, and its exit codes."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from tiny_images import write_squares
from tiny_sweep import write_tiny_sweep

from segcv.aggregate import audit_command
from segcv.audit import with_split
from segcv.errors import ConfigError
from segcv.runs import find_runs
from segcv.settings import AuditCommand


def audit(folder: Path, *overrides: str, code: int = 0) -> str:
    """What `python -m segcv.audit` prints; the exit code must be `code`."""
    command = [sys.executable, "-m", "segcv.audit", *overrides]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Eight squares in four groups; column whole keeps groups whole, torn does not."""
    rows = write_squares(tmp_path / "data", 8).drop(columns="image_id")
    rows["whole"] = [0, 0, 0, 0, 1, 1, 1, 1]
    rows["torn"] = [0, 1, 0, 0, 1, 1, 1, 1]
    path = tmp_path / "data" / "images.csv"
    rows.to_csv(path, index=False)
    return path


def test_whole_groups_pass_and_a_torn_group_fails_with_its_name(tmp_path: Path, table: Path):
    """Group g0 is squares 0 and 1, which the column torn deals to folds 0 and 1: one of three, and one of five."""
    given = [f"data.table={table}", "data.num_classes=2"]

    assert "PASS: 0 certain leaks" in audit(tmp_path, *given, "fold_column=whole")
    said = audit(tmp_path, *given, "fold_column=torn", code=1)

    assert "error: groups_whole: group_id g0 is on both sides in fold 0 (1), fold 1 (1)" in said
    assert "2 of 8 held-out images (25 %)" in said
    findings = pd.read_csv(tmp_path / "audit/findings.csv")
    assert findings[["check", "severity", "held_out_touched"]].to_numpy().tolist() == [["groups_whole", "fail", 2]]
    assert json.loads((tmp_path / "audit/findings.json").read_text())[0]["measures"]["torn"] == ["g0"]
    assert "python -m segcv.split" in (tmp_path / "audit/audit.md").read_text()


def test_what_cannot_be_run_ends_with_exit_code_2_and_writes_nothing(tmp_path: Path, table: Path):
    given = [f"data.table={table}", "data.num_classes=2"]

    assert "there is no such file" in audit(tmp_path, *given, "roles=folds.csv", code=2)
    assert "rolls" in audit(tmp_path, *given, "rolls=folds.csv", code=2)
    assert "each names the folds" in audit(tmp_path, *given, "roles=folds.csv", "split=group_kfold", code=2)
    assert "python -m segcv.split" in audit(tmp_path, *given, "split=group_kfold", code=2)
    assert not (tmp_path / "audit").exists()


def test_data_alone_are_checked_and_columns_that_look_like_folds_are_named(tmp_path: Path, table: Path):
    rows = pd.read_csv(table)
    rows["subset"] = ["train"] * 6 + ["test"] * 2
    rows.to_csv(table, index=False)

    said = audit(tmp_path, f"data.table={table}", "data.num_classes=2")

    assert "the data alone (name them: fold_column=subset)" in said and "PASS" in said
    summary = json.loads((tmp_path / "audit/summary.json").read_text())
    assert (summary["n_images"], summary["n_groups"], summary["split_id"]) == (8, 4, "")
    assert sum(summary["pixels_per_class"].values()) == 8 * 32 * 32


def test_a_split_folder_is_audited_by_its_settings_or_by_its_name(tmp_path: Path, table: Path):
    """A random split of eight images in four pairs tears at least one pair; a group split tears none."""
    given = [f"data.table={table}", "data.num_classes=2", "split.folds=2"]
    for name in ("random_kfold", "group_kfold"):
        command = [sys.executable, "-m", "segcv.split", *given, f"split={name}"]
        assert subprocess.run(command, cwd=tmp_path, capture_output=True).returncode == 0

    assert "error: groups_whole" in audit(tmp_path, *given, "split=random_kfold", code=1)
    folder = next(tmp_path.glob("splits/data/group_kfold-*"))
    said = audit(tmp_path, f"split_folder={folder}")
    assert "8 images, 4 groups; 2 folds" in said and "PASS" in said


def test_runs_of_several_splits_are_refused_with_what_to_type_instead_of_auditing_the_demo(tmp_path: Path):
    """Of two candidates one is moved to a copy of the split folder; a folder that is gone is said to be gone."""
    write_tiny_sweep(tmp_path, {"new": 3, "old": 6})
    shutil.copytree(tmp_path / "splits/tiny", tmp_path / "splits/other")
    for record in find_runs(tmp_path / "runs"):
        if record.candidate == "old":
            replace(record, split_folder=str(tmp_path / "splits/other")).write(tmp_path / "runs" / record.run_id)
    said = audit(tmp_path, "runs=runs", code=2)

    assert "runs of 2 splits" in said
    assert f"split_folder={tmp_path / 'splits/tiny'}" in said and f"split_folder={tmp_path / 'splits/other'}" in said
    (new,) = {find.split_folder: [find] for find in find_runs(tmp_path / "runs") if find.candidate == "new"}.values()
    assert audit_command(tmp_path / "runs", new).endswith(f"split_folder={tmp_path / 'splits/tiny'}")


def test_runs_whose_split_folder_is_gone_are_refused(tmp_path: Path):
    write_tiny_sweep(tmp_path, {"new": 3})
    (tmp_path / "splits/tiny").rename(tmp_path / "splits/away")
    with pytest.raises(ConfigError, match="is not there any more"):
        with_split(AuditCommand(runs=str(tmp_path / "runs")))
