"""What segcv/metrics/README.md shows is what the code gives."""

from __future__ import annotations

import doctest
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from test_metrics_example import PREDICTION, TRUTH, VOID

from segcv import metrics
from segcv.metrics import Counts, confusion, counts_from_confusion

README = Path(metrics.__file__).parent / "README.md"
BY_NAME: dict[str, Callable[[Counts], float]] = {
    "`miou_image`, policy `zero`": lambda c: metrics.miou_image(c, policy="zero"),
    "`miou_image`, policy `one`": lambda c: metrics.miou_image(c, policy="one"),
    "`miou_image`, policy `truth`": lambda c: metrics.miou_image(c, policy="truth"),
    "`miou_image` of 1, 2, policy `truth`": lambda c: metrics.miou_image(c.take(classes=[1, 2]), policy="truth"),
    "`miou_class` of classes 1, 2": lambda c: metrics.miou_class(c.take(classes=[1, 2])),
    "`miou_image`": metrics.miou_image, "`miou_class`": metrics.miou_class, "`miou_pooled`": metrics.miou_pooled,
    "`micro_iou`": metrics.micro_iou, "`frequency_weighted_iou`": metrics.frequency_weighted_iou,
    "`miou_image` with that pixel as class 0": lambda c: metrics.miou_image(counted(np.where(TRUTH == VOID, 0, TRUTH))),
    "`miou_pooled` of classes 0, 1, 2, 255":
        lambda c: metrics.miou_pooled(counted(np.where(TRUTH == VOID, 3, TRUTH), n_classes=4)),
}


def counted(truth: np.ndarray, n_classes: int = 3) -> Counts:
    return counts_from_confusion(np.stack([confusion(t, p, n_classes=n_classes, void=VOID)
                                           for t, p in zip(truth, PREDICTION, strict=True)]))


def test_the_worked_example_runs() -> None:
    """Its lines are typed in, and the answers compared."""
    tried = doctest.testfile(str(README), module_relative=False)

    assert tried.attempted > 5 and tried.failed == 0


def test_each_number_of_a_library_is_one_of_ours() -> None:
    """The libraries' numbers were printed by `bash scripts/bench scores libraries`; here ours under the same names."""
    lines = [line.strip("| ").split(" | ") for line in README.read_text(encoding="utf-8").splitlines()]
    said = [(cells[-1], float(cells[2])) for cells in lines if len(cells) == 5 and cells[2].startswith("0.")]
    counts = counted(TRUTH)

    assert len(said) >= 14
    for name, value in said:
        assert BY_NAME[name](counts) == pytest.approx(value, abs=5e-5), name
    assert len({value for _, value in said}) >= 9          # as many "mIoU"s of three tiny images
