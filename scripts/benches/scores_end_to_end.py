"""From two PNG files to exact counts: read the truth, read the prediction, count; 1024 x 1024 pixels, in one thread."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import cv2
import imagecodecs
import numpy as np
from benches.label_maps import VOID, pair
from benches.rows import Row, at_least, ratio, seconds
from evalsuite.vision.segmentation import segmentation_confusion
from perceptionmetrics.utils.segmentation_metrics import SegmentationMetricsFactory
from PIL import Image

from segcv.metrics import confusion
from segcv.pixels import label_map, predicted_coding, write_mask

SIDE, PAIRS, CLASSES = 1024, 4, 19
GOALS = {"perceptionmetrics": 4.0, "evalsuite": 8.0}
Files = list[tuple[Path, Path]]                     # truth and prediction
Matrix = np.ndarray[Any, Any]


def by_segcv(files: Files) -> Matrix:
    """What `evaluate` does with each pair."""
    labels = label_map(num_classes=CLASSES, ignore=VOID)
    coding = predicted_coding(labels)
    return sum(confusion(labels.read(truth), coding.read(prediction), n_classes=CLASSES, void=VOID)[:, :CLASSES]
               for truth, prediction in files)


def by_perceptionmetrics(files: Files) -> Matrix:
    """What its dataset's eval_preds does with each pair: cv2.imread with flag 0, then update."""
    factory = SegmentationMetricsFactory(CLASSES)
    for truth, prediction in files:
        factory.update(cv2.imread(str(prediction), 0), cv2.imread(str(truth), 0))
    return factory.get_confusion_matrix()


def by_evalsuite(files: Files) -> Matrix:
    """Read by Pillow, as its command line does; counted by the cheapest of its functions that gives all counts."""
    truth, prediction = ([np.asarray(Image.open(path)) for path in paths] for paths in zip(*files, strict=True))
    return segmentation_confusion(truth, prediction, num_classes=CLASSES, ignore_index=VOID)


def rows() -> list[Row]:
    """Pairs as Pillow writes them, clean and noisy; predictions as we write them; reading alone; writing alone."""
    with tempfile.TemporaryDirectory() as folder:
        return [row for kind in ("clean", "noisy") for row in of_kind(kind, Path(folder) / kind)]


def of_kind(kind: str, folder: Path) -> list[Row]:
    rng = np.random.default_rng(CLASSES)
    folder.mkdir()
    maps = [pair(rng, SIDE, n_classes=CLASSES, kind=kind) for _ in range(PAIRS)]
    by_pillow = [written(folder / f"{number}", *both) for number, both in enumerate(maps)]
    by_us = [(truth, folder / f"{number}-ours.png") for number, (truth, _) in enumerate(by_pillow)]
    for (_, prediction), (_, path) in zip(maps, by_us, strict=True):
        write_mask(path, prediction)

    cv2.setNumThreads(1)
    names = {name: f"{name} {version(package)}" for name, package in
             (("perceptionmetrics", "perceptionmetrics"), ("evalsuite", "evalsuite-python"))}
    works: dict[str, Callable[[], Matrix]] = {
        "segcv": lambda: by_segcv(by_pillow), names["perceptionmetrics"]: lambda: by_perceptionmetrics(by_pillow),
        names["evalsuite"]: lambda: by_evalsuite(by_pillow),
    }
    expected = works["segcv"]()
    wrong = [name for name, work in works.items() if not (work() == expected).all()]
    labels = label_map(num_classes=CLASSES, ignore=VOID)
    reading = {
        "reading": lambda: [labels.read(path) for files in by_pillow for path in files],
        "limit": lambda: [inflated(path) for files in by_pillow for path in files],
        "predictions written by us": lambda: by_segcv(by_us),
    }
    taken = seconds({**works, **reading}, rounds=11)
    compared = {name: taken[name] for name in works}

    def ratio_of(name: str) -> str:
        return f"{ratio({'segcv': taken['segcv'], name: taken[name]}, name):.2f}x"

    mine = shown(statistics.median(taken["segcv"]))
    return [
        *(at_least(f"PNG pair to counts, {SIDE}², C = {CLASSES}, {kind}", compared, names[name], goal, shown=shown)
          for name, goal in GOALS.items()),
        *(Row(f"- {kind}: {what}", mine, f"{name} {shown(statistics.median(taken[name]))}", ratio_of(name), "")
          for name, what in (("reading", "of it, reading both files"), ("limit", "inflating both alone is the limit"),
                             ("predictions written by us", "the same with predictions as we write them"))),
        Row(f"- {kind}: same counts from all", "", "", "", "all equal" + "".join(f"; not {name}" for name in wrong),
            not wrong),
        *of_writing(kind, [prediction for _, prediction in by_pillow], [prediction for _, prediction in by_us]),
    ]


def of_writing(kind: str, by_pillow: list[Path], by_us: list[Path]) -> list[Row]:
    """How much sooner readers have a mask that we wrote than the same mask as Pillow writes it."""
    labels = label_map(num_classes=CLASSES, ignore=VOID)
    readers: dict[str, Callable[[Path], Any]] = {
        "segcv": labels.read, "Pillow": lambda path: np.asarray(Image.open(path)),
        "OpenCV": lambda path: cv2.imread(str(path), cv2.IMREAD_UNCHANGED),
    }
    found = []
    kilobytes = [sum(path.stat().st_size for path in paths) // PAIRS // 1024 for paths in (by_us, by_pillow)]
    for name, read in readers.items():
        taken = seconds({"segcv": lambda read=read: [read(path) for path in by_us],
                         "written by Pillow": lambda read=read: [read(path) for path in by_pillow]}, rounds=11)
        row = at_least(f"{name} reads a mask as we write it, {kind} ({kilobytes[0]} against {kilobytes[1]} kB)", taken,
                       "written by Pillow", 2.5, shown=shown)
        found.append(replace(row, work=row.work if name == "segcv" else f"- {row.work}", goal="", met=None))
    return found


def shown(taken: float) -> str:
    return f"{1e3 * taken / PAIRS:.3g} ms"


def written(stem: Path, truth: Matrix, prediction: Matrix) -> tuple[Path, Path]:
    """Both as Pillow writes grey PNGs."""
    paths = (stem.with_name(f"{stem.name}-truth.png"), stem.with_name(f"{stem.name}-prediction.png"))
    for path, labels in zip(paths, (truth, prediction), strict=True):
        Image.fromarray(labels).save(path)
    return paths


def inflated(path: Path) -> Any:
    """The rows of a PNG of one IDAT chunk or more, inflated by libdeflate and left as they are."""
    data, at, parts = path.read_bytes(), 8, []
    while at < len(data):
        size = int.from_bytes(data[at:at + 4], "big")
        if data[at + 4:at + 8] == b"IDAT":
            parts.append(data[at + 8:at + 8 + size])
        at += 12 + size
    return imagecodecs.deflate_decode(b"".join(parts), out=SIDE * (SIDE + 1))
