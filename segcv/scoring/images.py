"""One image's truth and prediction, brought to one size and counted."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from segcv.errors import MaskError, ScoreError
from segcv.metrics import confusion
from segcv.scoring.sizes import nearest

if TYPE_CHECKING:
    from segcv.pixels import LabelMap


@dataclass(frozen=True, slots=True, eq=False)
class ImageScore:
    """What one run got on one image: the non-zero cells of its confusion matrix, and facts beside them.

    `cells`: rows of (true class, predicted class, pixels), sorted; predicted -1 is outside the label set.
    """

    run_id: str
    image_id: str
    group_id: str
    source_id: str
    n_classes: int
    cells: NDArray[np.int64]                 # cells x 3
    mean_top_probability: float              # NaN: unknown
    truth_size: tuple[int, int]              # height, width
    predicted_size: tuple[int, int]          # height, width, before the prediction was brought to the truth's size
    metrics: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)     # mask metrics by name, classes

    @property
    def outside_label_set(self) -> int:
        """Valid pixels predicted as something that is no class."""
        return int(self.cells[self.cells[:, 1] == -1, 2].sum())

    @property
    def valid(self) -> int:
        """Pixels whose truth is not ignored."""
        return int(self.cells[:, 2].sum())


def score_image(truth: NDArray[Any], prediction: NDArray[Any], *, labels: LabelMap, run_id: str, image_id: str,
                group_id: str, source_id: str = "", mean_top_probability: float = math.nan) -> ImageScore:
    """The score of one image: exact pixel counts at the truth's own size.

    `truth`, `prediction`: class ids, H x W; truth pixels of `labels.void` are ignored. The truth is never resized; a
    prediction of another size is brought to it by nearest neighbour (`predicted_size` and the tables' warning say so).

    Raises:
        MaskError: the truth holds a value that is neither a class nor ignored.
        ScoreError: truth or prediction is not H x W of whole numbers.
    """
    for what, array in (("mask", truth), ("prediction", prediction)):
        if array.ndim != 2 or array.size == 0:
            raise ScoreError(f"{image_id}: the {what} must be H x W class ids, and has the shape {array.shape}.")
    height, width = truth.shape
    try:
        matrix = confusion(truth, nearest(prediction, height=height, width=width), n_classes=labels.n_classes,
                           void=labels.void)
    except (MaskError, ScoreError) as error:
        raise type(error)(f"{image_id}: {error}") from error
    return score_of_confusion(matrix, run_id=run_id, image_id=image_id, group_id=group_id, source_id=source_id,
                              mean_top_probability=mean_top_probability, truth_size=(height, width),
                              predicted_size=(int(prediction.shape[0]), int(prediction.shape[1])))


def score_of_confusion(matrix: NDArray[np.int64], *, run_id: str, image_id: str, group_id: str, source_id: str,
                       mean_top_probability: float, truth_size: tuple[int, int], predicted_size: tuple[int, int],
                       metrics: Mapping[str, NDArray[np.float64]] | None = None) -> ImageScore:
    """The score of an image whose pixels are counted: truth x predicted, the last column outside the label set."""
    n_classes = len(matrix)
    true, predicted = np.nonzero(matrix)                            # sorted by true, then predicted
    outside = predicted == n_classes
    order = np.lexsort((np.where(outside, -1, predicted), true))
    cells = np.stack([true, np.where(outside, -1, predicted), matrix[true, predicted]], axis=1)[order]
    return ImageScore(run_id=run_id, image_id=image_id, group_id=group_id, source_id=source_id, n_classes=n_classes,
                      cells=cells.astype(np.int64), mean_top_probability=float(mean_top_probability),
                      truth_size=truth_size, predicted_size=predicted_size, metrics=metrics or {})
