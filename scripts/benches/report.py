"""The report of a large sweep: how long aggregate takes with figures and pictures, and how large its page is."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benches.made_sweep import write_sweep
from benches.rows import Row, at_most, finish

MIB = 2**20


def rows(folds: int, seeds: int, images: int, classes: int, groups: int) -> list[Row]:
    """`python -m segcv.aggregate` of folds x seeds runs with all that a report has, in an empty process."""
    work = f"python -m segcv.aggregate, {folds * seeds} runs x {images:,} images x {classes} classes, {groups} groups"
    with tempfile.TemporaryDirectory() as place:
        folder = write_sweep(Path(place), folds=folds, seeds=seeds, images_in_run=images, classes=classes,
                             groups=groups, pictures=True)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        started = time.perf_counter()
        subprocess.run([sys.executable, "-m", "segcv.aggregate", "out=report"], cwd=folder, check=True,
                       stdout=subprocess.DEVNULL, env=os.environ)
        taken = time.perf_counter() - started
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        page = folder / "report" / "cv_report.html"
        text = page.read_text(encoding="utf-8")
        assert text.count('class="tile"') == 200, "the gallery is not full"
        size = page.stat().st_size / MIB
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return [at_most(work, taken, 60, unit="s"), at_most(f"{work}: cv_report.html, 200 pictures", size, 20, unit="MiB"),
            at_most(f"{work}: memory", after.ru_maxrss / MIB, 4, unit="GiB"),
            Row(f"{work}: processor time (a busy machine takes longer by the clock)", f"{used:.3g} s", "", "", "")]


if __name__ == "__main__":
    finish(rows(5, 5, 5_000, 20, 300))
