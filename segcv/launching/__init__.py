"""Jobs into slots on this machine, on Slurm or on Ray: retried, resumed, stopped without a trace, every failure named.

    jobs = [Job(name, command, working, result, shared) for ...]
    states = sweep(jobs, lambda: LocalEngine(gpus=["0", "1"]), home=folder, stream=sys.stderr)
    print(failures(states))

A job is a command line with a result file. `run_jobs` is the loop alone. Knows no Hydra; the Hydra launchers over it
are in hydra_plugins/.
"""

from segcv.launching.jobs import Ending, Engine, Job, Progress, last_lines
from segcv.launching.local import LocalEngine
from segcv.launching.loop import run_jobs, stopping_signals
from segcv.launching.machine import usable_cores, visible_gpus
from segcv.launching.ray_cluster import RayEngine
from segcv.launching.slurm import SlurmEngine
from segcv.launching.sweep import failures, sweep, sweep_home, warnings_said

__all__ = [
    "Ending", "Engine", "Job", "LocalEngine", "Progress", "RayEngine", "SlurmEngine", "failures", "last_lines",
    "run_jobs", "stopping_signals", "sweep", "sweep_home", "usable_cores", "visible_gpus", "warnings_said",
]
