"""Jobs are killed, raise and are interrupted; what could be done is done, and the same command does the rest."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from fault_sweep import GPUS, KILLED, RAISING, events, is_running, most_alive

SWEEP = Path(__file__).parents[1] / "fault_sweep.py"


def started(engine: str, folder: Path, seconds: float) -> subprocess.Popen[str]:
    command = [sys.executable, str(SWEEP), engine, str(folder), str(seconds)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_what_can_finish_finishes_and_the_same_command_does_the_rest(engine: str, tmp_path: Path):
    """Fifteen jobs, three killed by SIGKILL and two raising: 15 - 3 - 2 = 10 results; then exactly the other five."""
    first = started(engine, tmp_path, 0.3)
    said = first.communicate(timeout=300)[1]
    noted = events(tmp_path)

    assert first.returncode == 1, said
    assert len(list(tmp_path.glob("job-*/result.json"))) == 10
    told = said[said.index("failed jobs of the sweep: 5 of 15"):]
    for number in (*KILLED, *RAISING):
        assert re.search(rf"^job-{number}: .*\n  in .*job-{number}\b", told, re.MULTILINE), told
    assert told.count("killed by SIGKILL") == len(KILLED)
    assert all(f"ValueError: the fault of job-{number}" in told for number in RAISING)
    assert sum(event["what"] == "start" for event in noted) == 15
    assert most_alive(noted) == GPUS
    assert {event["gpu"] for event in noted} == {"0", "1"}

    again = started(engine, tmp_path, 0.1)
    said = again.communicate(timeout=300)[1]
    assert again.returncode == 0, said
    assert sorted(event["job"] for event in events(tmp_path)[len(noted):] if event["what"] == "start") == sorted(
        f"job-{number}" for number in (*KILLED, *RAISING))
    assert len(list(tmp_path.glob("job-*/result.json"))) == 15


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_interrupt_leaves_no_process(engine: str, number: signal.Signals, tmp_path: Path):
    """Long before the jobs' own minute is over; SIGKILL cannot be caught, and the jobs end all the same."""
    if number == signal.SIGKILL and engine == "slurm":
        pytest.skip("what Slurm has been given goes on; `python -m segcv.sweep action=status` shows it")
    sweep = started(engine, tmp_path, 60)
    deadline = time.monotonic() + 300
    while len(events(tmp_path)) < GPUS:
        assert sweep.poll() is None and time.monotonic() < deadline
        time.sleep(0.05)
    sweep.send_signal(number)
    asked = time.monotonic()
    said = sweep.communicate(timeout=50)[1]
    while any(is_running(event["pid"]) for event in events(tmp_path)):
        assert time.monotonic() - asked < 50, f"still there: {events(tmp_path)}"
        time.sleep(0.02)

    assert sweep.returncode == (-9 if number == signal.SIGKILL else 1), said
    assert not list(tmp_path.glob("job-*"))
    assert len(events(tmp_path)) == GPUS


def test_a_second_sweep_into_the_same_folder_is_refused_and_says_what_runs(tmp_path: Path):
    first = started("local", tmp_path, 60)
    while not events(tmp_path):
        assert first.poll() is None
        time.sleep(0.02)
    second = started("local", tmp_path, 60)
    said = second.communicate(timeout=60)[1]
    first.terminate()
    first.wait()

    assert second.returncode != 0
    assert f"process {first.pid} on " in said and "fault_sweep.py local" in said
    assert len(events(tmp_path)) == GPUS
