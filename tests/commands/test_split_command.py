"""python -m segcv.split as a user types it, for each way of cutting that needs more than groups."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from segcv.pixels import write_flight_strips

GIVEN = ["data.num_classes=4", "group.near_duplicates=null", "workers=0"]


@pytest.fixture(scope="module")
def overlapping(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six strips of four tiles of 32 px on one ground, a strip every 24 px, taken on six days."""
    table = write_flight_strips(tmp_path_factory.mktemp("strips"), strips=6, patches=4, size=32)
    rows = pd.read_csv(table, dtype="str").drop(columns=["source_id", "y"])
    strip = rows["group_id"].str.removeprefix("strip").astype(int)
    rows.assign(y=24 * strip, day="2024-5-" + (strip + 1).astype("str")).to_csv(table, index=False)
    return table


def split(folder: Path, *overrides: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    return segcv(folder, "split", *GIVEN, *overrides, code=code)


def segcv(folder: Path, command: str, *overrides: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([sys.executable, "-m", f"segcv.{command}", *overrides], cwd=folder, capture_output=True,
                          text=True)
    assert done.returncode == code, done.stdout + done.stderr
    return done


def test_strips_that_share_ground_are_said_and_blocks_proposed(tmp_path: Path, overlapping: Path):
    """Three folds of two strips: the shares printed are those of a hand count (blocks lose 1, 2 and 1 of 4)."""
    said = split(tmp_path, f"data.table={overlapping}", "split.folds=3")
    blocks = split(tmp_path, f"data.table={overlapping}", "split.folds=3", "split=blocks")

    assert "6 of 6 groups share ground" in said.stderr
    assert "split=blocks" in said.stderr
    assert "warning" not in blocks.stderr
    assert "too near held-out ground: 33.3 % of what could train" in blocks.stdout


def test_a_time_that_cannot_be_read_is_refused_before_anything_is_made(tmp_path: Path, overlapping: Path):
    refused = split(tmp_path, f"data.table={overlapping}", "split=time", "split.time_column=x", code=1)
    split(tmp_path, f"data.table={overlapping}", "split=time", "split.time_column=day", "split.folds=2")

    assert "x is not a date in 24 of 24 rows" in refused.stderr
    assert [folder.name.split("-")[0] for folder in tmp_path.glob("splits/*/*") if folder.is_dir()] == ["time"]


def test_new_groups_and_known_groups_are_reported_apart(tmp_path: Path, overlapping: Path):
    """One fold in time: of six strips on six days the first three only train; then the same strips over many days."""
    table = pd.read_csv(overlapping, dtype="str")
    day = table["group_id"].str[-1].astype(int) + 6 * table.groupby("group_id").cumcount() + 1
    every_day = overlapping.parent / "every_day.csv"
    table.assign(day="2024-5-" + day.astype("str")).to_csv(every_day, index=False)
    given = [*GIVEN, "split.time_column=day", "split.folds=1", "trainer.epochs=1", "trainer.train_scores=false"]
    for cut, data in (("time", overlapping), ("known_groups", every_day)):
        segcv(tmp_path, "train", "fold=0", f"split={cut}", f"data.table={data}", f"candidate={cut}", *given)

    segcv(tmp_path, "aggregate", "candidate=time", "out=new")
    segcv(tmp_path, "aggregate", "candidate=known_groups", "out=known")
    new, known = ((tmp_path / folder / "cv_report.md").read_text() for folder in ("new", "known"))
    assert "12 of 24 images were never held out" in new
    assert "On a new group expect" in new
    assert "**KNOWN GROUPS" in known
    assert "On later images of the known groups expect" in known
