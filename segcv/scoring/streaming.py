"""Many items scored by several processes, handed on in their order; what waits in memory is bounded."""

from __future__ import annotations

import multiprocessing
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from typing import TypeVar

from segcv.errors import ScoreError

Item = TypeVar("Item")
Result = TypeVar("Result")
AHEAD = 4                     # items in flight per process


def in_order(work: Callable[[Item], Result], items: Iterable[Item], *, workers: int) -> Iterator[Result]:
    """`work` of each item, in the order of the items whatever the number of processes; 0 or 1: in this process.

    Nothing is drawn and no item sees another, so the results are the same bits for any `workers`.

    Raises:
        ScoreError: a process was killed from outside, most often for want of memory.
    """
    if workers <= 1:
        yield from map(work, items)
        return
    source = iter(items)
    pool = ProcessPoolExecutor(workers, mp_context=_context())
    try:
        waiting: deque[Future[Result]] = deque(pool.submit(work, item) for item in islice(source, AHEAD * workers))
        while waiting:
            done = waiting.popleft().result()
            waiting.extend(pool.submit(work, item) for item in islice(source, 1))
            yield done
    except BrokenProcessPool as error:
        raise ScoreError(f"one of {workers} processes was ended from outside, most often because memory ran out. "
                         "Use fewer: workers=1") from error
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _context() -> multiprocessing.context.BaseContext:
    """Processes that start clean: threads of this process do not survive a fork."""
    ways = multiprocessing.get_all_start_methods()
    return multiprocessing.get_context("forkserver" if "forkserver" in ways else "spawn")
