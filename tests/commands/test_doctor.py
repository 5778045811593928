"""python -m segcv.doctor, and the audit of a user's own data pipeline."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import namedtuple
from pathlib import Path

import pytest
import tiny_loaders

from segcv import doctor
from segcv.errors import ConfigError
from segcv.settings import DoctorCommand
from segcv.training import LoaderAudit, audit_loader

Usage = namedtuple("Usage", "total used free")


def test_the_doctor_finds_nothing_wrong_here_and_repeats_in_a_users_pipeline(tmp_path: Path):
    here = {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]),
            "HF_HUB_OFFLINE": "1"}
    done = subprocess.run([sys.executable, "-m", "segcv.doctor", "loader=tiny_loaders:flipped"], cwd=tmp_path,
                          capture_output=True, text=True, env={**os.environ, **here})

    assert done.returncode == 1, done.stdout + done.stderr
    wrong = [line for line in done.stdout.splitlines() if line.startswith("FAIL")]
    assert wrong and all("tiny_loaders:flipped" in line for line in wrong), done.stdout
    assert "two workers draw the same augmentations" in done.stdout
    assert "model.weights_file=PATH" in done.stdout
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("given", "found"), [
    (tiny_loaders.plain, LoaderAudit(random=False, workers_alike=False, epochs_alike=False)),
    (tiny_loaders.noise, LoaderAudit(random=True, workers_alike=False, epochs_alike=False)),
    (tiny_loaders.make_noise(), LoaderAudit(random=True, workers_alike=False, epochs_alike=False)),
    (tiny_loaders.reseeded, LoaderAudit(random=True, workers_alike=False, epochs_alike=False)),
    (tiny_loaders.flipped, LoaderAudit(random=True, workers_alike=True, epochs_alike=True)),
])
def test_a_pipeline_that_repeats_itself_is_told_from_one_in_order(given: object, found: LoaderAudit):
    """albumentations 2.0.8 with a seed: every worker and every epoch draws the stream of the parent's copy."""
    assert audit_loader(given) == found


def test_what_is_no_dataset_is_refused():
    with pytest.raises(ConfigError, match="list is neither"):
        audit_loader([])


def states(look: object, settings: DoctorCommand | None = None) -> list[str]:
    return [check.state for check in look(settings or DoctorCommand())]      # type: ignore[operator]


def test_little_room_is_said_and_no_room_is_wrong(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.chdir(tmp_path)
    for free, state in ((50e9, "ok"), (5e9, "warn"), (0.5e9, "FAIL")):
        monkeypatch.setattr(doctor.shutil, "disk_usage", lambda path, free=free: Usage(100e9, 0, free))
        assert states(doctor.folders) == [state] * 3
    assert states(doctor.memory) == ["warn"]


def test_a_folder_that_cannot_be_written_to_is_wrong(tmp_path: Path):
    """/proc takes no file from anybody."""
    assert "FAIL" in states(doctor.folders, DoctorCommand(runs="/proc/runs"))


def test_gpus_that_torch_does_not_see_are_wrong(monkeypatch: pytest.MonkeyPatch):
    import segcv.launching
    import segcv.training

    if segcv.training.chosen_device("auto").type == "cuda":
        pytest.skip("torch sees a GPU here")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(segcv.launching, "visible_gpus", lambda: ["0", "1"])
    assert states(doctor.devices)[0] == "FAIL"
    monkeypatch.setattr(segcv.launching, "visible_gpus", lambda: [])
    assert states(doctor.devices)[0] == "ok"


def test_a_clock_in_the_past_and_too_many_threads_are_said(monkeypatch: pytest.MonkeyPatch):
    assert states(doctor.clock) == ["ok"]
    monkeypatch.setattr(doctor.time, "time", lambda: 1e9)
    assert states(doctor.clock) == ["warn"]
    monkeypatch.setenv("OMP_NUM_THREADS", "4096")
    assert states(doctor.devices)[-1] == "warn"


def test_two_opencv_wheels_and_a_missing_package_are_wrong_with_what_to_type(monkeypatch: pytest.MonkeyPatch):
    Found = namedtuple("Found", "metadata")
    monkeypatch.setattr(doctor, "distributions", lambda: [Found({"Name": "opencv_python"}),
                                                          Found({"Name": "opencv-python-headless"})])
    (check,) = doctor.opencv_wheels(DoctorCommand())
    assert check.state == "FAIL" and "pip uninstall -y opencv-python opencv-python-headless" in check.cure

    monkeypatch.setattr(doctor, "requires", lambda name: ["nowhere-to-be-found>=3", "numpy<1", "x; extra == 'dev'"])
    told = [check for check in doctor.python_and_packages(DoctorCommand()) if check.state == "FAIL"]
    assert [check.cure for check in told] == ["pip install 'nowhere-to-be-found>=3'", "pip install 'numpy<1'"]
