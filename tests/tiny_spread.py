"""Score tables drawn from the model of variance components: groups in folds, columns of networks, images."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd


def tiny_spread(
    rng: np.random.Generator, *, groups_in_fold: Sequence[int] = (4, 4, 4, 4, 4), images: Sequence[int] = (1,),
    columns: int = 3, sd: Sequence[float] = (.06, .015, .02, .06, .03), mean: float = .5,
) -> pd.DataFrame:
    """fold, seed, group, image, score; `sd` of group, model, interaction, image, residual; sizes repeat `images`."""
    a, m, x, b, e = sd
    rows, group = [], 0
    for fold, count in enumerate(groups_in_fold):
        model = rng.normal(0, m, columns)
        for _ in range(count):
            base, own = mean + rng.normal(0, a), rng.normal(0, x, columns)
            for image in range(images[group % len(images)]):
                score = base + model + own + rng.normal(0, b) + rng.normal(0, e, columns)
                rows += [(fold, s, f"g{group:03d}", f"g{group:03d}/{image}", score[s]) for s in range(columns)]
            group += 1
    return pd.DataFrame(rows, columns=["fold", "seed", "group", "image", "score"])
