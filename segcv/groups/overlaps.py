"""Which images show the same ground: marks that both chose, and that agree on one shift between the two pictures."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from segcv.groups.hamming import hamming_pairs
from segcv.groups.looks import member_pairs

EQUAL_PIXELS, SAME_GROUND = "equal pixels", "same ground"
MARK = np.dtype([("word", "<u8"), ("x", "<u2"), ("y", "<u2")])
BITS = 5                  # of 63, by which the words of one landmark may differ
LEAST_BLOCKS = 3          # equal blocks that agree on a shift
LEAST_LANDMARKS = 10      # landmarks that agree on a shift, within TOLERANCE px
TOLERANCE = 2
LEAST_SHARE = 0.5         # of all matches of a pair, and of the blocks on the shared ground, that must agree
CELLS, LEAST_CELLS = 8, 8      # landmarks must lie in so many of the 8 x 8 cells of the shared ground
COMMON = 50               # images; a word in more of them is compared with its next neighbours only
NEIGHBOURS = 10
OVERLAY_SHARE = 0.1       # of the images with one landmark in one place: a label or frame drawn over the picture
OVERLAY_IMAGES = 8
MOST_WORDS = 6_000_000    # landmarks compared; of more, each image gives its most prominent ones

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _Marks:
    """The marks of all images, one after the other."""

    word: NDArray[np.uint64]
    at: Ints               # marks x (x, y)
    image: Ints            # row of its image


def overlapping_pairs(looks: pd.DataFrame, *, landmarks: bool = True) -> pd.DataFrame:
    """Pairs of images that share ground: first, second (ids, first < second), kind, votes, shift_x, shift_y, share.

    `looks` holds image_id, height, width (px), and blocks and landmarks, each the bytes of MARK records (word, x, y).
    Kind "equal pixels": at least three equal blocks, and half of those on the shared ground, agree on one shift. Kind
    "same ground" (with `landmarks`): at least ten landmarks whose words differ in at most five bits agree on a shift
    within two pixels, they are the half of all matches, and are spread over the shared ground. A pixel (x, y) of the
    second lies at (x + shift_x, y + shift_y) of the first; `share` is the part of the smaller image that is shared.
    Sorted by kind, then votes (most first), then ids: the order of rows has no influence.
    """
    seen = looks.sort_values("image_id", ignore_index=True)
    size = seen[["width", "height"]].to_numpy(np.int64)
    found = [_block_pairs(_marks(seen["blocks"]), size)]
    if landmarks:
        found.append(_landmark_pairs(_marks(seen["landmarks"], most=max(30, MOST_WORDS // max(1, len(seen)))), size))
    pairs = pd.concat(found, ignore_index=True).drop_duplicates(["one", "other"])
    ids = seen["image_id"].to_numpy(dtype=object)
    shared = np.minimum(size[pairs["one"]], size[pairs["other"]] + pairs[["shift_x", "shift_y"]].to_numpy(np.int64)
                        ) - np.maximum(0, pairs[["shift_x", "shift_y"]].to_numpy(np.int64))      # pairs x (x, y), px
    least = np.minimum(size[pairs["one"]].prod(1), size[pairs["other"]].prod(1))
    pairs = pairs.assign(first=ids[pairs["one"]], second=ids[pairs["other"]], share=shared.prod(1) / least)
    return pairs[["first", "second", "kind", "votes", "shift_x", "shift_y", "share"]].sort_values(
        ["kind", "votes", "first", "second"], ascending=[True, False, True, True], ignore_index=True)


def _marks(column: pd.Series, most: int | None = None) -> _Marks:
    each = [np.frombuffer(data, MARK)[:most] for data in column]
    marks = np.concatenate([np.empty(0, MARK), *each])
    return _Marks(marks["word"].astype(np.uint64), np.stack([marks["x"], marks["y"]], 1).astype(np.int64),
                  np.repeat(np.arange(len(each)), [len(one) for one in each]))


def _without_overlays(marks: _Marks, a: Ints, b: Ints, n_images: int) -> tuple[Ints, Ints]:
    """The matches without those between many images in one and the same place of the picture."""
    same = (np.abs(marks.at[a] - marks.at[b]) <= 1).all(1)
    ends = np.concatenate([a[same], b[same]])
    place = pd.DataFrame({"x": marks.at[ends, 0], "y": marks.at[ends, 1], "image": marks.image[ends]})
    images = place.drop_duplicates().groupby(["x", "y"]).size()
    often = pd.MultiIndex.from_arrays(marks.at[a[same]].T).map(images.to_dict()).to_numpy()
    drop = np.zeros(len(a), bool)
    drop[np.flatnonzero(same)] = often >= max(OVERLAY_IMAGES, OVERLAY_SHARE * n_images)
    return a[~drop], b[~drop]


def _block_pairs(marks: _Marks, size: Ints) -> pd.DataFrame:
    a, b = _equal_words(marks)
    rows = []
    for one, other, shift in _by_pair(marks, a, b, LEAST_BLOCKS):
        shifts, votes = np.unique(shift, axis=0, return_counts=True)
        best = int(votes.argmax())
        chosen, count = shifts[best], int(votes[best])
        on_ground = min(_on_ground(marks, one, chosen, size[other]), _on_ground(marks, other, -chosen, size[one]))
        if count >= max(LEAST_BLOCKS, LEAST_SHARE * len(shift), LEAST_SHARE * on_ground):
            rows.append((one, other, EQUAL_PIXELS, count, *chosen))
    return _table(rows)


def _landmark_pairs(marks: _Marks, size: Ints) -> pd.DataFrame:
    a, b = _without_overlays(marks, *_near_words(marks), len(size))
    rows = []
    for one, other, shift, place in _by_pair(marks, a, b, LEAST_LANDMARKS, places=True):
        near = (np.abs(shift[:, None] - shift[None, :1000]) <= TOLERANCE).all(2)      # matches x matches
        best = int(near.sum(0).argmax())
        agree = near[:, best]
        count = int(agree.sum())
        chosen = np.round(np.median(shift[agree], axis=0)).astype(np.int64)
        low = np.maximum(0, chosen)
        extent = np.maximum(1, np.minimum(size[one], size[other] + chosen) - low)
        cells = np.unique(np.clip((place[agree] - low) * CELLS // extent, 0, CELLS - 1), axis=0)
        if count >= max(LEAST_LANDMARKS, LEAST_SHARE * len(shift)) and len(cells) >= LEAST_CELLS:
            rows.append((one, other, SAME_GROUND, count, *chosen))
    return _table(rows)


def _table(rows: list[tuple[int, int, str, int, int, int]]) -> pd.DataFrame:
    names = ["one", "other", "kind", "votes", "shift_x", "shift_y"]
    return pd.DataFrame(rows, columns=names).astype(dict.fromkeys(names, "int64") | {"kind": "str"})


def _equal_words(marks: _Marks) -> tuple[Ints, Ints]:
    """Pairs of marks with equal words in different images; of words in very many images only neighbours."""
    order = np.lexsort((marks.image, marks.word))
    _, start, count = np.unique(marks.word[order], return_index=True, return_counts=True)
    a, b = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    place = np.repeat(start, count)                            # where the bucket of each begins
    reach = np.repeat(np.where(count > COMMON, np.minimum(count, NEIGHBOURS + 1), count), count)
    end = place + np.repeat(count, count)
    step = 1
    live = np.arange(len(order))
    while len(live := live[(live + step < end[live]) & (step < reach[live])]):
        a.append(order[live])
        b.append(order[live + step])
        step += 1
    return np.concatenate(a), np.concatenate(b)


def _near_words(marks: _Marks) -> tuple[Ints, Ints]:
    distinct, which, often = np.unique(marks.word, return_inverse=True, return_counts=True)
    rare = often <= COMMON                                     # a word of very many images says nothing
    number = np.cumsum(rare) - 1
    kept = np.flatnonzero(rare[which])
    which = number[which[kept]]
    i, j, _ = hamming_pairs(distinct[rare], max_distance=BITS)
    i, j = (np.concatenate([ends, np.arange(int(rare.sum()))]) for ends in (i, j))
    a, b = member_pairs(i, j, which, which, int(rare.sum()), int(rare.sum()))
    return kept[a], kept[b]


def _by_pair(marks: _Marks, a: Ints, b: Ints, least: int, places: bool = False):  # type: ignore[no-untyped-def]
    """For each pair of images, one < other, with enough matches: rows and the shift of each match (matches x 2)."""
    swap = marks.image[a] > marks.image[b]
    a, b = np.where(swap, b, a), np.where(swap, a, b)
    different = marks.image[a] < marks.image[b]
    a, b = a[different], b[different]
    n_images = int(marks.image.max(initial=-1)) + 1
    key = marks.image[a] * n_images + marks.image[b]
    order = np.lexsort((b, a, key))
    pairs, start, count = np.unique(key[order], return_index=True, return_counts=True)
    for pair, begin, n in zip(pairs[count >= least], start[count >= least], count[count >= least], strict=True):
        rows = order[begin:begin + n]
        shift = marks.at[a[rows]] - marks.at[b[rows]]
        found = (int(pair) // n_images, int(pair) % n_images, shift)
        yield (*found, marks.at[a[rows]]) if places else found


def _on_ground(marks: _Marks, image: int, shift: Ints, other_size: Ints) -> int:
    """How many marks of an image lie on the ground of another that is `shift` away (16 px of a block inside)."""
    start, end = np.searchsorted(marks.image, [image, image + 1])
    at = marks.at[start:end] - shift
    return int(((at >= 0) & (at <= other_size - 16)).all(1).sum())
