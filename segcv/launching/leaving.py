"""Sweeps that outlive the terminal: left to Slurm, or to a process of their own; looked at and collected later."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from segcv.errors import RunError
from segcv.launching.jobs import (
    FAILED,
    FINISHED,
    LOCK,
    RUNNING,
    STATE,
    STOPPED,
    WAITING,
    Ending,
    Job,
    Progress,
    last_lines,
)
from segcv.launching.slurm import SlurmEngine, submitted_states
from segcv.tables import held, owner, read_json, write_json

LEFT = ".sweep.left"            # in a shared folder: which sweep.json says what Slurm was given for it
COLLECTED = "collected.json"
OUTPUT = "sweep.out"
STARTS_S = 120.0


@dataclass(frozen=True, slots=True)
class Left:
    """A sweep as its sweep.json tells, brought up to now."""

    home: Path
    engine: str
    started: str
    place: str                  # where the process that runs it is, or Slurm
    alive: bool                 # something still runs or waits
    states: tuple[Progress, ...]


def leave_to_slurm(jobs: Sequence[Job], engine: SlurmEngine, *, home: Path) -> list[str]:
    """Hand all jobs that are not finished to Slurm, which runs them without us; its number of each.

    Raises:
        RunError: another sweep fills one of the shared folders.
    """
    waiting = [job for job in jobs if not job.finished]
    shared = sorted({job.shared for job in waiting})
    with ExitStack() as stack:
        for folder in shared:
            stack.enter_context(held(folder / LOCK, what=f"{folder} (a sweep)"))
            refuse_left(folder)
        numbers = engine.submit_all(waiting)
        entries = {job.result: number for job, number in zip(waiting, numbers, strict=True)}
        states = [Progress(job, FINISHED, skipped=True) if job.finished else
                  Progress(job, WAITING, tries=1, where=f"Slurm job {entries[job.result]}") for job in jobs]
        write_json(home / STATE, {
            "engine": "slurm", "host": socket.gethostname(), "pid": None, "started": _now(), "numbers": numbers,
            "jobs": [state.plain() for state in states]})
        for folder in shared:
            write_json(folder / LEFT, {"sweep": str(home / STATE)})
    return numbers


def leave_to_process(command: Sequence[str], *, home: Path) -> int:
    """Start the command that runs the sweep in a process that outlives this one; its pid once it is at work.

    Raises:
        RunError: it ended before it was; the message is its own.
    """
    home.mkdir(parents=True, exist_ok=True)
    output = home / OUTPUT
    with output.open("wb") as file:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT,
                                   start_new_session=True)
    deadline = time.monotonic() + STARTS_S
    while time.monotonic() < deadline:
        if process.poll() not in (None, 0):
            raise RunError("\n".join(last_lines(output)).removeprefix("error: "))
        if process.poll() == 0 or ((home / STATE).is_file() and read_json(home / STATE)["pid"] == process.pid):
            break
        time.sleep(0.05)
    return process.pid


def refuse_left(shared: Path) -> None:
    """Refuse a folder that jobs left to Slurm are still filling.

    Raises:
        RunError: with the numbers of those jobs.
    """
    note = shared / LEFT
    if not note.is_file():
        return
    state = Path(read_json(note)["sweep"])
    left = look(state) if state.is_file() else None
    if left is not None and left.alive:
        working = [state.where for state in left.states if state.status in (RUNNING, WAITING)]
        raise RunError(f"{shared} is being filled by jobs that were left to Slurm on {left.started}: "
                       f"{', '.join(working[:3])}{' ...' if len(working) > 3 else ''}. Look at them with "
                       "`python -m segcv.sweep action=status`; `scancel NUMBER` ends one.")
    note.unlink()


def left_sweeps(folder: Path) -> list[Left]:
    """The sweeps below `folder` that have not been collected, the oldest first."""
    return sorted((look(path) for path in folder.glob(f"*/{STATE}")), key=lambda left: left.started)


def look(path: Path) -> Left:
    """The sweep that `path`, a sweep.json, tells of, as it is now."""
    told = read_json(path)
    states = [Progress.of(entry) for entry in told["jobs"]]
    for state in states:
        if state.job.finished:
            state.status, state.reason = FINISHED, ""
    if told["pid"] is None:
        alive, place = _look_at_slurm(path.parent, states, told["numbers"]), "Slurm"
    else:
        place = f"process {told['pid']} on {told['host']}"
        holds = any(place in owner(folder / LOCK) for folder in {state.job.shared for state in states})
        alive = holds and _is_alive(told["host"], told["pid"])
        for state in states:
            if not alive and state.status in (RUNNING, WAITING):
                state.status = STOPPED
    return Left(path.parent, told["engine"], told["started"], place, alive, tuple(states))


def collect(left: Left) -> None:
    """File a sweep away that has ended: it is no longer among the left sweeps.

    Raises:
        RunError: it is still at work.
    """
    if left.alive:
        raise RunError(f"the sweep of {left.started} ({left.place}) is still at work.")
    (left.home / STATE).replace(left.home / COLLECTED)


def _look_at_slurm(home: Path, states: Sequence[Progress], numbers: Sequence[str]) -> bool:
    """Bring the states of the jobs up to what Slurm says; is any of them in its queue?"""
    given = [state for state in states if not state.skipped]
    told = submitted_states(home / "slurm", numbers)
    if told is None:
        raise RunError("Slurm does not answer (squeue); ask again on a login node of the cluster.")
    for state, (word, node, ending) in zip(given, told, strict=True):
        if state.status == FINISHED:
            continue
        if ending is None:
            state.status = RUNNING if node else WAITING
            state.where = f"{node or word.lower()} ({state.where})"
        else:
            state.status, state.reason = FAILED, _reason(ending)
    return any(state.status in (RUNNING, WAITING) for state in given)


def _reason(ending: Ending) -> str:
    return "exit code 0 without a result" if ending.code == 0 else ending.reason


def _is_alive(host: str, pid: int) -> bool:
    if host != socket.gethostname():
        return True                     # its process cannot be asked from here
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    stat = Path(f"/proc/{pid}/stat")
    return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] != "Z"


def _now() -> str:
    return f"{datetime.now():%Y-%m-%d %H:%M:%S}"
