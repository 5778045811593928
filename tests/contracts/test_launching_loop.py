"""The job loop over an engine that only pretends, and the local engine over jobs that take no time."""

from __future__ import annotations

import io
import sys
import threading
import time
from pathlib import Path

import pytest
from fault_sweep import events, is_running, tiny_job

from segcv.errors import ConfigError, RunError
from segcv.launching import Ending, Job, LocalEngine, Progress, failures, last_lines, run_jobs, sweep, visible_gpus
from segcv.launching.jobs import FAILED, FINISHED, RUNNING, STOPPED, WAITING
from segcv.launching.machine import usable_cores
from segcv.launching.table import duration, seconds_left


class Pretended:
    """An engine whose jobs end at the next look: as `endings` says for each try, else well, leaving their result."""

    name, pause_s = "pretended", 0.0

    def __init__(self, slots: int, endings: dict[str, list[Ending]] | None = None) -> None:
        self.slots, self.endings = slots, endings or {}
        self.alive: list[Job] = []
        self.started: list[str] = []
        self.most = 0
        self.stopped = False

    def start(self, job: Job) -> None:
        self.alive.append(job)
        self.started.append(job.name)
        self.most = max(self.most, len(self.alive))

    def ended(self) -> list[tuple[Job, Ending]]:
        done, self.alive = self.alive, []
        return [(job, self._ending(job)) for job in done]

    def _ending(self, job: Job) -> Ending:
        if self.endings.get(job.name):
            return self.endings[job.name].pop(0)
        job.result.parent.mkdir(parents=True, exist_ok=True)
        job.result.write_text("{}")
        return Ending(0)

    def where(self, job: Job) -> str:
        return "here"

    def stop(self) -> None:
        self.stopped, self.alive = True, []


def jobs(folder: Path, count: int) -> list[Job]:
    return [tiny_job(folder, f"job-{number}") for number in range(count)]


def test_jobs_start_in_order_and_never_more_than_there_are_slots(tmp_path: Path):
    engine = Pretended(3)
    states = run_jobs(jobs(tmp_path, 8), engine)

    assert engine.started == [f"job-{number}" for number in range(8)]
    assert engine.most == 3
    assert {state.status for state in states} == {FINISHED} and engine.stopped


def test_a_failed_job_is_tried_again_after_the_others_as_often_as_allowed(tmp_path: Path):
    engine = Pretended(1, {"job-0": [Ending(1)] * 2, "job-1": [Ending(137)] * 3})
    states = run_jobs(jobs(tmp_path, 3), engine, retries=2)

    assert engine.started == ["job-0", "job-1", "job-2", "job-0", "job-1", "job-0", "job-1"]
    assert [(state.status, state.tries) for state in states] == [(FINISHED, 3), (FAILED, 3), (FINISHED, 1)]
    assert states[1].reason == "killed by SIGKILL"


def test_an_exit_code_of_zero_without_a_result_is_a_failure(tmp_path: Path):
    """Otherwise a job that wrote elsewhere would count as done."""
    states = run_jobs(jobs(tmp_path, 1), Pretended(1, {"job-0": [Ending(0)]}))

    assert states[0].status == FAILED and "is not there" in states[0].reason


def test_what_is_finished_is_not_started_again(tmp_path: Path):
    run_jobs(jobs(tmp_path, 2), Pretended(2))
    engine = Pretended(2)
    states = run_jobs(jobs(tmp_path, 4), engine)

    assert engine.started == ["job-2", "job-3"]
    assert [state.skipped for state in states] == [True, True, False, False]


def test_stopping_ends_what_is_alive_and_starts_nothing_more(tmp_path: Path):
    stop = threading.Event()
    engine = Pretended(2)
    engine.ended = lambda: []       # type: ignore[method-assign]
    states = run_jobs(jobs(tmp_path, 5), engine, stop=stop, watch=lambda states: stop.set())

    assert [state.status for state in states] == [STOPPED] * 2 + [WAITING] * 3
    assert engine.stopped and engine.started == ["job-0", "job-1"]


def test_an_error_in_the_loop_ends_the_jobs_too(tmp_path: Path):
    def watch(states: object) -> None:
        if not engine.stopped:
            raise OSError("No space left on device")

    engine = Pretended(1)
    with pytest.raises(OSError, match="No space"):
        run_jobs(jobs(tmp_path, 2), engine, watch=watch)
    assert engine.stopped


def test_two_jobs_for_one_cell_are_refused_before_any_starts(tmp_path: Path):
    engine = Pretended(1)
    with pytest.raises(RunError, match="same cell"):
        run_jobs([*jobs(tmp_path, 2), *jobs(tmp_path, 1)], engine)
    assert not engine.started


