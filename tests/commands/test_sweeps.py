"""Sweeps as a user types them: python -m segcv.train -m."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from hashlib import sha256
from pathlib import Path

import pytest

from segcv.pixels import write_flight_strips

TESTS = Path(__file__).parents[1]
TINY = ["data.num_classes=4", "split.folds=3", "trainer.epochs=2", "trainer.train_scores=false", "workers=0"]
LAUNCHERS = {"local": ["hydra.launcher.gpus=[]"],
             "slurm": ["hydra/launcher=segcv_slurm", "hydra.launcher.cpus=1", "hydra.launcher.pause_s=0.2"],
             "ray": ["hydra/launcher=segcv_ray", "hydra.launcher.gpus_here=2"]}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_flight_strips(tmp_path_factory.mktemp("data"), strips=6, patches=4, size=32)


@pytest.fixture(scope="module")
def by_hand(data: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """sha256 of the weights of two folds that were trained one by one, without a sweep."""
    folder = tmp_path_factory.mktemp("by_hand")
    for fold in (0, 1):
        segcv(folder, "train", f"fold={fold}", f"data.table={data}", *TINY)
    return weights(folder)


def segcv(folder: Path, name: str, *overrides: str, code: int = 0, **environment: str) -> tuple[str, str]:
    done = subprocess.run([sys.executable, "-m", f"segcv.{name}", *overrides], cwd=folder, capture_output=True,
                          text=True, env={**os.environ, **environment})
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout, done.stderr


def weights(folder: Path) -> dict[str, str]:
    """run -> sha256 of its weights."""
    return {path.parents[1].relative_to(folder).as_posix(): sha256(path.read_bytes()).hexdigest()
            for path in folder.glob("runs/*/repeat-*/fold-*/seed-*/model/model.safetensors")}


def test_every_launcher_makes_the_weights_that_a_run_by_hand_makes(engine: str, tmp_path: Path, data: Path,
                                                                   by_hand: dict[str, str]):
    """sha256 of the weights, and the run folders, whose name holds the config id."""
    segcv(tmp_path, "train", "-m", "fold=0,1", f"data.table={data}", *TINY, *LAUNCHERS[engine])

    assert weights(tmp_path) == by_hand
    assert len(by_hand) == 2


def test_a_job_that_is_killed_is_named_and_the_same_command_goes_on_to_the_same_weights(tmp_path: Path, data: Path):
    """The second of two folds is killed at its fifth step, after a checkpoint at the fourth."""
    recipe = [f"data.table={data}", *TINY, "model.name=tiny_models:dies_once", "trainer.checkpoint_steps=1"]
    given = ["-m", "fold=1,0", *recipe, "hydra.launcher.gpus=[]", "hydra.launcher.slots=1"]
    here = {"PYTHONPATH": os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")]),
            "DIED": str(tmp_path / "died")}
    told = segcv(tmp_path, "train", *given, code=1, **here)[1]

    assert "failed jobs of the sweep: 1 of 2; the others are done" in told
    assert re.search(r"\nfold=1: killed by SIGKILL\n  in runs/tiny_models-dies_once-\w+/repeat-0/fold-1/\.seed-0", told)
    assert list(weights(tmp_path)) == [run for run in weights(tmp_path) if "fold-0" in run]
    assert list(tmp_path.glob("runs/*/repeat-0/fold-1/.seed-0.unfinished/checkpoint.pt"))

    said, _ = segcv(tmp_path, "train", *given, **here)
    assert "2 runs finished, 1 of them before" in said
    (tmp_path / "whole").mkdir()
    segcv(tmp_path / "whole", "train", "fold=1", *recipe, **here)
    assert weights(tmp_path / "whole").items() < weights(tmp_path).items()


@pytest.mark.parametrize(("overrides", "message"), [
    (["fold=0,9"], "fold=9 is not in"),
    (["fold=0,1", "optim.lr=0.1,nan"], "optim.lr=nan"),
    (["fold=0", "device=auto,cpu"], "two jobs are for the same cell"),
    (["fold=0,1", "hydra.launcher.gpus=[0,0]"], "names a GPU twice"),
    (["fold=0,1", "hydra.launcher.retries=-1"], "retries=-1"),
    (["fold=0,1", *LAUNCHERS["ray"], "hydra.launcher.address=auto"], "gpus_here has an effect"),
])
def test_a_sweep_that_cannot_be_right_is_refused_before_a_job_starts(tmp_path: Path, data: Path, overrides: list[str],
                                                                    message: str):
    if "hydra/launcher=segcv_ray" in overrides:
        pytest.importorskip("ray")
    told = segcv(tmp_path, "train", "-m", *overrides, f"data.table={data}", *TINY, code=1)[1]

    assert message in told and told.count("error:") == 1 and "Traceback" not in told
    assert not list(tmp_path.glob("runs/*/repeat-*/fold-*/*/log.txt"))


def test_a_dry_run_lists_the_jobs_and_what_they_take_and_starts_none(tmp_path: Path, data: Path):
    said, _ = segcv(tmp_path, "sweep", "action=submit", "dry_run=true", "fold=0,1", f"data.table={data}", *TINY,
                    "hydra.launcher.gpus=[]", "hydra.launcher.slots=2")

    assert "2 jobs, 0 finished before, 2 to run" in said
    assert re.search(r"fold=1: runs/unet_small-\w+/repeat-0/fold-1/seed-0", said)
    assert re.search(r"one run takes about \d+ s and [\d.]+ MB \(\d+ of 8 steps at .*, 8 images to score at .*\); 2 to",
                     said), said
    assert re.search(r"together: [\d.]+ core-hours, about .* with 2 at once \(local\)", said)
    assert not list(tmp_path.glob("runs/*/repeat-*"))


@pytest.mark.parametrize(("overrides", "message"), [
    (["action=begin"], "action=begin is not known"),
    (["action=submit"], "needs what train -m takes"),
    (["action=status", "fold=0"], "fold=0 has an effect with action=submit only"),
    (["action=collect"], "there is no sweep that has not been collected"),
])
def test_a_wrong_action_is_one_message(tmp_path: Path, overrides: list[str], message: str):
    told = segcv(tmp_path, "sweep", *overrides, code=1)[1]

    assert message in told and told.count("error:") == 1 and "Traceback" not in told


def test_a_submitted_sweep_is_trained_and_collected(tmp_path: Path, data: Path):
    segcv(tmp_path, "sweep", "action=submit", "fold=0", "seed=0,1", f"data.table={data}", *TINY,
          "trainer.epochs=1", "hydra.launcher.gpus=[]", "hydra.launcher.slots=2")
    assert "at work" in segcv(tmp_path, "sweep")[0]
    deadline = time.monotonic() + 600
    while "at work" in segcv(tmp_path, "sweep")[0]:
        assert time.monotonic() < deadline
        time.sleep(1)

    assert "2 of 2 runs finished" in segcv(tmp_path, "sweep", "action=collect")[0]
    assert len(weights(tmp_path)) == 2
