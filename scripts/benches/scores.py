"""Counts and boundary distances beside what people use today: `bash scripts/bench scores`, or some parts of it by name.

    bash scripts/bench scores counts boundaries
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

from benches.rows import Row, finish

PARTS = ("libraries", "counts", "boundaries", "histograms", "memory", "end_to_end")      # modules scores_<part>.py


def rows(part: str) -> list[Row]:
    """The rows of one part, each timed as the module is run."""
    found: list[Row] = importlib.import_module(f"benches.scores_{part}").rows()
    return found


if __name__ == "__main__":
    asked = sys.argv[1:] or [part for part in PARTS if (Path(__file__).parent / f"scores_{part}.py").exists()]
    unknown = [part for part in asked if part not in PARTS]
    if unknown:
        sys.exit(f"{unknown[0]} is none of the parts {', '.join(PARTS)}.")
    finish([row for part in asked for row in rows(part)])
