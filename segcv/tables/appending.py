"""Tables too long to be held: written part by part, in order, to a file that appears when it is whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
import pyarrow as pa
from pyarrow import parquet

from segcv.tables.files import replacing
from segcv.tables.schema import Schema


@contextmanager
def appending(schema: Schema, path: Path) -> Iterator[Callable[[pd.DataFrame], None]]:
    """A function that checks a frame and adds its rows to the Parquet file `path`, replaced when the block ends well.

    Keys are checked within a frame only: hand in rows in the order of the key.
    """
    with replacing(path) as beside:
        writer: parquet.ParquetWriter | None = None

        def add(frame: pd.DataFrame) -> None:
            nonlocal writer
            rows = pa.Table.from_pandas(schema.check(frame, where=f"{schema.name} table to be written"),
                                        preserve_index=False)
            if writer is None:
                writer = parquet.ParquetWriter(beside, rows.schema)
            writer.write_table(rows)

        try:
            yield add
            if writer is None:
                add(schema.empty())
        finally:
            if writer is not None:
                writer.close()
