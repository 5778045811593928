"""Jobs on a Ray cluster, or on a Ray of this machine alone: a task each, with a share of a GPU."""

from __future__ import annotations

import logging
import os
import time
from pathlib import Path
from typing import Any

from segcv.errors import ConfigError, MissingExtra
from segcv.launching.jobs import Ending, Job
from segcv.launching.node import OnNode

STOP_S = 4.0


class RayEngine:
    """As many jobs at once as their shares of GPUs and cores fit into the cluster, or `slots`."""

    name = "ray"
    pause_s = 0.1

    def __init__(self, *, address: str | None = None, gpus: float | None = None, cpus: float = 1.0,
                 slots: int | None = None, gpus_here: int | None = None) -> None:
        """`address`: of a cluster; None starts a Ray here, with `gpus_here` GPUs where Ray is not to count them itself.

        `gpus`: share of each job, 0.5 for two jobs on a GPU; None is 1 where there are GPUs and 0 where there are none.
        """
        try:
            import ray
        except ImportError as error:
            raise MissingExtra("hydra/launcher=segcv_ray needs ray: pip install 'segcv[ray]'") from error
        if address is not None and gpus_here is not None:
            raise ConfigError("hydra.launcher.gpus_here has an effect without hydra.launcher.address only.")
        if cpus <= 0 or (gpus is not None and gpus < 0) or (slots is not None and slots < 1):
            raise ConfigError("hydra.launcher.cpus must be above 0, gpus 0 or more, and slots 1 or more.")
        self._ray: Any = ray
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        here = {} if address is not None else {"include_dashboard": False, "num_gpus": gpus_here}
        try:
            self._ray.init(address=address or "local", log_to_driver=False, logging_level=logging.ERROR, **here)
        except (ConnectionError, ValueError, RuntimeError) as error:
            raise ConfigError(f"hydra.launcher.address={address}: no Ray cluster answers there ({error}). Start one "
                              "with `ray start --head`, or leave address out.") from error
        has = self._ray.cluster_resources()
        share = gpus if gpus is not None else float(has.get("GPU", 0) >= 1)
        fits = [int(has.get(kind, 0) / asked + 1e-9) for kind, asked in (("GPU", share), ("CPU", cpus)) if asked > 0]
        if min(fits) < 1 and slots is None:
            self._ray.shutdown()
            raise ConfigError(f"a job asks for {share:g} GPUs and {cpus:g} CPUs, and the Ray cluster has "
                              f"{has.get('GPU', 0):g} and {has.get('CPU', 0):g}. Change hydra.launcher.gpus or cpus, "
                              "or give hydra.launcher.slots if machines are still to come.")
        self.slots = slots or min(fits)
        self.gpus_each, task = share, self._ray.remote(num_gpus=share, num_cpus=cpus, max_calls=0, max_retries=0)
        self._run: Any = task(_run)
        self._alive: dict[Path, tuple[Job, Any]] = {}

    def start(self, job: Job) -> None:
        self._alive[job.result] = job, self._run.remote(OnNode.of(job, gpus=self.gpus_each > 0))

    def ended(self) -> list[tuple[Job, Ending]]:
        entries = list(self._alive.values())
        if not entries:
            return []
        ready = set(self._ray.wait([task for _, task in entries], num_returns=len(entries), timeout=0)[0])
        done = [(job, self._ending(task)) for job, task in entries if task in ready]
        for job, _ in done:
            del self._alive[job.result]
        return done

    def where(self, job: Job) -> str:
        return "Ray"

    def stop(self) -> None:
        tasks = [task for _, task in self._alive.values()]
        deadline = time.monotonic() + STOP_S
        for task in tasks:
            self._ray.cancel(task, force=False)      # the task ends its job, then itself
        if tasks:
            self._ray.wait(tasks, num_returns=len(tasks), timeout=max(0.0, deadline - time.monotonic()))
        self._alive.clear()
        self._ray.shutdown()                         # ends what is left of ours

    def _ending(self, task: Any) -> Ending:
        try:
            return Ending(int(self._ray.get(task)))
        except self._ray.exceptions.RayError as error:
            return Ending(None, f"Ray: {str(error).strip().splitlines()[0][:200]}")


def _run(job: OnNode) -> int:
    """In a worker of Ray. It only starts the job's own process, so the next job may have the same worker."""
    return job()
