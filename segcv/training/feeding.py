"""Batches made ahead of the loop, so that a step does not wait for data: in a thread, or in processes of their own.

A thread shares the memory of the cache and costs a fraction of the time that processes take to hand a batch over;
processes are for work that keeps a whole core busy, such as decoding files in every epoch.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterator
from types import TracebackType
from typing import Any

import torch
from torch.utils.data import DataLoader, Sampler

from segcv.errors import SegcvError
from segcv.training.data import Batch, TrainingImages, batch_of
from segcv.training.seeds import EpochSampler

AHEAD = 4              # batches that wait for the loop
NOTICED_S = 0.2        # after which a thread that waits for room sees that nobody takes its batches


class Feed:
    """An iterator over the batches of a fit, from batch `start` of `epoch` on, through all its epochs.

    What is in a batch follows from the sampler and the images alone: `workers`, processes, or one thread where it is 0,
    only decide who makes it. To be used in a with-block, which ends them.

    Raises:
        SegcvError: when the batch is taken of which an image was refused.
    """

    def __init__(self, images: TrainingImages, sampler: EpochSampler, *, epoch: int, start: int, epochs: int,
                 workers: int, pin: bool) -> None:
        loader: DataLoader[Any] = DataLoader(
            images, batch_sampler=_AllEpochs(sampler, epoch=epoch, start=start, epochs=epochs), collate_fn=batch_of,
            num_workers=workers, pin_memory=pin, generator=torch.Generator())
        self.waited_s = 0.0                    # how long its user waited for batches
        self._thread: _Thread | None = None
        self._made: Iterator[Batch | SegcvError]
        if workers:
            self._made = iter(loader)
        else:
            self._made = self._thread = _Thread(iter(loader))

    def __iter__(self) -> Iterator[Batch]:
        return self

    def __next__(self) -> Batch:
        began = time.perf_counter()
        batch = next(self._made)
        self.waited_s += time.perf_counter() - began
        if isinstance(batch, SegcvError):
            raise batch
        return batch

    def __enter__(self) -> Feed:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        if self._thread is not None:
            self._thread.end()
        del self._made                         # a loader ends its processes with its last reference


class _AllEpochs(Sampler[list[tuple[int, int]]]):
    """The batches of the epochs that are left, one after the other."""

    def __init__(self, sampler: EpochSampler, *, epoch: int, start: int, epochs: int) -> None:
        self.sampler, self.epoch, self.start, self.epochs = sampler, epoch, start, epochs

    def __iter__(self) -> Iterator[list[tuple[int, int]]]:
        for epoch in range(self.epoch, self.epochs):
            self.sampler.at(epoch, start=self.start if epoch == self.epoch else 0)
            yield from self.sampler


class _Thread(Iterator[Any]):
    """The items of an iterator, taken from it by a thread up to AHEAD of them in advance."""

    def __init__(self, items: Iterator[Any]) -> None:
        self._waiting: queue.Queue[tuple[Any, BaseException | None]] = queue.Queue(AHEAD)
        self._ended = threading.Event()
        self._worker = threading.Thread(target=self._make, args=(items,), name="segcv batches", daemon=True)
        self._worker.start()

    def __next__(self) -> Any:
        item, error = self._waiting.get()
        if error is not None:
            self._waiting.put((None, error))   # whoever asks again gets the same answer
            raise error
        return item

    def end(self) -> None:
        """Stop the thread and wait for it."""
        self._ended.set()
        self._worker.join()

    def _make(self, items: Iterator[Any]) -> None:
        try:
            for item in items:
                if not self._put(item, None):
                    return
            self._put(None, StopIteration())
        except BaseException as error:         # raised where the batch is taken
            self._put(None, error)

    def _put(self, item: Any, error: BaseException | None) -> bool:
        while not self._ended.is_set():
            try:
                self._waiting.put((item, error), timeout=NOTICED_S)
                return True
            except queue.Full:
                continue
        return False
