"""The launchers that Hydra starts for `-m`: each job of the sweep becomes the command that makes it alone."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hydra.core.utils import JobReturn, JobStatus, setup_globals
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, OmegaConf, open_dict

if TYPE_CHECKING:
    from segcv.launching import Engine, Job

LOOK = "Look at them: python -m segcv.sweep action=status"
OWN = ("hydra/launcher", "hydra.launcher", "hydra.mode", "hydra.sweep", "hydra/sweeper")     # not of a job


class SegcvLauncher(Launcher):
    """What all launchers share; each says which engine runs the jobs."""

    def __init__(self, **settings: Any) -> None:
        self.settings: dict[str, Any] = {
            name: OmegaConf.to_object(value) if OmegaConf.is_config(value) else value
            for name, value in settings.items()}
        self.retries, self.wait, self.dry = (self.settings.pop(name) for name in ("retries", "wait", "dry_run"))

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        self.context, self.task, self.config = hydra_context, task_function, config

    def engine(self, jobs: Sequence[Job], home: Path) -> Engine:
        """The engine with our settings."""
        raise NotImplementedError

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
        setup_globals()
        from segcv.errors import SegcvError
        from segcv.launching import dry_run, sweep, sweep_home

        plan = getattr(self.task, "segcv_plan", None)
        if plan is None:
            raise SystemExit("error: this command cannot be swept by a segcv launcher; use hydra/launcher=basic.")
        typed = [list(overrides) for overrides in job_overrides]
        configs = [self._config(overrides) for overrides in typed]
        jobs = plan(configs, names(typed), [self._command(overrides) for overrides in typed])
        home = sweep_home(Path(str(self.config.hydra.sweep.dir)), jobs)
        try:
            if self.dry:
                self.task.segcv_say(dry_run(jobs, lambda: self.engine(jobs, home), home=home))   # type: ignore[attr-defined]
            elif not self.wait and any(not job.finished for job in jobs):
                self.task.segcv_say(self.leave(jobs, home))                                      # type: ignore[attr-defined]
            else:
                states = sweep(jobs, lambda: self.engine(jobs, home), home=home, retries=self.retries,
                               stream=sys.stderr)
                self.task.segcv_report(states)                                                   # type: ignore[attr-defined]
        except KeyboardInterrupt:
            raise SystemExit("stopped, no process is left; the same command goes on from here") from None
        except SegcvError as error:
            raise SystemExit(f"error: {error}") from error
        return [_completed(config, overrides) for config, overrides in zip(configs, typed, strict=True)]

    def leave(self, jobs: Sequence[Job], home: Path) -> str:
        """Start the sweep in a process that outlives this one; what to tell the user."""
        from segcv.launching import leave_to_process

        typed = [entry for entry in sys.argv[1:] if not entry.startswith("hydra.launcher.wait=")]
        pid = leave_to_process([*self._program(), *typed], home=home)
        return f"{sum(not job.finished for job in jobs)} jobs left to process {pid} on this machine. {LOOK}"

    def _config(self, overrides: list[str]) -> DictConfig:
        config = self.context.config_loader.load_sweep_config(self.config, overrides)
        with open_dict(config):
            del config["hydra"]
        return config

    def _command(self, overrides: list[str]) -> list[str]:
        """The command line that makes this job alone, as it could be typed."""
        extra = [source["path"] for source in self.config.hydra.runtime.config_sources
                 if source["provider"] == "command-line"]
        config = ["--config-name", self.config.hydra.job.config_name] if "--config-name" in sys.argv else []
        ours = [entry for entry in self.config.hydra.overrides.hydra if not entry.lstrip("+~").startswith(OWN)]
        return [*self._program(), *(part for path in extra for part in ("--config-dir", path)), *config, *ours,
                *overrides]

    @staticmethod
    def _program() -> list[str]:
        module = sys.modules["__main__"].__spec__
        return [sys.executable, *(["-m", module.name] if module else [str(Path(sys.argv[0]).absolute())])]


class LocalLauncher(SegcvLauncher):
    """Jobs on this machine: GPUs x per_gpu at once, or one per core."""

    def engine(self, jobs: Sequence[Job], home: Path) -> Engine:
        from segcv.launching import LocalEngine

        return LocalEngine(**self.settings, threads=max(job.threads for job in jobs))


class SlurmLauncher(SegcvLauncher):
    """Jobs on a Slurm cluster, typed on a login node; the command stays until the last has ended."""

    def engine(self, jobs: Sequence[Job], home: Path) -> Engine:
        from segcv.launching import SlurmEngine

        return SlurmEngine(home / "slurm", **self.settings)

    def leave(self, jobs: Sequence[Job], home: Path) -> str:
        from segcv.errors import ConfigError
        from segcv.launching import SlurmEngine, leave_to_slurm

        if self.retries:
            raise ConfigError(f"hydra.launcher.retries={self.retries} has no effect on jobs that are left to Slurm.")
        numbers = leave_to_slurm(jobs, SlurmEngine(home / "slurm", **self.settings), home=home)
        return f"{len(numbers)} jobs left to Slurm ({numbers[0]} to {numbers[-1]}). {LOOK}"


class RayLauncher(SegcvLauncher):
    """Jobs on a Ray cluster, or on a Ray of this machine."""

    def engine(self, jobs: Sequence[Job], home: Path) -> Engine:
        from segcv.launching import RayEngine

        return RayEngine(**self.settings)


def names(typed: Sequence[Sequence[str]]) -> list[str]:
    """A short name for each job: the overrides that not all of them share; its first when it is alone."""
    common = set.intersection(*map(set, typed)) if len(typed) > 1 else set()
    return [" ".join(entry for entry in overrides if entry not in common) or overrides[0]
            for overrides in typed]


def _completed(config: DictConfig, overrides: Sequence[str]) -> JobReturn:
    done = JobReturn(overrides=overrides, cfg=config, status=JobStatus.COMPLETED)
    done.return_value = None
    return done
