"""Is it the same picture? What two thumbnails must have in common before near hashes count as evidence."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from segcv.groups.turns import SIDE, turned

LEAST_CORRELATION = 0.9      # of two thumbnails that are rich in detail
LEAST_TURNED = 0.99          # when one was turned: a copy, where frames a moment apart cannot be
RICH = 20.0                  # grey levels of detail; with less, less disagreement is allowed
NOISE = 1.0                  # grey levels of difference that compression and rounding explain
AVERAGED = 2 * SIDE          # px: from this side on a thumbnail's pixel is the mean of four, and noise is no content
COARSE = 6                   # cosine patterns of order down + across below this are no detail
_CHUNK = 4096

_FREQUENCY = np.arange(SIDE)
_WAVES = np.sqrt(2 / SIDE) * np.cos(np.pi * _FREQUENCY[:COARSE, None] * (2 * _FREQUENCY[None] + 1) / (2 * SIDE))
_WAVES[0] = np.sqrt(1 / SIDE)                                                # COARSE x SIDE, orthonormal
_IS_COARSE = np.add.outer(np.arange(COARSE), np.arange(COARSE)) < COARSE


def verified(thumbnails: NDArray[np.uint8], one: NDArray[np.int64], other: NDArray[np.int64],
             turn: NDArray[np.int64], sides: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Correlation of the two thumbnails of each pair, in [-1, 1], and whether they show the same picture.

    The pair (one[k], other[k]) of `thumbnails` (images x SIDE x SIDE) is compared after the second picture took
    turn[k]. With r the correlation, s the smaller standard deviation, d the smaller detail, q the smaller of their
    `sides` (px) and n the noise (NOISE, or 0 for pictures below AVERAGED), they are the same when

        r >= 0.9   and   1 - r - (n / s)^2 / 2  <=  (1 - 0.9) * min(1, d / RICH)^3 * min(1, q / SIDE)^2

    Detail is the standard deviation that is left without the 21 coarsest cosine patterns: two unrelated pictures with
    one soft edge each correlate well, two with much detail do not. The third term is what the correlation of one
    picture with itself loses to noise, so that a faint picture is still known again after compression. A picture
    smaller than its thumbnail has fewer pixels than are compared, so each counts for less. For turned
    pairs 0.99 stands for 0.9: more chances to agree ask for more agreement.
    """
    correlation, same = np.empty(len(one)), np.empty(len(one), bool)
    detail_of = details(thumbnails)
    for start in range(0, len(one), _CHUNK):
        part = slice(start, start + _CHUNK)
        first, second = thumbnails[one[part]], thumbnails[other[part]]
        for number in np.unique(turn[part]):
            rows = turn[part] == number
            second[rows] = turned(second[rows], int(number))
        a, b = _centred(first), _centred(second)                             # pairs x pixels
        spread_a, spread_b = np.sqrt((a * a).mean(1)), np.sqrt((b * b).mean(1))
        both = spread_a * spread_b
        r = np.divide((a * b).mean(1), both, out=np.zeros(len(a)), where=both > 0)
        least = np.maximum(np.minimum(spread_a, spread_b), 1e-9)
        detail = np.minimum(detail_of[one[part]], detail_of[other[part]])
        asked = np.where(turn[part] > 0, LEAST_TURNED, LEAST_CORRELATION)
        side = np.minimum(sides[one[part]], sides[other[part]])
        explained = np.where(side < AVERAGED, 0.0, NOISE) / least
        allowed = (1 - asked) * np.minimum(1, detail / RICH) ** 3 * np.minimum(1, side / SIDE) ** 2 + explained**2 / 2
        correlation[part], same[part] = r, (r >= LEAST_CORRELATION) & (1 - r <= allowed)
    return correlation, same


def details(thumbnails: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Standard deviation of each thumbnail without its coarsest cosine patterns, in grey levels."""
    found = np.empty(len(thumbnails))
    for start in range(0, len(thumbnails), _CHUNK):
        part = thumbnails[start:start + _CHUNK].astype(np.float64)
        coarse = (_WAVES @ part @ _WAVES.T)[:, _IS_COARSE]                   # thumbnails x 21
        left = (part * part).sum((1, 2)) - (coarse * coarse).sum(1)          # Parseval
        found[start:start + _CHUNK] = np.sqrt(np.maximum(left, 0) / SIDE**2)
    return found


def _centred(pictures: NDArray[np.uint8]) -> NDArray[np.float64]:
    flat: NDArray[np.float64] = pictures.reshape(len(pictures), SIDE * SIDE).astype(np.float64)
    centred: NDArray[np.float64] = flat - flat.mean(1, keepdims=True)
    return centred