@pytest.mark.parametrize(("ending", "words"), [
    (Ending(3), "exit code 3"), (Ending(137), "killed by SIGKILL"),
    (Ending(139, "slot 1"), "killed by SIGSEGV (slot 1)"),
    (Ending(None), "vanished"), (Ending(None, "node down"), "node down"), (Ending(255), "exit code 255"),
])
def test_endings_in_words(ending: Ending, words: str):
    """128 + n is the shell's way to say signal n; 255 - 128 = 127 is no signal."""
    assert words in ending.reason


def test_time_left_is_the_mean_time_of_what_is_done_times_the_rest(tmp_path: Path):
    """By hand: mean 10 s; two running for 4 s need 6 s each, three waiting 10 s each; 42 s in two slots are 21 s."""
    made = jobs(tmp_path, 7)
    states = [Progress(job, FINISHED, seconds=seconds) for job, seconds in zip(made, (8, 12), strict=False)]
    states += [Progress(job, RUNNING, seconds=4) for job in made[2:4]] + [Progress(job, WAITING) for job in made[4:]]

    assert seconds_left(states, slots=2) == pytest.approx(21)
    assert seconds_left(states[2:], slots=2) is None
    assert [duration(seconds) for seconds in (0.4, 59, 61, 3660)] == ["0 s", "59 s", "1 min 01 s", "1 h 01 min"]


def test_a_gpu_is_given_to_one_job_at_a_time_and_hidden_where_there_is_none(tmp_path: Path):
    run_jobs([tiny_job(tmp_path / "gpu", f"job-{number}", seconds=0.1) for number in range(4)],
             LocalEngine(gpus=["5", "GPU-7"], per_gpu=1))
    assert {event["gpu"] for event in events(tmp_path / "gpu")} == {"5", "GPU-7"}

    run_jobs([tiny_job(tmp_path / "cpu", "job-0", seconds=0)], LocalEngine(gpus=[], slots=1))
    assert {event["gpu"] for event in events(tmp_path / "cpu")} == {""}


def test_slots_are_gpus_times_jobs_per_gpu_or_cores_over_threads(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2,3,4")
    assert visible_gpus() == ["2", "3", "4"]
    assert LocalEngine().slots == 3
    assert LocalEngine(per_gpu=2).slots == 6
    assert LocalEngine(gpus=["3"], per_gpu=2).slots == 2
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert LocalEngine().slots == usable_cores()
    assert LocalEngine(threads=10_000).slots == 1


@pytest.mark.parametrize(("settings", "words"), [
    ({"gpus": ["0", "0"]}, "twice"), ({"gpus": ["0"], "slots": 3}, "has an effect without GPUs only"),
    ({"gpus": [], "per_gpu": 2}, "has no effect"), ({"gpus": [], "slots": 0}, "1 or more"),
])
def test_settings_of_a_launcher_that_do_not_fit_are_refused(settings: dict[str, object], words: str):
    with pytest.raises(ConfigError, match=words):
        LocalEngine(**settings)         # type: ignore[arg-type]


def test_what_a_job_started_itself_ends_with_it(tmp_path: Path):
    """A child of the job that would run for ten minutes is gone when the job has ended."""
    run_jobs([tiny_job(tmp_path, "job-0", "fork", 0)], LocalEngine(gpus=[], slots=1))
    child = int((tmp_path / "job-0/child").read_text())
    deadline = time.monotonic() + 5
    while is_running(child):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_command_that_does_not_exist_is_a_failure_with_its_reason(tmp_path: Path):
    job = Job("job", ("/nowhere/python",), tmp_path / ".job", tmp_path / "job/result.json", shared=tmp_path)
    states = sweep([job], lambda: LocalEngine(gpus=[], slots=1), home=tmp_path / "home", stream=io.StringIO())

    assert "cannot start /nowhere/python" in failures(states)


def test_the_last_lines_of_a_long_log_are_found_from_its_end(tmp_path: Path):
    log = tmp_path / "log.txt"
    log.write_text("# started by hand\n" + "x" * 200_000 + "\n\none\ntwo  \n\n")

    assert last_lines(log, lines=2) == ["one", "two"]
    assert last_lines(tmp_path / "none") == []
    log.write_text("# started now\n")
    assert last_lines(log) == []


def test_a_job_goes_through_plain_values_and_back(tmp_path: Path):
    job = Job("a", (sys.executable, "x"), tmp_path / "w", tmp_path / "r/x.json", tmp_path, threads=2,
              environment={"A": "1"})

    assert Job.of(job.plain()) == job
