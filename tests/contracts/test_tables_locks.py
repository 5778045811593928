"""Locks between processes and, by the holder's note, between machines."""

from __future__ import annotations

import json
import multiprocessing
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from segcv.errors import RunError
from segcv.tables import held, locks, make_once, owner


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "RENEWED_S", 0.05)
    monkeypatch.setattr(locks, "DEAD_S", 0.5)


def hold(path: Path, ready: threading.Event, end: threading.Event) -> None:
    with held(path, what="x"):
        ready.set()
        end.wait()


def test_a_held_lock_is_refused_with_its_holder(tmp_path: Path):
    spawn = multiprocessing.get_context("spawn")
    ready, end = spawn.Event(), spawn.Event()
    process = spawn.Process(target=hold, args=(tmp_path / "lock", ready, end))
    process.start()
    ready.wait()
    words = f"the cell is being made by another process: process {process.pid} on "
    with pytest.raises(RunError, match=words), held(tmp_path / "lock", what="the cell"):
        pass
    process.kill()
    process.join()

    with held(tmp_path / "lock", what="the cell"):      # a killed holder leaves its note, and it does not count
        assert str(process.pid) not in owner(tmp_path / "lock")
    assert owner(tmp_path / "lock") == ""


def hold_with_a_child(path: Path, ready: threading.Event) -> None:
    with held(path, what="x"):
        if os.fork() == 0:          # as a data process: it has the lock's file open, and lives on for a moment
            time.sleep(1)
            os._exit(0)
        ready.set()
        time.sleep(60)


def test_the_lock_of_a_killed_process_is_had_once_its_children_are_gone(tmp_path: Path):
    spawn = multiprocessing.get_context("spawn")
    ready = spawn.Event()
    process = spawn.Process(target=hold_with_a_child, args=(tmp_path / "lock", ready))
    process.start()
    ready.wait()
    process.kill()
    process.join()

    with held(tmp_path / "lock", what="the cell"):
        assert f"process {os.getpid()} on " in owner(tmp_path / "lock")


def left_by_another_machine(path: Path) -> Path:
    note = path.with_name(f"{path.name}.owner")
    note.write_text(json.dumps({"host": "gpu03", "pid": 1, "says": "process 1 on gpu03"}) + "\n")
    return note


def test_a_note_of_another_machine_that_is_renewed_means_a_living_holder(tmp_path: Path):
    note, end = left_by_another_machine(tmp_path / "lock"), threading.Event()
    first = note.read_text()

    def renew() -> None:
        turn = 0
        while not end.wait(0.05):
            turn += 1
            note.write_text(f"{first}{turn}\n")

    renewing = threading.Thread(target=renew)
    renewing.start()
    try:
        with pytest.raises(RunError, match="process 1 on gpu03"), held(tmp_path / "lock", what="the cell"):
            pass
    finally:
        end.set()
        renewing.join()


def test_a_note_of_another_machine_that_stays_as_it_is_was_left_by_a_dead_process(tmp_path: Path):
    left_by_another_machine(tmp_path / "lock")
    with held(tmp_path / "lock", what="the cell"):
        assert "gpu03" not in owner(tmp_path / "lock")


def test_a_holder_renews_its_note_and_takes_it_away(tmp_path: Path):
    note = tmp_path / "lock.owner"
    with held(tmp_path / "lock", what="the cell"):
        before = note.read_text()
        deadline = time.monotonic() + 60
        while note.read_text() in (before, ""):
            assert time.monotonic() < deadline
            time.sleep(0.01)
    assert not note.exists()


def test_those_who_wait_go_one_after_another(tmp_path: Path):
    inside: list[int] = []

    def enter() -> None:
        with held(tmp_path / "lock", what="x", wait=True):
            inside.append(1)
            assert len(inside) == 1
            time.sleep(0.02)
            inside.pop()

    threads = [threading.Thread(target=enter) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert not inside and not any(thread.is_alive() for thread in threads)


def wait_for(condition: Callable[[], bool], *, seconds: float = 60) -> None:
    """Files are the signals here: a multiprocessing.Event stays locked when a process that waits for it is killed."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


def build(folder: Path, name: str) -> None:
    def fill(beside: Path) -> None:
        (beside / "first").touch()
        (folder.parent / f"began-{name}").touch()
        wait_for((folder.parent / "go").exists)
        (beside / "second").touch()

    if make_once(folder, fill):
        (folder.parent / f"made-{name}").touch()


def test_of_several_that_build_one_folder_the_next_takes_over_when_the_first_is_killed(tmp_path: Path):
    """The folder is not there until it is whole, it is built once, and nothing of the killed builder is left."""
    spawn = multiprocessing.get_context("spawn")
    builders = [spawn.Process(target=build, args=(tmp_path / "cache", str(number))) for number in range(3)]
    builders[0].start()
    wait_for((tmp_path / "began-0").exists)
    for builder in builders[1:]:
        builder.start()
    builders[0].kill()
    wait_for(lambda: len(list(tmp_path.glob("began-*"))) == 2)
    assert not (tmp_path / "cache").exists()
    (tmp_path / "go").touch()
    for builder in builders:
        builder.join(60)

    assert [builder.exitcode for builder in builders] == [-9, 0, 0]
    assert sorted(path.name for path in (tmp_path / "cache").iterdir()) == ["first", "second"]
    assert len(list(tmp_path.glob("made-*"))) == 1
    assert not list(tmp_path.glob(".cache-*"))
