"""Rasters too large for memory: predicted in blocks of rows, each with a margin that is thrown away."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from segcv.errors import ConfigError
from segcv.pixels import BandMoments, OpenImage, Preprocessing
from segcv.prediction.members import Members, predict_members

Rows: TypeAlias = tuple[NDArray[Any], NDArray[np.float32]]      # rows x width labels, classes x rows x width


def predicted_rows(members: Members, image: OpenImage, *, window: int, margin: int,
                   refuse: Callable[[NDArray[Any]], None], own: BandMoments | None = None,
                   **choices: Any) -> Iterator[Rows]:
    """Labels (rows x width) and probabilities (classes x rows x width) of blocks of `window` rows, from top to bottom.

    Windows of `window` px a side are read with `margin` px more around them, so that no pixel is judged at the edge of
    what the network saw, unless the raster ends there. Memory grows with the window and the raster's width. Where a
    member normalises by an image's own mean and std, these are `own`, or those of the whole raster, which is then read
    once more.

    Raises:
        ConfigError: the window is not larger than its margin.
    """
    if not 0 <= margin < window:
        raise ConfigError(f"window={window} must be larger than the overlap={margin}.")
    height, width = image.shape
    contracts = [model.preprocessing for model in members.models if model.preprocessing.by_own]
    if contracts and own is None:
        own = raster_moments([image], contracts[0], window=window)
    for top in range(0, height, window):
        bottom = min(top + window, height)
        parts = []
        for left in range(0, width, window):
            right = min(left + window, width)
            rows = slice(max(0, top - margin), min(height, bottom + margin))
            columns = slice(max(0, left - margin), min(width, right + margin))
            piece = image.read(rows, columns)
            refuse(piece)
            found = predict_members(members, f"{image.path} rows {top} columns {left}", piece, own=own, **choices)
            inside = np.s_[top - rows.start:bottom - rows.start, left - columns.start:right - columns.start]
            assert found.probabilities is not None
            parts.append((found.labels[inside], found.probabilities[:, *inside]))
        yield (np.concatenate([labels for labels, _ in parts], axis=1),
               np.concatenate([shares for _, shares in parts], axis=2))


def raster_moments(images: Iterable[OpenImage], preprocessing: Preprocessing, *, window: int) -> BandMoments:
    """Mean and std of all pixels with data of rasters that belong together, read by windows."""
    def windows() -> Iterator[NDArray[Any]]:
        for image in images:
            height, width = image.shape
            for top in range(0, height, window):
                for left in range(0, width, window):
                    piece = image.read(slice(top, min(top + window, height)), slice(left, min(left + window, width)))
                    preprocessing.check(piece, image.path)
                    yield piece

    return preprocessing.own(windows())
