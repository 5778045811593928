"""Names that follow from content: fingerprints of data and settings, and independent streams of chance."""

from __future__ import annotations

import json
from collections.abc import Iterable
from hashlib import blake2b, file_digest
from pathlib import Path
from typing import Any


def fingerprint(parts: Iterable[Any], *, length: int = 12) -> str:
    """Hexadecimal name of `length` digits for a sequence of JSON-like parts, the same on every machine.

    The order of the parts counts; sort what has no order.

    >>> fingerprint(["a", 1]) == fingerprint(["a", 1]) != fingerprint([1, "a"])
    True
    """
    digest = blake2b(digest_size=32)
    for part in parts:
        digest.update(json.dumps(part, sort_keys=True, ensure_ascii=False, allow_nan=False).encode())
        digest.update(b"\x00")
    return digest.hexdigest()[:length]


def file_id(path: Path, *, length: int = 16) -> str:
    """Hexadecimal name of `length` digits for the bytes of a file, wherever it lies.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        return file_digest(file, lambda: blake2b(digest_size=32)).hexdigest()[:length]


def stream(*names: str | int) -> int:
    """Seed in [0, 2**63) of the stream of chance called `names`; other names give independent streams.

    No arithmetic on seeds: seed 1 of repeat 0 and seed 0 of repeat 1 share nothing.

    >>> stream(0, "order", 3) == stream("0", "order", "3") != stream(0, "order", 4)
    True
    """
    digest = blake2b("/".join(map(str, names)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1
