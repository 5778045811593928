"""A sweep: jobs that belong together, claimed, run, shown, written down, and every failure named at the end."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from typing import TextIO

from segcv.launching.jobs import FAILED, FINISHED, LOCK, STATE, Engine, Job, Progress, last_lines
from segcv.launching.leaving import refuse_left
from segcv.launching.loop import run_jobs, stopping_signals
from segcv.launching.table import Display
from segcv.tables import fingerprint, held, write_json

LAST_LINES = 5


def sweep(jobs: Sequence[Job], engine: Callable[[], Engine], *, home: Path, retries: int = 0,
          stream: TextIO) -> list[Progress]:
    """How each job ended. `stream` shows how it goes; `home`/sweep.json says where each job stands at any time.

    `engine` is called once the sweep has its shared folders for itself, and only when there is something to run.

    Raises:
        RunError: another sweep fills one of the shared folders; the message says which.
        KeyboardInterrupt: SIGINT, SIGTERM or SIGHUP ended it; no process is left.
    """
    if all(job.finished for job in jobs):
        return [Progress(job, FINISHED, skipped=True) for job in jobs]
    with ExitStack() as stack:
        for shared in sorted({job.shared for job in jobs}):
            stack.enter_context(held(shared / LOCK, what=f"{shared} (a sweep)"))
            refuse_left(shared)
        running = engine()
        stop = stack.enter_context(stopping_signals())
        display = stack.enter_context(Display(stream, slots=running.slots))
        note = _Note(home / STATE, running.name)

        def watch(states: Sequence[Progress]) -> None:
            note(states)
            display(states)

        states = run_jobs(jobs, running, retries=retries, watch=watch, stop=stop)
    if stop.is_set():
        raise KeyboardInterrupt
    return states


def sweep_home(folder: Path, jobs: Sequence[Job]) -> Path:
    """Where a sweep over these jobs keeps its state: the same jobs, the same place."""
    return folder.absolute() / fingerprint(sorted(str(job.result.absolute()) for job in jobs))


def failures(states: Sequence[Progress]) -> str:
    """Every failed job with its reason, its folder and the last lines of its log; blank when none failed."""
    failed = [state for state in states if state.status == FAILED]
    if not failed:
        return ""
    told = [f"failed jobs of the sweep: {len(failed)} of {len(states)}; the others are done"]
    for state in failed:
        told.append(f"\n{state.job.name}: {state.reason}\n  in {state.job.folder}")
        told += [f"  | {line}" for line in last_lines(state.job.log, lines=LAST_LINES)]
    return "\n".join([*told, "\nThe same command tries these again and skips what is finished."])


def warnings_said(states: Sequence[Progress]) -> list[str]:
    """The warnings that finished jobs wrote to their logs, each once, with the first job that said it."""
    said: dict[str, str] = {}
    for state in states:
        if state.status == FINISHED and not state.skipped:
            text = state.job.log.read_text(encoding="utf-8", errors="replace") if state.job.log.is_file() else ""
            for line in text.splitlines():
                if line.startswith("warning: "):
                    said.setdefault(line, state.job.name)
    return [f"{line} ({name})" for line, name in said.items()]


class _Note:
    """Writes the state of the sweep when it has changed."""

    def __init__(self, path: Path, engine: str) -> None:
        self._path = path
        self._last: list[tuple[str, int, str]] = []
        self._about = {"engine": engine, "host": socket.gethostname(), "pid": os.getpid(),
                       "started": f"{datetime.now():%Y-%m-%d %H:%M:%S}"}

    def __call__(self, states: Sequence[Progress]) -> None:
        now = [(state.status, state.tries, state.where) for state in states]
        if now != self._last:
            self._last = now
            write_json(self._path, self._about | {"jobs": [state.plain() for state in states]})
