"""aggregate with a second reader, an older model and images left out, as a user types it, without training."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from tiny_sweep import SIDE, write_tiny_sweep

from segcv.aggregate import torn_levels
from segcv.splits import read_split
from segcv.tables import FINDINGS


def aggregate(folder: Path, *overrides: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([sys.executable, "-m", "segcv.aggregate", *overrides], cwd=folder, capture_output=True,
                          text=True)
    assert done.returncode == code, done.stdout + done.stderr
    return done


def miou(number: int, wrong: int) -> float:
    """Of image `number` with `wrong` rows said to be field, by areas: field gains the road of these rows."""
    wide = 6 + number % 12
    field = wide * SIDE / (wide * SIDE + wrong * (SIDE - wide))
    return (field + (SIDE - wrong) / SIDE) / 2


def equal_group(wrong: int, left_out: set[int]) -> float:
    """Mean over six groups of two images each; group g has g more wrong rows."""
    means = []
    for group in range(6):
        kept = [miou(number, wrong + group) for number in (2 * group, 2 * group + 1) if number not in left_out]
        means.append(sum(kept) / len(kept))
    return sum(means) / len(means)


def test_both_numbers_the_reader_and_the_older_model_stand_beside_the_model(tmp_path: Path):
    """Every number by hand, from the areas of the drawn rectangles."""
    write_tiny_sweep(tmp_path, {"new": 3, "old": 6, "reader": 1})
    (tmp_path / "bad.csv").write_text("image_id,reason\ng0/0,mask of another image\n")

    said = aggregate(tmp_path, "candidate=new", "report.exclude=bad.csv", "report.baselines=[old]",
                     "report.second_reader=reader", "out=report").stdout

    data = json.loads((tmp_path / "report/summary.json").read_text())
    assert data["headline"]["value"] == pytest.approx(equal_group(3, {0}))
    assert data["excluded"]["headline_with_them"]["value"] == pytest.approx(equal_group(3, set()))
    ladder = {rung["name"]: rung["score"]["value"] for rung in data["ladder"]}
    assert ladder["old"] == pytest.approx(equal_group(6, {0}))
    assert ladder["second reader"] == pytest.approx(equal_group(1, {0}))
    assert f"{equal_group(3, {0}):.3f}" in said and "a second reader" in said
    page = (tmp_path / "report/cv_report.html").read_text(encoding="utf-8")
    assert "IMAGES LEFT OUT: 1 scored images" in page
    assert "g0/0" not in page[page.index('class="gallery"'):page.index("Undefined, missed")]
    assert "report.exclude=bad.csv" in page                     # typed again, the command makes the same report


def test_who_cannot_stand_beside_is_refused_before_anything_is_written(tmp_path: Path):
    write_tiny_sweep(tmp_path, {"new": 3})
    (tmp_path / "bad.csv").write_text("image_id,reason\nnowhere,blurred\n")

    assert "did not score, such as nowhere" in aggregate(tmp_path, "report.exclude=bad.csv", "out=report",
                                                         code=1).stderr
    assert "report.second_reader=reader is neither a candidate" in aggregate(
        tmp_path, "report.second_reader=reader", "out=report", code=1).stderr
    assert not (tmp_path / "report").exists()


def test_the_list_of_suspects_is_edited_and_typed_back_as_the_report_says_and_is_never_overwritten(tmp_path: Path):
    """One mask has specks; the command printed in the report is run as it stands."""
    write_tiny_sweep(tmp_path, {"new": 3, "old": 6}, groups=20)
    with_specks(tmp_path / "masks/g4/8.png")
    aggregate(tmp_path, "candidate=new")
    (listed,) = (tmp_path / "runs").glob("new-*/report/relabel.csv")
    report = (listed.parent / "cv_report.md").read_text(encoding="utf-8")
    (line,) = [each for each in report.splitlines() if each.startswith("python -m") and "report.exclude=" in each]
    assert line == f"python -m segcv.aggregate candidate=new report.exclude={listed.relative_to(tmp_path).as_posix()}"

    listed.write_text("image_id,reason\ng4/8,specks; seen by a person\n")
    aggregate(tmp_path, *line.split()[3:])
    assert listed.read_text() == "image_id,reason\ng4/8,specks; seen by a person\n"
    assert "IMAGES LEFT OUT: 1" in (listed.parent / "cv_report.md").read_text(encoding="utf-8")
    aggregate(tmp_path, *line.split()[3:], "report.html=false")
    assert listed.read_text() == "image_id,reason\ng4/8,specks; seen by a person\n"


def test_a_list_that_is_not_there_is_refused_with_the_path_to_type(tmp_path: Path):
    write_tiny_sweep(tmp_path, {"new": 3})
    said = aggregate(tmp_path, "report.exclude=relabel.csv", code=1).stderr
    assert "report.exclude=relabel.csv: there is no such file" in said and "/report/relabel.csv" in said
    assert len(said.strip().splitlines()) == 1


def test_torn_ids_come_from_the_audit_or_else_from_the_notes_of_the_split(tmp_path: Path):
    """Of a suspicion, a note and another check only the suspicion on whole groups is kept."""
    write_tiny_sweep(tmp_path, {"new": 3})
    split = replace(read_split(tmp_path / "splits/tiny"), notes=("site_id would leave 2 groups.", "else"))
    row = {"check": "groups_whole", "subject": "site_id", "severity": "warn", "what": "site_id s0 is torn",
           "why_it_matters": "it flatters", "remedy": "Cut whole site_id", "evidence": "", "held_out_touched": 5,
           "held_out": 8, "share": 0.625, "examples": ""}
    others = [row | {"subject": "x", "severity": "note"}, row | {"check": "same_bytes"}]
    found = FINDINGS.check(pd.DataFrame([row, *others]), where="test")

    assert torn_levels(found, split) == ("site_id s0 is torn. Cut whole site_id.",)
    assert torn_levels(None, split) == ("site_id would leave 2 groups.",)


def with_specks(path: Path) -> None:
    """Single pixels of the other class, each alone."""
    mask = np.array(Image.open(path))
    mask[1::3, 1::3] = 1 - mask[1::3, 1::3]
    Image.fromarray(mask).save(path)
