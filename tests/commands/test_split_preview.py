"""The split command shows where groups come from, what else they could be, and the largest in pictures."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image


def test_groups_are_shown_with_evidence_candidates_and_a_bounded_sheet(tmp_path: Path):
    """Four scenes, each with a flipped copy; one name holds markup, which the sheet must not pass on."""
    rng = np.random.default_rng(0)
    for folder in ("images", "masks"):
        (tmp_path / folder).mkdir()
    for number in range(4):
        name = f"s{number}<b>" if number == 0 else f"s{number}"
        coarse = Image.fromarray(rng.integers(0, 256, (8, 8, 3), np.uint8)).resize((96, 96), Image.Resampling.BICUBIC)
        picture = np.clip(np.asarray(coarse) + rng.normal(0, 12, (96, 96, 3)), 0, 255).astype(np.uint8)
        mask = (np.asarray(coarse)[:, :, 0] > 128).astype(np.uint8)
        for suffix, step in (("", 1), ("z", -1)):
            Image.fromarray(np.ascontiguousarray(picture[:, ::step])).save(tmp_path / "images" / f"{name}{suffix}.png")
            Image.fromarray(np.ascontiguousarray(mask[:, ::step])).save(tmp_path / "masks" / f"{name}{suffix}.png")
    command = [sys.executable, "-m", "segcv.split", "data.images=images", "data.masks=masks", "data.num_classes=2",
               "split.folds=2"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)

    assert done.returncode == 0, done.stderr
    assert "8 images in 4 groups" in done.stdout
    assert "Groups come from: near-duplicate (8 images)" in done.stdout
    folder = next(tmp_path.glob("splits/*/*/manifest.json")).parent
    ranked = pd.read_csv(folder / "groupings.csv").set_index("grouping")
    assert ranked.loc["as used", ["groups", "images"]].tolist() == [4, 8]
    assert ranked.loc["as used", "icc"] == 1                     # a flipped mask has the same class shares
    assert pd.read_csv(folder / "near_duplicates.csv")["distance"].tolist() == [3, 5, 8]
    sheet = (folder / "groups.html").read_text(encoding="utf-8")
    assert "s0&lt;b&gt;" in sheet and "s0<b>" not in sheet
    assert sheet.count("<img ") == 8 and "http" not in sheet
    assert len(sheet) < 1_000_000
