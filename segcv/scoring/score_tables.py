"""The three tables of a run's scores: collected in any order, written the same."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from segcv.errors import ScoreError, SegcvWarning
from segcv.metrics import Counts, counts_from_rows
from segcv.scoring.images import ImageScore
from segcv.tables import CONFUSION, IMAGE_FACTS, SCORES

SCORES_FILE, CONFUSION_FILE, FACTS_FILE = "scores.parquet", "confusion.parquet", "image_facts.parquet"


class ScoreTables:
    """Collects image scores, in any order, and gives or writes their tables sorted by run and image.

    Memory grows with images x classes and with the non-zero confusion cells, never with pixels.
    """

    def __init__(self) -> None:
        self._scores: dict[tuple[str, str], ImageScore] = {}

    def __len__(self) -> int:
        """Number of images collected."""
        return len(self._scores)

    def add(self, score: ImageScore) -> None:
        """Collect one image's score.

        Raises:
            ScoreError: this run already has a score of the image (samplers that repeat images to fill up a batch
                would count it twice), or other images have another number of classes.
        """
        key = (score.run_id, score.image_id)
        if key in self._scores:
            raise ScoreError(f"{score.image_id} is scored twice in run {score.run_id}. Each image counts once: "
                             "let only one process or batch hand it in.")
        first = next(iter(self._scores.values()), score)
        if first.n_classes != score.n_classes:
            raise ScoreError(f"{score.image_id} has {score.n_classes} classes, {first.image_id} {first.n_classes}. "
                             "Score all images under one label map.")
        self._scores[key] = score

    def scores(self) -> pd.DataFrame:
        """SCORES: one row per run, image and class."""
        ordered = self._ordered()
        if not ordered:
            return SCORES.empty()
        n_classes = ordered[0].n_classes
        per_image = [class_counts(score) for score in ordered]           # each 4 x classes: tp, fp, fn, valid
        tp, fp, fn, valid = np.concatenate(per_image, axis=1)

        def repeated(name: str) -> NDArray[Any]:
            return np.repeat(np.array([getattr(score, name) for score in ordered], dtype=object), n_classes)

        return SCORES.check(pd.DataFrame({
            "run_id": repeated("run_id"), "image_id": repeated("image_id"),
            "class_id": np.tile(np.arange(n_classes), len(ordered)),
            "group_id": repeated("group_id"), "source_id": repeated("source_id"),
            "tp": tp, "fp": fp, "fn": fn, "valid": valid,
            **{name: np.concatenate([score.metrics[name] for score in ordered]) for name in ordered[0].metrics},
        }), where="scores")

    def confusion(self) -> pd.DataFrame:
        """CONFUSION: one row per run, image and non-zero cell; predicted -1 is outside the label set."""
        ordered = self._ordered()
        if not ordered:
            return CONFUSION.empty()
        numbers = [len(score.cells) for score in ordered]
        cells = np.concatenate([score.cells for score in ordered])
        return CONFUSION.check(pd.DataFrame({
            "run_id": np.repeat(np.array([score.run_id for score in ordered], dtype=object), numbers),
            "image_id": np.repeat(np.array([score.image_id for score in ordered], dtype=object), numbers),
            "truth": cells[:, 0], "predicted": cells[:, 1], "pixels": cells[:, 2],
        }), where="confusion")

    def image_facts(self) -> pd.DataFrame:
        """IMAGE_FACTS: one row per run and image."""
        ordered = self._ordered()
        if not ordered:
            return IMAGE_FACTS.empty()
        return IMAGE_FACTS.check(pd.DataFrame({
            "run_id": [score.run_id for score in ordered], "image_id": [score.image_id for score in ordered],
            "mean_top_probability": [score.mean_top_probability for score in ordered],
            "outside_label_set": [score.outside_label_set for score in ordered],
            "height": [score.truth_size[0] for score in ordered], "width": [score.truth_size[1] for score in ordered],
        }), where="image facts")

    def write(self, folder: Path) -> None:
        """Write the three tables into `folder`, each replaced at once and the scores last.

        Warns once when predictions had another size than their masks and were brought to it.
        """
        resized = [score for score in self._ordered() if score.predicted_size != score.truth_size]
        if resized:
            warn_resized(len(resized), len(self), resized[0])
        CONFUSION.write(self.confusion(), folder / CONFUSION_FILE)
        IMAGE_FACTS.write(self.image_facts(), folder / FACTS_FILE)
        SCORES.write(self.scores(), folder / SCORES_FILE)

    def _ordered(self) -> list[ImageScore]:
        return [self._scores[key] for key in sorted(self._scores)]


@dataclass(frozen=True, slots=True, eq=False)
class ImageCounts:
    """The Counts of a scores table, and what its rows and columns are; rows sorted by run, then image."""

    run_id: NDArray[Any]           # images, text
    image_id: NDArray[Any]         # images, text
    group_id: NDArray[Any]         # images, text
    source_id: NDArray[Any]        # images, text
    class_id: NDArray[np.int64]    # classes
    counts: Counts                 # images x classes


def read_scores(folder: Path) -> pd.DataFrame:
    """The scores table in `folder`, as `ScoreTables.write` left it."""
    return SCORES.read(folder / SCORES_FILE)


def read_confusion(folder: Path) -> pd.DataFrame:
    """The confusion table in `folder`, as `ScoreTables.write` left it."""
    return CONFUSION.read(folder / CONFUSION_FILE)


def read_image_facts(folder: Path) -> pd.DataFrame:
    """The image facts in `folder`, as `ScoreTables.write` left them."""
    return IMAGE_FACTS.read(folder / FACTS_FILE)


def counts_of(scores: pd.DataFrame) -> ImageCounts:
    """The Counts of a scores table, one row per run and image, whatever the order of the table's rows.

    Raises:
        ScoreError: an image lacks one of the table's classes, has one twice, or its rows disagree.
    """
    rows = scores.reset_index(drop=True)
    images = rows[["run_id", "image_id", "group_id", "source_id"]].drop_duplicates(["run_id", "image_id"])
    images = images.sort_values(["run_id", "image_id"]).reset_index(drop=True)
    keys = pd.MultiIndex.from_frame(images[["run_id", "image_id"]])
    row_of = keys.get_indexer(pd.MultiIndex.from_frame(rows[["run_id", "image_id"]]))
    for name in ("group_id", "source_id"):
        other = rows[name].to_numpy() != images[name].to_numpy()[row_of]
        if other.any():
            at = int(np.flatnonzero(other)[0])
            raise ScoreError(f"{rows['image_id'][at]} has two values of {name}: {images[name][row_of[at]]!r} and "
                             f"{rows[name][at]!r}.")
    try:
        _, class_id, counts = counts_from_rows(
            row_of, rows["class_id"].to_numpy(), tp=rows["tp"].to_numpy(), fp=rows["fp"].to_numpy(),
            fn=rows["fn"].to_numpy(), valid=rows["valid"].to_numpy(), names=images["image_id"].to_numpy())
    except ScoreError as error:
        raise ScoreError(f"scores table: {error}") from error
    return ImageCounts(run_id=images["run_id"].to_numpy(), image_id=images["image_id"].to_numpy(),
                        group_id=images["group_id"].to_numpy(), source_id=images["source_id"].to_numpy(),
                        class_id=class_id, counts=counts)


def class_counts(score: ImageScore) -> NDArray[np.int64]:
    """tp, fp, fn and valid pixels of each class, 4 x classes."""
    true, predicted, pixels = score.cells.T
    truth_px = np.zeros(score.n_classes, np.int64)
    np.add.at(truth_px, true, pixels)
    inside = predicted >= 0
    predicted_px = np.zeros(score.n_classes, np.int64)
    np.add.at(predicted_px, predicted[inside], pixels[inside])
    tp = np.zeros(score.n_classes, np.int64)
    tp[true[true == predicted]] = pixels[true == predicted]
    return np.stack([tp, predicted_px - tp, truth_px - tp, np.full(score.n_classes, score.valid)])


def warn_resized(number: int, images: int, first: ImageScore) -> None:
    """Warn that predictions were brought to their masks' size."""
    warnings.warn(f"{number} of {images} predictions had another size than their mask and were brought to the mask's "
                  f"size by nearest neighbour (first: {first.image_id}, {_size(first.predicted_size)} to "
                  f"{_size(first.truth_size)}).", SegcvWarning, stacklevel=3)


def _size(size: tuple[int, int]) -> str:
    return f"{size[1]} x {size[0]}"
