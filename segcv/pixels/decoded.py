"""The cache of decoded images and masks: decoded once for all folds, seeds and processes, afterwards only mapped."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from segcv.errors import SegcvError
from segcv.pixels.decoded_files import (
    Kept,
    Paths,
    Shard,
    Writer,
    mapped,
    remove_all_but,
    shards_in,
    size_of,
    sum_of,
)
from segcv.pixels.files import MAX_PIXELS
from segcv.pixels.labels import LabelMap
from segcv.pixels.reading import read_image
from segcv.tables import Progress, fingerprint, held, quiet

GB = 1e9
_LEFT_FREE = 2e9                     # bytes of the disk that the cache never takes
_WHOLE = frozenset({"uint8", "uint16"})


class Decoded:
    """Images with their truth, by the paths of their files, without decoding.

    `streamed` says which of those asked for are not there and why, in one line; empty where all are. It can be handed
    to other processes, which map the same memory.
    """

    def __init__(self, kept: dict[Paths, tuple[Path, Kept]], streamed: str) -> None:
        self._kept, self.streamed = kept, streamed
        self._maps: dict[Path, NDArray[Any]] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def __getstate__(self) -> tuple[Any, ...]:
        return self._kept, self.streamed

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.__init__(*state)        # type: ignore[misc]

    def pair(self, image_path: Path, mask_path: Path) -> tuple[NDArray[Any], NDArray[Any]] | None:
        """The image, H x W x bands, as `read_image` gives it, and its truth, H x W, as `LabelMap.read` gives it; None
        where they are not kept. The arrays are views of the cache: only what is looked at is read."""
        found = self._kept.get(_key(image_path, mask_path))
        if found is None:
            return None
        file, kept = found
        if file not in self._maps:
            self._maps[file] = mapped(file)
        assert kept.image is not None and kept.truth is not None
        return kept.image.of(self._maps[file]), kept.truth.of(self._maps[file])


def decoded_pairs(pairs: Iterable[tuple[str, str]], *, labels: LabelMap, folder: Path, limit_gb: float,
                  max_pixels: int = MAX_PIXELS, workers: int = 1, progress: Progress = quiet) -> Decoded:
    """The images and masks at these paths, decoded; what `folder` lacks is decoded now, by `workers` threads.

    Processes that ask at the same time wait for the one that decodes. Files of the same path, size and time of change
    are taken as unchanged; others are decoded again, as is all that was damaged. No other file is opened. Left to be
    decoded whenever they are read: images of float pixels, files that cannot be read (whoever reads them is told why),
    and what would make the folder larger than `limit_gb` or fill the disk.
    """
    wanted = list(dict.fromkeys(_key(*pair) for pair in pairs))
    here = folder / fingerprint([labels.to_json()])
    room = ""
    kept, missing, damaged = _look(here, wanted)
    if missing or damaged:
        try:
            with held(here / ".lock", what=f"the cache {here}", wait=True):
                kept, missing, damaged = _look(here, wanted)
                if missing or damaged:
                    made, room = _decode(missing, here, limit=_room(folder, limit_gb, damaged), damaged=damaged,
                                         labels=labels, max_pixels=max_pixels, workers=workers, progress=progress,
                                         limit_gb=limit_gb)
                    if made is not None:
                        kept |= {paths: (made.pixels, one) for paths, one in made.kept.items()}
                    missing = [paths for paths in missing if paths not in kept]
        except OSError as error:     # a disk that is full or not to be written to: slower, and otherwise the same
            room = f"{folder} cannot be written to ({error.strerror})"
    reasons = Counter(one.because for _, one in kept.values() if one.because)
    reasons.update([room or "their files cannot be read"] * len(missing))
    return Decoded({paths: found for paths, found in kept.items() if not found[1].because},
                   _said(reasons, len(wanted)))


def _key(image_path: str | Path, mask_path: str | Path) -> Paths:
    return str(Path(image_path).absolute()), str(Path(mask_path).absolute())


def _look(here: Path, wanted: list[Paths]) -> tuple[dict[Paths, tuple[Path, Kept]], list[Paths], list[Shard]]:
    """What is kept of the wanted, what is missing, and which shards are damaged."""
    shards = list(shards_in(here)) if here.is_dir() else []
    damaged = [shard for shard in shards if not shard.whole()]
    kept: dict[Paths, tuple[Path, Kept]] = {}
    asked = {paths: _states(paths) for paths in wanted} if shards else {}
    for shard in shards:
        if shard in damaged:
            continue
        mine = {paths: one for paths, one in shard.kept.items() if paths in asked and asked[paths] == one.states}
        try:
            pixels = mapped(shard.pixels) if mine else None
        except OSError:                                          # removed by another process since it was listed
            damaged.append(shard)
            continue
        for one in mine.values():
            for place in (one.image, one.truth):
                if place is not None and pixels is not None and (
                        sum_of(place.of(pixels).reshape(-1).view("uint8")) != place.sum):
                    damaged.append(shard)
                    break
            if shard in damaged:
                break
        else:
            kept |= {paths: (shard.pixels, one) for paths, one in mine.items()}
    return kept, [paths for paths in wanted if paths not in kept], damaged


def _decode(missing: list[Paths], here: Path, *, limit: float, damaged: list[Shard], labels: LabelMap,
            max_pixels: int, workers: int, progress: Progress, limit_gb: float) -> tuple[Shard | None, str]:
    """A new shard of what was missing, what is of no use removed; and why some of it has no room, if so."""
    shards = [shard for shard in shards_in(here) if shard not in damaged and _is_alive(shard)]
    remove_all_but(here, shards)
    writer = Writer(here, room=int(limit))
    try:
        work = partial(_decode_pair, writer=writer, labels=labels, max_pixels=max_pixels)
        with ThreadPoolExecutor(max(1, workers)) as pool:           # decoders release the lock
            try:
                for _ in progress(pool.map(work, missing), total=len(missing), what="decoding images once"):
                    pass
            except BaseException:
                writer.full = True   # so that what is waiting to be decoded ends at once
                raise
        made = writer.finished()
    finally:
        writer.close()
    return made, f"the cache is full (cache_gb={limit_gb:g}, {here.parent})" if writer.full else ""


def _decode_pair(paths: Paths, *, writer: Writer, labels: LabelMap, max_pixels: int) -> None:
    if writer.full:
        return
    states = _states(paths)
    try:
        image = read_image(Path(paths[0]), max_pixels=max_pixels)
        if image.dtype.name not in _WHOLE:
            writer.kept[paths] = Kept(states, because=f"they hold {image.dtype.name}")
            return
        writer.add(paths, states, image, labels.read(Path(paths[1]), max_pixels=max_pixels))
    except SegcvError:
        return                       # who reads it for use is told; here it is only not kept


def _is_alive(shard: Shard) -> bool:
    """Is any of its files still what it was? Else nobody asks for it again."""
    return any(_states(paths) == one.states for paths, one in shard.kept.items())


def _room(folder: Path, limit_gb: float, damaged: list[Shard]) -> float:
    """Bytes that may still be written."""
    taken = sum(max(0, size_of(file)) for file in folder.rglob("*.pixels"))
    given_back = sum(max(0, size_of(shard.pixels)) for shard in damaged)
    free = shutil.disk_usage(folder).free - _LEFT_FREE
    return max(0.0, min(limit_gb * GB - taken, free) + given_back)


def _states(paths: Paths) -> tuple[str, str]:
    return _state(paths[0]), _state(paths[1])


def _state(path: str) -> str:
    """Size and time of change of a file; empty where there is none."""
    try:
        found = Path(path).stat()
    except OSError:
        return ""
    return f"{found.st_size}:{found.st_mtime_ns}"


def _said(reasons: Counter[str], wanted: int) -> str:
    if not reasons:
        return ""
    told = "; ".join(f"{count} of {wanted} because {reason}" for reason, count in reasons.items())
    return f"Decoded again whenever they are read: {told}."
