"""What was seen in the files of a data set, kept so that the next look at unchanged files costs nothing."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from segcv.pixels.files import content_hash
from segcv.pixels.landmarks import MARK
from segcv.pixels.looks import Look
from segcv.pixels.phash import SIDE
from segcv.pixels.phash import VERSION as LOOKS
from segcv.pixels.seen_pair import SeenPair, state_of
from segcv.tables import fingerprint, replacing

VERSION = 1                          # of what is seen in a pair of files, and of how it is kept
_DIGEST = 32                         # bytes before the table, which name its content
_ARRAYS: dict[str, Any] = {"thumbnail": np.uint8, "blocks": MARK, "landmarks": MARK, "counts": np.int64,
                           "brightness": np.float64}

Pair = tuple[str, str]               # paths of image and mask


class ProfileCache:
    """Pairs seen with one way of looking, by the paths of their files; a file that cannot be read is made anew.

    A pair is as it was when size, times and place on the disk of both files are, or else their contents.
    """

    def __init__(self, folder: Path, way: Mapping[str, Any], paths: Iterable[str]) -> None:
        """`way`: all that decides what is seen, as plain data; `paths`: of the files of the data set."""
        common = os.path.commonpath([str(Path(path).parent) for path in paths])
        self._file = folder / f"{fingerprint([VERSION, LOOKS, dict(way), common])}.seen"
        self._kept = _read(self._file)
        self._new: dict[Pair, dict[str, Any]] = {}

    def get(self, image_id: str, image_path: str, mask_path: str) -> SeenPair | None:
        """What was seen in this pair of files; None when it never was, or they have changed."""
        row = self._kept.get((image_path, mask_path))
        if row is None:
            return None
        for kind, path in (("image", Path(image_path)), ("mask", Path(mask_path))):
            try:
                same = _place(path) == row[f"{kind}_place"]
                if not same and content_hash(path.read_bytes()) != json.loads(row["facts"])[f"{kind}_hash"]:
                    return None
            except OSError:
                return None
        facts = json.loads(row["facts"]) | {"image_id": image_id, "image_state": state_of(Path(image_path)),
                                            "mask_state": state_of(Path(mask_path))}
        arrays = {name: np.frombuffer(row[name], kind) for name, kind in _ARRAYS.items()}
        seen = Look(int(row["phash"]), bool(row["flat"]), arrays["thumbnail"].reshape(SIDE, SIDE), arrays["blocks"],
                    arrays["landmarks"])
        marker = float(row["marker"])
        return SeenPair(facts, seen, arrays["counts"], int(row["ignored"]), arrays["brightness"], bool(row["rounded"]),
                        None if np.isnan(marker) else marker, int(row["not_finite"]))

    def put(self, pair: Pair, places: tuple[str, str], seen: SeenPair) -> None:
        """Keep what was seen in a pair of files, whose `places_of` were these before they were read."""
        self._new[pair] = _row(pair, places, seen)

    def save(self) -> None:
        """Write what is new, beside what is kept; nothing when nothing is."""
        if not self._new:
            return
        rows = self._kept | self._new
        data = io.BytesIO()
        pd.DataFrame(list(rows.values())).to_parquet(data, index=False, compression="zstd")
        content = data.getvalue()
        with replacing(self._file) as beside:
            beside.write_bytes(blake2b(content, digest_size=_DIGEST).digest() + content)


def places_of(image_path: Path, mask_path: Path) -> tuple[str, str]:
    """What tells that two files are as they were; blank for files that are not there."""
    return _place(image_path), _place(mask_path)


def _row(pair: Pair, places: tuple[str, str], seen: SeenPair) -> dict[str, Any]:
    arrays = {"thumbnail": seen.look.thumbnail, "blocks": seen.look.blocks, "landmarks": seen.look.landmarks,
              "counts": seen.counts, "brightness": seen.brightness}
    return {
        "image_path": pair[0], "mask_path": pair[1], "image_place": places[0], "mask_place": places[1],
        "facts": json.dumps(seen.facts), "phash": np.uint64(seen.look.phash),
        "flat": bool(seen.look.flat), "ignored": int(seen.ignored), "rounded": bool(seen.rounded),
        "marker": float("nan") if seen.marker is None else float(seen.marker), "not_finite": int(seen.not_finite),
        **{name: np.asarray(array, _ARRAYS[name]).tobytes() for name, array in arrays.items()},
    }


def _read(path: Path) -> dict[Pair, dict[str, Any]]:
    """The rows kept in a file; none when there is none, or it was damaged."""
    try:
        data = path.read_bytes()
    except OSError:
        return {}
    content = data[_DIGEST:]
    if blake2b(content, digest_size=_DIGEST).digest() != data[:_DIGEST]:
        return {}
    rows = pd.read_parquet(io.BytesIO(content)).to_dict("records")
    return {(row["image_path"], row["mask_path"]): row for row in rows}      # type: ignore[misc]


def _place(path: Path) -> str:
    """Size, times of change of content and of entry, and number on the disk of a file; blank where there is none."""
    try:
        found = path.stat()
    except OSError:
        return ""
    return f"{found.st_size}:{found.st_mtime_ns}:{found.st_ctime_ns}:{found.st_ino}"
