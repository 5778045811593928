"""What a person sees of a sweep: a live table on a terminal, a line per event elsewhere."""

from __future__ import annotations

import io
import time
from collections.abc import Sequence
from types import TracebackType
from typing import TextIO

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from segcv.launching.jobs import FAILED, FINISHED, RUNNING, STOPPED, WAITING, Progress, last_lines

COLOURS = {FINISHED: "green", FAILED: "red", RUNNING: "cyan", STOPPED: "yellow", WAITING: "dim"}
SHOWN = 24                      # rows; more are counted, not shown
REFRESH_S = 0.25


class Display:
    """Used as the `watch` of a loop, inside a with block."""

    def __init__(self, stream: TextIO, *, slots: int) -> None:
        self._stream, self._slots, self._shown_at = stream, slots, 0.0
        self._console = Console(file=stream)
        self._live = Live(console=self._console, auto_refresh=False, transient=True) if stream.isatty() else None
        self._last: dict[str, tuple[str, int]] = {}

    def __enter__(self) -> Display:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        if self._live is not None:
            self._live.stop()

    def __call__(self, states: Sequence[Progress]) -> None:
        for state in states:
            now = (state.status, state.tries)
            if now != self._last.get(state.job.name, (WAITING, 0)):
                self._say(state)
            self._last[state.job.name] = now
        if self._live is not None and time.monotonic() - self._shown_at > REFRESH_S:
            self._shown_at = time.monotonic()
            self._live.update(table(states, slots=self._slots), refresh=True)

    def _say(self, state: Progress) -> None:
        """One line about what has just happened; on a terminal the table says what runs."""
        if state.skipped or (self._live is not None and state.status not in (FAILED, FINISHED)):
            return
        again = f", try {state.tries}" if state.tries > 1 else ""
        words = {
            RUNNING: f"started   {state.job.name}  ({state.where}{again})",
            FINISHED: f"finished  {state.job.name}  in {duration(state.seconds)}: {state.job.folder}",
            FAILED: f"FAILED    {state.job.name}  {state.reason}: {state.job.folder}",
            WAITING: f"failed    {state.job.name}  {state.reason}; it is tried again",
            STOPPED: f"stopped   {state.job.name}",
        }
        self._console.print(words[state.status], markup=False, highlight=False, soft_wrap=True)


def table(states: Sequence[Progress], *, slots: int) -> Table:
    """Jobs done, what runs where, what failed, time left."""
    title = summary(states, slots=slots)
    made = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for column in ("job", "status", "where", "time", "last line"):
        made.add_column(column, no_wrap=True, overflow="ellipsis")
    order = {RUNNING: 0, FAILED: 1, WAITING: 2, STOPPED: 3, FINISHED: 4}
    rows = sorted(states, key=lambda state: order[state.status])
    for state in rows[:SHOWN]:
        said = last_lines(state.job.log, lines=1) if state.status in (RUNNING, FAILED) else []
        made.add_row(state.job.name, Text(state.status, COLOURS[state.status]), state.where,
                     duration(state.seconds) if state.seconds else "", Text(said[0][:80] if said else "", "dim"))
    if len(rows) > SHOWN:
        made.add_row(f"and {len(rows) - SHOWN} more", "", "", "", "")
    return made


def text_of(states: Sequence[Progress], *, slots: int = 0) -> str:
    """The table as plain text."""
    stream = io.StringIO()
    Console(file=stream, width=160).print(table(states, slots=slots))
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines())


def summary(states: Sequence[Progress], *, slots: int) -> str:
    """Counts by status and the time that is left, in one line."""
    count = {status: sum(state.status == status for state in states) for status in COLOURS}
    left = seconds_left(states, slots=slots)
    return (f"{count[FINISHED]} of {len(states)} finished, {count[RUNNING]} running, {count[FAILED]} failed"
            + (f", about {duration(left)} left" if left is not None else ""))


def seconds_left(states: Sequence[Progress], *, slots: int) -> float | None:
    """What the mean time of the jobs finished in this sweep says about the rest; None before the first."""
    done = [state.seconds for state in states if state.status == FINISHED and not state.skipped]
    if not done or slots < 1:
        return None
    mean = sum(done) / len(done)
    rest = sum(max(0.0, mean - state.seconds) for state in states if state.status == RUNNING)
    open_jobs = sum(state.status in (RUNNING, WAITING) for state in states)
    return (rest + mean * sum(state.status == WAITING for state in states)) / max(1, min(slots, open_jobs))


def duration(seconds: float) -> str:
    """As 12 s, 3 min 05 s, 2 h 07 min."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
