"""Runs that are killed with SIGKILL at some moment and started again: `killed_runs.py [MOMENTS [SEED]]`.

Half of the moments are random times; the other half are file operations, counted: the run is killed just before its
n-th opening for writing, renaming, removal or making of a folder, so that every write is met, the checkpoint's and the
scores' included. torch is imported once; each run is a fork. A killed run is started again until it has finished, and
must then be what a run is that nobody killed: the same weights, scores, masks and history, bit by bit.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

import segcv.recipes
from segcv.config import conf_folder, register
from segcv.pixels import write_flight_strips
from segcv.runs import find_runs
from segcv.settings import TrainCommand
from segcv.study import open_study
from segcv.train import train

assert segcv.recipes             # imported here, before any fork
WRITES = ("os.rename", "os.remove", "os.mkdir", "os.rmdir")


@dataclass(frozen=True, slots=True)
class Lab:
    """A tiny study, and how to run one cell of it in a process of its own."""

    settings: TrainCommand
    home: Path

    def run(self, runs: Path, *, before: Callable[[], None] = lambda: None) -> int:
        """Pid of a process that trains and scores the cell into `runs`, after `before`."""
        pid = os.fork()
        if pid:
            return pid
        code = 1
        sys.stdout = sys.stderr = (self.home / "output.txt").open("a", buffering=1)
        try:
            study = open_study(self.settings.data, self.settings.group, self.settings.split,
                               splits=Path(self.settings.splits), cache=Path(self.settings.cache))
            before()
            train(replace(self.settings, runs=str(runs)), study)
            code = 0
        except Exception:
            traceback.print_exc()
        finally:
            os._exit(code)


def make_lab(home: Path, *overrides: str) -> Lab:
    """Six strips of four small images in `home`; two epochs with a checkpoint after every step."""
    table = write_flight_strips(home / "data", strips=6, patches=4, size=32)
    given = [f"data.table={table}", "data.num_classes=4", "split.folds=3", "trainer.epochs=2", "workers=0", "fold=0",
             "trainer.checkpoint_steps=1", "device=cpu", f"splits={home}/splits", f"cache={home}/cache", *overrides]
    register("train")
    with initialize_config_dir(version_base="1.3", config_dir=str(conf_folder())):
        settings = OmegaConf.to_object(compose("train", overrides=given))
    assert isinstance(settings, TrainCommand)
    return Lab(settings, home)


def ended(pid: int) -> int:
    """The exit code of the process, negative when a signal killed it."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def outcome(runs: Path) -> dict[str, Any]:
    """What the one finished run holds, without what tells the time."""
    (record,) = find_runs(runs)
    folder = runs / record.run_id
    found: dict[str, Any] = {path.relative_to(folder).as_posix(): sha256(path.read_bytes()).hexdigest()
                             for path in folder.rglob("*.*") if path.suffix in (".safetensors", ".png")}
    for path in folder.rglob("*.parquet"):
        found[path.relative_to(folder).as_posix()] = pd.read_parquet(path).to_csv()
    history = pd.read_csv(folder / "history.csv")
    return found | {"history": history.drop(columns="seconds").to_csv(), "best": record.best_epoch}


class Operations:
    """Counts file operations below a folder; kills the process just before the one numbered `at`."""

    def __init__(self, below: Path, *, at: int | None = None) -> None:
        self.below, self.at, self.seen = str(below), at, 0

    def install(self) -> None:
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = arguments
            writes = isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        else:
            path, writes = arguments[0] if arguments else None, event in WRITES
        if not writes or not isinstance(path, str | os.PathLike) or not os.fspath(path).startswith(self.below):
            return
        self.seen += 1
        if self.seen == self.at:
            os.kill(os.getpid(), signal.SIGKILL)


def reference(lab: Lab) -> tuple[dict[str, Any], float, int]:
    """What an undisturbed run holds, its seconds, and how many file operations it takes."""
    runs, counted = lab.home / "whole", lab.home / "counted"
    counter = Operations(runs)

    def count() -> None:
        counter.install()
        write = os._exit

        def leave(code: int) -> None:
            counted.write_text(str(counter.seen))
            write(code)

        os._exit = leave                         # type: ignore[assignment]

    assert ended(lab.run(lab.home / "warm-up")) == 0, (lab.home / "output.txt").read_text()
    started = time.monotonic()
    assert ended(lab.run(runs, before=count)) == 0
    return outcome(runs), time.monotonic() - started, int(counted.read_text())


def killed_at(lab: Lab, runs: Path, *, seconds: float | None = None, operation: int | None = None) -> bool:
    """Start the run and kill it at that moment; was it killed before it had ended?"""
    pid = lab.run(runs, before=Operations(runs, at=operation).install)
    if seconds is not None:
        time.sleep(seconds)
        os.kill(pid, signal.SIGKILL)
    return ended(pid) == -signal.SIGKILL


def main(moments: int, seed: int) -> None:
    """Print how many of the killed runs came out right; exit code 1 when one did not."""
    rng = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as folder:
        lab = make_lab(Path(folder), "trainer.stopping=early")
        expected, seconds, operations = reference(lab)
        print(f"an undisturbed run: {seconds:.1f} s, {operations} file operations")
        wrong = hit = 0
        for moment in range(moments):
            runs = lab.home / f"killed-{moment}"
            if moment % 2:
                at = int(rng.integers(1, operations + 1))
                killed, words = killed_at(lab, runs, operation=at), f"before file operation {at}"
            else:
                after = float(rng.uniform(0, seconds))
                killed, words = killed_at(lab, runs, seconds=after), f"after {after:.2f} s"
            left = sorted(path.name for path in runs.rglob(".*unfinished/*"))
            code = ended(lab.run(runs))
            right = code == 0 and outcome(runs) == expected
            wrong, hit = wrong + (not right), hit + killed
            print(f"{'killed' if killed else 'done'} {words}, leaving {', '.join(left) or 'nothing'}: "
                  f"{'the same run' if right else 'ANOTHER RUN'}", flush=True)
    print(f"{moments} moments, {hit} runs killed, {moments - wrong} came out bit-equal")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    asked = [int(argument) for argument in sys.argv[1:]]
    main(*(asked + [50, 0][len(asked):]))
