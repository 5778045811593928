"""The demo data: patches of flight strips, drawn by a generator, with every property that makes grouping matter.

A strip is one long picture, cut into square patches. Its light, its colours of land and its noise are its own, so
patches of one strip look alike and patches of another strip look different: a model that has seen a strip does
better on it than on a new one, which is what a random split rewards and a deployment does not.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from segcv.tables import stream, write_text

CLASS_NAMES = ("field", "forest", "water", "building")
COLORS = np.array([[150, 132, 92], [62, 96, 54], [58, 84, 118], [204, 84, 74]], float)      # classes x RGB
TEXTURE = np.array([9.0, 26.0, 3.0, 7.0])                # grey levels, SD of the fine texture of each class


@dataclass(frozen=True, slots=True)
class _Strip:
    name: str
    gain: float                      # light, 1 = noon
    colors: NDArray[np.float64]      # classes x RGB as seen in this strip
    noise: float                     # grey levels, SD of the sensor noise
    haze: float                      # share of the contrast that is lost, 0..1
    buildings: int                   # per patch, on average, times ten


def write_flight_strips(folder: Path, *, strips: int = 12, patches: int = 20, size: int = 64, seed: int = 0) -> Path:
    """Draw `strips` x `patches` RGB patches of `size` x `size` px with masks; returns the images table's path.

    Classes are 0 field, 1 forest, 2 water, 3 building (rare, about 2 % of the pixels). The same arguments give the
    same files. The table has image_path, mask_path, group_id and source_id (the strip), x and y (px in the strip).
    """
    rows = ["image_path,mask_path,group_id,source_id,x,y"]
    for kind in ("images", "masks"):
        (folder / kind).mkdir(parents=True, exist_ok=True)
    for index in range(strips):
        rng = np.random.default_rng(stream("flight strips", seed, index))
        strip = _strip(f"strip{index:02d}", rng)
        classes = _land(rng, size, size * patches, strip.buildings * patches // 10)
        picture = _photograph(classes, strip, rng)
        for patch in range(patches):
            columns = slice(patch * size, (patch + 1) * size)
            name = f"{strip.name}_{patch:02d}.png"
            _write(folder / "images" / name, cv2.cvtColor(picture[:, columns], cv2.COLOR_RGB2BGR))
            _write(folder / "masks" / name, classes[:, columns])
            rows.append(f"images/{name},masks/{name},{strip.name},{strip.name},{patch * size},0")
    table = folder / "images.csv"
    write_text(table, "\n".join(rows) + "\n")
    return table


def _strip(name: str, rng: Generator) -> _Strip:
    season = rng.uniform(-1, 1, 3) * np.array([21.0, 16.0, 21.0])       # one tint over the whole strip
    own = rng.uniform(-19, 19, COLORS.shape)                        # and one for each kind of land
    return _Strip(name, gain=float(rng.uniform(0.78, 1.18)), colors=COLORS + season + own,
                  noise=float(rng.uniform(4, 11)), haze=float(rng.uniform(0, 0.3)),
                  buildings=int(rng.integers(8, 26)))


def _land(rng: Generator, height: int, width: int, buildings: int) -> NDArray[np.uint8]:
    """Class ids of one strip, height x width."""
    relief = _smooth_noise(rng, (height, width), 14)
    classes = np.zeros((height, width), np.uint8)
    classes[relief > 0.35] = 1
    classes[_smooth_noise(rng, (height, width), 18) > 1.05] = 2
    for _ in range(buildings):
        tall, wide = rng.integers(8, 15, 2)
        top, left = rng.integers(0, height - tall), rng.integers(0, width - wide)
        footprint = classes[top:top + tall, left:left + wide]
        if (footprint == 0).all():
            footprint[:] = 3
    return classes


def _photograph(classes: NDArray[np.uint8], strip: _Strip, rng: Generator) -> NDArray[np.uint8]:
    """What the camera saw of one strip, height x width x RGB."""
    seen = strip.colors[classes]
    fine = cv2.GaussianBlur(rng.normal(0, 1, classes.shape), (0, 0), 0.9)
    seen = seen + (TEXTURE[classes] * fine / fine.std())[..., None]
    shade = 1 + 0.12 * _smooth_noise(rng, classes.shape, 40)[..., None]
    seen = seen * strip.gain * shade
    seen = seen * (1 - strip.haze) + 150 * strip.haze + rng.normal(0, strip.noise, seen.shape)
    return np.asarray(np.clip(np.rint(seen), 0, 255), np.uint8)


def _smooth_noise(rng: Generator, shape: tuple[int, int], scale: float) -> NDArray[np.float64]:
    """A landscape of mean 0 and SD 1 whose hills are about `scale` px wide."""
    noise = cv2.GaussianBlur(rng.normal(0, 1, shape), (0, 0), scale, borderType=cv2.BORDER_REFLECT)
    return np.asarray((noise - noise.mean()) / noise.std())


def _write(path: Path, pixels: NDArray[Any]) -> None:
    done, encoded = cv2.imencode(".png", np.ascontiguousarray(pixels))
    assert done
    path.write_bytes(encoded.tobytes())
