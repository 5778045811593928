"""The page of a comparison: one file, the differences with what could be seen, and the images that changed most."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
from tiny_sweep import write_tiny_sweep

HOSTILE = ["<script>alert(1)</script>", "\u202egnp.exe", "x" * 200, "g|3", "g4", "g5"]


def test_a_comparison_is_a_page_with_pictures_of_what_changed(tmp_path: Path):
    """By hand: `old` has two wrong rows more than `new` in every image, so every group speaks for `new`."""
    write_tiny_sweep(tmp_path, {"old": 4, "new": 2}, names=HOSTILE, seeds=(0, 1))

    done = subprocess.run([sys.executable, "-m", "segcv.compare", "candidates=[old,new]"], cwd=tmp_path,
                          capture_output=True, text=True)

    assert done.returncode == 0, done.stderr
    folder = tmp_path / "runs/comparison"
    assert "Page:   runs/comparison/comparison.html" in done.stdout
    page = (folder / "comparison.html").read_text(encoding="utf-8")
    assert page.count('class="tile"') == 12                               # all images of 6 groups of 2
    assert page.count("src=") == page.count('src="data:') == 12 * 5       # image, truth, old, new, difference
    assert "<script>alert" not in page and "\u202e" not in page
    drawn = pd.read_csv(folder / "figures/differences_old_minus_new.csv")
    assert len(drawn) == 6 and (drawn["difference"] < 0).all()
    alt = re.search(r'aria-label="([^"]*of 6 groups[^"]*)"', page)
    assert alt is not None and "0 score higher with the first and 6 with the second" in alt.group(1)
    ranks = pd.read_csv(folder / "figures/ranks.csv").set_index("candidate")
    assert ranks.loc["new", "rank 1"] == 1.0
    assert (folder / "comparison.md").read_text(encoding="utf-8").count("![") == 2
