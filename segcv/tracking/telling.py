"""Telling all trackers of a run, none of which may harm it."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from segcv.errors import SegcvWarning
from segcv.tracking.choosing import TRACKERS, About, Picture, Tracker


class Tell:
    """Hands numbers and pictures on to every tracker. One that fails is warned of and left out from then on."""

    def __init__(self, trackers: Mapping[str, Tracker]) -> None:
        self._trackers = dict(trackers)

    @property
    def listens(self) -> bool:
        """Is anybody there to be told?"""
        return bool(self._trackers)

    def numbers(self, values: Mapping[str, float], *, step: int) -> None:
        """Numbers by name at a step; undefined ones (NaN) are left out."""
        defined = {name: float(value) for name, value in values.items() if math.isfinite(value)}
        if defined:
            self._each(lambda tracker: tracker.numbers(defined, step=step))

    def pictures(self, pictures: Mapping[str, Picture], *, step: int) -> None:
        """Pictures by name at a step."""
        self._each(lambda tracker: tracker.pictures(pictures, step=step))

    def close(self, *, failed: bool) -> None:
        """The run has ended."""
        self._each(lambda tracker: tracker.close(failed=failed))

    def _each(self, call: Callable[[Tracker], None]) -> None:
        for name, tracker in list(self._trackers.items()):
            try:
                call(tracker)
            except Exception as error:       # whatever its library raises: a run is worth more than its curves
                del self._trackers[name]
                _warn(name, error)


@contextmanager
def tracked(names: Sequence[str], *, folder: Path, runs: Path, run_id: str,
            settings: Mapping[str, Any]) -> Iterator[Tell]:
    """A block in which the run that fills `folder` is told of, a new one or one that goes on."""
    about, opened = About(folder, runs, run_id, settings), {}
    for name in names:
        try:
            opened[name] = TRACKERS[name].open(about)
        except Exception as error:
            _warn(name, error)
    tell = Tell(opened)
    try:
        yield tell
    except BaseException:
        tell.close(failed=True)
        raise
    tell.close(failed=False)


def _warn(name: str, error: Exception) -> None:
    said = str(error).splitlines()[0] if str(error) else type(error).__name__
    warnings.warn(f"The tracker {name} failed and is left out from here on ({said[:300]}). The run itself goes on.",
                  SegcvWarning, stacklevel=2)
