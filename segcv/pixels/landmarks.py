"""Places in a picture that another picture of the same ground also chooses, each with a 64-bit word.

Two kinds: blocks of pixels, equal only where the pixels are equal, and landmarks, alike where the ground looks alike
although it was compressed, moved against the grid of JPEG, or made brighter.
"""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

MARK = np.dtype([("word", "<u8"), ("x", "<u2"), ("y", "<u2")])      # x, y: of the block's corner, or the landmark

BLOCKS = 256                # blocks that a picture of any size is meant to have
_LONGEST = 2**16 - 1        # side of a picture whose places a mark can hold, in px
_MOST_BLOCKS = 4096         # places looked at; beyond, the choice is made stricter
_STORED_BLOCKS = 512
LANDMARKS = 300             # most landmarks of a picture
_SIDE, _LOW = 32, 8         # of the patch around a landmark, in pixels, and of its low frequencies
_SMALL, _LARGE = 2.0, 3.2   # standard deviations of the two blurs whose difference peaks at landmarks, in px
_APART = 7                  # side of the square in which a peak is the highest, in pixels
_LEAST_PEAK = 2.0           # grey levels; lower peaks are noise
_ROUND = 12.1               # trace^2 / determinant of the curvature: above it a peak is a piece of an edge (Lowe 2004)
_WAVE = np.cos(np.pi * np.arange(_LOW)[:, None] * (2 * np.arange(_SIDE)[None] + 1) / (2 * _SIDE)).astype(np.float32)


def pixel_blocks(image: NDArray[Any]) -> NDArray[Any]:
    """Blocks of 16 x 16 pixels (MARK) whose words are equal where all bands are equal, in an image H x W x bands.

    Which blocks are taken depends on their own pixels, about 256 of a picture: one that shares lossless pixels with it
    takes the same ones there, at whatever offset. Plain blocks and those that occur twice are left out.
    """
    from segcv.pixels.landmark_kernels import BLOCK, block_hashes, chosen_places  # numba loads here

    height, width, bands = image.shape
    if min(height, width) < BLOCK or max(height, width) > _LONGEST:
        return np.empty(0, MARK)
    samples = np.ascontiguousarray(image)
    if samples.dtype.kind == "f":
        samples = samples.astype(np.float32).view(np.uint32)
    mask = (1 << max(0, round(np.log2(height * width / BLOCKS)))) - 1
    places = np.empty((_MOST_BLOCKS, 2), np.int32)
    first = np.ascontiguousarray(samples[:, :, 0])
    while (count := chosen_places(first, mask, places)) > _MOST_BLOCKS:
        mask = 2 * mask + 1
        if mask >= 1 << 22:
            return np.empty(0, MARK)
    marks = np.zeros(count, MARK)
    words = np.empty(count, np.uint64)
    block_hashes(samples, places[:count], _factors(BLOCK * BLOCK * bands), words)
    marks["word"], marks["y"], marks["x"] = words, places[:count, 0], places[:count, 1]
    distinct, where, often = np.unique(words, return_index=True, return_counts=True)
    once: NDArray[Any] = marks[where[(often == 1) & (distinct != 0)][:_STORED_BLOCKS]]
    return once


def landmarks(grey: NDArray[np.uint8]) -> NDArray[Any]:
    """Up to 300 landmarks (MARK) of an H x W picture, the most prominent first.

    A landmark is a peak of the difference of two blurs, as round as a blob; its word is the perceptual hash of the
    32 x 32 pixels around it, which compression and brightness hardly change. None is nearer than 16 px to the border.
    """
    half = _SIDE // 2
    if min(grey.shape) <= _SIDE + 2 or max(grey.shape) > _LONGEST:
        return np.empty(0, MARK)
    picture = grey.astype(np.float32)
    blurred = cv2.GaussianBlur(picture, (0, 0), _SMALL)
    blobs = blurred - cv2.GaussianBlur(picture, (0, 0), _LARGE)
    height = np.abs(blobs)
    inside = slice(half, -half)
    peak = np.zeros(grey.shape, bool)
    highest = cv2.dilate(height, np.ones((_APART, _APART), np.uint8))
    peak[inside, inside] = (height >= highest)[inside, inside] & (height > _LEAST_PEAK)[inside, inside]
    y, x = np.nonzero(peak)
    order = np.argsort(-height[y, x], kind="stable")[:4 * LANDMARKS]
    y, x = y[order], x[order]
    blob = _is_round(blobs, y, x)
    y, x = y[blob][:LANDMARKS], x[blob][:LANDMARKS]
    marks = np.zeros(len(y), MARK)
    marks["x"], marks["y"] = x, y
    if len(y):
        windows = np.lib.stride_tricks.sliding_window_view(cv2.GaussianBlur(picture, (0, 0), 1.0), (_SIDE, _SIDE))
        marks["word"] = _words(windows[y - half, x - half])
    return marks


def _is_round(blobs: NDArray[np.float32], y: NDArray[np.int64], x: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Does the surface bend alike in all directions at these peaks? On an edge it bends across only."""
    here = 2 * blobs[y, x]
    down = blobs[y + 1, x] + blobs[y - 1, x] - here
    across = blobs[y, x + 1] + blobs[y, x - 1] - here
    mixed = (blobs[y + 1, x + 1] + blobs[y - 1, x - 1] - blobs[y + 1, x - 1] - blobs[y - 1, x + 1]) / 4
    determinant = down * across - mixed * mixed
    round_: NDArray[np.bool_] = (determinant > 0) & ((down + across) ** 2 < _ROUND * determinant)
    return round_


def _words(patches: NDArray[Any]) -> NDArray[np.uint64]:
    """Signs of the low cosine patterns of each patch against their median, 63 bits; the mean does not count."""
    low = (_WAVE @ patches @ _WAVE.T).reshape(len(patches), _LOW * _LOW)
    low[:, 0] = -np.inf
    bits = low > np.median(low[:, 1:], axis=1, keepdims=True)
    return np.packbits(bits, axis=1).view(">u8").astype(np.uint64).ravel()


def _factors(n: int) -> NDArray[np.uint64]:
    """The same n odd numbers everywhere: fingerprints of two runs must agree."""
    return np.random.default_rng(20).integers(0, 2**63, n, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
