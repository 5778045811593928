"""Chance in a fit: four named streams, and an order of images that follows from the epoch alone.

Nothing here keeps a state, so a checkpoint needs none: what happens at a step is a function of the seeds and the step.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch.utils.data import Sampler

from segcv.tables import stream


@dataclass(frozen=True, slots=True)
class Seeds:
    """The roots of a fit's four sources of chance.

    `init` draws the first weights, `order` shuffles the images of each epoch, `augment` changes each image,
    `dropout` serves whatever the network draws in a forward pass.
    """

    init: int
    order: int
    augment: int
    dropout: int


def run_seeds(
    seed: int, *, repeat: int, fold: int,
    init: int | None = None, order: int | None = None, augment: int | None = None, dropout: int | None = None,
) -> Seeds:
    """The seeds of one run: all from `seed`, or a source from its own seed when that is given.

    Each repeat x fold x seed has streams of its own, so two folds of one seed share neither first weights nor order.

    >>> run_seeds(1, repeat=0, fold=0).init == run_seeds(2, repeat=0, fold=0, init=1).init
    True
    """
    def root(own: int | None) -> int:
        return stream(seed if own is None else own, repeat, fold)

    return Seeds(init=root(init), order=root(order), augment=root(augment), dropout=root(dropout))


def epoch_order(images: int, *, root: int, epoch: int) -> list[int]:
    """The positions 0..images-1 in the order of this epoch: a function of (root, epoch) and nothing else."""
    chance = torch.Generator().manual_seed(stream(root, "order", epoch))
    order: list[int] = torch.randperm(images, generator=chance).tolist()
    return order


def batches(order: list[int], *, batch_size: int) -> list[list[int]]:
    """`order` cut into batches; a last batch of one joins the one before, since batch norm needs two values.

    >>> batches([4, 0, 2, 1, 3], batch_size=2)
    [[4, 0], [2, 1, 3]]
    """
    cut = [order[start:start + batch_size] for start in range(0, len(order), batch_size)]
    if batch_size > 1 and len(cut) > 1 and len(cut[-1]) == 1:
        cut[-2:] = [cut[-2] + cut[-1]]
    return cut


class EpochSampler(Sampler[list[tuple[int, int]]]):
    """Batches of (epoch, position) for a DataLoader; `at` says which epoch, and from which batch on."""

    def __init__(self, images: int, *, batch_size: int, root: int) -> None:
        self.images, self.batch_size, self.root = images, batch_size, root
        self.epoch, self.start = 0, 0

    def at(self, epoch: int, *, start: int = 0) -> None:
        """Go to a batch of an epoch, as a resumed fit does."""
        self.epoch, self.start = epoch, start

    def __iter__(self) -> Iterator[list[tuple[int, int]]]:
        order = epoch_order(self.images, root=self.root, epoch=self.epoch)
        for batch in batches(order, batch_size=self.batch_size)[self.start:]:
            yield [(self.epoch, position) for position in batch]

    def __len__(self) -> int:
        """Batches of a whole epoch."""
        return len(batches(list(range(self.images)), batch_size=self.batch_size))
