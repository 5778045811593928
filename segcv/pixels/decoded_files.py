"""Files of decoded pictures: raw pixels one after the other, and a table of what lies where; mapped, not read.

A pair of files appears whole or not at all. Nothing in them is trusted before it was checked: the table by its
fingerprint, the pixels by their number and their sums.
"""

from __future__ import annotations

import json
import mmap
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segcv.tables import fingerprint

FORMAT = [1, sys.byteorder]
PIXELS, TABLE = ".pixels", ".json"
_ALIGNED = 64                        # bytes

Paths = tuple[str, str]              # of an image and its mask


@dataclass(frozen=True, slots=True)
class Place:
    """Where an array lies in a file of pixels, and the sum of its bytes."""

    at: int                          # byte
    shape: tuple[int, ...]
    dtype: str
    sum: str

    def of(self, pixels: NDArray[np.uint8]) -> NDArray[Any]:
        """The array, a view of the file's bytes that cannot be written to."""
        kind = np.dtype(self.dtype)
        return pixels[self.at:self.at + int(np.prod(self.shape)) * kind.itemsize].view(kind).reshape(self.shape)


@dataclass(frozen=True, slots=True)
class Kept:
    """One image with its truth as they were decoded, or the reason why they are not kept."""

    states: tuple[str, str]          # "size:time of change" of the two files when they were read
    image: Place | None = None
    truth: Place | None = None
    because: str = ""                # not kept because


@dataclass(frozen=True, slots=True)
class Shard:
    """One pair of files, with what it keeps."""

    pixels: Path
    bytes: int
    kept: dict[Paths, Kept]

    def whole(self) -> bool:
        """Has the file of pixels the size that it was written with?"""
        return size_of(self.pixels) == self.bytes


class Writer:
    """A new shard, written by several threads at once; `finished` gives it its name."""

    def __init__(self, folder: Path, *, room: int) -> None:
        self.folder, self.room, self.bytes, self.full = folder, room, 0, False
        self.kept: dict[Paths, Kept] = {}
        self._beside = folder / f".new-{os.getpid()}{PIXELS}"
        self._file = os.open(self._beside, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o666)
        self._lock = threading.Lock()

    def add(self, paths: Paths, states: tuple[str, str], image: NDArray[Any], truth: NDArray[Any]) -> None:
        """Keep a decoded pair, if there is room for it."""
        arrays = [np.ascontiguousarray(array) for array in (image, truth)]
        sums = [sum_of(array.reshape(-1).view(np.uint8)) for array in arrays]
        first = -(-arrays[0].nbytes // _ALIGNED) * _ALIGNED
        with self._lock:
            at, after = self.bytes, self.bytes + first + -(-arrays[1].nbytes // _ALIGNED) * _ALIGNED
            if self.full or after > self.room:
                self.full = True
                return
            self.bytes = after
        for array, where in zip(arrays, (at, at + first), strict=True):
            _write(self._file, array, where)
        here, there = (Place(where, array.shape, array.dtype.name, total)
                       for array, where, total in zip(arrays, (at, at + first), sums, strict=True))
        self.kept[paths] = Kept(states, here, there)

    def finished(self) -> Shard | None:
        """The shard under its own name; None where nothing was added to it."""
        os.ftruncate(self._file, self.bytes)
        if not self.kept:
            return None
        rows = _rows(self.kept)
        name = fingerprint([FORMAT, rows, self.bytes])
        pixels = self.folder / f"{name}{PIXELS}"
        self._beside.replace(pixels)
        table = self._beside.with_suffix(TABLE)        # nothing is forced to disk: what a crash tears, its sums tell
        table.write_text(json.dumps({"bytes": self.bytes, "rows": rows}), encoding="utf-8")
        table.replace(pixels.with_suffix(TABLE))
        return Shard(pixels, self.bytes, self.kept)

    def close(self) -> None:
        """Leave nothing behind but what was finished."""
        os.close(self._file)
        self._beside.unlink(missing_ok=True)


def shards_in(folder: Path) -> Iterator[Shard]:
    """The shards in a folder whose table is undamaged; their pixels are still to be checked."""
    for table in sorted(folder.glob(f"*{TABLE}")):
        with suppress(ValueError, KeyError, TypeError, OSError):
            told = json.loads(table.read_text(encoding="utf-8"))
            if table.stem == fingerprint([FORMAT, told["rows"], told["bytes"]]):
                yield Shard(table.with_suffix(PIXELS), told["bytes"], dict(map(_from_row, told["rows"])))


def remove_all_but(folder: Path, shards: list[Shard]) -> None:
    """Remove whatever lies in the folder and belongs to no shard of these: damaged, outdated, or left half-written."""
    good = {shard.pixels.stem for shard in shards}
    for file in [*folder.glob(f"*{TABLE}"), *folder.glob(f"*{PIXELS}"), *folder.glob(f".new-*{PIXELS}")]:
        if file.stem not in good:
            file.unlink(missing_ok=True)


def mapped(path: Path) -> NDArray[np.uint8]:
    """The bytes of a file as an array that is read where it is looked at; its memory is shared between processes."""
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8) if size else (
            np.zeros(0, np.uint8))


def size_of(path: Path) -> int:
    """Bytes of a file; -1 where there is none, or none any more."""
    try:
        return path.stat().st_size
    except OSError:
        return -1


def sum_of(data: NDArray[np.uint8]) -> str:
    """Sum of bytes taken as 64-bit numbers: finds what was never written or was cut off, at the speed of memory."""
    whole = len(data) // 8 * 8
    total = int(data[:whole].view(np.uint64).sum(dtype=np.uint64))
    return f"{(total + int.from_bytes(data[whole:].tobytes(), 'little')) % 2**64:x}"


def _write(file: int, array: NDArray[Any], at: int) -> None:
    left = array.reshape(-1).view(np.uint8).data
    while left.nbytes:
        done = os.pwrite(file, left, at)
        left, at = left[done:], at + done


def _rows(kept: dict[Paths, Kept]) -> list[list[Any]]:
    places = [(paths, one, [[place.at, list(place.shape), place.dtype, place.sum] if place else None
                            for place in (one.image, one.truth)]) for paths, one in sorted(kept.items())]
    return [[list(paths), list(one.states), *two, one.because] for paths, one, two in places]


def _from_row(row: list[Any]) -> tuple[Paths, Kept]:
    (image_path, mask_path), (image, mask), *places, because = row
    two = [None if place is None else Place(place[0], tuple(place[1]), place[2], place[3]) for place in places]
    return (image_path, mask_path), Kept((image, mask), two[0], two[1], because)
