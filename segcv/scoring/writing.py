"""A run's tables, written while its images arrive; of the images only whole-number counts stay in memory."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from segcv.errors import ScoreError, SegcvWarning
from segcv.metrics import Counts
from segcv.scoring.histograms import HISTOGRAMS_FILE, TOP, histogram_rows
from segcv.scoring.images import ImageScore
from segcv.scoring.score_tables import CONFUSION_FILE, FACTS_FILE, SCORES_FILE, ScoreTables, class_counts, warn_resized
from segcv.scoring.tally import Scored
from segcv.tables import CONFUSION, HISTOGRAMS, IMAGE_FACTS, SCORES, Schema, appending

IMAGES_AT_ONCE, ROWS_AT_ONCE = 256, 100_000


@dataclass(frozen=True, slots=True, eq=False)
class RunScores:
    """The scores of one run, in the order of its image ids."""

    image_ids: tuple[str, ...]
    group_ids: tuple[str, ...]
    source_ids: tuple[str, ...]                    # "": the image is its own source
    counts: Counts
    metrics: dict[str, NDArray[np.float64]]        # boundary metrics by name, images x classes; inf: one side missing
    sizes: NDArray[np.int64]                       # images x (height, width)
    histogram: NDArray[np.int64] | None            # (classes + 1) x wrong, right x 256, summed over images


class ScoreWriter:
    """Takes the images of one run in the order of their ids; see `writing_scores`."""

    def __init__(self, folder: Path, files: ExitStack, *, histograms: bool) -> None:
        tables: list[tuple[str, Schema]] = [(SCORES_FILE, SCORES), (FACTS_FILE, IMAGE_FACTS),
                                            (CONFUSION_FILE, CONFUSION)]       # closed in reverse, the scores last
        tables += [(HISTOGRAMS_FILE, HISTOGRAMS)] if histograms else []
        self._append = {name: files.enter_context(appending(schema, folder / name)) for name, schema in tables}
        self._part, self._rows = ScoreTables(), 0
        self._bins: list[pd.DataFrame] = []
        self._image_ids: list[str] = []
        self._owners: list[tuple[str, str]] = []                 # group, source
        self._counts: list[NDArray[np.int64]] = []               # each 4 x classes: tp, fp, fn, valid
        self._metrics: dict[str, list[NDArray[np.float64]]] = {}
        self._sizes: list[tuple[int, int]] = []
        self._histogram: NDArray[np.int64] | None = None
        self._resized: tuple[int, ImageScore | None] = (0, None)
        self._outside: Counter[str] = Counter()                  # pixels by image
        self._outside_values: set[int] = set()

    def add(self, scored: Scored) -> None:
        """Take the next image.

        Raises:
            ScoreError: its id does not come after that of the image before.
        """
        score = scored.score
        if self._image_ids and score.image_id <= self._image_ids[-1]:
            raise ScoreError(f"{score.image_id} came after {self._image_ids[-1]}: images are handed in once each, in "
                             "the order of their ids.")
        self._part.add(score)
        self._rows += len(score.cells)
        self._image_ids.append(score.image_id)
        self._owners.append((score.group_id, score.source_id))
        self._counts.append(class_counts(score))
        self._sizes.append(score.truth_size)
        for name, values in score.metrics.items():
            self._metrics.setdefault(name, []).append(values)
        if scored.bins is not None:
            self._add_bins(score, scored.bins)
        if score.predicted_size != score.truth_size:
            self._resized = self._resized[0] + 1, self._resized[1] or score
        if score.outside_label_set:
            self._outside[score.image_id] = score.outside_label_set
            self._outside_values |= set(scored.outside)
        if len(self._part) >= IMAGES_AT_ONCE or self._rows >= ROWS_AT_ONCE:
            self.flush()

    def flush(self) -> None:
        """Write what has arrived since the last time."""
        if len(self._part):
            self._append[CONFUSION_FILE](self._part.confusion())
            self._append[FACTS_FILE](self._part.image_facts())
            self._append[SCORES_FILE](self._part.scores())
        if self._bins:
            self._append[HISTOGRAMS_FILE](pd.concat(self._bins, ignore_index=True))
        self._part, self._rows, self._bins = ScoreTables(), 0, []

    def scores(self) -> RunScores:
        """The images so far."""
        stacked = np.stack(self._counts)                         # images x 4 x classes
        counts = Counts(stacked[:, 0], stacked[:, 1], stacked[:, 2], stacked[:, 3, 0])
        groups, sources = zip(*self._owners, strict=True)
        metrics = {name: np.stack(rows) for name, rows in self._metrics.items()}
        return RunScores(tuple(self._image_ids), groups, sources, counts, metrics,
                         np.array(self._sizes, np.int64), self._histogram)

    def refuse_misread(self, n_classes: int) -> None:
        """Refuse 0/255 predictions that were read as class ids: every object pixel would count as missed.

        Raises:
            ScoreError: so it is.
        """
        if n_classes == 2 and self._outside_values == {255} and not self.scores().counts.predicted[:, 1].any():
            raise ScoreError(f"the predictions hold 0 and 255 only ({len(self._outside)} hold 255), and 255 is no "
                             "class. If it is the object: 'predicted_values={0: 0, 255: 1}'")

    def warn(self) -> None:
        """Say once what was brought to another size, and what was predicted outside the label set."""
        number, first = self._resized
        if first is not None:
            warn_resized(number, len(self._image_ids), first)
        if self._outside:
            values = ", ".join(map(str, sorted(self._outside_values)[:5]))
            name, pixels = self._outside.most_common(1)[0]
            warnings.warn(f"{sum(self._outside.values())} scored pixels in {len(self._outside)} of "
                          f"{len(self._image_ids)} predictions hold values that are no class ({values}; most in "
                          f"{name}: {pixels} pixels). They count as misses of the true class, as a wrong class does; "
                          "if they mean a class, say which: predicted_values={stored value: class id}", SegcvWarning,
                          stacklevel=2)

    def _add_bins(self, score: ImageScore, bins: NDArray[np.int64]) -> None:
        if self._histogram is None:
            self._histogram = np.zeros((score.n_classes + 1, 2, 256), np.int64)
        place = np.where(bins[:, 0] == TOP, score.n_classes, bins[:, 0])
        self._histogram[place, 0, bins[:, 1]] += bins[:, 2]
        self._histogram[place, 1, bins[:, 1]] += bins[:, 3]
        self._bins.append(histogram_rows(score.run_id, score.image_id, bins))
        self._rows += len(bins)


@contextmanager
def writing_scores(folder: Path, *, histograms: bool) -> Iterator[ScoreWriter]:
    """A ScoreWriter whose tables appear in `folder` when the block ends well, the scores last."""
    with ExitStack() as files:
        writer = ScoreWriter(folder, files, histograms=histograms)
        yield writer
        writer.flush()
