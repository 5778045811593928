"""Locks that end with their process, hold between the machines of a cluster, and say who holds them."""

from __future__ import annotations

import json
import os
import shlex
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

from segcv.errors import RunError

RENEWED_S = 5.0          # how often a holder renews its note
ORPHANS_S = 10.0         # data processes of a killed process hold its lock until they notice
DEAD_S = 30.0            # a note of another machine that stays as it is for so long was left by a dead process


@contextmanager
def held(path: Path, *, what: str, wait: bool = False) -> Iterator[None]:
    """A block in which no other process, on this or another machine, is in a block over the same `path`.

    Two locks in one. The system's own ends with the process, however it ends, but some network file systems keep it to
    one machine. So the holder also leaves a note beside it, `path`.owner, and renews it: a note of another machine
    that is being renewed means a living holder there. No clocks are compared.

    Raises:
        RunError: another process is in the block, and `wait` is false; the message says which.
    """
    from filelock import FileLock, Timeout  # loaded with the first lock: tables are read without it

    path.parent.mkdir(parents=True, exist_ok=True)
    note = path.with_name(f"{path.name}.owner")
    lock = FileLock(path)
    try:
        with suppress(NotImplementedError):          # no such locks on this file system: the note must do
            lock.acquire(timeout=-1 if wait else ORPHANS_S if _died_here(note) else 0)
        mine = _claim(note, locked=lock.is_locked, wait=wait)
    except (Timeout, FileExistsError) as error:
        lock.release()
        raise RunError(f"{what} is being made by another process{owner(path)}. Wait for it, or end it "
                       "there.") from error
    ended = threading.Event()
    renewing = threading.Thread(target=_renew, args=(note, mine, ended), daemon=True)
    renewing.start()
    try:
        yield
    finally:
        ended.set()
        renewing.join()
        if _text(note).startswith(mine):
            note.unlink(missing_ok=True)
        lock.release()


def owner(path: Path) -> str:
    """Who holds the lock `path`, as ": process 12 on gpu03 since 14:02:11 (segcv.train fold=0)"; blank when unknown."""
    lines = _text(path.with_name(f"{path.name}.owner")).splitlines()
    return f": {json.loads(lines[0])['says']}" if lines else ""


def _claim(note: Path, *, locked: bool, wait: bool) -> str:
    """Write our note where there is none, or only one that a dead process left; its first line."""
    host, module = socket.gethostname(), getattr(sys.modules.get("__main__"), "__spec__", None)
    typed = " ".join([module.name if module else Path(sys.argv[0]).name, *map(shlex.quote, sys.argv[1:])])
    mine = json.dumps({"host": host, "pid": os.getpid(), "thread": threading.get_ident(), "says":
                       f"process {os.getpid()} on {host} since {datetime.now():%H:%M:%S} ({typed[:200]})"})
    while True:
        try:
            with note.open("x", encoding="utf-8") as file:
                file.write(f"{mine}\n")
            return mine
        except FileExistsError:
            if _is_alive(note, host=host, locked=locked):
                if not wait:
                    raise
                continue
            left = note.with_name(f".{note.name}-{host}-{os.getpid()}")
            with suppress(FileNotFoundError):        # of several that wait, one moves it away
                note.rename(left)
                left.unlink()


def _is_alive(note: Path, *, host: str, locked: bool) -> bool:
    """Is the process that left the note at work? On this machine our having the lock says no; elsewhere, watch."""
    before, started = _text(note), time.monotonic()
    with suppress(ValueError, IndexError):
        if locked and json.loads(before.splitlines()[0])["host"] == host:
            return False
    while time.monotonic() - started < DEAD_S:
        time.sleep(RENEWED_S / 10)
        if (now := _text(note)) != before:
            return bool(now)
    return False


def _died_here(note: Path) -> bool:
    """Was the note left by a process of this machine that is no more?"""
    with suppress(ValueError, IndexError):
        told = json.loads(_text(note).splitlines()[0])
        if told["host"] == socket.gethostname():
            try:
                os.kill(told["pid"], 0)
            except ProcessLookupError:
                return True
            except PermissionError:
                return False
    return False


def _renew(note: Path, mine: str, ended: threading.Event) -> None:
    turn = 0
    while not ended.wait(RENEWED_S):
        turn += 1
        with suppress(OSError):                      # a file server that is away for a moment
            if _text(note).startswith(mine):
                note.write_text(f"{mine}\n{turn}\n", encoding="utf-8")


def _text(note: Path) -> str:
    try:
        return note.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
