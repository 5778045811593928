"""A job is a command line: the same on this machine, on Slurm and on Ray, and the same as when it is typed by hand."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

from segcv.errors import RunError

SUPERVISE = Path(__file__).with_name("supervise.py")
LOG = "log.txt"
STATE = "sweep.json"            # where the jobs of a sweep stand
LOCK = ".sweep.lock"            # in a shared folder: the sweep that fills it
HEADER = "# started "            # begins the first line of every try in a log
FINISHED, FAILED, STOPPED, WAITING, RUNNING = "finished", "failed", "stopped", "waiting", "running"


@dataclass(frozen=True, slots=True)
class Job:
    """One command that makes one thing. It may be started again after any end, and goes on from what it left."""

    name: str                       # what is shown: fold=0 seed=1
    command: tuple[str, ...]
    working: Path                   # where its files lie while it is not finished; its log is here
    result: Path                    # the file that exists once it is finished, and from then on
    shared: Path                    # a folder that only one sweep at a time may fill
    threads: int = 1                # it computes with
    probed: bool = True             # it can be told to say what it would take
    environment: Mapping[str, str] = field(default_factory=dict)      # added to that of the engine

    @property
    def finished(self) -> bool:
        return self.result.is_file()

    @property
    def log(self) -> Path:
        """Where its output is now: the working folder becomes the result's folder when the job is done."""
        return (self.result.parent if self.finished else self.working) / LOG

    @property
    def folder(self) -> Path:
        return self.log.parent

    def plain(self) -> dict[str, Any]:
        """As JSON-like values, absolute paths; `Job.of` is the way back."""
        return {"name": self.name, "command": list(self.command), "working": str(self.working.absolute()),
                "result": str(self.result.absolute()), "shared": str(self.shared.absolute()),
                "threads": self.threads, "probed": self.probed, "environment": dict(self.environment)}

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> Job:
        """The job that `plain` describes."""
        paths = {name: Path(plain[name]) for name in ("working", "result", "shared")}
        return cls(name=plain["name"], command=tuple(plain["command"]), threads=plain["threads"],
                   probed=plain["probed"], environment=dict(plain["environment"]), **paths)


@dataclass(frozen=True, slots=True)
class Ending:
    """How a started job ended. `code`: its exit code, 128 + n when signal n killed it; None when nobody saw it end."""

    code: int | None
    note: str = ""

    @property
    def reason(self) -> str:
        """The ending in words."""
        if self.code is None:
            return self.note or "it vanished without an exit code"
        if self.code > 128 and self.code - 128 in signal.valid_signals():
            return f"killed by {signal.Signals(self.code - 128).name}{self.note and f' ({self.note})'}"
        return f"exit code {self.code}{self.note and f' ({self.note})'}"


@dataclass(slots=True)
class Progress:
    """Where one job of a sweep stands. The loop changes it, everyone else only looks."""

    job: Job
    status: str = WAITING           # waiting, running, finished, failed, stopped
    tries: int = 0
    where: str = ""                 # the slot, node or worker of the last try
    started: float = 0.0            # seconds since the epoch
    seconds: float = 0.0            # of the last try
    reason: str = ""                # why it failed
    skipped: bool = False           # it was finished before the sweep began

    def plain(self) -> dict[str, Any]:
        """As JSON-like values; `Progress.of` is the way back."""
        return asdict(self) | {"job": self.job.plain()}

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> Progress:
        """The progress that `plain` describes."""
        return cls(Job.of(plain["job"]), **{name: value for name, value in plain.items() if name != "job"})


def supervised(job: Job) -> list[str]:
    """The command that runs a job and ends with whoever holds its standard input. -I -S: it starts in 20 ms."""
    return [sys.executable, "-I", "-S", str(SUPERVISE), str(job.working.absolute() / LOG), *job.command]


class Engine(Protocol):
    """Something that runs jobs: `slots` of them at once, each with processes that end when it is stopped."""

    name: str
    slots: int
    gpus_each: float                # the share of a GPU that a job has; 0: it computes on the CPU
    pause_s: float                  # between two looks

    def start(self, job: Job) -> None:
        """Begin the job; it is alive from now until `ended` reports it or `stop` returns."""

    def ended(self) -> list[tuple[Job, Ending]]:
        """The jobs that ended since the last call. Does not wait."""

    def where(self, job: Job) -> str:
        """Where a started job runs, in a word or two."""

    def stop(self) -> None:
        """End every job that is alive; none has a process left when this returns."""


def refuse_twins(jobs: Iterable[Job]) -> None:
    """Refuse two jobs that make the same thing.

    Raises:
        RunError: both are named.
    """
    seen: dict[Path, Job] = {}
    for job in jobs:
        if (twin := seen.setdefault(job.result, job)) is not job:
            raise RunError(f"two jobs are for the same cell {job.result.parent}: {twin.name} and {job.name}. "
                           "Name each cell once.")


def last_lines(path: Path, *, lines: int = 5, size: int = 65536) -> list[str]:
    """The last lines of a log that are not blank, of its last `size` bytes; none when there is no log."""
    if not path.is_file():
        return []
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - size))
        text = file.read().decode(errors="replace")
    said = [line.rstrip() for line in text.splitlines() if line.strip() and not line.startswith(HEADER)]
    return said[-lines:]
