"""The loop: waiting jobs into free slots until all have ended; nothing is left when it is stopped."""

from __future__ import annotations

import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

from segcv.errors import ConfigError
from segcv.launching.jobs import FAILED, FINISHED, RUNNING, STOPPED, WAITING, Engine, Job, Progress, refuse_twins

Watch = Callable[[Sequence[Progress]], None]


def run_jobs(jobs: Sequence[Job], engine: Engine, *, retries: int = 0, watch: Watch | None = None,
             stop: threading.Event | None = None) -> list[Progress]:
    """How each job ended, in the order of the jobs; all that could finish has finished.

    At most `engine.slots` are alive at any time. What is finished already is not started. A job that fails is started
    again up to `retries` times, after the others. When `stop` is set, or something raises, every job that is alive is
    ended before this returns, and counts as stopped. `watch` is shown the state about once per `engine.pause_s`.

    Raises:
        ConfigError: `retries` is negative.
        RunError: two jobs make the same thing.
    """
    if retries < 0:
        raise ConfigError(f"hydra.launcher.retries={retries} must be 0 or more.")
    refuse_twins(jobs)
    stop = stop or threading.Event()
    states = [Progress(job, FINISHED, skipped=True) if job.finished else Progress(job) for job in jobs]
    by_result = {state.job.result: state for state in states}
    waiting = deque(state for state in states if state.status == WAITING)
    running = 0
    try:
        while (waiting or running) and not stop.is_set():
            while waiting and running < engine.slots:
                state = waiting.popleft()
                state.status, state.tries, state.started = RUNNING, state.tries + 1, time.time()
                engine.start(state.job)
                running += 1
            for job, ending in engine.ended():
                state, running = by_result[job.result], running - 1
                state.seconds = time.time() - state.started
                if ending.code == 0 and job.finished:
                    state.status, state.reason = FINISHED, ""
                    continue
                state.reason = f"exit code 0, but {job.result} is not there" if ending.code == 0 else ending.reason
                state.status = WAITING if state.tries <= retries else FAILED
                if state.status == WAITING:
                    waiting.append(state)
            for state in states:
                if state.status == RUNNING:
                    state.where, state.seconds = engine.where(state.job), time.time() - state.started
            if watch is not None:
                watch(states)
            if running:
                stop.wait(engine.pause_s)
    finally:
        engine.stop()
        for state in states:
            if state.status == RUNNING:
                state.status = STOPPED
        if watch is not None:
            watch(states)
    return states


@contextmanager
def stopping_signals() -> Iterator[threading.Event]:
    """An event that SIGINT, SIGTERM and SIGHUP set while the block runs, instead of ending the process at once."""
    stop = threading.Event()

    def ask(number: int, frame: FrameType | None) -> None:
        stop.set()

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
