"""What can be set of a launcher: hydra.launcher.NAME=VALUE. No postponed annotations here: OmegaConf reads them."""

from dataclasses import dataclass, field
from typing import Any

from hydra.core.config_store import ConfigStore

LAUNCHERS = "hydra_plugins.segcv_launcher.launchers"


@dataclass
class LauncherSettings:
    retries: int = 0
    wait: bool = True
    dry_run: bool = False


@dataclass
class LocalSettings(LauncherSettings):
    _target_: str = f"{LAUNCHERS}.LocalLauncher"
    gpus: list[str] | None = None
    per_gpu: int = 1
    slots: int | None = None


@dataclass
class SlurmSettings(LauncherSettings):
    _target_: str = f"{LAUNCHERS}.SlurmLauncher"
    slots: int = 100
    gpus: int = 1
    cpus: int = 4
    mem_gb: float | None = None
    minutes: int = 1440
    partition: str | None = None
    account: str | None = None
    setup: list[str] = field(default_factory=list)
    sbatch: dict[str, Any] = field(default_factory=dict)
    pause_s: float = 2.0


@dataclass
class RaySettings(LauncherSettings):
    _target_: str = f"{LAUNCHERS}.RayLauncher"
    address: str | None = None
    gpus: float | None = None
    cpus: float = 1.0
    slots: int | None = None
    gpus_here: int | None = None


for _name, _schema in (("local", LocalSettings), ("slurm", SlurmSettings), ("ray", RaySettings)):
    ConfigStore.instance().store(group="hydra/launcher", name=f"segcv_{_name}_schema", node=_schema)
