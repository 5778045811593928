"""What the two files of one row hold."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from segcv.pixels.looks import Look


@dataclass(frozen=True, slots=True, eq=False)
class SeenPair:
    """What one row's two files hold, after both were found fit for use."""

    facts: dict[str, object]         # the row of the image profile
    look: Look
    counts: NDArray[np.int64]        # pixels of each class
    ignored: int                     # pixels
    brightness: NDArray[np.float64]  # per class, then of the ignored pixels
    rounded: bool                    # does the mask hold floats a hair beside whole numbers?
    marker: float | None             # the smallest value, when it looks like no-data and none is declared
    not_finite: int                  # pixels


def state_of(path: Path) -> str:
    """Size and time of change of a file."""
    found = path.stat()
    return f"{found.st_size}:{found.st_mtime_ns}"
