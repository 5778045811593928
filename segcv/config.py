"""Where conf/ is, and how a command starts: Hydra in, plain dataclasses out, refusals as one message."""

from __future__ import annotations

import atexit
import gc
import os
import shlex
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO, TypeVar, cast

import hydra
from hydra.core.config_store import ConfigStore
from hydra.core.hydra_config import HydraConfig
from hydra.errors import HydraException
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from segcv.errors import ConfigError, SegcvError, SegcvWarning
from segcv.overrides import as_meant, refusal_of_error, refusal_of_typed
from segcv.report_settings import AggregateCommand, CompareCommand, GalleryCommand, PlanCommand
from segcv.settings import (
    AuditCommand,
    ConvertCommand,
    DoctorCommand,
    EvaluateCommand,
    FinalCommand,
    NestedCommand,
    PredictCommand,
    ServingCommand,
    SplitCommand,
    SweepCommand,
    TrainCommand,
)

Item = TypeVar("Item")

_COMMANDS: dict[str, type] = {
    "aggregate": AggregateCommand,
    "audit": AuditCommand,
    "check_serving": ServingCommand,
    "compare": CompareCommand,
    "convert": ConvertCommand,
    "doctor": DoctorCommand,
    "evaluate": EvaluateCommand,
    "fit_final": FinalCommand,
    "gallery": GalleryCommand,
    "nested": NestedCommand,
    "plan": PlanCommand,
    "predict": PredictCommand,
    "split": SplitCommand,
    "sweep": SweepCommand,
    "train": TrainCommand,
}
_EXAMPLES = {"fold": "0", "data.root": "FOLDER", "data.table": "images.csv", "split.table": "folds.csv",
             "predictions": "FOLDER", "out": "FOLDER", "candidates": "[unet_small,unet_resnet18]", "model": "FOLDER",
             "images": "FOLDER", "image": "x.png", "served": "x.npy"}
_TYPED = {name: {"model": "model_folder"} for name in ("predict", "check_serving")}     # Hydra knows a group conf/model


sys.path.append(str(Path(__file__).parent / "launching"))       # Hydra finds launchers in a package hydra_plugins only


def conf_folder() -> Path:
    """The folder conf/: inside the installed package, or beside it in a checkout."""
    inside = Path(__file__).parent / "conf"
    return inside if inside.is_dir() else Path(__file__).parents[1] / "conf"


class Verdict(SystemExit):
    """A command has done its work and says so by its exit code; it is no refusal."""


def register(name: str) -> None:
    """Let Hydra know the schema of command `name`; it copies whatever it knows, so only the running command's."""
    ConfigStore.instance().store(name=f"{name}_schema", node=_COMMANDS[name])


def command(name: str, *, refused: int = 1, plan: Callable[..., Any] | None = None,
            report: Callable[[Any], None] | None = None) -> Callable[[Callable[[Any], None]], Callable[[], None]]:
    """Decorator: run the body with the settings of conf/<name>.yaml and the command line as plain dataclasses.

    A SegcvError, a full disk or a forbidden folder is one message on stderr and the exit code `refused`, as is a
    setting that Hydra does not know. Each SegcvWarning is printed once. In a sweep (-m), our launchers call
    `plan(settings of each job, names, command lines)` for the jobs and, when they have ended, `report(how each ended)`;
    under another launcher, or without a plan, the jobs run one by one in this process and the failures are listed at
    the end.
    """
    register(name)
    atexit.register(gc.freeze)      # else the interpreter, ending, looks for cycles in all of torch for half a second

    def start(body: Callable[[Any], None]) -> Callable[[], None]:
        failed: list[str] = []

        def main(config: DictConfig) -> None:
            with _refusing(name, config, failed=failed):
                body(OmegaConf.to_object(config))

        def planned(configs: Sequence[DictConfig], names: Sequence[str], commands: Sequence[Sequence[str]]) -> Any:
            assert plan is not None
            with _refusing(name, *configs):
                return plan([OmegaConf.to_object(config) for config in configs], names, commands)

        if plan is not None:
            vars(main).update(segcv_plan=planned, segcv_report=report, segcv_say=print)
        started = cast(Callable[[], None], hydra.main(version_base="1.3", config_path=str(conf_folder()),
                                                      config_name=name)(main))

        def run() -> None:
            sys.argv[1:] = [as_meant(entry, _TYPED.get(name, {})) for entry in sys.argv[1:]]
            raw = "HYDRA_FULL_ERROR" in os.environ
            os.environ["HYDRA_FULL_ERROR"] = "1"       # Hydra hands its refusals on instead of printing them
            schema = _COMMANDS[name]
            try:
                if refusal := refusal_of_typed(sys.argv[1:], name, schema, conf_folder()):
                    raise SystemExit(f"error: {refusal}")
                started()
            except (HydraException, OmegaConfBaseException) as error:
                if raw:
                    raise
                print(f"error: {refusal_of_error(error, name, schema, conf_folder())}", file=sys.stderr)
                raise SystemExit(refused) from None
            except SystemExit as stop:
                if refused == 1 or stop.code in (None, 0) or isinstance(stop, Verdict):
                    raise
                if isinstance(stop.code, str):
                    print(stop.code, file=sys.stderr)
                raise SystemExit(refused) from stop
            finally:
                if failed:
                    listed = "".join(f"\n  {failure}" for failure in failed)
                    raise SystemExit(f"failed jobs of the sweep: {len(failed)}; the others are done:{listed}")
        return run
    return start


