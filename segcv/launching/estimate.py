"""What a sweep would take, from a short probe of each of its recipes on the engine that would run it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from segcv.errors import RunError
from segcv.launching.jobs import FINISHED, Engine, Job, last_lines
from segcv.launching.loop import run_jobs, stopping_signals
from segcv.launching.table import duration
from segcv.tables import read_json


def dry_run(jobs: Sequence[Job], engine: Callable[[], Engine], *, home: Path) -> str:
    """The jobs, the disk they fill and the hours they take, as text. Nothing is trained to its end.

    One unfinished job of each shared folder is started with `probe=FILE` added to its command; it writes there the
    `seconds` and `bytes` of a whole run, the `probe_seconds` that finding out took, and what it `says`.

    Raises:
        RunError: a probe fails; the message is the end of its log.
        KeyboardInterrupt: a signal ended it.
    """
    waiting = [job for job in jobs if not job.finished]
    lines = [f"{len(jobs)} jobs, {len(jobs) - len(waiting)} finished before, {len(waiting)} to run"]
    lines += [f"  {job.name}: {job.result.parent}{' (finished)' if job.finished else ''}" for job in jobs]
    if not waiting:
        return "\n".join(lines)
    unknown = [job for job in waiting if not job.probed]
    lines += [f"{len(unknown)} of them run another program, which cannot say what it takes: let one end and "
              "multiply"] * bool(unknown)
    waiting = [job for job in waiting if job.probed]
    if not waiting:
        return "\n".join(lines)
    first = {job.shared: job for job in reversed(waiting)}
    probes = {shared: _probe(job, home / "probes" / shared.name) for shared, job in sorted(first.items())}
    shutil.rmtree(home / "probes", ignore_errors=True)
    running = engine()
    with stopping_signals() as stop:
        states = run_jobs(list(probes.values()), running, stop=stop)
    if stop.is_set():
        raise KeyboardInterrupt
    seconds, size, took = 0.0, 0, {state.job.result: state.seconds for state in states}
    for state in states:
        if state.status != FINISHED:
            raise RunError(f"the probe of {state.job.name} failed ({state.reason}):\n"
                           + "\n".join(last_lines(state.job.log)))
    for shared, probe in probes.items():
        told, count = read_json(probe.result), sum(job.shared == shared for job in waiting)
        told["seconds"] += max(0.0, took[probe.result] - told["probe_seconds"])      # to start Python and the imports
        lines.append(f"{shared.name}: one run takes about {duration(told['seconds'])} and {_size(told['bytes'])} "
                     f"({told['says']}); {count} to run")
        seconds, size = seconds + count * told["seconds"], size + count * told["bytes"]
    existing = next(path for path in (jobs[0].shared.absolute(), *jobs[0].shared.absolute().parents) if path.is_dir())
    share, unit = (running.gpus_each, "GPU-hours") if running.gpus_each else (1.0, "core-hours")
    lines.append(f"together: {seconds / 3600 * share:.2f} {unit}, about "
                 f"{duration(seconds / min(running.slots, len(waiting)))} with {running.slots} at once "
                 f"({running.name}); {_size(size)} of the {_size(shutil.disk_usage(existing).free)} free in {existing}")
    return "\n".join(lines)


def _probe(job: Job, folder: Path) -> Job:
    told = folder / "probe.json"
    return replace(job, command=(*job.command, f"probe={told.absolute()}"), working=folder, result=told, shared=folder)


def _size(count: float) -> str:
    """Bytes as 12 MB, 3.4 GB."""
    for unit, factor in (("GB", 1e9), ("MB", 1e6)):
        if count >= factor:
            return f"{count / factor:.1f} {unit}" if count < 10 * factor else f"{count / factor:.0f} {unit}"
    return f"{count / 1e3:.0f} kB"
