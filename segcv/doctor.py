"""python -m segcv.doctor: what is wrong with this machine, and what to type about it."""

from __future__ import annotations

import importlib
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distributions, requires, version
from pathlib import Path

from segcv.config import Verdict, command
from segcv.errors import ConfigError, SegcvError
from segcv.settings import DoctorCommand

OK, WARN, FAIL = "ok", "warn", "FAIL"
GB = 1e9
OPENCV = ("opencv-python", "opencv-python-headless", "opencv-contrib-python", "opencv-contrib-python-headless")
IMPORTED = ("albumentations", "cv2", "numba", "pandas", "pyarrow", "segmentation_models_pytorch", "tifffile", "torch")
EXTRAS = {"submitit": ("slurm", "Slurm clusters"), "ray": ("ray", "Ray clusters")}
SKEW_S = 2.0


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at; `cure` is what to type or do where it is not ok."""

    state: str
    found: str
    cure: str = ""


@command("doctor")
def main(settings: DoctorCommand) -> None:
    """Look at everything; exit code 1 when something will stop segcv."""
    checks = [check for look in CHECKS for check in look(settings)]
    for check in checks:
        print(f"{check.state:5} {check.found}")
        if check.cure:
            print(f"        -> {check.cure}")
    count = {state: sum(check.state == state for check in checks) for state in (FAIL, WARN)}
    print(f"{len(checks)} things looked at, {count[FAIL]} wrong, {count[WARN]} to know")
    if count[FAIL]:
        raise Verdict(1)


def python_and_packages(settings: DoctorCommand) -> Iterator[Check]:
    """Versions that segcv asks for; libraries that do not load."""
    yield Check(OK, f"Python {sys.version.split()[0]} in {sys.prefix}, segcv {version('segcv')}")
    from packaging.requirements import Requirement

    asked = [Requirement(line) for line in requires("segcv") or []]
    for need in asked:
        if need.marker is not None and not need.marker.evaluate({"extra": ""}):
            continue
        try:
            found = version(need.name)
        except PackageNotFoundError:
            yield Check(FAIL, f"{need.name} is not installed", f"pip install '{need}'")
            continue
        if not need.specifier.contains(found, prereleases=True):
            yield Check(FAIL, f"{need.name} {found} is installed; segcv asks for {need.specifier}",
                        f"pip install '{need}'")
    for name in IMPORTED:
        try:
            importlib.import_module(name)
        except Exception as error:                    # whatever a broken wheel raises
            yield Check(FAIL, f"{name} does not load: {str(error).splitlines()[0][:120]}",
                        "pip install --force-reinstall the package that holds it")


def opencv_wheels(settings: DoctorCommand) -> Iterator[Check]:
    """Wheels that write the same cv2 folder, each over the other."""
    names = {re.sub(r"[-_.]+", "-", found.metadata["Name"]).lower() for found in distributions()}
    wheels = [name for name in OPENCV if name in names]
    if len(wheels) > 1:
        yield Check(FAIL, f"{' and '.join(wheels)} share one folder; which of them is loaded is chance",
                    f"pip uninstall -y {' '.join(wheels)} && pip install opencv-python-headless")
    else:
        yield Check(OK, f"one OpenCV: {wheels[0] if wheels else 'from elsewhere'}")


def devices(settings: DoctorCommand) -> Iterator[Check]:
    """GPUs of the machine that torch does not see; precision; cores."""
    from segcv.launching import usable_cores, visible_gpus
    from segcv.training import chosen_device, chosen_precision, environment

    gpus, device = visible_gpus(), chosen_device("auto")
    told = environment(device, threads=1)
    if device.type == "cuda":
        yield Check(OK, f"{len(gpus)} GPUs, the first {told['device_name']}: torch {told['versions']['torch']}, CUDA "
                        f"{told['cuda']}, cuDNN {told['cudnn']}, {chosen_precision('auto', device)} by default")
    elif gpus and os.environ.get("CUDA_VISIBLE_DEVICES") is None:
        yield Check(FAIL, f"{len(gpus)} GPUs, and torch {told['versions']['torch']} cannot use them",
                    "install the torch build for your driver (`nvidia-smi` shows the CUDA version it takes)")
    else:
        yield Check(OK, f"no GPU: torch {told['versions']['torch']} computes on the CPU ({told['cpu_capability']})")
    cores, there = usable_cores(), os.cpu_count() or 1
    limit = "" if cores == there else f" of {there}: affinity or a container's quota"
    yield Check(OK, f"{cores} cores to use{limit}; a sweep on the CPU runs {cores} one-thread jobs")
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
        asked = os.environ.get(name, "")
        if asked.isdigit() and int(asked) > cores:
            yield Check(WARN, f"{name}={asked} is more than the {cores} cores to use", f"unset {name}")


def folders(settings: DoctorCommand) -> Iterator[Check]:
    """Room, rights, locks and the clock of the folders that segcv writes to."""
    for name in ("runs", "splits", "cache"):
        asked = Path(getattr(settings, name)).absolute()
        there = next(path for path in (asked, *asked.parents) if path.is_dir())
        free = shutil.disk_usage(there).free
        try:
            skew = _locked_write(there)
        except (OSError, SegcvError) as error:
            yield Check(FAIL, f"{name}={asked}: cannot write or lock there ({error})", f"{name}=FOLDER of your own")
            continue
        if free < 10 * GB:
            yield Check(FAIL if free < GB else WARN, f"{name}={asked}: {free / GB:.1f} GB free",
                        f"make room, or {name}=FOLDER on a larger disk")
        else:
            yield Check(OK, f"{name}={asked}: {free / GB:.0f} GB free, can be written to, locks hold")
        if abs(skew) > SKEW_S:
            yield Check(WARN, f"{name}={asked}: its file server's clock is {skew:+.0f} s off ours",
                        "set both by NTP: timedatectl set-ntp true")


def memory(settings: DoctorCommand) -> Iterator[Check]:
    """Shared memory, which data processes need."""
    shared = Path("/dev/shm")
    if shared.is_dir():
        free = shutil.disk_usage(shared).free
        if free < GB:
            yield Check(WARN, f"/dev/shm: {free / GB:.2f} GB free; data processes pass images through it",
                        "workers=0, or in Docker: docker run --shm-size=8g ...")
        else:
            yield Check(OK, f"/dev/shm: {free / GB:.1f} GB free")


def clock(settings: DoctorCommand) -> Iterator[Check]:
    """A clock before segcv itself was written breaks certificates and file times."""
    newest = max(path.stat().st_mtime for path in Path(__file__).parent.glob("*.py"))
    if time.time() < newest - 86_400:
        yield Check(WARN, f"the clock says {time.strftime('%Y-%m-%d')}, before these files were written",
                    "timedatectl set-ntp true")
    else:
        yield Check(OK, f"the clock says {time.strftime('%Y-%m-%d %H:%M:%S %Z')}")


def pretrained(settings: DoctorCommand) -> Iterator[Check]:
    """Can pretrained weights be had? Only runs that ask for them need them."""
    from segcv.training import require_weights

    try:
        require_weights(settings.encoder, settings.encoder_weights)
        yield Check(OK, f"weights {settings.encoder_weights} of {settings.encoder} can be had")
    except SegcvError as error:
        yield Check(WARN, f"{error}")


def extras(settings: DoctorCommand) -> Iterator[Check]:
    """Optional libraries, and the clusters that would need them."""
    for module, (extra, what) in EXTRAS.items():
        try:
            yield Check(OK, f"{module} {version(module)}: {what}")
        except PackageNotFoundError:
            wanted = extra == "slurm" and shutil.which("sbatch") is not None
            yield Check(WARN if wanted else OK, f"{module} is not installed: no {what}",
                        f"pip install 'segcv[{extra}]'" if wanted else "")


def loader(settings: DoctorCommand) -> Iterator[Check]:
    """The user's own Dataset or DataLoader, audited for repeated augmentations."""
    if settings.loader is None:
        return
    from segcv.training import audit_loader

    name, _, attribute = settings.loader.partition(":")
    sys.path.insert(0, str(Path.cwd()))
    try:
        given = getattr(importlib.import_module(name), attribute)
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"loader={settings.loader} cannot be found ({error}); it is package.module:object, from "
                          f"{Path.cwd()}.") from error
    found = audit_loader(given() if callable(given) and not hasattr(given, "__getitem__") else given)
    cure = ("reseed in worker_init_fn from torch.initial_seed(), which differs between workers and epochs; with "
            "albumentations: compose.set_random_seed(torch.initial_seed() % 2**32)")
    if found.workers_alike:
        yield Check(FAIL, f"{settings.loader}: two workers draw the same augmentations", cure)
    if found.epochs_alike:
        yield Check(FAIL, f"{settings.loader}: each epoch repeats the augmentations of the one before", cure)
    if not found.workers_alike and not found.epochs_alike:
        yield Check(OK, f"{settings.loader}: " + ("augmentations differ between workers and epochs" if found.random
                                                  else "its first sample is not augmented"))


def _locked_write(folder: Path) -> float:
    """Take a lock and write in the folder; how many seconds its clock is ahead of ours."""
    from segcv.tables import held

    place = folder / f".doctor-{os.getpid()}"
    try:
        with held(place, what=f"{place}"):
            before, stamp = time.time(), place.with_suffix(".owner")
            stamp.write_text("x")
            return stamp.stat().st_mtime - before
    finally:
        for left in folder.glob(f"{place.name}*"):
            left.unlink()


CHECKS: tuple[Callable[[DoctorCommand], Iterator[Check]], ...] = (
    python_and_packages, opencv_wheels, devices, folders, memory, clock, pretrained, extras, loader)

if __name__ == "__main__":
    main()
