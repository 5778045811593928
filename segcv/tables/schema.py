"""One description per table: which columns it has, what they hold, what makes a row unique."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
from pyarrow import ArrowException

from segcv.errors import TableError
from segcv.tables.files import replacing

Kind = Literal["text", "integer", "number", "flag"]
SHOWN = 3        # bad rows named in a message


@dataclass(frozen=True, slots=True)
class Column:
    """A column: `text` (blank = ""), `integer` (int64), `number` (float64, undefined = NaN) or `flag` (true, false)."""

    name: str
    kind: Kind = "text"
    required: bool = True
    blank: bool = False        # may a text be blank, a number undefined?


@dataclass(frozen=True, slots=True)
class Schema:
    """The shape of one table. Columns that are not named here are kept when `extra`, refused otherwise."""

    name: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    extra: bool = False

    def check(self, frame: pd.DataFrame, *, where: str) -> pd.DataFrame:
        """A typed copy of `frame`, named columns first, index 0..n-1; `where` names the table in messages.

        Raises:
            TableError: a column is missing or unknown, a value has the wrong kind or is blank, a key repeats.
        """
        found = [str(name) for name in frame.columns]
        missing = [column.name for column in self.columns if column.required and column.name not in found]
        if missing:
            raise TableError(f"{where}: column {missing[0]} is missing from the {self.name} table; "
                             f"it has {', '.join(found) or 'no column'}.")
        named = [column.name for column in self.columns]
        others = [name for name in found if name not in named]
        if others and not self.extra:
            raise TableError(f"{where}: column {others[0]} does not belong to the {self.name} table, "
                             f"whose columns are {', '.join(named)}.")
        typed = {column.name: self._typed(frame[column.name], column, where)
                 for column in self.columns if column.name in found}
        typed |= {name: frame[name].reset_index(drop=True) for name in others}
        table = pd.DataFrame(typed)
        self._refuse_repeats(table, where)
        return table

    def read(self, path: Path) -> pd.DataFrame:
        """The checked table in `path` (.csv or .parquet); TableError when it is missing or damaged."""
        if not path.is_file():
            raise TableError(f"{path}: there is no such file ({self.name} table).")
        if path.suffix == ".csv":
            return self.check(read_csv(path), where=str(path))
        try:
            frame = pd.read_parquet(path)
        except (ArrowException, OSError) as error:
            raise TableError(f"{path}: damaged, not a readable Parquet file ({self.name} table). "
                             "Bring it back, or delete its folder and make it again.") from error
        return self.check(frame, where=str(path))

    def write(self, frame: pd.DataFrame, path: Path) -> None:
        """Check `frame` and replace `path` (.csv or .parquet) by it."""
        table = self.check(frame, where=f"{self.name} table to be written")
        with replacing(path) as beside:
            if path.suffix == ".csv":
                table.to_csv(beside, index=False, lineterminator="\n")
            else:
                table.to_parquet(beside, index=False)

    def empty(self) -> pd.DataFrame:
        """The table without rows."""
        return self.check(pd.DataFrame({column.name: [] for column in self.columns}), where=self.name)

    def _typed(self, values: pd.Series, column: Column, where: str) -> pd.Series:
        values = values.reset_index(drop=True)
        if column.kind == "integer" and pd.api.types.is_integer_dtype(values) and not values.hasnans:
            return values.astype("int64")
        text = values.astype("str").fillna("") if column.kind == "text" else values
        if column.kind == "text":
            number = pd.Series(dtype=float)
            bad = text.eq("") if not column.blank else pd.Series(False, index=text.index)
            what = "is blank"
        else:
            number = pd.to_numeric(values.replace({"": None, "True": 1, "False": 0}), errors="coerce").astype(float)
            bad = (values.notna() & values.ne("") & number.isna()) | (number.isna() & (not column.blank))
            what = f"is not {'true or false' if column.kind == 'flag' else 'a number'}"
            if column.kind == "integer":
                bad |= number.notna() & (number % 1 != 0)
                what = "is not a whole number"
        if bad.any():
            rows = np.flatnonzero(bad.to_numpy())
            shown = ", ".join(f"row {row + 1}: {values.iloc[row]!r}" for row in rows[:SHOWN])
            raise TableError(f"{where}: {column.name} {what} in {len(rows)} of {len(values)} rows ({shown}).")
        if column.kind == "text":
            return text
        if column.kind == "integer":
            exact = values if pd.api.types.is_integer_dtype(values) else number
            return exact.astype("int64")
        return number.astype(bool) if column.kind == "flag" else number

    def _refuse_repeats(self, table: pd.DataFrame, where: str) -> None:
        if not self.key:
            return
        repeated = table.duplicated(list(self.key), keep=False)
        if repeated.any():
            first = table.loc[repeated, list(self.key)].iloc[0].to_dict()
            rows = int((table[list(self.key)] == pd.Series(first)).all(axis=1).sum())
            place = " ".join(f"{name}={value}" for name, value in first.items())
            raise TableError(f"{where}: {place} is listed {rows} times, and must be there once in the {self.name} "
                             "table. Keep one of the rows.")


def read_csv(path: Path) -> pd.DataFrame:
    """Every cell of a CSV file as text, exactly as written: "007" stays "007", NA is a name, blanks are "".

    Raises:
        TableError: the file is not UTF-8, is empty, names a column twice, or a line has more cells than the header.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            _refuse_twins(next((line for line in csv.reader(file) if line), []), path)
        frame = pd.read_csv(path, dtype="str", keep_default_na=False, encoding="utf-8-sig", index_col=False,
                            skipinitialspace=True)
    except UnicodeDecodeError as error:
        raise TableError(f"{path}: not a UTF-8 text (byte {error.start}). Save the table as CSV UTF-8.") from error
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise TableError(f"{path}: not a readable CSV: {error}") from error
    frame.columns = frame.columns.str.strip()
    return frame


def _refuse_twins(header: list[str], path: Path) -> None:
    names = [name.strip() for name in header if name.strip()]
    twins = sorted({name for name in names if names.count(name) > 1})
    if twins:
        raise TableError(f"{path}: the header names {', '.join(twins)} more than once. Which column counts? Rename or "
                         "delete the other.")
