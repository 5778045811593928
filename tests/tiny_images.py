"""Small pictures with bright squares on noise, which a network learns in a few steps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image

from segcv.pixels import write_mask

BACKGROUND, SQUARE = 0, 1


def square_image(index: int, *, side: int = 32) -> tuple[np.ndarray, np.ndarray]:
    """Image side x side x 3 (uint8) and its truth; the same for the same index."""
    rng = np.random.default_rng(index)
    truth = np.full((side, side), BACKGROUND, np.uint8)
    top, left = rng.integers(2, side // 2, 2)
    truth[top:top + side // 2, left:left + side // 2] = SQUARE
    image = rng.integers(0, 80, (side, side, 3)).astype(np.uint8)
    image[truth == SQUARE] += 120
    return image, truth


def write_squares(folder: Path, count: int, *, side: int = 32) -> pd.DataFrame:
    """Rows image_id, image_path, mask_path, group_id of `count` images written below `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for index in range(count):
        image, truth = square_image(index, side=side)
        image_path, mask_path = folder / f"square_{index}.png", folder / f"square_{index}_mask.png"
        Image.fromarray(image).save(image_path)
        write_mask(mask_path, truth)
        rows.append((f"square_{index}", str(image_path), str(mask_path), f"g{index // 2}"))
    return pd.DataFrame(rows, columns=["image_id", "image_path", "mask_path", "group_id"])
