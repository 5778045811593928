"""Images and class pixels that are hard to deal evenly, and how uneven a cut of them is."""

from __future__ import annotations

import numpy as np
import pandas as pd

FOLDS = 5
CLASS_SHARES = np.array([.45, .25, .15, .10, .04, .01])


def hard_set(seed: int, groups: int = 60) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Sizes heavy-tailed; six classes, the last two in 12 and 6 of 60 groups; pixel shares by group and image."""
    rng = np.random.default_rng(seed)
    sizes = np.maximum(3, rng.lognormal(3, 1, groups).astype(int))
    present = np.ones((groups, 6), bool)
    for c, count in ((4, 12 * groups // 60), (5, 6 * groups // 60)):
        present[:, c] = False
        present[rng.choice(groups, count, replace=False), c] = True
    weight = 8 * CLASS_SHARES * np.array([1, 1, 1, 1, 3, 3])
    shares = []
    for group, size in enumerate(sizes):
        here = present[group]
        of_group = np.zeros(6)
        of_group[here] = rng.dirichlet(weight[here])
        solid = of_group > 1e-6
        of_images = np.zeros((size, 6))
        of_images[:, solid] = rng.dirichlet(20 * of_group[solid], size)
        shares.append(of_images)
    pixels = np.round(np.concatenate(shares) * 65536).astype(np.int64)                   # images x classes
    ids = [f"{place:05d}" for place in range(len(pixels))]
    images = pd.DataFrame({"image_id": ids, "group_id": np.repeat([f"g{g}" for g in range(groups)], sizes)})
    masks = pd.DataFrame({"image_id": np.repeat(ids, 6), "class_id": np.tile(np.arange(6), len(ids)),
                          "pixels": pixels.ravel()})
    return images.astype("str"), masks[masks["pixels"] > 0]


def unbalance(fold: np.ndarray, images: pd.DataFrame, masks: pd.DataFrame) -> dict[str, float]:
    """How far the folds are from equal: class shares, class mass, size; and (fold, class) cells empty for no reason."""
    wide = masks.pivot_table(index="image_id", columns="class_id", values="pixels", aggfunc="sum", fill_value=0)
    pixels = wide.reindex(images["image_id"], fill_value=0).to_numpy()
    mass = np.stack([pixels[fold == k].sum(0) for k in range(FOLDS)])                    # folds x classes
    shares = mass / mass.sum(1, keepdims=True)
    groups = [images["group_id"][pixels[:, c] > 0].nunique() for c in range(pixels.shape[1])]
    return {
        "share": np.abs(shares - mass.sum(0) / mass.sum()).mean(),
        "mass": np.abs(mass / mass.sum(0) * FOLDS - 1).mean(),
        "size": np.abs(np.bincount(fold, minlength=FOLDS) / len(fold) * FOLDS - 1).max(),
        "empty": float((mass == 0)[:, np.array(groups) >= FOLDS].sum()),
    }


def parallel_strips(*, strips: int = 60, tiles: int = 10, overlap: float = 20.0) -> pd.DataFrame:
    """Images table of strips side by side, `tiles` of 100 px each; a strip shares `overlap` px with the next one."""
    places = [(strip, tile) for strip in range(strips) for tile in range(tiles)]
    return pd.DataFrame({
        "image_id": [f"s{strip:02d}_{tile}" for strip, tile in places],
        "group_id": [f"strip{strip}" for strip, _ in places],
        "x": [100.0 * tile for _, tile in places], "y": [(100 - overlap) * strip for strip, _ in places],
        "w": 100.0, "h": 100.0,
    })
