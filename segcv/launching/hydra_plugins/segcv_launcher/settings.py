"""What can be set of a launcher: hydra.launcher.NAME=VALUE. No postponed annotations here: OmegaConf reads them."""

from dataclasses import dataclass

from hydra.core.config_store import ConfigStore

LAUNCHERS = "hydra_plugins.segcv_launcher.launchers"


@dataclass
class LauncherSettings:
    retries: int = 0                     # how often a job that fails is started again within the sweep


@dataclass
class LocalSettings(LauncherSettings):
    _target_: str = f"{LAUNCHERS}.LocalLauncher"
    gpus: list[str] | None = None        # null: all that are visible; []: none
    per_gpu: int = 1                     # jobs at once on one GPU
    slots: int | None = None             # jobs at once without GPUs; null: as many as there are cores


ConfigStore.instance().store(group="hydra/launcher", name="segcv_local_schema", node=LocalSettings)
