"""One stored prediction against its mask: read, brought to one size, checked, counted; by windows where it is large."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from segcv.errors import ScoreError
from segcv.pixels import open_mask
from segcv.scoring.arrays import open_prediction
from segcv.scoring.forms import LABELS
from segcv.scoring.sizes import check_sizes
from segcv.scoring.tally import Item, Reading, Scored, Tally, outline_scores

AT_ONCE = 1 << 26             # numbers (channels x pixels) read at once


def score_item(item: Item, reading: Reading, *, at_once: int = AT_ONCE) -> Scored:
    """The score of one item, of any size: not more than about `at_once` numbers are held, except for outlines.

    Raises:
        MaskError, ImageFileError, ScoreError: a file cannot be read, or does not hold what was declared.
    """
    labels, form, limit = reading.labels, reading.form, reading.max_pixels
    tally = Tally(reading)
    metrics: dict[str, NDArray[Any]] = {}
    with (open_mask(item.mask, max_pixels=limit) as truth_file,
          open_prediction(item.prediction, form, reading.coding, n_classes=labels.n_classes, max_pixels=limit,
                          plane=item.plane, volume_rows=reading.volume_rows) as prediction):
        height, width = truth_file.shape
        try:
            check_sizes(prediction.shape, (height, width), rule=reading.size)
            if reading.metrics and height * width > limit:
                raise ScoreError(f"is {height}x{width} (height x width), and outlines are followed in a whole image: "
                                 f"{', '.join(reading.metrics)} take at most data.max_pixels={limit}")
            whole = bool(reading.metrics) or height * width * prediction.channels <= at_once
            windows = [(slice(0, height), slice(0, width))] if whole else truth_file.windows(
                pixels=max(1, at_once // prediction.channels))
            for rows, columns in windows:
                truth = truth_file.read(rows, columns, labels.ids)
                part = prediction.read(rows, columns, height=height, width=width)
                if form.kind == LABELS:
                    tally.add_labels(truth, part)
                else:
                    part = tally.add_channels(truth, part)
                if reading.metrics:
                    metrics = outline_scores(truth, part, reading)
        except ScoreError as error:
            named = str(error) if str(item.prediction) in str(error) else f"{item.prediction}: {error}."
            raise ScoreError(named) from error
    return tally.scored(item, truth_size=(height, width), predicted_size=prediction.shape, metrics=metrics)
