"""Sweeps as a user types them: python -m segcv.train -m."""

from __future__ import annotations

import os
import re
import subprocess
import sys
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
