"""Short jobs through our launcher and through Hydra's own: seconds added per job, and how busy the slots are.

Every job imports torch and then sleeps for a second, as if a device worked, so that the figures hold on a machine that
does other things too. `launching.py JOBS` (default 25) in two slots; one slot and five jobs for the added seconds.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from benches.rows import Row, finish

APP = Path(__file__).with_name("short_job.py")
PLUGINS = APP.parents[2] / "segcv/launching"
SLOTS = 2
LAUNCHERS = {
    "segcv": ["hydra/launcher=segcv_local", "hydra.launcher.gpus=[]", "hydra.launcher.slots={slots}"],
    "Hydra basic": ["hydra/launcher=basic"],
    "joblib": ["hydra/launcher=joblib", "hydra.launcher.n_jobs={slots}"],
    "submitit local": ["hydra/launcher=submitit_local"],
}


@dataclass(frozen=True)
class Sweep:
    """What the jobs of one sweep noted, and how long the command took."""

    wall_s: float
    cpu_s: float                # of the command and all its jobs
    jobs: list[dict[str, float]]

    @property
    def busy(self) -> float:
        """Share of the slots' time, from the first start to the last end, in which a job was alive in them."""
        alive = sum(job["ended"] - job["began"] for job in self.jobs)
        return alive / SLOTS / (max(job["ended"] for job in self.jobs) - min(job["began"] for job in self.jobs))

    @property
    def most_alive(self) -> int:
        moments = sorted([(job["began"], 1) for job in self.jobs] + [(job["ended"], -1) for job in self.jobs])
        alive = most = 0
        for _, change in moments:
            alive += change
            most = max(most, alive)
        return most


def swept(launcher: str, *, jobs: int, slots: int) -> Sweep:
    """The sweep of so many jobs, typed as a user types it."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, str(APP), "-m", f"number=range({jobs})", f"out={folder}/out",
                   f"hydra.sweep.dir={folder}/sweep", *(part.format(slots=slots) for part in LAUNCHERS[launcher])]
        paths = [os.environ["PYTHONPATH"], str(PLUGINS)]      # what submitit unpickles names our plugin's settings too
        started, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)})
        wall, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
        notes = [json.loads(path.read_text()) for path in Path(folder, "out").glob("*.json")]
        assert len(notes) == jobs
        return Sweep(wall, cpu, notes)


def main(jobs: int) -> None:
    few = 5
    alone = swept("segcv", jobs=few, slots=1)
    own = sum(job["ended"] - job["began"] for job in alone.jobs)
    added, cpu = (alone.wall_s - own) / few, (alone.cpu_s - sum(job["cpu_s"] for job in alone.jobs)) / few
    rows = [Row("seconds added to a local job besides its imports and work, the command's own start shared by five",
                f"{added:.2f} s", f"imports and work take {own / few:.2f} s", "", "<= 1.5 s", added <= 1.5),
            Row("CPU seconds of that", f"{cpu:.2f} s", "", "", "shown")]
    ours = swept("segcv", jobs=jobs, slots=SLOTS)
    rows.append(Row(f"{jobs} short jobs, {SLOTS} slots: the slots are busy", f"{ours.busy:.1%}",
                    f"most alive at once: {ours.most_alive}", "", ">= 90 %", ours.busy >= 0.9))
    for name in list(LAUNCHERS)[1:]:
        theirs = swept(name, jobs=jobs, slots=SLOTS)
        once = statistics.mean(job["import_s"] for job in theirs.jobs) < 0.1
        rows.append(Row(f"{jobs} short jobs, {SLOTS} slots asked for: seconds in all", f"{ours.wall_s:.1f} s",
                        f"{name} {theirs.wall_s:.1f} s, most alive at once: {theirs.most_alive}"
                        + (", imports once per process" if once else ""),
                        f"{theirs.wall_s / ours.wall_s:.2f}x", "shown"))
    finish(rows)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 25)
