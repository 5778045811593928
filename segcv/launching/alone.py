"""One command on its own: awaited, heard, and ended with whoever started it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from segcv.launching.jobs import HEADER, SUPERVISE, Ending

PAUSE_S = 0.1


def run_alone(command: Sequence[str], *, log: Path, say: Callable[[str], None]) -> Ending:
    """How the command ended. Its output is added to `log`, and `say` is given each part of it as it comes.

    It has a process group of its own, which ends when this process does, however that is, or when the wait is
    interrupted.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    log.touch()
    start = [sys.executable, "-I", "-S", str(SUPERVISE), str(log.absolute()), *command]
    process = subprocess.Popen(start, stdin=subprocess.PIPE, start_new_session=True)
    assert process.stdin is not None
    with log.open(encoding="utf-8", errors="replace", newline="") as heard:
        heard.seek(0, 2)
        try:
            ended = False
            while not ended:
                try:
                    process.wait(PAUSE_S)
                    ended = True
                except subprocess.TimeoutExpired:
                    pass
                if text := heard.read():
                    begins = text.startswith(HEADER)             # the supervisor's own line
                    say(text.partition("\n")[2] if begins else text)
        finally:
            process.stdin.close()            # the supervisor sees the end of its input and ends the group
            process.wait()
    return Ending(process.returncode if process.returncode >= 0 else 128 - process.returncode)