@contextmanager
def _refusing(name: str, *configs: DictConfig, failed: list[str] | None = None) -> Iterator[None]:
    """A block whose refusals end the process with one message; in a sweep in this process they go to `failed`."""
    for config in configs:
        _refuse_missing(config, name)
    with warnings.catch_warnings():
        warnings.simplefilter("once", SegcvWarning)
        warnings.showwarning = _shown_once()
        try:
            yield
        except KeyboardInterrupt:
            raise SystemExit("stopped; the same command goes on from here") from None
        except (SegcvError, OSError) as caught:
            error = caught if isinstance(caught, SegcvError) or caught.filename else (
                f"{caught.strerror or caught} (writing below {Path.cwd()}); then type the same command again")
            if failed is None or HydraConfig.get().mode != RunMode.MULTIRUN:
                raise SystemExit(f"error: {error}") from caught
            failed.append(f"{' '.join(overrides())}: {error}")
            print(f"error: {failed[-1]}", file=sys.stderr)


def progress_bar(items: Iterable[Item], *, total: int, what: str) -> Iterable[Item]:
    """The Progress of the commands: a bar on stderr, silent where nobody looks."""
    from tqdm import tqdm

    yield from tqdm(items, total=total, desc=what, disable=None, leave=False)


def overrides() -> list[str]:
    """What was typed behind the command, for the record; empty outside a command."""
    if not HydraConfig.initialized():
        return []
    return list(HydraConfig.get().overrides.task)


def typed() -> str:
    """What was typed behind the command, as the shell takes it again."""
    return " ".join(map(shlex.quote, overrides()))


def composed(name: str, changes: Iterable[str], *, where: str) -> Any:
    """The settings of command `name` under these changes, inside a running command; `where` names them in a refusal.

    Raises:
        ConfigError: a change names an unknown setting, or gives it a value of the wrong kind.
    """
    from hydra.errors import HydraException

    try:
        return OmegaConf.to_object(hydra.compose(config_name=name, overrides=list(changes)))
    except (HydraException, OmegaConfBaseException) as error:
        raise ConfigError(f"{where}: {refusal_of_error(error, name, _COMMANDS[name], conf_folder())}") from error


def candidates_of(settings: Any, name: str) -> dict[str, Any]:
    """Name -> settings of each entry of `settings.candidates`: what was typed for command `name`, and its changes."""
    from segcv.candidates import candidate_changes

    kept = [entry for entry in overrides() if not entry.lstrip("+~").startswith(("candidates=", "fit="))]
    found = {}
    for candidate, changes in candidate_changes(settings.candidates).items():
        changed = {change.split("=")[0] for change in changes}
        rest = [entry for entry in kept if entry.split("=")[0] not in changed]
        found[candidate] = composed(name, [*rest, "candidates=[]", *changes], where=f"candidate {candidate}")
    return found


def as_dict(settings: Any) -> dict[str, Any]:
    """Settings as plain nested dicts, for records and fingerprints."""
    return OmegaConf.to_container(OmegaConf.structured(settings), resolve=True)  # type: ignore[return-value]


def _refuse_missing(config: DictConfig, name: str) -> None:
    missing = sorted(OmegaConf.missing_keys(config))
    written = OmegaConf.to_container(config, resolve=False)
    data = written.get("data", {}) if isinstance(written, dict) else {}
    if data.get("root") is None and "${data.root}" in f"{data.get('table')}":
        missing.append("data.root")
    typed_as = {own: shown for shown, own in _TYPED.get(name, {}).items()}
    missing = [typed_as.get(key, key) for key in missing]
    if missing:
        example = " ".join(f"{key}={_EXAMPLES.get(key, 'VALUE')}" for key in missing)
        raise SystemExit(f"error: {' and '.join(missing)} must be given: python -m segcv.{name} ... {example}")


def _shown_once() -> Callable[..., None]:
    """What prints a warning of ours; the filter "once" forgets what it showed when a block changes the filters."""
    shown: set[str] = set()

    def show(message: Warning | str, category: type[Warning], filename: str, lineno: int,
             file: TextIO | None = None, line: str | None = None) -> None:
        if issubclass(category, SegcvWarning) and str(message) not in shown:
            shown.add(str(message))
            print(f"warning: {message}", file=sys.stderr)
    return show
