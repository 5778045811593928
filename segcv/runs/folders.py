"""Run folders: claimed by one process, filled beside their place, renamed when whole."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from segcv.errors import RunError
from segcv.runs.record import FAILED, FINISHED, RECORD, RunKey, RunRecord
from segcv.tables import held, read_json, write_json

FAILURE = "failure.json"
THEIRS = "program"              # in a run's folder: what another program keeps there; nothing of it is touched


def finished_folder(runs: Path, key: RunKey) -> Path | None:
    """The folder of the finished run, or None."""
    folder = runs / key.run_id
    return folder if (folder / RECORD).is_file() else None


def working_folder(runs: Path, key: RunKey) -> Path:
    """Where the run's files lie until it is finished."""
    place = runs / key.run_id
    return place.with_name(f".{place.name}.unfinished")


@contextmanager
def claimed(runs: Path, key: RunKey) -> Iterator[Path]:
    """The working folder of a run that is not finished, held by this process alone.

    What an earlier, killed process finished in it (a checkpoint) is still there. When the block ends well the folder,
    which must hold its record by then, is renamed to its place; when it raises, the reason is written beside.

    Raises:
        RunError: another process works on the same run.
    """
    place, working = runs / key.run_id, working_folder(runs, key)
    with held(place.with_name(f".{place.name}.lock"), what=f"{place}"):
        if (place / RECORD).is_file():
            raise RunError(f"{place} has just been finished by another process; there is nothing left to do.")
        working.mkdir(exist_ok=True)
        for left in working.rglob(".*"):                          # half-written files of a process that was killed
            if left.is_file() and working / THEIRS not in left.parents:
                left.unlink()
        try:
            (working / FAILURE).unlink(missing_ok=True)
            yield working
            RunRecord.read(working)
            working.rename(place)
        except Exception as error:
            write_json(working / FAILURE, {"run_id": key.run_id, "status": FAILED, "error": f"{error}",
                                           "traceback": traceback.format_exc()})
            raise


def find_runs(runs: Path) -> list[RunRecord]:
    """The records of all finished runs below `runs`, by run_id."""
    records = [RunRecord.read(path.parent) for path in runs.glob(f"*/repeat-*/fold-*/seed-*/{RECORD}")]
    for record in records:
        key = RunKey(record.candidate, record.config_id, record.repeat, record.fold, record.seed)
        if record.run_id != key.run_id or not (runs / key.run_id / RECORD).is_file():
            raise RunError(f"{runs}: the record of {record.run_id} lies in another run's folder, or was changed. "
                           "Delete that folder and run it again.")
    return sorted((record for record in records if record.status == FINISHED), key=lambda record: record.run_id)


def find_failures(runs: Path) -> dict[str, str]:
    """run_id -> reason of the runs below `runs` whose last try failed."""
    found = (read_json(path) for path in sorted(runs.glob(f"*/repeat-*/fold-*/.seed-*.unfinished/{FAILURE}")))
    return {failure["run_id"]: failure["error"] for failure in found}
