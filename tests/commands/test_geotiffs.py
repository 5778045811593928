"""GeoTIFFs without any column: the split says what shares ground, and the audit of a split that tears it fails."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tiny_ground import write_tiles

DATA = ["data.images=images", "data.masks=masks", "data.num_classes=2", "split.folds=2"]


def run(command: str, folder: Path, *overrides: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", f"segcv.{command}", *DATA, *overrides], cwd=folder,
                          capture_output=True, text=True)


@pytest.mark.parametrize(("split", "code", "said"), [
    ("group_kfold", 1, "Type split=blocks"), ("blocks", 0, "Left out of training: too near held-out ground")])
def test_a_row_of_overlapping_tiles(tmp_path: Path, split: str, code: int, said: str):
    """Six tiles of which each shares 14 px with the next: any folds but neighbouring ones with a gap tear ground."""
    pytest.importorskip("rasterio")
    write_tiles(tmp_path, (row := {f"t{n}": (50 * n, 0) for n in range(6)}), crs=dict.fromkeys(row, "EPSG:32632"))
    made = run("split", tmp_path, f"split={split}")
    audited = run("audit", tmp_path, f"split={split}")

    assert made.returncode == 0, made.stderr
    assert said in made.stdout + made.stderr
    assert "told by the georeference of 6 GeoTIFFs (EPSG:32632): 6 of 6 images overlap another one" in made.stdout
    assert audited.returncode == code, audited.stdout + audited.stderr
    assert ("shared_ground: 6 of 6 held-out images" in audited.stdout) == bool(code)
