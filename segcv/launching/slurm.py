"""Jobs on a Slurm cluster, submitted by submitit: one Slurm job each, queued again when it is preempted."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from segcv.errors import ConfigError, MissingExtra
from segcv.launching.jobs import Ending, Job
from segcv.launching.node import OnNode

OVER = ("BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "TIMEOUT")
LAG_S = {"COMPLETED": 30.0, "": 30.0}       # how long a result may take to be seen over a network; else:
SHORT_LAG_S = 3.0
STOP_S = 4.0


@dataclass(slots=True)
class _Submitted:
    job: Job
    at_slurm: Any                   # submitit.Job
    state: str = "PENDING"
    node: str = ""
    over_since: float | None = None


class OnSlurm(OnNode):
    """A job in a place that Slurm may take away: no exit code is reported then, as the job goes on elsewhere."""

    def __call__(self) -> int:
        told = threading.Event()
        signal.signal(signal.SIGTERM, lambda number, frame: told.set())
        code = super().__call__()
        if code - 128 in (signal.SIGTERM, signal.SIGKILL):
            told.wait(1.0)                  # Slurm tells all processes of the place, one after another
        if told.is_set():
            os._exit(code)
        return code

    def checkpoint(self) -> Any:
        """What submitit puts back into the queue when the time limit is near: the same job, which goes on."""
        from submitit.helpers import DelayedSubmission

        return DelayedSubmission(self)


class SlurmEngine:
    """Up to `slots` jobs of this sweep in Slurm's queue at a time, waiting ones included.

    A job that Slurm preempts, or whose time limit ends, goes back into the queue and then on from its checkpoint.
    """

    name = "slurm"

    def __init__(self, folder: Path, *, slots: int = 100, gpus: int = 1, cpus: int = 4, mem_gb: float | None = None,
                 minutes: int = 1440, partition: str | None = None, account: str | None = None,
                 setup: Sequence[str] = (), sbatch: Mapping[str, Any] | None = None, pause_s: float = 2.0) -> None:
        """`folder`, on a file system that the nodes share, keeps submitit's files. `setup`: lines to run first."""
        if min(slots, cpus, minutes) < 1 or gpus < 0:
            raise ConfigError("hydra.launcher.slots, cpus and minutes must be 1 or more, and gpus 0 or more.")
        try:
            import submitit
        except ImportError as error:
            raise MissingExtra("hydra/launcher=segcv_slurm needs submitit: pip install 'segcv[slurm]'") from error
        self.slots, self.pause_s, self.gpus_each = slots, pause_s, float(gpus)
        asked: dict[str, Any] = {
            "name": "segcv", "timeout_min": minutes, "cpus_per_task": cpus, "stderr_to_stdout": True,
            "slurm_srun_args": [f"--cpus-per-task={cpus}"], "slurm_setup": list(setup),
            "slurm_additional_parameters": {"requeue": True} | dict(sbatch or {}),
        }
        asked |= {name: value for name, value in (
            ("mem_gb", mem_gb), ("slurm_partition", partition), ("slurm_account", account),
            ("gpus_per_node", gpus or None)) if value is not None}
        try:
            self._executor = submitit.AutoExecutor(folder, cluster="slurm", slurm_max_num_timeout=10_000)
        except RuntimeError as error:
            raise ConfigError("hydra/launcher=segcv_slurm: there is no Slurm here (srun is not found). Type the "
                              "command on a login node of the cluster.") from error
        self._executor.update_parameters(**asked, slurm_array_parallelism=slots)
        self._alive: dict[Path, _Submitted] = {}

    def start(self, job: Job) -> None:
        self._alive[job.result] = _Submitted(job, self._submitted([job])[0])

    def submit_all(self, jobs: Sequence[Job]) -> list[str]:
        """Leave all jobs to Slurm, `slots` of them at work at a time; its number of each. They outlive this process."""
        return [str(at_slurm.job_id) for at_slurm in self._submitted(jobs)]

    def ended(self) -> list[tuple[Job, Ending]]:
        states = queue_states()
        done = []
        for entry in list(self._alive.values()):
            if states is not None:
                entry.state, entry.node = states.get(entry.at_slurm.job_id, ("", entry.node))
            if (ending := self._ending(entry)) is not None:
                done.append((entry.job, ending))
                del self._alive[entry.job.result]
        return done

    def where(self, job: Job) -> str:
        entry = self._alive[job.result]
        return f"{entry.node or entry.state.lower()} (Slurm job {entry.at_slurm.job_id})"

    def stop(self) -> None:
        numbers = [entry.at_slurm.job_id for entry in self._alive.values()]
        deadline = time.monotonic() + STOP_S
        for options in ([], ["--signal=KILL", "--full"]):
            if numbers:
                _asked("scancel", *options, *numbers)
            while numbers and time.monotonic() < deadline:
                states = queue_states() or {}
                numbers = [number for number in numbers if states.get(number, ("CANCELLED", ""))[0] not in OVER]
                time.sleep(0.1)
        self._alive.clear()

    def _submitted(self, jobs: Sequence[Job]) -> list[Any]:
        from submitit.core.utils import FailedJobError

        try:
            return list(self._executor.submit_array([OnSlurm.of(job, gpus=self.gpus_each > 0) for job in jobs]))
        except FailedJobError as error:
            raise ConfigError(f"Slurm does not take the job: {' '.join(str(error).split())[-400:]}. Look at "
                              "hydra.launcher.partition, account, gpus, cpus, mem_gb and minutes.") from error

    def _ending(self, entry: _Submitted) -> Ending | None:
        """How the job ended; None while it has not, or while its result may still be under way."""
        ending = _ending(entry.at_slurm, entry.state)
        if ending is None or ending.code is not None:
            entry.over_since = None
            return ending
        entry.over_since = entry.over_since or time.monotonic()
        lag = time.monotonic() - entry.over_since
        return ending if lag > LAG_S.get(entry.state, SHORT_LAG_S) else None


