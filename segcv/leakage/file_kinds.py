"""How files keep pictures, where other readers may see something else: blank, 16-bit, turned, see-through, palettes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from segcv.leakage.facts import Facts
from segcv.leakage.finding import NOTE, SHOWN, Finding
from segcv.leakage.words import some

NAME = "file_kinds"


def find(facts: Facts) -> Iterator[Finding]:
    """Notes with a count each; never a leak by themselves."""
    assert facts.profile is not None
    for subject, flags, said, why, cure in _kinds(facts):
        rows = np.flatnonzero(flags)
        if len(rows):
            yield Finding(NAME, subject, NOTE, f"{len(rows)} of {len(flags)} images {said}: "
                          f"{some(facts.ids[rows].tolist(), 3)}", why, cure, evidence="the files, as decoded",
                          examples=tuple(facts.ids[rows[:SHOWN]]), measures={f"n_{subject}": len(rows)})


def _kinds(facts: Facts) -> Iterator[tuple[str, NDArray[np.bool_], str, str, str]]:
    assert facts.profile is not None
    profile = facts.profile
    if facts.looks is not None:
        yield ("blank", facts.looks["flat"].to_numpy(bool), "are blank (hardly any contrast)",
               "Their hashes mean nothing, so no comparison of looks counts them; and they score like their most "
               "common class.", "If they are no data, take them out, or set data.nodata.")
    dtype = profile["dtype"].to_numpy(object)
    yield ("16_bit", dtype == "uint16", "have 16 bits",
           "Readers that convert to 8 bits clip them to white. Here they are kept, and scaled to compare looks.",
           "Nothing to do here; in other tools read them unchanged.")
    yield ("float", dtype == "float32", "hold decimal numbers or more than 16 bits",
           "Readers that expect 0..255 see black. Here they are kept, and scaled to compare looks.",
           "Nothing to do here; in other tools read them unchanged.")
    if "orientation" in profile.columns:
        yield ("turned_by_exif", profile["orientation"].to_numpy() != 1, "are shown turned or mirrored (EXIF)",
               "Some readers turn them, others do not; a mask fits one of the two views. Here the shown view counts.",
               "Write them as they are shown, without the tag, if another tool is to read them.")
    if "alpha" in profile.columns:
        yield ("alpha", profile["alpha"].to_numpy(bool), "have a transparency channel",
               "It is read as a band of its own; other readers drop it, or paint transparent pixels black or white.",
               "Drop it when you write the files, if it means nothing.")
    if "palette" in profile.columns:
        yield ("palette", profile["palette"].to_numpy(bool), "keep colours as a palette",
               "Some readers give indices instead of colours. Here the colours count.",
               "Write them as RGB, if another tool is to read them.")
