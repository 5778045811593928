"""What runs where the job runs, when something else (Slurm, Ray) has chosen the place."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from segcv.launching.jobs import Job, supervised


@dataclass(frozen=True, slots=True)
class OnNode:
    """Call it to run a job to its end; the exit code. Holds plain values only, as it travels to other machines.

    The job ends with this process: its supervisor sees the end of its input. GPUs are those that the place gave us.
    """

    job: Mapping[str, Any]
    folder: str                     # where the command is run, as it would be typed there
    gpus: bool                      # may it use those that the place has given us; else it sees none

    @classmethod
    def of(cls, job: Job, *, gpus: bool) -> OnNode:
        return cls(job.plain(), str(Path.cwd()), gpus)

    def __call__(self) -> int:
        job = Job.of(self.job)
        hidden = {} if self.gpus else {"CUDA_VISIBLE_DEVICES": ""}
        environment = {**os.environ, "PYTHONUNBUFFERED": "1", **hidden, **job.environment}
        with subprocess.Popen(supervised(job), stdin=subprocess.PIPE, env=environment, cwd=self.folder,
                              start_new_session=True) as process:
            while (code := process.poll()) is None:      # not one long wait: Ray cannot interrupt that
                time.sleep(0.05)
        return code if code >= 0 else 128 - code
