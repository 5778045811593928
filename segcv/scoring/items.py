"""One stored prediction against its mask: read, brought to one size, checked, counted."""

from __future__ import annotations

from segcv.errors import ScoreError
from segcv.scoring.arrays import read_channels, read_labels
from segcv.scoring.forms import LABELS
from segcv.scoring.sizes import check_sizes, nearest
from segcv.scoring.tally import Item, Reading, Scored, Tally, outline_scores


def score_item(item: Item, reading: Reading) -> Scored:
    """The score of one item.

    Raises:
        MaskError, ImageFileError, ScoreError: a file cannot be read, or does not hold what was declared.
    """
    labels, form = reading.labels, reading.form
    truth = labels.read(item.mask, max_pixels=reading.max_pixels)
    if form.kind == LABELS:
        stored = read_labels(item.prediction, form, reading.coding, max_pixels=reading.max_pixels)
    else:
        stored = read_channels(item.prediction, form, n_classes=labels.n_classes, max_pixels=reading.max_pixels)
    height, width = truth.shape
    predicted_size = (int(stored.shape[-2]), int(stored.shape[-1]))
    tally = Tally(reading)
    try:
        check_sizes(predicted_size, (height, width), rule=reading.size)
        predicted = nearest(stored, height=height, width=width)
        if form.kind == LABELS:
            tally.add_labels(truth, predicted)
        else:
            predicted = tally.add_channels(truth, predicted)
    except ScoreError as error:
        raise ScoreError(f"{item.prediction}: {error}.") from error
    return tally.scored(item, truth_size=(height, width), predicted_size=predicted_size,
                        metrics=outline_scores(truth, predicted, reading))
