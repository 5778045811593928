"""Do two tiles that should share ground show the same there? Told from their pixels, for a few pairs across sides."""

from __future__ import annotations

import numpy as np

from segcv.leakage.facts import Facts
from segcv.leakage.places import Places
from segcv.leakage.touched import Ints
from segcv.pixels import rectangles_agree


def shared_pixels_agree(facts: Facts, places: Places, pairs: Ints) -> bool | None:
    """True when most of the pairs looked at agree, false when most do not; None when none could be compared."""
    assert facts.folds is not None and facts.images is not None
    crossing = np.zeros(len(pairs), bool)
    for fold in facts.folds:
        held_out, train = fold.held_out[places.rows], fold.train[places.rows]
        crossing |= (held_out[pairs].any(axis=1) & train[pairs].any(axis=1))
    paths = facts.images["image_path"].to_numpy(object)[places.rows]
    return rectangles_agree(paths.tolist(), places.ground.low, places.ground.high, pairs[crossing])
