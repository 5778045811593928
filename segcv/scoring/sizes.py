"""A prediction of another size than its truth: brought to it by nearest neighbour, or refused with the reason."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from segcv.errors import ConfigError, ScoreError

NEAREST, STRETCH, REFUSE = "nearest", "stretch", "refuse"
SIZES = (NEAREST, STRETCH, REFUSE)
MOST_STRETCH = 1.25            # how much the sides' ratio may differ before a cut is likelier than another scale


def check_size_rule(rule: str) -> None:
    """Refuse a size rule that is not known."""
    if rule not in SIZES:
        raise ConfigError(f"size={rule} is not known; use nearest (same shape, another scale), stretch (any size) or "
                          "refuse.")


def check_sizes(predicted: tuple[int, int], truth: tuple[int, int], *, rule: str) -> None:
    """Return when a prediction of this height and width may be brought to the truth's.

    Raises:
        ScoreError: the sizes differ and `rule` is refuse, or it is nearest and the sides' ratios differ widely.
    """
    if predicted == truth or rule == STRETCH:
        return
    said = f"is {_size(predicted)} and its mask is {_size(truth)} (height x width)"
    if rule == REFUSE:
        raise ScoreError(f"{said}; with size=refuse both must be equal. Predict at the mask's size, or allow "
                         "another scale: size=nearest")
    stretch = (predicted[0] * truth[1]) / (predicted[1] * truth[0])
    if max(stretch, 1 / stretch) > MOST_STRETCH:
        turned = " It fits when turned by 90°." if predicted == truth[::-1] else ""
        raise ScoreError(f"{said}: another shape, not another scale.{turned} If the whole image was squeezed into "
                         "that shape, say so: size=stretch; if it was cut, predict the whole image")


def nearest(values: NDArray[Any], *, height: int, width: int) -> NDArray[Any]:
    """`values` (... x H x W) at another size: each new pixel takes the old one that its centre falls in.

    >>> nearest(np.array([[1, 2]]), height=1, width=4).tolist()
    [[1, 1, 2, 2]]
    """
    if values.shape[-2:] == (height, width):
        return values
    rows, columns = nearest_places(height, values.shape[-2]), nearest_places(width, values.shape[-1])
    resized: NDArray[Any] = values[..., rows[:, None], columns]
    return resized


def nearest_places(new: int, old: int) -> NDArray[np.int64]:
    """For each of `new` pixels in a row the one of the `old` that its centre falls in."""
    places: NDArray[np.int64] = (2 * np.arange(new) + 1) * old // (2 * new)
    return places


def _size(size: tuple[int, int]) -> str:
    return f"{size[0]}x{size[1]}"
