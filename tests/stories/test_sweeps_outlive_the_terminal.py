"""Sweeps that are left to a process or to Slurm, looked at, and collected."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from fault_sweep import GPUS, KILLED, RAISING, events, fifteen_jobs, is_running, most_alive

from segcv.errors import RunError
from segcv.launching import (
    Left,
    SlurmEngine,
    collect,
    failures,
    leave_to_process,
    leave_to_slurm,
    left_sweeps,
    text_of,
)

SWEEP = Path(__file__).parents[1] / "fault_sweep.py"


def wait_until(what: Callable[[], object], seconds: float = 300) -> None:
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def the_sweep(folder: Path) -> Left:
    (left,) = left_sweeps(folder)
    return left


def counts(left: Left) -> dict[str, int]:
    words = [state.status for state in left.states]
    return {word: words.count(word) for word in sorted(set(words))}


def test_a_sweep_left_to_a_process_goes_on_and_is_collected(tmp_path: Path):
    """Fifteen jobs, three killed and two raising."""
    leave_to_process([sys.executable, str(SWEEP), "local", str(tmp_path), "0.3"], home=tmp_path / "home")
    left = the_sweep(tmp_path)
    assert left.alive and sum(counts(left).values()) == 15
    with pytest.raises(RunError, match="still at work"):
        collect(left)

    wait_until(lambda: not the_sweep(tmp_path).alive)
    left = the_sweep(tmp_path)
    assert counts(left) == {"failed": 5, "finished": 10}
    told = failures(left.states)
    assert all(f"\njob-{number}: " in told for number in (*KILLED, *RAISING))
    assert "10 of 15 finished, 0 running, 5 failed" in text_of(left.states)
    collect(left)
    assert left_sweeps(tmp_path) == []


def test_a_sweep_whose_process_was_killed_is_shown_as_stopped(tmp_path: Path):
    pid = leave_to_process([sys.executable, str(SWEEP), "local", str(tmp_path), "60"], home=tmp_path / "home")
    wait_until(lambda: len(events(tmp_path)) == GPUS)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    wait_until(lambda: not any(is_running(event["pid"]) for event in events(tmp_path)), seconds=5)

    left = the_sweep(tmp_path)
    assert not left.alive and counts(left) == {"stopped": 15}


def test_a_sweep_that_is_refused_is_not_left(tmp_path: Path):
    """The message of the process that would have run it is the message."""
    with pytest.raises(RunError, match="no such engine as nowhere"):
        leave_to_process([sys.executable, "-c", "exit('no such engine as nowhere')"], home=tmp_path / "home")


def test_slurm_runs_what_was_left_to_it_and_the_folder_is_taken_until_then(slurm: None, tmp_path: Path):
    """Fifteen jobs in one array, two at work at a time."""
    engine = SlurmEngine(tmp_path / "home/slurm", slots=GPUS, cpus=1, minutes=10)
    numbers = leave_to_slurm(fifteen_jobs(tmp_path, 0.3), engine, home=tmp_path / "home")
    assert len(set(numbers)) == 15
    with pytest.raises(RunError, match=rf"left to Slurm on .*Slurm job {numbers[0].split('_')[0]}_"):
        leave_to_slurm(fifteen_jobs(tmp_path, 0.3), engine, home=tmp_path / "other")

    wait_until(lambda: not the_sweep(tmp_path).alive)
    left = the_sweep(tmp_path)
    assert counts(left) == {"failed": 5, "finished": 10}
    assert sum(state.reason == "killed by SIGKILL" for state in left.states) == 3
    assert most_alive(events(tmp_path)) <= GPUS
    collect(left)

    leave_to_slurm(fifteen_jobs(tmp_path, 0.1), engine, home=tmp_path / "home")
    wait_until(lambda: not the_sweep(tmp_path).alive)
    assert counts(the_sweep(tmp_path)) == {"finished": 15}
