"""Does a user's own data pipeline draw the same augmentation again and again?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, Subset

from segcv.errors import ConfigError

WORKERS, ROUNDS = 2, 4


@dataclass(frozen=True, slots=True)
class LoaderAudit:
    """What two workers over two epochs gave for one sample asked for again and again."""

    random: bool                    # asked twice in one process, the sample differs: there are augmentations
    workers_alike: bool             # two workers draw the same augmentations at the same time
    epochs_alike: bool              # each epoch draws those of the epoch before


def audit_loader(given: Any, *, workers: int = WORKERS, rounds: int = ROUNDS) -> LoaderAudit:
    """Ask the first sample `workers` x `rounds` times in each of two epochs and compare what comes.

    `given` is a Dataset, or a DataLoader, whose dataset and worker settings are used. A sample is compared by its
    bytes, so one flip more or less counts. With `rounds` draws of a fair coin each, pipelines that are in order look
    alike by chance in 1 of 2**(workers * rounds) at the most.

    Raises:
        ConfigError: it is neither, or has no sample.
    """
    loader = given if isinstance(given, DataLoader) else None
    data: Dataset[Any] = loader.dataset if loader is not None else given
    if not hasattr(data, "__getitem__") or not hasattr(data, "__len__") or len(data) == 0:
        raise ConfigError(f"{type(given).__name__} is neither a Dataset with samples nor a DataLoader over one.")
    random = len({_digest(data[0]) for _ in range(rounds * workers)}) > 1
    again: DataLoader[Any] = DataLoader(
        Subset(data, [0] * (workers * rounds)), batch_size=1, shuffle=False, num_workers=workers, collate_fn=_digests,
        worker_init_fn=loader.worker_init_fn if loader is not None else None,
        persistent_workers=loader.persistent_workers if loader is not None and loader.num_workers else False,
        generator=loader.generator if loader is not None else None)
    epochs = [[digest for digest, in again] for _ in range(2)]          # draws of worker 0, 1, 0, 1, ...
    first, second = epochs
    by_worker = [first[worker::workers] for worker in range(workers)]
    return LoaderAudit(random, random and all(draws == by_worker[0] for draws in by_worker), random and first == second)


def _digests(samples: Sequence[Any]) -> list[bytes]:
    return [_digest(sample) for sample in samples]


def _digest(sample: Any) -> bytes:
    """The content of a sample, whatever it is made of."""
    digest = blake2b(digest_size=16)
    _feed(digest, sample)
    return digest.digest()


def _feed(digest: Any, part: Any) -> None:
    if isinstance(part, Mapping):
        for key in sorted(part, key=str):
            digest.update(str(key).encode())
            _feed(digest, part[key])
    elif isinstance(part, list | tuple):
        for item in part:
            _feed(digest, item)
    elif isinstance(part, Tensor | np.ndarray):
        array = np.ascontiguousarray(part.detach().cpu().numpy() if isinstance(part, Tensor) else part)
        digest.update(f"{array.shape}{array.dtype}".encode() + array.tobytes())
    else:
        digest.update(repr(part).encode())
