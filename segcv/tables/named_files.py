"""Files as a table names them: written on Windows, or with accents in another Unicode form, they are still found."""

from __future__ import annotations

import os
import unicodedata
import warnings
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from segcv.errors import SegcvWarning


def named_files(paths: Sequence[str], table: Path) -> list[str]:
    """The absolute path of each file that the table names, relative to its folder.

    A path is taken as it is written. Only where nothing lies there, `\\` is read as `/`, and a letter with its accent
    as one character or two, whichever the files have; a warning says so, once for a table. A path that still leads
    nowhere stays as it is, for whoever opens the file to refuse it.
    """
    folder = table.absolute().parent
    found: list[str] = []
    backslashes = forms = False
    for written in paths:
        path = os.path.normpath(folder / written)
        if ("\\" in written or not written.isascii()) and not Path(path).exists():
            slashed = Path(os.path.normpath(folder / written.replace("\\", "/")))
            there = _there(slashed)
            if there is not None:
                backslashes, forms = backslashes or there == slashed, forms or there != slashed
                path = str(there)
        found.append(path)
    if backslashes:
        warnings.warn(f"{table}: paths are written with backslashes, as on Windows; they are read with '/'.",
                      SegcvWarning, stacklevel=3)
    if forms:
        warnings.warn(f"{table}: paths write accents in another Unicode form than the names of the files; they look "
                      "the same and are taken as the same.", SegcvWarning, stacklevel=3)
    return found


def _there(path: Path) -> Path | None:
    """The existing path whose parts equal those of `path` in their composed Unicode form."""
    if path.exists() or path == path.parent:
        return path
    parent = _there(path.parent)
    return None if parent is None else _composed(parent).get(unicodedata.normalize("NFC", path.name))


@lru_cache(maxsize=16)
def _composed(folder: Path) -> dict[str, Path]:
    """Composed name -> path in the folder, of names that are the same as no other when composed."""
    names: dict[str, list[Path]] = {}
    for path in folder.iterdir() if folder.is_dir() else ():
        names.setdefault(unicodedata.normalize("NFC", path.name), []).append(path)
    return {name: paths[0] for name, paths in names.items() if len(paths) == 1}
