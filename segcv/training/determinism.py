"""The same bits every time: pinned threads, deterministic operations, and an account of those that are not."""

from __future__ import annotations

import os
import platform
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from typing import Any, TextIO

import torch

from segcv.errors import ConfigError

WORKSPACE = "CUBLAS_WORKSPACE_CONFIG"
PACKAGES = ("segcv", "torch", "torchvision", "segmentation-models-pytorch", "timm", "albumentations", "numpy", "pandas",
            "opencv-python-headless", "pillow", "safetensors")


def chosen_device(name: str) -> torch.device:
    """The torch device called `name`; "auto" is the first GPU, or the CPU where there is none.

    Raises:
        ConfigError: there is no such device here.
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise ConfigError(f"device={name} is not a device; use auto, cpu, cuda or cuda:N.") from error
    gpus = torch.cuda.device_count()
    if device.type == "cuda" and (device.index or 0) >= gpus:
        raise ConfigError(f"device={name}, but torch sees {gpus} GPUs here. Use device=cpu or device=auto.")
    return device


def chosen_precision(name: str, device: torch.device) -> str:
    """fp32, bf16 or fp16; "auto" is bf16 on a GPU that has it, and fp32 elsewhere.

    Raises:
        ConfigError: the name is unknown, or the device cannot compute in it.
    """
    has_bf16 = device.type != "cuda" or torch.cuda.is_bf16_supported()
    if name == "auto":
        return "bf16" if device.type == "cuda" and has_bf16 else "fp32"
    if name not in ("fp32", "bf16", "fp16"):
        raise ConfigError(f"precision={name} is unknown. Choose from auto, fp32, bf16, fp16.")
    if name == "fp16" and device.type != "cuda":
        raise ConfigError("precision=fp16 needs a GPU. On a CPU use fp32 or bf16.")
    if name == "bf16" and not has_bf16:
        raise ConfigError(f"precision=bf16 is not supported by {torch.cuda.get_device_name(device)}. Use fp16 or fp32.")
    return name


@contextmanager
def pinned(device: torch.device, *, threads: int = 1) -> Iterator[list[str]]:
    """A block in which torch computes the same bits each time; yields the operations that had no deterministic form.

    The number of threads is part of the result (a sum is cut into as many parts), so it is fixed here, not taken
    from the machine. Threads, flags and torch's generators are as before when the block ends.
    """
    ops: list[str] = []
    before = (torch.get_num_threads(), torch.are_deterministic_algorithms_enabled(),
              torch.is_deterministic_algorithms_warn_only_enabled(), torch.backends.cudnn.benchmark,
              torch.backends.cudnn.deterministic, os.environ.get(WORKSPACE))
    gpus = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=gpus), _collecting(ops):
        try:
            torch.set_num_threads(threads)
            torch.use_deterministic_algorithms(True, warn_only=True)
            torch.backends.cudnn.benchmark, torch.backends.cudnn.deterministic = False, True
            if gpus:
                os.environ.setdefault(WORKSPACE, ":4096:8")
            yield ops
        finally:
            torch.set_num_threads(before[0])
            torch.use_deterministic_algorithms(before[1], warn_only=before[2])
            torch.backends.cudnn.benchmark, torch.backends.cudnn.deterministic = before[3], before[4]
            if before[5] is None:
                os.environ.pop(WORKSPACE, None)


@contextmanager
def _collecting(ops: list[str]) -> Iterator[None]:
    """Torch's warnings about operations without a deterministic form go to `ops`, all others where they went."""
    with warnings.catch_warnings():
        warnings.filterwarnings("always", message=".*does not have a deterministic implementation.*")
        show = warnings.showwarning

        def sort(message: Warning | str, category: type[Warning], filename: str, lineno: int,
                 file: TextIO | None = None, line: str | None = None) -> None:
            found = re.match(r"\s*(\S+) does not have a deterministic implementation", str(message))
            if found is None:
                show(message, category, filename, lineno, file, line)
            elif found[1] not in ops:
                ops.append(found[1])

        warnings.showwarning = sort
        yield


def seed_generator(device: torch.device, seed: int) -> None:
    """Seed what a forward pass on `device` draws from, to what `torch.manual_seed` seeds it to.

    That function seeds every kind of device, and where there is a GPU build without a GPU it takes a tenth of a
    millisecond to note who asked.
    """
    if device.type == "cuda":
        torch.cuda.init()      # type: ignore[no-untyped-call]
        index = torch.cuda.current_device() if device.index is None else device.index
        torch.cuda.default_generators[index].manual_seed(seed)
    else:
        torch.default_generator.manual_seed(seed)


def environment(device: torch.device, *, threads: int) -> dict[str, Any]:
    """What a run's bits depend on besides its config: versions, device, threads. For the run record."""
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "versions": versions(),
        "device": str(device),
        "device_name": torch.cuda.get_device_name(device) if device.type == "cuda" else _processor(),
        "cuda": torch.version.cuda if device.type == "cuda" else None,
        "cudnn": torch.backends.cudnn.version() if device.type == "cuda" else None,     # type: ignore[no-untyped-call]
        "threads": threads,
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
    }


def versions() -> dict[str, str]:
    """The installed version of each library that training and prediction stand on."""
    return {package: found for package in PACKAGES if (found := _version(package))}


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _processor() -> str:
    return platform.processor() or platform.machine()
