"""What every test may ask for."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from filelock import FileLock

collect_ignore = ["tiny_job.py"]        # a script that tests start; doctest would import it
SHARED = Path(__file__).parents[2] / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real images and cases beside the checkout; tests that need it are skipped elsewhere."""
    if not SHARED.is_dir():
        pytest.skip(f"needs the folder {SHARED.name} beside the checkout")
    return SHARED


@pytest.fixture
def slurm() -> Iterator[None]:
    """The Slurm of this machine with its two fake GPUs, for one test at a time."""
    if "SLURM_HERE" not in os.environ:
        pytest.skip("needs a Slurm to play with: source scripts/slurm_here")
    with FileLock(Path(os.environ["SLURM_HERE"]) / "one-test-at-a-time"):
        yield


@pytest.fixture(params=["local", "slurm", "ray"])
def engine(request: pytest.FixtureRequest) -> str:
    """The name of each engine that can be tried here."""
    if request.param == "slurm":
        request.getfixturevalue("slurm")
    if request.param == "ray":
        pytest.importorskip("ray", reason="needs ray: pip install 'segcv[ray]'")
    return str(request.param)
