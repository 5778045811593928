"""Tiles of one made landscape, as GeoTIFFs, as pictures with columns, or as pictures with names that tell places."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pandas as pd
from PIL import Image

SIDE = 64


def landscape(height: int, width: int, seed: int = 0) -> np.ndarray:
    """A picture full of detail, height x width x 3."""
    rng = np.random.default_rng(seed)
    coarse = cv2.GaussianBlur(rng.normal(0, 1, (height, width, 3)), (0, 0), 4)
    return np.clip(128 + 40 * coarse / coarse.std() + rng.normal(0, 12, (height, width, 3)), 0, 255).astype(np.uint8)


def write_tiles(folder: Path, places: dict[str, tuple[int, int]], *, scenes: dict[str, int] | None = None,
                crs: dict[str, str] | None = None, pixel: float = 0.5) -> pd.DataFrame:
    """A tile of SIDE px per name at (x, y) px of its scene; with `crs` as GeoTIFFs, y going up, of pixels so wide."""
    suffix = ".png" if crs is None else ".tif"
    rows = []
    for kind in ("images", "masks"):
        (folder / kind).mkdir(parents=True, exist_ok=True)
    for name, (x, y) in places.items():
        ground = landscape(1000, 1000, seed=(scenes or {}).get(name, 0))
        tile = np.ascontiguousarray(ground[y:y + SIDE, x:x + SIDE])
        mask = (tile[:, :, 0] > 128).astype(np.uint8)
        image_path, mask_path = folder / "images" / f"{name}{suffix}", folder / "masks" / f"{name}.png"
        Image.fromarray(mask).save(mask_path)
        if crs is None:
            Image.fromarray(tile).save(image_path)
        else:
            write_geotiff(image_path, tile, crs[name], 500_000 + x * pixel, 5_000_000 - y * pixel, pixel)
        rows.append((name, str(image_path), str(mask_path)))
    return pd.DataFrame(rows, columns=["image_id", "image_path", "mask_path"])


def write_geotiff(path: Path, tile: np.ndarray, crs: str, left: float, top: float, pixel: float) -> None:
    import rasterio

    with rasterio.open(path, "w", driver="GTiff", width=SIDE, height=SIDE, count=3, dtype="uint8", crs=crs,
                       transform=rasterio.Affine(pixel, 0, left, 0, -pixel, top)) as file:
        file.write(tile.transpose(2, 0, 1))
