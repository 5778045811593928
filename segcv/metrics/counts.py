"""Masks to whole-number pixel counts: the confusion matrix of one image, and the counts of many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from segcv.errors import ConfigError, MaskError, ScoreError

IntArray = NDArray[np.int64]
Labels = NDArray[np.integer[Any]] | NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """Pixel counts of images (rows) and classes (columns), int64; everything overlap can say follows from them.

    A pixel counts where the truth is not ignored. `tp`: truth and prediction are the class; `fp`: only the prediction;
    `fn`: only the truth, also where the prediction is outside the label set; each images x classes. `valid`: the
    counted pixels of each image. Rows may be sums: patches of a source, images of a group.

    >>> one = Counts(tp=[[6, 1]], fp=[[1, 0]], fn=[[0, 1]], valid=[8])
    >>> (one + one).union.tolist()
    [[14, 4]]
    """

    tp: IntArray           # images x classes
    fp: IntArray           # images x classes
    fn: IntArray           # images x classes
    valid: IntArray        # images

    def __post_init__(self) -> None:
        for name in ("tp", "fp", "fn", "valid"):
            object.__setattr__(self, name, _whole(getattr(self, name), name))
        if self.tp.ndim != 2 or not self.tp.shape == self.fp.shape == self.fn.shape:
            raise ScoreError(f"tp, fp and fn must be images x classes of one shape, not {self.tp.shape}, "
                             f"{self.fp.shape} and {self.fn.shape}.")
        if self.valid.shape != self.tp.shape[:1]:
            raise ScoreError(f"valid must hold one number for each of the {self.n_images} images, "
                             f"and has the shape {self.valid.shape}.")
        if (self.union > self.valid[:, None]).any():
            row = int(np.flatnonzero((self.union > self.valid[:, None]).any(axis=1))[0])
            raise ScoreError(f"Row {row} counts more pixels of a class than its valid {self.valid[row]}.")

    @property
    def n_images(self) -> int:
        """Number of rows."""
        return int(self.tp.shape[0])

    @property
    def n_classes(self) -> int:
        """Number of columns."""
        return int(self.tp.shape[1])

    @property
    def truth(self) -> IntArray:
        """Valid pixels whose truth is the class, images x classes."""
        return self.tp + self.fn

    @property
    def predicted(self) -> IntArray:
        """Valid pixels predicted as the class, images x classes."""
        return self.tp + self.fp

    @property
    def union(self) -> IntArray:
        """Valid pixels of the class in the truth or the prediction, images x classes."""
        return self.tp + self.fp + self.fn

    def __add__(self, other: Counts) -> Counts:
        """Row by row sums of two Counts of one shape: parts of the same images, put together."""
        if not isinstance(other, Counts):
            return NotImplemented
        if self.tp.shape != other.tp.shape:
            raise ScoreError(f"Counts of {self.tp.shape} and {other.tp.shape} images x classes do not add; "
                             "give both the same images in the same order.")
        return Counts(self.tp + other.tp, self.fp + other.fp, self.fn + other.fn, self.valid + other.valid)

    def by(self, labels: ArrayLike) -> Counts:
        """One row per distinct label, the sum of the images that carry it; rows in the order of `np.unique(labels)`.

        >>> Counts([[1], [2], [4]], [[0]] * 3, [[0]] * 3, [1, 2, 4]).by(["b", "a", "b"]).tp.tolist()
        [[2], [5]]
        """
        names = np.asarray(labels)
        if names.shape != (self.n_images,):
            raise ScoreError(f"{self.n_images} images need one label each, not an array of shape {names.shape}.")
        groups, group_of = np.unique(names, return_inverse=True)

        order = np.argsort(group_of, kind="stable")
        start = np.searchsorted(group_of[order], np.arange(len(groups)))

        def added(rows: IntArray) -> IntArray:
            return np.add.reduceat(rows[order], start, axis=0) if len(groups) else rows[:0]

        return Counts(added(self.tp), added(self.fp), added(self.fn), added(self.valid))

    def pooled(self) -> Counts:
        """A single row: the sum over all images."""
        tp, fp, fn, valid = (part.sum(axis=0, keepdims=True) for part in (self.tp, self.fp, self.fn, self.valid))
        return Counts(tp, fp, fn, valid)

    def take(self, images: ArrayLike | None = None, *, classes: Sequence[int] | None = None) -> Counts:
        """The rows `images` (indices or a mask) and the columns `classes`; None keeps all. `valid` keeps its pixels."""
        rows = np.arange(self.n_images) if images is None else np.asarray(images)
        columns = np.arange(self.n_classes) if classes is None else np.asarray(classes, dtype=np.int64)
        tp, fp, fn = (part[rows][:, columns] for part in (self.tp, self.fp, self.fn))
        return Counts(tp, fp, fn, self.valid[rows])


def confusion(truth: Labels, prediction: Labels, *, n_classes: int, void: int | None) -> IntArray:
    """Pixels by true class (row) and predicted class (column), n_classes x (n_classes + 1), exact int64.

    Pixels whose truth is `void` do not count, whatever was predicted there. The last column holds predictions outside
    the label set on valid pixels, `void` among them: a miss of the true class, never dropped. Truth and prediction
    are class ids of any integer type and of one shape; an array of several images is counted as one.

    >>> truth, prediction = np.array([[1, 1, 1, 0, 255]]), np.array([[1, 1, 255, 0, 0]])
    >>> confusion(truth, prediction, n_classes=2, void=255).tolist()
    [[1, 0, 0], [0, 2, 1]]

    Raises:
        ConfigError: `void` is one of the classes (its IoU would silently become recall).
        MaskError: the truth holds a value that is neither a class nor `void`.
        ScoreError: the shapes differ, or an array does not hold whole numbers.
    """
    if n_classes < 1:
        raise ConfigError(f"n_classes={n_classes}: there must be at least one class.")
    if void is not None and 0 <= void < n_classes:
        raise ConfigError(f"The ignored value {void} is also one of the classes 0..{n_classes - 1}. Ignoring a scored "
                          "class turns its neighbours' IoU into recall: use an ignored value outside the classes.")
    truth, prediction = _integers(truth, "truth"), _integers(prediction, "prediction")
    if truth.shape != prediction.shape:
        raise ScoreError(f"The prediction has the shape {prediction.shape} and the truth {truth.shape}: "
                         "they must be equal, nothing is broadcast.")
    from segcv.metrics.joint_kernels import add_pixels, to_bytes

    flat_truth, flat_prediction = _flat(truth), _flat(prediction)
    ignored = 0 if void is None or abs(void) >= 2**63 else void      # 0 is a class, so never looked up: nothing ignored
    if truth.dtype == prediction.dtype == np.uint8:
        found, table = _counted_bytes(flat_truth, flat_prediction, n_classes, ignored)
    elif n_classes <= 254:
        as_bytes = np.empty((2, truth.size), np.uint8)
        for values, out in zip((flat_truth, flat_prediction), as_bytes, strict=True):
            to_bytes(values, n_classes, np.int64(ignored), out)
        found, table = _counted_bytes(as_bytes[0], as_bytes[1], n_classes, 255)
    else:
        table = np.zeros((n_classes, n_classes + 1), np.int64)
        found = add_pixels(flat_truth, flat_prediction, np.int64(ignored), table)
    if found != truth.size:
        wide = flat_truth.astype(np.int64)
        unknown = wide[((wide < 0) | (wide >= n_classes)) & (wide != ignored)]
        raise MaskError(_unknown_value(int(unknown[0]), unknown.size, n_classes, void))
    return table


def counts_from_confusion(matrices: IntArray) -> Counts:
    """Counts of one image (n_classes x (n_classes + 1), as `confusion` gives) or of many (images x ...).

    >>> counts_from_confusion(np.array([[1, 0, 0], [0, 2, 1]])).fn.tolist()
    [[0, 1]]
    """
    cells = np.asarray(matrices)
    cells = cells[None] if cells.ndim == 2 else cells               # images x truth x predicted
    if cells.ndim != 3 or cells.shape[2] != cells.shape[1] + 1:
        raise ScoreError(f"A confusion matrix is classes x (classes + 1), the last column for predictions outside the "
                         f"label set; this one has the shape {np.shape(matrices)}.")
    tp = np.diagonal(cells, axis1=1, axis2=2)                       # images x classes
    predicted = cells[:, :, :-1].sum(axis=1)
    truth = cells.sum(axis=2)
    return Counts(tp.copy(), predicted - tp, truth - tp, truth.sum(axis=1))


def counts_from_rows(images: ArrayLike, class_ids: ArrayLike, *, tp: ArrayLike, fp: ArrayLike, fn: ArrayLike,
                     valid: ArrayLike, names: ArrayLike | None = None) -> tuple[NDArray[Any], IntArray, Counts]:
    """The distinct images (sorted), the class ids (sorted) and their Counts from long columns, one row per
    image x class in any order, as a scores table holds them. `names`: what messages call the sorted images.

    >>> images, classes, counts = counts_from_rows(
    ...     ["b", "a"], [0, 0], tp=[3, 4], fp=[0, 1], fn=[1, 0], valid=[4, 5])
    >>> images.tolist(), classes.tolist(), counts.tp.tolist()
    (['a', 'b'], [0], [[4], [3]])

    Raises:
        ScoreError: an image lacks a class, has it twice, or its rows disagree about the valid pixels.
    """
    keys, row = np.unique(np.asarray(images), return_inverse=True)
    called = keys if names is None else np.asarray(names)
    classes, column = np.unique(np.asarray(class_ids, dtype=np.int64), return_inverse=True)
    shape = (len(keys), len(classes))
    times = np.zeros(shape, np.int64)
    np.add.at(times, (row, column), 1)
    if (times != 1).any():
        at = tuple(np.argwhere(times != 1)[0])
        what = "is missing" if times[at] == 0 else f"is there {times[at]} times"
        raise ScoreError(f"Class {classes[at[1]]} of image {called[at[0]]} {what}: every image needs each of the "
                         f"{len(classes)} classes once.")

    def placed(values: ArrayLike) -> IntArray:
        grid = np.zeros(shape, np.int64)
        grid[row, column] = np.asarray(values)
        return grid

    pixels = placed(valid)
    if (pixels != pixels[:, :1]).any():
        at_row = int(np.flatnonzero((pixels != pixels[:, :1]).any(axis=1))[0])
        raise ScoreError(f"The classes of image {called[at_row]} disagree about its valid pixels "
                         f"({', '.join(map(str, np.unique(pixels[at_row])[:3]))}).")
    return keys, classes, Counts(placed(tp), placed(fp), placed(fn), pixels.max(axis=1, initial=0))


def example_counts() -> Counts:
    """Three images of 2 x 4 pixels and three classes, small enough to check by hand; every example here uses them.

    Truth 0000/1100, 0000/000·, 0022/0022 (· ignored); prediction 0000/1000, 0000/0011, 0022/0002.

    >>> example_counts().union.tolist()
    [[7, 2, 0], [7, 1, 0], [5, 0, 4]]
    """
    tp, fp, fn = np.array([[[6, 1, 0], [6, 0, 0], [4, 0, 3]], [[1, 0, 0], [0, 1, 0], [1, 0, 0]],
                           [[0, 1, 0], [1, 0, 0], [0, 0, 1]]])
    return Counts(tp, fp, fn, np.array([8, 7, 8]))


def _whole(values: ArrayLike, name: str) -> IntArray:
    array = np.asarray(values)
    if array.dtype.kind not in "iu" and array.size:
        raise ScoreError(f"{name} must hold whole numbers of pixels, not {array.dtype}.")
    whole = array.astype(np.int64, copy=False)
    if whole.size and whole.min() < 0:
        raise ScoreError(f"{name} holds {whole.min()}: a number of pixels is not negative.")
    return whole


def _integers(values: Labels, what: str) -> NDArray[Any]:
    array = np.asarray(values)
    if array.dtype.kind == "b":
        return array.view(np.uint8)
    if array.dtype.kind not in "iu":
        raise ScoreError(f"The {what} holds {array.dtype}, and class ids are whole numbers. "
                         "Take the argmax of probabilities or logits first.")
    if array.dtype == np.uint64:
        return array.view(np.int64)        # ids from 2**63 on turn negative: outside the label set, as before
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _flat(values: NDArray[Any]) -> NDArray[Any]:
    return np.ascontiguousarray(values).reshape(-1)


def _counted_bytes(truth: NDArray[Any], prediction: NDArray[Any], n_classes: int, void: int, *,
                   strip_px: int | None = None) -> tuple[int, IntArray]:
    """Pixels that are counted or ignored, and the confusion matrix, of two flat byte arrays; strips keep the compiled
    counters from overflowing. A `void` that no byte can be, or that is a class, ignores nothing."""
    from segcv.metrics.joint_kernels import STRIP_PX, add_bytes

    strip = STRIP_PX if strip_px is None else strip_px
    ignored = void if n_classes <= void < 256 else -1
    table, found = np.zeros((n_classes, n_classes + 1), np.int64), 0
    for start in range(0, truth.size, strip):
        joint = np.zeros((2, 65536), np.uint32)                     # two halves of truth · 256 + prediction
        part = np.zeros_like(table)
        found += add_bytes(truth[start:start + strip], prediction[start:start + strip], ignored, joint, part)
        table += part
    return int(found), table


def _unknown_value(value: int, pixels: int, n_classes: int, void: int | None) -> str:
    ignored = "no value is ignored" if void is None else f"the ignored value {void}"
    return (f"The truth holds {value}, which is none of the classes 0..{n_classes - 1} ({ignored}); {pixels} pixels "
            "have such values. Map them with data.values, or set the number of classes.")
