"""segcv.gallery as a user types it: one page of one run, refusals, and FiftyOne through its own interface."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image
from tiny_sweep import truth_of, write_tiny_sweep

from segcv.errors import ConfigError, MissingExtra
from segcv.gallery import scored
from segcv.sweeps import chosen_sweep, export_fiftyone, scores_of, split_of


def gallery(folder: Path, *overrides: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([sys.executable, "-m", "segcv.gallery", *overrides], cwd=folder, capture_output=True,
                          text=True)
    assert done.returncode == code, done.stdout + done.stderr
    return done


def test_one_run_is_one_page_that_needs_no_other_file(tmp_path: Path):
    """Fold 0 holds out groups 0, 2 and 4: six images, fewer than the page may show, so it shows all."""
    write_tiny_sweep(tmp_path, {"unet": 2})

    said = gallery(tmp_path, "run=runs/unet-c/repeat-0/fold-0/seed-0").stdout

    path = tmp_path / "runs/unet-c/gallery/repeat-0_fold-0_seed-0.html"
    assert f"{path} (6 of 6 images)" in said
    page = path.read_text(encoding="utf-8")
    assert page.count('class="tile"') == 6
    assert page.count("src=") == page.count('src="data:') == 24
    assert "Pictures: unet-c/repeat-0/fold-0/seed-0" in page


def test_what_cannot_be_shown_is_refused(tmp_path: Path):
    write_tiny_sweep(tmp_path, {"unet": 2})

    assert "unet-c/repeat-0/fold-0/seed-0" in gallery(tmp_path, "run=nowhere", code=1).stderr
    assert "has no effect beside run" in gallery(tmp_path, "run=a", "candidate=unet", code=1).stderr
    for path in (tmp_path / "images").rglob("*.png"):
        path.unlink()
    assert "none of its images can be shown" in gallery(tmp_path, code=1).stderr


class Fake(ModuleType):
    """The part of FiftyOne's interface that is used, keeping what it is given."""

    def __init__(self) -> None:
        super().__init__("fiftyone")
        self.datasets: dict[str, Any] = {}

    def dataset_exists(self, name: str) -> bool:
        return name in self.datasets

    def delete_dataset(self, name: str) -> None:
        del self.datasets[name]

    def Dataset(self, name: str, *, persistent: bool) -> Any:
        assert persistent
        self.datasets[name] = SimpleNamespace(samples=[], save=lambda: None)
        self.datasets[name].add_samples = self.datasets[name].samples.extend
        return self.datasets[name]

    def Sample(self, **fields: Any) -> Any:
        return SimpleNamespace(**fields)

    def Segmentation(self, *, mask_path: str) -> str:
        return mask_path


def test_every_image_goes_to_fiftyone_with_masks_and_scores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """By hand: image 0 with 3 wrong rows has IoU 144/198 of field and 21/24 of road."""
    fake = Fake()
    monkeypatch.setitem(sys.modules, "fiftyone", fake)
    sweep, _ = chosen_sweep(write_tiny_sweep(tmp_path, {"unet": 3}) / "runs", candidate="unet")
    split = split_of(sweep[0])
    scores = scores_of(tmp_path / "runs", sweep, split)

    def export(**changed: Any) -> int:
        return export_fiftyone(tmp_path / "runs", sweep, split, scored(sweep, split, scores), scores, name="set",
                               folder=tmp_path / "out", **changed)

    assert export() == 12
    made = fake.datasets["set"]
    first = next(sample for sample in made.samples if sample.image_id == "g0/0")
    assert first.class_iou == pytest.approx({"field": 144 / 198, "road": 21 / 24})
    assert (first.fold, first.group) == (0, "g0")
    assert np.array_equal(np.asarray(Image.open(first.truth)), truth_of(0))
    assert Path(first.prediction).is_file() and Path(first.filepath).is_file()
    assert made.default_mask_targets == {0: "field", 1: "road", 255: "ignored"}
    with pytest.raises(ConfigError, match=r"has a data set 'set' already.*replace=true"):
        export()
    assert export(replace=True) == 12


def test_without_fiftyone_the_message_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "fiftyone", None)
    sweep, _ = chosen_sweep(write_tiny_sweep(tmp_path, {"unet": 3}) / "runs", candidate="unet")
    split = split_of(sweep[0])
    scores = scores_of(tmp_path / "runs", sweep, split)

    with pytest.raises(MissingExtra, match=r"pip install 'segcv\[fiftyone\]'"):
        export_fiftyone(tmp_path / "runs", sweep, split, scored(sweep, split, scores), scores, name="set",
                        folder=tmp_path / "out")
