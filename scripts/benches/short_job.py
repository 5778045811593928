"""A Hydra app whose job imports torch and keeps a device busy for a second (it sleeps); notes when it was alive."""

from __future__ import annotations

import atexit
import gc
import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

BEGAN, PROCESS = time.time(), os.getpid()          # of this process, but for Python's own start

import hydra  # noqa: E402
from hydra.core.config_store import ConfigStore  # noqa: E402

import segcv.config  # noqa: E402
from segcv.launching import Job  # noqa: E402


@dataclass
class Config:
    number: int = 0
    work_s: float = 1.0
    out: str = "out"


atexit.register(gc.freeze)    # as segcv.config.command does
ConfigStore.instance().store(name="short_job", node=Config)
BEFORE = "SHORT_JOB_ENDED"    # in the environment of a process that a launcher uses again: when its last job ended


def main(config: Any) -> None:
    out = Path(config.out)
    importing = time.time()
    began = float(os.environ.get(BEFORE, BEGAN if os.getpid() == PROCESS else importing))
    import torch

    working = time.time()
    assert torch
    time.sleep(config.work_s)
    ended = time.time()
    os.environ[BEFORE] = str(ended)
    out.mkdir(parents=True, exist_ok=True)
    beside = out / f".{config.number}"
    beside.write_text(json.dumps({"began": began, "ended": ended, "import_s": working - importing,
                                  "cpu_s": time.process_time()}))
    beside.rename(out / f"{config.number}.json")


def plan(configs: Sequence[Any], names: Sequence[str], commands: Sequence[Sequence[str]]) -> list[Job]:
    """What our launcher asks of a command."""
    return [Job(name, tuple(typed), Path(config.out) / f"log-{config.number}",
                Path(config.out) / f"{config.number}.json", shared=Path(config.out))
            for config, name, typed in zip(configs, names, commands, strict=True)]


vars(main).update(segcv_plan=plan, segcv_report=lambda states: None, segcv_say=print)

if __name__ == "__main__":
    sys.argv += ["hydra.output_subdir=null", "hydra/job_logging=none", "hydra/hydra_logging=none"]
    hydra.main(version_base="1.3", config_name="short_job", config_path=str(segcv.config.conf_folder()))(main)()
