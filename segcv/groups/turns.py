"""The eight flips and quarter turns of a picture, and the hash of each of them from one cosine transform."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

SIDE = 32                  # of a thumbnail, in pixels
LOW = 8                    # cosine patterns per axis that make the hash
TURNS = ("", "flipped left-right", "flipped upside down", "turned by 180°", "mirrored at the diagonal",
         "turned by 90° to the right", "turned by 90° to the left", "mirrored at the other diagonal")

_WAVE = np.cos(np.pi * np.arange(LOW)[:, None] * (2 * np.arange(SIDE)[None] + 1) / (2 * SIDE))      # pattern x pixel
_SIGN = np.where(np.arange(LOW) % 2, -1.0, 1.0)      # what a flip does to each pattern of that axis
_CHUNK = 4096


def turned(pictures: NDArray[Any], turn: int) -> NDArray[Any]:
    """Pictures (..., rows, columns) after turn number `turn` of TURNS; number 0 changes nothing.

    >>> turned(np.array([[1, 2], [3, 4]]), 5).tolist()
    [[3, 1], [4, 2]]
    """
    if turn & 4:
        pictures = pictures.swapaxes(-1, -2)
    if turn & 1:
        pictures = pictures[..., ::-1]
    if turn & 2:
        pictures = pictures[..., ::-1, :]
    return pictures


def turned_hashes(thumbnails: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """64-bit perceptual hashes of the eight turns of each thumbnail, thumbnails x TURNS.

    A flip changes the sign of every second cosine pattern and a diagonal mirror exchanges rows and columns, so one
    transform serves all. Flips and the half turn have the bits of the turned picture's own hash; the other turns can
    differ in two, because a picture is made small one axis after the other.
    """
    found = np.empty((len(thumbnails), len(TURNS)), np.uint64)
    for start in range(0, len(thumbnails), _CHUNK):
        part = thumbnails[start:start + _CHUNK].astype(np.float64)
        low = _WAVE @ part @ _WAVE.T                                     # thumbnails x LOW x LOW
        for turn in range(len(TURNS)):
            found[start:start + _CHUNK, turn] = _bits(_turned_patterns(low, turn))
    return found


def _turned_patterns(low: NDArray[np.float64], turn: int) -> NDArray[np.float64]:
    """The cosine patterns of pictures after `turn`, from those of the pictures, pictures x LOW x LOW."""
    if turn & 4:
        low = low.swapaxes(-1, -2)
    if turn & 1:
        low = low * _SIGN
    if turn & 2:
        low = low * _SIGN[:, None]
    return low


def _bits(low: NDArray[np.float64]) -> NDArray[np.uint64]:
    flat = low.reshape(len(low), LOW * LOW)
    bits = flat > np.median(flat, axis=1, keepdims=True)
    return np.packbits(bits, axis=1).view(">u8").astype(np.uint64).ravel()
