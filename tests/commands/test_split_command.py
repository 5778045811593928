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
    done = subprocess.run([sys.executable, "-m", "segcv.split", *GIVEN, *overrides], cwd=folder, capture_output=True,
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
