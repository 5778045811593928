"""Exact copies are taken out of training and scores when asked, and counted wherever the split is told."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from tiny_images import write_squares

from segcv.splits import read_split


def split(folder: Path, *overrides: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "segcv.split", "data.table=images.csv", "data.num_classes=2", "split.folds=2",
               "group.copies=remove", *overrides]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """Eight squares in groups of two; square_0 of group g0 is there again in g1 and g3."""
    table = write_squares(tmp_path / "files", 8)
    for number in (3, 7):
        for suffix in (".png", "_mask.png"):
            shutil.copy(tmp_path / f"files/square_0{suffix}", tmp_path / f"files/square_{number}{suffix}")
    table.to_csv(tmp_path / "images.csv", index=False)
    return tmp_path


def test_copies_are_in_no_fold_and_are_counted_in_text_manifest_and_images(copied: Path):
    """Two of eight are copies of square_0; of the rows that are not held out, 2 x 2 of 2 x 8 - 6 = 40 %."""
    done = split(copied)

    assert done.returncode == 0, done.stderr
    assert "2 of 8 images are exact copies of others" in done.stderr
    assert "Left out of training: exact copy: 40.0 % of what could train (2 images in one fold or more)" in done.stdout
    made = read_split(next(copied.glob("splits/*/*/manifest.json")).parent)
    assert made.manifest["left_out"] == [{"reason": "exact copy", "images": 2, "share": 0.4}]
    assert set(made.roles.loc[made.roles["role"].eq("excluded"), "image_id"]) == {"square_3", "square_7"}
    rows = made.images.set_index("image_id")
    assert rows.loc["square_3", ["group_id", "group_evidence"]].tolist() == ["g0", "exact copy of square_0"]
    assert rows["group_id"].nunique() == 4                             # the copies have joined nothing
    assert len(made.used_images) == 6
    listed = pd.concat(pd.read_csv(path) for path in made.folder.glob("fold_0_*.csv"))
    assert len(listed) == 6


def test_one_picture_with_two_masks_is_refused(copied: Path):
    shutil.copy(copied / "files/square_1_mask.png", copied / "files/square_7_mask.png")
    done = split(copied)

    assert done.returncode != 0
    assert "square_7 and square_0 are the same picture with different masks" in done.stderr


def test_a_cap_above_all_groups_says_that_it_leaves_out_nothing(copied: Path):
    done = split(copied, "split.max_per_group=9")

    assert done.returncode == 0, done.stderr
    assert "max_per_group=9 leaves out nothing: the largest group has 2 images" in done.stderr
