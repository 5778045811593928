"""Held-out frames of a sequence that also trains: how far the nearest training frame is, in frames or in time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from segcv.errors import SplitError
from segcv.groups import NAME_PATTERNS
from segcv.leakage.facts import Codes, Facts, codes_of, whole_in_a_group
from segcv.leakage.finding import NOTE, WARN, Finding
from segcv.leakage.touched import Ints, Touched, touched_by_code
from segcv.leakage.words import pair_texts, share_text, some, where_text
from segcv.splits import times_of

NAME = "neighbouring_frames"
NUMBERS = ("frame", "frame_number", "slice", "slice_number")      # columns that number the images of a sequence
SEQUENCES = ("source_id", "sequence", "sequence_id", "video", "video_id", "clip", "clip_id", "volume", "volume_id")
OFTEN = 0.75             # share of comparisons in which the next number must be the nearer picture, for names to count
FEWEST, MOST = 8, 1000   # pairs needed to tell that, and looked at
SHIFTS = 5               # images from elsewhere that each is compared with
_FRAME = re.compile(NAME_PATTERNS["frames"], re.IGNORECASE)
_POSITIONS = re.compile(NAME_PATTERNS["tiles"], re.IGNORECASE)
_PLACES = frozenset({"images", "image", "imgs", "img", "train", "training", "val", "valid", "validation", "test"})


@dataclass(frozen=True, slots=True, eq=False)
class Sequences:
    """A place along a sequence for each image that has one."""

    code: Codes                      # sequence per image, -1: none
    number: NDArray[np.float64]      # along the sequence
    names: pd.Series
    unit: str
    evidence: str
    sure: bool                       # columns say so; names must first show that numbers mean nearness


def find(facts: Facts) -> Iterator[Finding]:
    """Warn for held-out frames whose sequence trains too, unless the given group is the sequence (then it is whole)."""
    assert facts.folds is not None and facts.images is not None
    sequences = _sequences(facts)
    if sequences is None:
        return
    code = np.where(whole_in_a_group(sequences.code, codes_of(facts.images["group_id"])), -1, sequences.code)
    found = touched_by_code(facts.folds, code)
    if not found.cells:
        return
    if sequences.sure or _numbers_mean_nearness(facts, sequences):
        yield _finding(facts, sequences, code, found, nearest_training(facts, code, sequences.number))


def _finding(facts: Facts, sequences: Sequences, code: Codes, found: Touched,
             distance: NDArray[np.float64]) -> Finding:
    assert facts.folds is not None
    known = distance[np.isfinite(distance)]
    torn = sorted(sequences.names.iloc[np.flatnonzero(found.images)].unique().tolist())
    step = _usual_step(code, sequences.number)
    next_to = int(np.count_nonzero(known <= step * (1 + 1e-9)))
    return Finding(
        NAME, "sequences", NOTE if facts.folds.known_groups else WARN,
        f"{share_text(found)} are of a sequence that also trains ({some(torn)}), {where_text(found)}; the nearest "
        f"training frame is {np.median(known):g} {sequences.unit} away (median), {known.min():g} at least",
        "Frames of one sequence show the same things under the same light: far fewer scenes are held out than images, "
        "and the score is that of a scene already seen.",
        "Give the table a column group_id with the sequence, or: python -m segcv.split group.pattern=frames",
        evidence=sequences.evidence, held_out_touched=found.cells, held_out=found.held_out,
        examples=pair_texts(facts, found), measures={
            "per_fold": found.per_fold, "nearest_min": float(known.min()), "nearest_median": float(np.median(known)),
            "next_to_training": next_to, "sequences": torn})


def nearest_training(facts: Facts, code: Codes, number: NDArray[np.float64]) -> NDArray[np.float64]:
    """For each held-out image the least distance to a training image of its sequence, over all folds; else infinite."""
    assert facts.folds is not None
    least = np.full(len(code), np.inf)
    for fold in facts.folds:
        rows = np.flatnonzero(fold.train & (code >= 0))
        rows = rows[np.lexsort((number[rows], code[rows]))]
        asked = np.flatnonzero(fold.held_out & (code >= 0))
        if not len(rows) or not len(asked):
            continue
        at = _places(code[rows], number[rows], code[asked], number[asked])
        for neighbour in (np.clip(at - 1, 0, len(rows) - 1), np.clip(at, 0, len(rows) - 1)):
            same = code[rows[neighbour]] == code[asked]
            distance = np.where(same, np.abs(number[rows[neighbour]] - number[asked]), np.inf)
            least[asked] = np.minimum(least[asked], distance)
    return least


def _places(code: Codes, number: NDArray[np.float64], asked: Codes, wanted: NDArray[np.float64]) -> Ints:
    """Where each wanted number would stand in rows sorted by code and number."""
    ranks = np.unique(np.concatenate([number, wanted]), return_inverse=True)[1]
    size = len(ranks) + 1
    key = code * size + ranks[:len(number)]
    return np.asarray(np.searchsorted(key, asked * size + ranks[len(number):]), np.int64)


def _numbers_mean_nearness(facts: Facts, sequences: Sequences) -> bool:
    """Do images look more like the next number of their sequence than like images from anywhere, 3 times in 4?

    Likeness is the mean difference of the thumbnails, of pairs spread over the whole set.
    """
    if facts.looks is None:
        return False
    rows = np.flatnonzero((sequences.code >= 0) & ~facts.looks["flat"].to_numpy(bool))
    rows = rows[np.lexsort((sequences.number[rows], sequences.code[rows]))]
    one, following = rows[:-1], rows[1:]
    same = np.flatnonzero(sequences.code[one] == sequences.code[following])
    if len(same) < FEWEST:
        return False
    chosen = same[np.linspace(0, len(same) - 1, min(len(same), MOST)).astype(np.int64)]
    pictures = facts.looks["thumbnail"].to_numpy(object)
    beside = _difference(pictures, one[chosen], following[chosen])
    shifts = [len(rows) * part // (SHIFTS + 1) for part in range(1, SHIFTS + 1)]
    anywhere = np.array([_difference(pictures, one[chosen], np.roll(rows, -shift)[chosen]) for shift in shifts])
    return bool((beside[None] < anywhere).mean() >= OFTEN)


def _difference(pictures: NDArray[np.object_], one: Ints, other: Ints) -> NDArray[np.float64]:
    """Mean absolute difference of two thumbnails, in grey levels, per pair."""
    a, b = (np.frombuffer(b"".join(pictures[rows]), np.uint8).reshape(len(rows), -1) for rows in (one, other))
    return np.asarray(np.abs(a.astype(np.int16) - b.astype(np.int16)).mean(axis=1), np.float64)


def _usual_step(code: Codes, number: NDArray[np.float64]) -> float:
    rows = np.flatnonzero(code >= 0)
    rows = rows[np.lexsort((number[rows], code[rows]))]
    step = np.diff(number[rows])[np.diff(code[rows]) == 0]
    return float(np.median(step[step > 0])) if (step > 0).any() else 1.0


def _sequences(facts: Facts) -> Sequences | None:
    assert facts.images is not None
    images = facts.images
    column = next((name for name in NUMBERS if name in images.columns), None)
    sequence = next((name for name in SEQUENCES if name in images.columns), None)
    if column is None and "time" in images.columns and sequence is not None:
        return _in_time(images, sequence)
    if column is not None:
        number = pd.to_numeric(images[column], errors="coerce").to_numpy(np.float64)
        names = images[sequence].astype("str") if sequence is not None else _names(images["image_id"])[0]
        code = np.where(np.isfinite(number), codes_of(names), -1)
        told = f"column {column}, within {sequence or 'the sequence that names tell'}"
        return Sequences(code, number, names, "frames", told, True)
    names, number = _names(images["image_id"])
    code = np.where(np.isfinite(number), codes_of(names.mask(names.eq(""), "(no name)")), -1)
    if np.count_nonzero(code >= 0) < 0.5 * len(images):
        return None
    return Sequences(code, number, names, "frames", "numbers at the end of names, and likeness that goes with them",
                     False)


def _in_time(images: pd.DataFrame, sequence: str) -> Sequences | None:
    number = pd.to_numeric(images["time"], errors="coerce").to_numpy(np.float64, copy=True)
    unit = "units of time"
    if not np.isfinite(number).any():
        filled = images["time"].astype("str").str.strip().ne("").to_numpy()
        try:
            times = times_of(images[filled], "time")
        except SplitError:                   # neither numbers nor dates: nothing to measure
            return None
        number[filled] = (times - times.min()) / np.timedelta64(1, "D") if len(times) else np.nan
        unit = "days"
    if not np.isfinite(number).any():
        return None
    names = images[sequence].astype("str")
    return Sequences(np.where(np.isfinite(number), codes_of(names), -1), number, names, unit,
                     f"column time, within {sequence}", True)


def _names(ids: pd.Series) -> tuple[pd.Series, NDArray[np.float64]]:
    """Sequence and number that each name tells; NaN for names without a number, and for positions of tiles."""
    sources, numbers = [], np.full(len(ids), np.nan)
    for row, image_id in enumerate(ids):
        *folders, last = image_id.split("/")
        if not last[-1:].isdigit():
            sources.append("")
            continue
        name = "/".join([part for part in folders if part.lower() not in _PLACES] + [last])
        match = None if _POSITIONS.search(name) else _FRAME.search(name)
        sources.append(match.group("source").strip("/_- ") if match else "")
        if match:
            numbers[row] = float(match.group("frame"))
    return pd.Series(sources, index=ids.index, dtype=object), numbers
