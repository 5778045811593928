"""The script for a machine with a GPU, tried on one without."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

SCRIPT = Path(__file__).parents[2] / "scripts/gpu_check"


def gpu_check(*arguments: str, code: int) -> tuple[str, str]:
    done = subprocess.run(["bash", str(SCRIPT), *arguments], capture_output=True, text=True,
                          env={**os.environ, "PYTHON": sys.executable})
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout, done.stderr


def test_the_dry_run_goes_through_every_check_and_judges_nothing():
    """One network on one device in one precision twice must label every pixel alike; all else is only shown."""
    table, _ = gpu_check("--dry-run", code=0)

    rows = [line for line in table.splitlines() if line.startswith("| ")][1:]
    assert "figures say nothing" in table.splitlines()[0] and len(rows) == 10
    assert not any("met" in row or "MISSED" in row for row in rows)
    for what in ("a fit", "stays on the device", "memory", "label alike | 1.00000", "in bf16", "equal |", "at once"):
        assert any(what in row for row in rows), what


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_the_check_says_what_to_type():
    assert "error: torch sees no GPU here. On a CPU: bash scripts/gpu_check --dry-run" in gpu_check(code=2)[1]
