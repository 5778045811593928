"""python -m segcv.sweep action=submit fold=0,1,2,3,4 seed=0,1: a sweep that goes on when you log out."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from segcv.config import Verdict, command
from segcv.errors import ConfigError, RunError
from segcv.settings import SweepCommand

if TYPE_CHECKING:
    from segcv.launching import Left

OWN = ("action=", "dry_run=", "sweeps=", "train=", "hydra.", "-")


@command("sweep")
def main(settings: SweepCommand) -> None:
    """Submit a sweep, say where the submitted ones stand, or take their results in."""
    actions = {"submit": submit, "status": status, "collect": take_in}
    if settings.action not in actions:
        raise ConfigError(f"action={settings.action} is not known; use one of {', '.join(actions)}.")
    if settings.action != "submit" and (settings.train or settings.dry_run):
        given = " ".join([*settings.train, *["dry_run=true"] * settings.dry_run])
        raise ConfigError(f"{given} has an effect with action=submit only.")
    actions[settings.action](settings)


def submit(settings: SweepCommand) -> None:
    """Hand the sweep to `train -m`, which refuses what is wrong, and leaves it."""
    if not settings.train:
        raise ConfigError("action=submit needs what train -m takes: "
                          "python -m segcv.sweep action=submit fold=0,1,2,3,4 seed=0,1")
    how = "hydra.launcher.dry_run=true" if settings.dry_run else "hydra.launcher.wait=false"
    done = subprocess.run([sys.executable, "-m", "segcv.train", "-m", *settings.train, how,
                           f"hydra.sweep.dir={settings.sweeps}"])
    if done.returncode != 0:
        raise Verdict(done.returncode)


def status(settings: SweepCommand) -> None:
    """A table per sweep."""
    from segcv.launching import text_of

    for left in left_in(settings):
        print(f"\nSweep of {left.started}, {left.place}: {'at work' if left.alive else 'ended'} ({left.home})")
        print(text_of(left.states))


def take_in(settings: SweepCommand) -> None:
    """Name every failure of the sweeps that have ended, and file those away."""
    from segcv.launching import collect, failures

    bad = 0
    for left in left_in(settings):
        finished = sum(state.status == "finished" for state in left.states)
        folders = ", ".join(sorted({str(state.job.shared) for state in left.states}))
        print(f"Sweep of {left.started}: {finished} of {len(left.states)} runs finished in {folders}"
              f"{'; it is still at work' if left.alive else ''}")
        if left.alive:
            bad += 1
            continue
        if told := failures(left.states):
            print(told, file=sys.stderr)
        if finished < len(left.states):
            bad += 1
        collect(left)
    if bad:
        raise Verdict(1)
    print("All runs are there: python -m segcv.aggregate")


def left_in(settings: SweepCommand) -> list[Left]:
    """The sweeps that have not been collected."""
    from segcv.launching import left_sweeps

    found = left_sweeps(Path(settings.sweeps))
    if not found:
        raise RunError(f"{settings.sweeps}: there is no sweep that has not been collected. Start one: "
                       "python -m segcv.sweep action=submit fold=0,1,2,3,4")
    return found


def start() -> None:
    """The command; what is not its own goes to train as it was typed."""
    typed = sys.argv[1:]
    own = [entry for entry in typed if entry.startswith(OWN)]
    rest = [entry for entry in typed if entry not in own]
    launcher = [entry for entry in own if entry.startswith("hydra.launcher.")]
    quoted = ",".join('"' + entry.replace("\\", "\\\\").replace('"', '\\"') + '"' for entry in [*rest, *launcher])
    sys.argv[1:] = [entry for entry in own if entry not in launcher] + ([f"train=[{quoted}]"] if quoted else [])
    main()


if __name__ == "__main__":
    start()
