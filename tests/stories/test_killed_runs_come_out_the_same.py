"""Runs that are killed, or find no room on the disk, and are started again: bit by bit what nobody disturbed.

`bash scripts/fault_check` kills at 50 moments; here it is a handful, spread over all file operations of a run.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from killed_runs import Lab, ended, killed_at, make_lab, outcome, reference

from segcv.runs import find_runs

SPREAD = 3


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    return make_lab(tmp_path_factory.mktemp("lab"), "trainer.epochs=1")


@pytest.fixture(scope="module")
def whole(lab: Lab) -> tuple[dict[str, Any], float, int]:
    return reference(lab)


@pytest.mark.parametrize("part", range(1, SPREAD + 1))
def test_a_run_killed_in_the_middle_of_its_writing_comes_out_the_same(
        lab: Lab, whole: tuple[dict[str, Any], float, int], part: int, tmp_path: Path):
    """Just before a file is opened, renamed or removed: checkpoint, model, masks, scores, record, folder."""
    expected, _, operations = whole
    assert killed_at(lab, tmp_path, operation=part * operations // (SPREAD + 1))
    assert find_runs(tmp_path) == []

    assert ended(lab.run(tmp_path)) == 0
    assert outcome(tmp_path) == expected


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 1 MB; `mount -o remount,size=..m` makes it larger."""
    place = tmp_path / "disk"
    place.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "segcv-test", str(place)], capture_output=True)
    if made.returncode != 0:
        pytest.skip("needs the right to mount a tmpfs")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_run_that_finds_the_disk_full_goes_on_when_there_is_room(lab: Lab, whole: tuple[dict[str, Any], float, int],
                                                                  small_disk: Path):
    """A checkpoint has about 5 MB: full at the first, at the second, which is written beside it, or later."""
    before, codes = (lab.home / "output.txt").stat().st_size, []
    for size in (1, 7, 11, 100):
        subprocess.run(["mount", "-o", f"remount,size={size}m", str(small_disk)], check=True)
        codes.append(ended(lab.run(small_disk / "runs")))
        if codes[-1] == 0:
            break
        assert find_runs(small_disk / "runs") == []
        assert "No space left on device" in (lab.home / "output.txt").read_text()[before:]

    assert len(codes) > 2 and codes[-1] == 0, codes
    assert outcome(small_disk / "runs") == whole[0]


def test_a_folder_that_cannot_be_written_to_is_refused(lab: Lab, small_disk: Path):
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    before = (lab.home / "output.txt").stat().st_size

    assert ended(lab.run(small_disk / "runs")) == 1
    assert "Read-only file system" in (lab.home / "output.txt").read_text()[before:]
    assert list(small_disk.iterdir()) == []
