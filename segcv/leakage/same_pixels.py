"""Pictures with the same pixels in files of different bytes: another format, compression or header."""

from __future__ import annotations

from collections.abc import Iterator

from segcv.leakage.copies import content_codes, copies
from segcv.leakage.facts import Facts
from segcv.leakage.finding import FAIL, Finding

NAME = "same_pixels"


def find(facts: Facts) -> Iterator[Finding]:
    """Fail for equal decoded pixels across sides where the files differ."""
    assert facts.profile is not None
    if "pixels_hash" in facts.profile.columns:
        code = content_codes(facts, "pixels_hash", without="image_hash")
        yield from copies(facts, code, check=NAME, what="the same pixels in another file", severity=FAIL,
                          evidence="equal hashes of the decoded pixels")
