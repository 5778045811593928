"""Files that are either the old version or the new one: write beside, then rename."""

from __future__ import annotations

import json
import math
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from segcv.errors import TableError
from segcv.tables.locks import held


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A path beside `path`, of the same suffix, to be written to; renamed over `path` when the block ends well.

    When the block raises, the partial file is removed and `path` is as it was.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-", suffix=path.suffix)
    os.close(handle)
    beside = Path(name)
    try:
        yield beside
        beside.chmod(0o666 & ~_umask())
        with beside.open("rb") as written:
            os.fsync(written.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def make_once(folder: Path, build: Callable[[Path], None]) -> bool:
    """Build `folder` with `build(temporary folder)` unless it is there; True if this call built it.

    Processes that ask at the same time wait for the first; none ever sees a folder that is half built.
    """
    if folder.is_dir():
        return False
    folder.parent.mkdir(parents=True, exist_ok=True)
    with held(folder.parent / f".{folder.name}.lock", what=f"{folder}", wait=True):
        if folder.is_dir():
            return False
        for left in folder.parent.glob(f".{folder.name}-*"):     # by a process that was killed; the lock is ours now
            shutil.rmtree(left, ignore_errors=True)
        beside = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}-"))
        try:
            build(beside)
            beside.chmod(0o777 & ~_umask())
            beside.rename(folder)
        finally:
            shutil.rmtree(beside, ignore_errors=True)
    return True


def write_text(path: Path, text: str) -> None:
    """Replace `path` by `text`, in UTF-8 with line feeds."""
    with replacing(path) as beside:
        beside.write_text(text, encoding="utf-8", newline="\n")


def write_json(path: Path, data: Any) -> None:
    """Replace `path` by `data` as JSON; undefined numbers (NaN) are written as null, keys keep their order."""
    write_text(path, json.dumps(_without_nan(data), indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def read_json(path: Path) -> Any:
    """What `write_json` wrote; TableError when the file is damaged."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise TableError(f"{path}: damaged, not a readable JSON file ({error}). Bring it back, or delete its "
                         "folder and make it again.") from error


def _without_nan(data: Any) -> Any:
    if isinstance(data, dict):
        return {str(key): _without_nan(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_without_nan(value) for value in data]
    if hasattr(data, "item") and getattr(data, "ndim", None) == 0:      # a numpy scalar
        data = data.item()
    if isinstance(data, float) and math.isnan(data):
        return None
    return data


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
