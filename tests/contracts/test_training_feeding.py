"""Batches that are made ahead: in order, refused where they are taken, and nothing left behind."""

from __future__ import annotations

import itertools
import threading
from pathlib import Path

import numpy as np
import pytest
from tiny_images import write_squares

from segcv.errors import MaskError
from segcv.pixels import fit_preprocessing, label_map, write_mask
from segcv.training.augment import Augmentation
from segcv.training.cropping import Cropping
from segcv.training.data import TrainingImages, pair_reader, training_rows
from segcv.training.feeding import Feed
from segcv.training.seeds import EpochSampler

LABELS = label_map(names=["background", "square"])


def fed(rows, *, workers: int, epoch: int = 0, start: int = 0, epochs: int = 3) -> Feed:
    preprocessing = fit_preprocessing(rows)
    images = TrainingImages(
        training_rows(rows), read=pair_reader(LABELS, preprocessing, max_pixels=10**6), preprocessing=preprocessing,
        augmentation=Augmentation("light", bands=3, dtype="uint8", void=255),
        cropping=Cropping(16, foreground=0, void=255), stride=8, root=1)
    return Feed(images, EpochSampler(len(images), batch_size=2, root=1), epoch=epoch, start=start, epochs=epochs,
                workers=workers, pin=False)


def batch_threads() -> set[str]:
    return {thread.name for thread in threading.enumerate()} & {"segcv batches"}


@pytest.mark.parametrize("workers", [0, 2])
def test_one_stream_over_all_epochs_that_can_be_entered_anywhere(tmp_path: Path, workers: int):
    """Five images in batches of two and three: two batches an epoch, six in all; from batch 1 of epoch 1 three."""
    rows = write_squares(tmp_path, 5)
    with fed(rows, workers=0) as feed:
        whole = list(feed)

    with fed(rows, workers=workers, epoch=1, start=1) as feed:
        rest = list(feed)

    assert len(whole) == 6 and len(rest) == 3
    for one, other in zip(whole[3:], rest, strict=True):
        assert one.image_ids == other.image_ids
        assert one.images.equal(other.images) and one.truth.equal(other.truth)
    assert len({batch.image_ids for batch in whole}) > 2


def test_a_feed_that_is_left_early_leaves_no_thread(tmp_path: Path):
    with fed(write_squares(tmp_path, 5), workers=0, epochs=1000) as feed:
        list(itertools.islice(feed, 3))
        assert batch_threads()

    assert not batch_threads()


@pytest.mark.parametrize("workers", [0, 1])
def test_a_refused_image_is_refused_where_its_batch_is_taken(tmp_path: Path, workers: int):
    rows = write_squares(tmp_path, 4)
    write_mask(Path(rows["mask_path"].iloc[2]), np.zeros((16, 16), np.uint8))

    with fed(rows, workers=workers) as feed, pytest.raises(MaskError, match="square_2_mask"):
        list(feed)


def test_an_error_that_nobody_foresaw_is_raised_and_not_waited_for():
    images = type("Broken", (), {"__len__": lambda self: 4, "__getitem__": lambda self, key: 1 / 0})()

    with Feed(images, EpochSampler(4, batch_size=2, root=0), epoch=0, start=0, epochs=1, workers=0,
              pin=False) as feed, pytest.raises(ZeroDivisionError):
        next(feed)
