"""Runs one command so that nothing of it outlives whoever asked. A program of its own, standard library only.

    python supervise.py LOG COMMAND...

The command gets a process group of its own and writes to LOG. Its exit code is ours, 128 + n when signal n killed it.
When our standard input ends (whoever started us has died, however) or we are told to end, its group gets SIGTERM and,
2 s later, SIGKILL. What it leaves behind in its group when it ends by itself is killed too.
"""

import contextlib
import ctypes
import os
import select
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

GRACE_S = 2.0
PR_SET_PDEATHSIG = 1


def main(log: Path, command: list[str]) -> int:
    """Run the command; its exit code."""
    wake, poke = os.pipe()
    os.set_blocking(poke, False)
    signal.set_wakeup_fd(poke)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(number, lambda *_: None)
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab", buffering=0) as file:
        gpus = os.environ.get("CUDA_VISIBLE_DEVICES", "-")
        file.write(f"# started {time.strftime('%Y-%m-%d %H:%M:%S')} host={socket.gethostname()} "
                   f"CUDA_VISIBLE_DEVICES={gpus} command={' '.join(command)}\n".encode())
        try:
            child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT,
                                     start_new_session=True, preexec_fn=_die_with_parent)
        except OSError as error:
            file.write(f"cannot start {command[0]}: {error}\n".encode())
            return 127
    watched = [wake, 0]
    while child.poll() is None:
        ready = select.select(watched, [], [], 60.0)[0]
        signals = os.read(wake, 64) if wake in ready else b""
        orphaned = 0 in ready and not os.read(0, 64)
        if orphaned or any(number != signal.SIGCHLD for number in signals):
            _end(child)
    _signal_group(child.pid, signal.SIGKILL)
    return child.returncode if child.returncode >= 0 else 128 - child.returncode


def _end(child: subprocess.Popen[bytes]) -> None:
    """SIGTERM, some grace, SIGKILL: the whole group."""
    _signal_group(child.pid, signal.SIGTERM)
    deadline = time.monotonic() + GRACE_S
    while child.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    _signal_group(child.pid, signal.SIGKILL)
    child.wait()


def _signal_group(group: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def _die_with_parent() -> None:
    """On Linux the kernel kills the command when this process is killed itself."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
