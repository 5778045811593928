"""Jobs on this machine: a process each, in slots that are a share of a GPU or a core."""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from segcv.errors import ConfigError
from segcv.launching.jobs import Ending, Job, supervised
from segcv.launching.machine import usable_cores, visible_gpus

STOP_S = 4.5
POOLS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")


class LocalEngine:
    """GPUs x `per_gpu` jobs at once, each seeing its one GPU; without GPUs as many as cores allow."""

    name = "local"
    pause_s = 0.02

    def __init__(self, *, gpus: Sequence[str] | None = None, per_gpu: int = 1, slots: int | None = None,
                 threads: int = 1) -> None:
        """`gpus`: None is all that are visible, [] is none. `slots`: jobs at once without GPUs. `threads`: of a job."""
        names = visible_gpus() if gpus is None else [str(gpu) for gpu in gpus]
        if len(set(names)) != len(names):
            raise ConfigError(f"hydra.launcher.gpus={','.join(names)} names a GPU twice. For several jobs on one GPU "
                              "use hydra.launcher.per_gpu=2.")
        if per_gpu < 1 or (slots is not None and slots < 1):
            raise ConfigError("hydra.launcher.per_gpu and hydra.launcher.slots must be 1 or more.")
        if names and slots is not None:
            raise ConfigError(f"hydra.launcher.slots={slots} has an effect without GPUs only, and there are "
                              f"{len(names)}. Use hydra.launcher.per_gpu, or hydra.launcher.gpus=[] for the CPU.")
        if not names and per_gpu != 1:
            raise ConfigError(f"hydra.launcher.per_gpu={per_gpu} has no effect: there is no GPU. "
                              "Use hydra.launcher.slots.")
        count = len(names) * per_gpu if names else slots or max(1, usable_cores() // threads)
        self._free = [names[slot % len(names)] if names else "" for slot in range(count)]
        self.slots, self.gpus_each = count, 1 / per_gpu if names else 0.0
        self._cores_each = max(threads, usable_cores() // count)
        self._alive: dict[Path, tuple[Job, str, subprocess.Popen[bytes]]] = {}

    def start(self, job: Job) -> None:
        gpu = self._free.pop(0)
        pools = {name: str(self._cores_each) for name in POOLS}
        environment = {**os.environ, **pools, "CUDA_VISIBLE_DEVICES": gpu, "PYTHONUNBUFFERED": "1", **job.environment}
        process = subprocess.Popen(supervised(job), stdin=subprocess.PIPE, env=environment, start_new_session=True)
        self._alive[job.result] = job, gpu, process

    def ended(self) -> list[tuple[Job, Ending]]:
        done = [(job, gpu, process) for job, gpu, process in self._alive.values() if process.poll() is not None]
        for job, gpu, process in done:
            del self._alive[job.result]
            self._free.append(gpu)
            _let_go(process)
        return [(job, Ending(process.returncode if process.returncode >= 0 else 128 - process.returncode))
                for job, _, process in done]

    def where(self, job: Job) -> str:
        _, gpu, process = self._alive[job.result]
        return f"GPU {gpu}" if gpu else f"pid {process.pid}"

    def stop(self) -> None:
        processes = [process for _, _, process in self._alive.values()]
        for process in processes:
            _let_go(process)                 # its supervisor sees the end of its input and ends the job
        deadline = time.monotonic() + STOP_S
        for process in processes:
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()               # the kernel then kills the job
        self._alive.clear()


def _let_go(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(BrokenPipeError):
        if process.stdin is not None:
            process.stdin.close()
