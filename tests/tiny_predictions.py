"""Three tiny masks with predictions of every kind, written as any framework would leave them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image

IGNORED = 255
TRUTH = {             # the reference example: three images of 2 x 4, three classes, one ignored pixel
    "a": [[0, 0, 0, 0], [1, 1, 0, 0]], "b": [[0, 0, 0, 0], [0, 0, 0, IGNORED]], "c": [[0, 0, 2, 2], [0, 0, 2, 2]]}
PREDICTED = {
    "a": [[0, 0, 0, 0], [1, 0, 0, 0]], "b": [[0, 0, 0, 0], [0, 0, 1, 1]], "c": [[0, 0, 2, 2], [0, 0, 0, 2]]}


def write_truth(folder: Path, truth: dict[str, list[list[int]]] | None = None) -> Path:
    """The images table of masks (and blank images) written below `folder`; each image is its own group."""
    rows = []
    for name, values in (TRUTH if truth is None else truth).items():
        mask = np.array(values, np.uint8)
        for kind, picture in (("images", np.zeros((*mask.shape, 3), np.uint8)), ("masks", mask)):
            path = folder / kind / f"{name}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(picture).save(path)
        rows.append((f"images/{name}.png", f"masks/{name}.png", f"group {name}"))
    table = folder / "images.csv"
    pd.DataFrame(rows, columns=["image_path", "mask_path", "group_id"]).to_csv(table, index=False)
    return table


def write_labels(folder: Path, predicted: dict[str, list[list[int]]] | None = None, *, suffix: str = ".png") -> Path:
    """The folder of predicted class ids."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, values in (PREDICTED if predicted is None else predicted).items():
        Image.fromarray(np.array(values, np.uint8)).save(folder / f"{name}{suffix}")
    return folder


def probabilities(values: list[list[int]], *, n_classes: int = 3, sure: float = 0.8) -> np.ndarray:
    """Classes x H x W, float32: `sure` for the class in `values`, the rest spread evenly."""
    ids = np.array(values)
    spread = np.full((n_classes, *ids.shape), (1 - sure) / (n_classes - 1), np.float32)
    np.put_along_axis(spread, ids[None], np.float32(sure), axis=0)
    return spread
