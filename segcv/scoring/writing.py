"""A run's tables, written while its images arrive; of the images only whole-number counts stay in memory."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from segcv.errors import ScoreError, SegcvWarning
from segcv.metrics import Counts
from segcv.scoring.images import ImageScore
from segcv.scoring.items import Scored
from segcv.scoring.score_tables import CONFUSION_FILE, FACTS_FILE, SCORES_FILE, ScoreTables, class_counts, warn_resized
from segcv.tables import CONFUSION, IMAGE_FACTS, SCORES, appending

IMAGES_AT_ONCE, CELLS_AT_ONCE = 256, 100_000


class ScoreWriter:
    """Takes the images of one run in the order of their ids; see `writing_scores`."""

    def __init__(self, folder: Path, files: ExitStack) -> None:
        self._append = {name: files.enter_context(appending(schema, folder / name)) for name, schema in (
            (SCORES_FILE, SCORES), (FACTS_FILE, IMAGE_FACTS), (CONFUSION_FILE, CONFUSION))}      # closed in reverse
        self._part = ScoreTables()
        self._cells = 0
        self.image_ids: list[str] = []
        self._counts: list[NDArray[np.int64]] = []               # each 4 x classes: tp, fp, fn, valid
        self._resized: tuple[int, ImageScore | None] = (0, None)
        self._outside: Counter[str] = Counter()                  # pixels by image
        self.outside_values: set[int] = set()

    def add(self, scored: Scored) -> None:
        """Take the next image.

        Raises:
            ScoreError: its id does not come after that of the image before.
        """
        score = scored.score
        if self.image_ids and score.image_id <= self.image_ids[-1]:
            raise ScoreError(f"{score.image_id} came after {self.image_ids[-1]}: images are handed in once each, in "
                             "the order of their ids.")
        self._part.add(score)
        self._cells += len(score.cells)
        self.image_ids.append(score.image_id)
        self._counts.append(class_counts(score))
        if score.predicted_size != score.truth_size:
            self._resized = self._resized[0] + 1, self._resized[1] or score
        if score.outside_label_set:
            self._outside[score.image_id] = score.outside_label_set
            self.outside_values |= set(scored.outside)
        if len(self._part) >= IMAGES_AT_ONCE or self._cells >= CELLS_AT_ONCE:
            self.flush()

    def flush(self) -> None:
        """Write what has arrived since the last time."""
        if len(self._part):
            self._append[CONFUSION_FILE](self._part.confusion())
            self._append[FACTS_FILE](self._part.image_facts())
            self._append[SCORES_FILE](self._part.scores())
        self._part, self._cells = ScoreTables(), 0

    def counts(self) -> Counts:
        """The Counts of the images so far, in the order of `image_ids`."""
        stacked = np.stack(self._counts)                         # images x 4 x classes
        return Counts(stacked[:, 0], stacked[:, 1], stacked[:, 2], stacked[:, 3, 0])

    def refuse_misread(self, n_classes: int) -> None:
        """Refuse 0/255 predictions that were read as class ids: every object pixel would count as missed.

        Raises:
            ScoreError: so it is.
        """
        if n_classes == 2 and self.outside_values == {255} and not self.counts().predicted[:, 1].any():
            raise ScoreError(f"the predictions hold 0 and 255 only ({len(self._outside)} hold 255), and 255 is no "
                             "class. If it is the object: 'predicted_values={0: 0, 255: 1}'")

    def warn(self) -> None:
        """Say once what was brought to another size, and what was predicted outside the label set."""
        number, first = self._resized
        if first is not None:
            warn_resized(number, len(self.image_ids), first)
        if self._outside:
            values = ", ".join(map(str, sorted(self.outside_values)[:5]))
            name, pixels = self._outside.most_common(1)[0]
            warnings.warn(f"{sum(self._outside.values())} scored pixels in {len(self._outside)} of "
                          f"{len(self.image_ids)} predictions hold values that are no class ({values}; most in {name}: "
                          f"{pixels} pixels). They count as misses of the true class, as a wrong class does; if they "
                          "mean a class, say which: predicted_values={stored value: class id}", SegcvWarning,
                          stacklevel=2)


@contextmanager
def writing_scores(folder: Path) -> Iterator[ScoreWriter]:
    """A ScoreWriter whose tables appear in `folder` when the block ends well, the scores last."""
    with ExitStack() as files:
        writer = ScoreWriter(folder, files)
        yield writer
        writer.flush()
