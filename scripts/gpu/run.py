"""The checks of a machine with a GPU, within a time, as one table: bash scripts/gpu_check [--dry-run]."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from benches.rows import Row, finish
from gpu.sameness import sameness
from gpu.sizes import DRY, GPU, Sizes
from gpu.speed import sharing, speed

CHECKS: dict[str, Callable[[Sizes, Path], list[Row]]] = {"speed": speed, "sameness": sameness, "sharing": sharing}
ENOUGH_S = 100.0         # no check is begun with less time left


def main() -> None:
    """Run the checks in their order; exit code 1 where a goal is missed, 2 without a GPU."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dry-run", action="store_true", help="on the CPU, tiny: does the script work?")
    parser.add_argument("--minutes", type=float, default=8.0)
    parser.add_argument("--only", choices=CHECKS, help="one of the checks")
    asked = parser.parse_args()
    import torch

    if not asked.dry_run and not torch.cuda.is_available():
        print("error: torch sees no GPU here. On a CPU: bash scripts/gpu_check --dry-run", file=sys.stderr)
        sys.exit(2)
    sizes, began = DRY if asked.dry_run else GPU, time.monotonic()
    name = "dry run on the CPU: its figures say nothing" if asked.dry_run else torch.cuda.get_device_name()
    print(f"{name}; torch {torch.__version__}", flush=True)
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="segcv-gpu-") as folder:
        for check, work in CHECKS.items():
            if asked.only not in (None, check):
                continue
            if time.monotonic() - began > 60 * asked.minutes - ENOUGH_S:
                rows.append(Row(check, "not begun: out of time", "", "", ""))
                continue
            started = time.monotonic()
            rows += work(sizes, Path(folder) / check)
            print(f"{check}: {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
    if asked.dry_run:
        rows = [replace(row, goal=row.goal and f"{row.goal} (not judged)", met=None) for row in rows]
    finish(rows)


if __name__ == "__main__":
    main()
