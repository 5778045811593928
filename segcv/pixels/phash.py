"""The bits of `imagehash.phash`, quicker: its thumbnail by a compiled reduction, its signs by two products."""

from __future__ import annotations

from functools import lru_cache

import imagehash
import numpy as np
from numpy.typing import NDArray
from PIL import Image

SIDE, LOW = 32, 8                    # of the thumbnail, and of its low frequencies
VERSION = 2                          # of thumbnail, hash, blocks and landmarks: raise it when any of them changes
_DOUBT = 1e-6                        # nearer to the median than this, rounding decides a bit: the library is asked
_PROBES = ((33, 32), (40, 35), (40, 36), (64, 47), (64, 48), (90, 20), (20, 90), (32, 70), (70, 32), (131, 64))
_WAVE = 2 * np.cos(np.pi * np.arange(LOW)[:, None] * (2 * np.arange(SIDE)[None] + 1) / (2 * SIDE))     # low x side


def thumbnail_of(shown: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """What Pillow makes of a picture, H x W or H x W x 3, as grey of 32 x 32 by Lanczos reduction."""
    from segcv.pixels.look_kernels import small_grey  # numba loads here

    order = _pillows_order()
    return _by_pillow(shown) if order is None else small_grey(shown, tall_first=order)


def phash_of(thumbnail: NDArray[np.uint8]) -> int:
    """64 bits: which low cosine patterns of a thumbnail are above their median, row by row, the first bit highest."""
    low = (_WAVE @ thumbnail.astype(np.float64) @ _WAVE.T).ravel()
    ordered = np.partition(low, (31, 32))
    above = low - (ordered[31] + ordered[32]) / 2
    if (np.abs(above) < _DOUBT).any():
        bits = np.asarray(imagehash.phash(Image.fromarray(thumbnail)).hash, bool).ravel()
    else:
        bits = above > 0
    return int.from_bytes(np.packbits(bits).tobytes(), "big")


@lru_cache(1)
def _pillows_order() -> bool | None:
    """Does the installed Pillow reduce the columns of tall pictures first? None: it does something else altogether.

    Seen on small random pictures, once; with another Pillow the hashes stay those of imagehash, only slower.
    """
    from segcv.pixels.look_kernels import small_grey

    rng = np.random.default_rng(0)
    pictures = [rng.integers(0, 256, shape, np.uint8) for shape in _PROBES] + [
        rng.integers(0, 256, (*shape, 3), np.uint8) for shape in _PROBES[:6]]
    for order in (True, False):
        if all(np.array_equal(small_grey(picture, tall_first=order), _by_pillow(picture)) for picture in pictures):
            return order
    return None


def _by_pillow(shown: NDArray[np.uint8]) -> NDArray[np.uint8]:
    return np.asarray(Image.fromarray(shown).convert("L").resize((SIDE, SIDE), Image.Resampling.LANCZOS))
