"""Running a program: its output is kept, and its failure said with its last lines."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from segcv.errors import ConfigError, TrainingError
from segcv.launching import last_lines, run_alone

SHOWN = 10


def run_program(words: Sequence[str], *, log: Path, say: Callable[[str], None]) -> None:
    """Run the program to its end; its output goes to `log` and to `say`.

    Raises:
        ConfigError: there is no such program.
        TrainingError: it failed; with its last lines.
    """
    if shutil.which(words[0]) is None:
        raise ConfigError(f"trainer.command: there is no program {words[0]} here. Give its full path, or start it by "
                          "its interpreter: python their_train.py ...")
    ending = run_alone(words, log=log, say=say)
    if ending.code != 0:
        lines = "".join(f"\n  {line}" for line in last_lines(log, lines=SHOWN)) or " nothing."
        raise TrainingError(f"trainer.command failed ({ending.reason}). It said:{lines}\nAll it said is in {log}. The "
                            "same command starts it again, with what it left in {out}.")
