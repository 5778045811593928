"""Files with the same content under different names."""

from __future__ import annotations

from collections.abc import Iterator

from segcv.leakage.copies import content_codes, copies
from segcv.leakage.facts import Facts
from segcv.leakage.finding import FAIL, Finding

NAME = "same_bytes"


def find(facts: Facts) -> Iterator[Finding]:
    """Fail for files of equal bytes across sides; flat pictures are left out, they are equal by nature."""
    code = content_codes(facts, "image_hash")
    yield from copies(facts, code, check=NAME, what="an identical file", severity=FAIL, evidence="equal file hashes")
