"""Fifteen tiny jobs on an engine: `fault_sweep.py ENGINE FOLDER`. Three are killed, two raise, one waits for a second.

Ends as `python -m segcv.train -m` does: every failure named and exit code 1. `events` and `most_alive` read what the
jobs noted while they ran.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from segcv.launching import Engine, Job, LocalEngine, RayEngine, SlurmEngine, failures, sweep

TINY_JOB = Path(__file__).with_name("tiny_job.py")
KILLED, RAISING = (1, 5, 9), (2, 7)
GPUS = 2


def tiny_job(folder: Path, name: str, behaviour: str = "ok", seconds: float = 0.3) -> Job:
    """A job below `folder` that notes its start and end in `folder`/events."""
    working, result = folder / f".{name}.unfinished", folder / name / "result.json"
    command = (sys.executable, "-S", str(TINY_JOB), str(working), str(result), str(folder / "events"), behaviour,
               str(seconds))
    return Job(name, command, working, result, shared=folder)


def fifteen_jobs(folder: Path, seconds: float) -> list[Job]:
    kinds = {0: "meet", **dict.fromkeys(KILLED, "kill"), **dict.fromkeys(RAISING, "raise")}
    return [tiny_job(folder, f"job-{number}", kinds.get(number, "ok"), seconds) for number in range(15)]


def events(folder: Path) -> list[dict[str, Any]]:
    """What the jobs noted, in order."""
    path = folder / "events"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def most_alive(noted: list[dict[str, Any]]) -> int:
    """The largest number of jobs that had started and not ended at one time."""
    alive = most = 0
    for event in sorted(noted, key=lambda event: event["time"]):
        alive += 1 if event["what"] == "start" else -1
        most = max(most, alive)
    return most


def is_running(pid: int) -> bool:
    """Does the process exist, zombies not counted?"""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] != "Z"


ENGINES: dict[str, Callable[[Path], Engine]] = {
    "local": lambda home: LocalEngine(gpus=["0", "1"]),
    "slurm": lambda home: SlurmEngine(home, slots=GPUS, cpus=1, minutes=10, pause_s=0.2),
    "ray": lambda home: RayEngine(gpus_here=GPUS, cpus=0.1),
}


def main(engine: str, folder: Path, seconds: float) -> None:
    home = folder / "home"
    try:
        states = sweep(fifteen_jobs(folder, seconds), lambda: ENGINES[engine](home), home=home, stream=sys.stderr)
    except KeyboardInterrupt:
        raise SystemExit("stopped") from None
    if told := failures(states):
        raise SystemExit(told)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), float(sys.argv[3]))
