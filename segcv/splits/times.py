"""When an image was taken: dates are read as dates, and nothing else is taken for one."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from segcv.errors import SplitError

SHOWN = 3
_WRITTEN = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})(?:[ T](\d{1,2}):(\d{2})(?::(\d{2})(?:\.(\d{1,6}))?)?)?")


def times_of(images: pd.DataFrame, column: str) -> NDArray[np.datetime64]:
    """The time of each image, in microseconds, from a column of year-month-day, maybe with hour:minute[:second].

    Zeros in front of month, day and hour may be missing: as dates 2023-1-10 comes after 2023-01-02, as text before.
    A date without a clock time is the start of that day.

    Raises:
        SplitError: there is no such column, or a cell is anything else; the rows are named.
    """
    if column not in images.columns:
        raise SplitError(f"there is no column {column!r} with the time of each image; the table has "
                         f"{', '.join(images.columns)}. Type split.time_column=NAME.")
    found = np.empty(len(images), "datetime64[us]")
    bad: list[str] = []
    for row, (image_id, text) in enumerate(zip(images["image_id"], images[column].astype("str"), strict=True)):
        time = _time(text.strip())
        if time is None:
            bad.append(f"{image_id}: {text!r}")
        else:
            found[row] = time
    if bad:
        raise SplitError(f"{column} is not a date in {len(bad)} of {len(images)} rows ({'; '.join(bad[:SHOWN])}). "
                         "Write year-month-day, such as 2023-04-30, or 2023-04-30 14:05: other orders can be misread.")
    return found


def times_text(times: NDArray[np.datetime64]) -> list[str]:
    """The times in one full form that sorts as text does: 2023-01-10T00:00:00.000000."""
    return [str(text) for text in np.datetime_as_string(times, unit="us")]


def _time(text: str) -> np.datetime64 | None:
    match = _WRITTEN.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute, second, part = match.groups()
    clock = f"{int(hour or 0):02d}:{minute or '00'}:{second or '00'}.{(part or '').ljust(6, '0')}"
    try:
        return np.datetime64(f"{year}-{int(month):02d}-{int(day):02d}T{clock}", "us")
    except ValueError:                # month 13, the 31st of June, 25 o'clock
        return None
