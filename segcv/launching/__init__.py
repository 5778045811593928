"""Jobs into slots on this machine, on Slurm or on Ray: retried, resumed, stopped without a trace, every failure named.

    jobs = [Job(name, command, working, result, shared) for ...]
    states = sweep(jobs, lambda: LocalEngine(gpus=["0", "1"]), home=folder, stream=sys.stderr)
    print(failures(states))

A job is a command line with a result file. `run_jobs` is the loop alone. Knows no Hydra; the Hydra launchers over it
are in hydra_plugins/.
"""

from segcv.launching.alone import run_alone
from segcv.launching.estimate import dry_run
from segcv.launching.jobs import Ending, Engine, Job, Progress, last_lines
from segcv.launching.leaving import Left, collect, leave_to_process, leave_to_slurm, left_sweeps
from segcv.launching.local import LocalEngine
from segcv.launching.loop import run_jobs, stopping_signals
from segcv.launching.machine import usable_cores, visible_gpus
from segcv.launching.ray_cluster import RayEngine
from segcv.launching.slurm import SlurmEngine
from segcv.launching.sweep import failures, sweep, sweep_home, warnings_said
from segcv.launching.table import text_of

__all__ = [
    "Ending", "Engine", "Job", "Left", "LocalEngine", "Progress", "RayEngine", "SlurmEngine", "collect", "dry_run",
    "failures", "last_lines", "leave_to_process", "leave_to_slurm", "left_sweeps", "run_alone", "run_jobs",
    "stopping_signals", "sweep", "sweep_home", "text_of", "usable_cores", "visible_gpus", "warnings_said",
]