def submitted_states(folder: Path, numbers: Sequence[str]) -> list[tuple[str, str, Ending | None]] | None:
    """Slurm's word for the state, the node, and the ending, of jobs that `submit_all` submitted; None: no answer."""
    from submitit import SlurmJob

    states = queue_states()
    if states is None:
        return None
    known = [(number, *states.get(number, ("", ""))) for number in numbers]
    return [(state, node, _ending(SlurmJob(folder, number, [0]), state)) for number, state, node in known]


def _ending(at_slurm: Any, state: str) -> Ending | None:
    """How a submitted job ended; None while Slurm has it in its queue. Without code: what no result tells (yet)."""
    if at_slurm.paths.result_pickle.is_file():
        error = at_slurm.exception()
        if error is not None:
            return Ending(None, f"Slurm job {at_slurm.job_id}: {str(error).strip().splitlines()[-1][:200]}")
        return Ending(int(at_slurm.result()))
    if state and state not in OVER:
        return None
    return Ending(None, f"Slurm job {at_slurm.job_id} ended as {state or 'unknown'}; see {at_slurm.paths.stdout}")


def queue_states() -> dict[str, tuple[str, str]] | None:
    """Slurm's number of each job of this user -> (state, node); None when the controller does not answer.

    Asks squeue, which works where accounting (sacct) is not set up.
    """
    said = _asked("squeue", "--noheader", "--states=all", f"--user={os.getuid()}", "--array", "--format=%i|%T|%N")
    if said is None:
        return None
    rows = (line.strip().split("|") for line in said.splitlines() if line.count("|") == 2)
    return {number: (state, node) for number, state, node in rows}


def _asked(*command: str) -> str | None:
    """What a command of Slurm prints; None when it fails. Ctrl-C in the terminal does not reach it."""
    done = subprocess.run(command, capture_output=True, text=True, start_new_session=True)
    return done.stdout if done.returncode == 0 else None
