"""What only Slurm does: it takes a job's place away, loses a job, or does not take it at all."""

from __future__ import annotations

import subprocess
import threading
import time
from pathlib import Path

import pytest
from fault_sweep import events, tiny_job

from segcv.errors import ConfigError
from segcv.launching import Progress, SlurmEngine, run_jobs

pytestmark = pytest.mark.usefixtures("slurm")


def run_and(act: str, folder: Path, behaviour: str) -> tuple[Progress, int]:
    """How the one job ended when, once it runs, `act` is done with its number; how often it was started by then."""
    engine = SlurmEngine(folder / "slurm", cpus=1, minutes=5, pause_s=0.1)
    states: list[Progress] = []
    sweep = threading.Thread(target=lambda: states.extend(run_jobs([tiny_job(folder, "job-0", behaviour, 0)], engine)))
    sweep.start()
    deadline = time.monotonic() + 300
    while not events(folder):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    (number,) = (path.name.split("_")[0] for path in (folder / "slurm").glob("*_submitted.pkl"))
    subprocess.run([*act.split(), number], check=True)
    sweep.join(300)
    assert not sweep.is_alive()
    return states[0], sum(event["what"] == "start" for event in events(folder))


def test_a_job_that_loses_its_place_is_queued_again_and_finishes(tmp_path: Path):
    state, starts = run_and("scontrol requeue", tmp_path, "slow")

    assert (state.status, state.tries, starts) == ("finished", 1, 2)


def test_a_job_whose_time_limit_ends_queues_itself_again(tmp_path: Path):
    """Slurm sends USR2 before the end of the time limit, and so does this test."""
    state, starts = run_and("scancel --signal=USR2", tmp_path, "slow")

    assert (state.status, state.tries, starts) == ("finished", 1, 2)


def test_a_job_that_slurm_loses_is_a_failure_with_the_state_that_slurm_tells(tmp_path: Path):
    """All its processes are killed at once, so that none can say how it ended."""
    state, starts = run_and("scancel --signal=KILL --full", tmp_path, "slow")

    assert state.status == "failed" and starts == 1
    assert "ended as " in state.reason


def test_what_slurm_does_not_take_is_said_in_its_own_words(tmp_path: Path):
    with pytest.raises(ConfigError, match=r"nowhere.*hydra\.launcher\.partition"):
        run_jobs([tiny_job(tmp_path, "job-0")], SlurmEngine(tmp_path / "slurm", cpus=1, partition="nowhere"))
