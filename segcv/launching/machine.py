"""What this machine has to run jobs on."""

from __future__ import annotations

import os
import shutil
import subprocess


def visible_gpus() -> list[str]:
    """The GPUs that a process started here may use, as CUDA_VISIBLE_DEVICES names them."""
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
    if chosen is not None:
        names = [name.strip() for name in chosen.split(",")]
        return [name for name in names if name and name != "-1"]
    if shutil.which("nvidia-smi") is None:
        return []
    asked = subprocess.run(["nvidia-smi", "--query-gpu=index", "--format=csv,noheader"], capture_output=True, text=True)
    return asked.stdout.split() if asked.returncode == 0 else []


def usable_cores() -> int:
    """The cores this process may use: affinity and a container's quota count."""
    from joblib import cpu_count

    return int(cpu_count())
