"""ScoreMetric in somebody's loop: one number, whoever hands in which image, and each image once."""

from __future__ import annotations

import pickle
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
import torch
from tiny_predictions import PREDICTED, TRUTH

from segcv.errors import ConfigError, ScoreError, SegcvWarning
from segcv.training import ScoreMetric


def batches() -> list[tuple[torch.Tensor, torch.Tensor, list[str]]]:
    """The reference example, an image a batch."""
    return [(torch.tensor([PREDICTED[name]]), torch.tensor([TRUTH[name]]), [name]) for name in TRUTH]


def filled(**choices: object) -> ScoreMetric:
    metric = ScoreMetric(n_classes=3, **choices)
    for predicted, truth, ids in batches():
        metric.update(predicted, truth, ids)
    return metric


@pytest.mark.parametrize(("average", "policy", "expected"), [
    ("miou_pooled", "union", 0.6418), ("miou_image", "union", 0.6274), ("miou_class", "union", 0.6127),
    ("miou_image", "truth", 0.7702), ("miou_class", "zero", 0.4183), ("miou_class", "one", 0.7516),
    ("micro_iou", "union", 0.7692), ("frequency_weighted_iou", "union", 0.7818),
])
def test_it_gives_the_numbers_of_the_reference_example(average: str, policy: str, expected: float):
    """The published values of the three images of 2 x 4."""
    assert float(filled(average=average, policy=policy).compute()) == pytest.approx(expected, abs=5e-5)


def test_logits_batches_and_order_do_not_matter():
    """Two images at once as logits, half precision, against one by one as class ids."""
    names = ["a", "c", "b"]
    logits = torch.nn.functional.one_hot(torch.tensor([PREDICTED[name] for name in names]), 3).movedim(-1, 1) * 4.0 - 2
    metric = ScoreMetric(n_classes=3)

    metric.update(logits.bfloat16(), torch.tensor([TRUTH[name] for name in names]), names)

    assert metric.compute() == filled().compute()
    assert metric.counts()[0] == ["a", "b", "c"]


def test_forward_gives_the_batch_and_keeps_the_rest():
    """Image a alone: (6/7 + 1/2) / 2; afterwards all three."""
    metric = ScoreMetric(n_classes=3)
    said = [float(metric(*batch)) for batch in batches()]

    assert said[0] == pytest.approx((6 / 7 + 1 / 2) / 2)
    assert metric.compute() == filled().compute()
    metric.reset()
    assert metric.counts()[0] == []


def test_an_image_that_came_twice_counts_once():
    metric = filled()
    metric.update(*batches()[0])
    assert metric.compute() == filled().compute()

    metric.reset()
    for predicted, truth, ids in batches():
        metric.update(predicted, truth, ids)
    metric.update(torch.zeros_like(batches()[0][0]), *batches()[0][1:])
    with pytest.warns(SegcvWarning, match="1 images came twice with other predictions"):
        assert metric.counts()[1].n_images == 3


def test_it_can_be_sent_and_merged():
    """torchmetrics' own merge of two halves, one after a trip through pickle."""
    first, second = ScoreMetric(n_classes=3), ScoreMetric(n_classes=3)
    first.update(*batches()[0])
    for batch in batches()[1:]:
        second.update(*batch)

    first.merge_state(pickle.loads(pickle.dumps(second)))

    assert first.compute() == filled().compute()


def test_ids_of_any_script_and_length_come_back():
    ids = ["", "ä", "фото/снимок 01", "x" * 200]
    metric = ScoreMetric(n_classes=2)

    metric.update(torch.zeros(4, 1, 1, dtype=torch.int64), torch.zeros(4, 1, 1, dtype=torch.int64), ids)

    assert metric.counts()[0] == sorted(ids)


@pytest.mark.parametrize(("choices", "message"), [
    ({"average": "miou"}, "miou_pooled"), ({"policy": "none"}, "union"),
    ({"average": "pixel_accuracy", "policy": "one"}, "no effect"),
])
def test_a_wrong_choice_is_refused(choices: dict[str, str], message: str):
    with pytest.raises(ConfigError, match=message):
        ScoreMetric(n_classes=3, **choices)


def test_shapes_and_ids_that_do_not_fit_are_refused():
    metric, truth = ScoreMetric(n_classes=3), torch.zeros(2, 4, 4, dtype=torch.int64)

    with pytest.raises(ScoreError, match="one id each"):
        metric.update(truth, truth, ["a"])
    with pytest.raises(ScoreError, match="N x 3 x H x W"):
        metric.update(torch.zeros(2, 2, 4, 4), truth, ["a", "b"])


def test_processes_together_count_each_image_once(tmp_path: Path):
    """Five images by two gloo processes that both hand in the first one; then all five by one, and none by the other.

    By hand: four of five pixels right; the padded image counted twice would make it four of six.
    """
    script = tmp_path / "process.py"
    script.write_text(textwrap.dedent(f"""
        import sys
        import torch
        import torch.distributed as dist
        from segcv.training import ScoreMetric

        rank = int(sys.argv[1])
        dist.init_process_group("gloo", init_method="file://{tmp_path}/meet", rank=rank, world_size=2)
        truth = torch.ones(1, 1, 1, dtype=torch.int64)
        for parts in ([[0, 2, 4], [1, 3, 0]], [[0, 1, 2, 3, 4], []]):
            metric = ScoreMetric(n_classes=2, average="pixel_accuracy")
            for number in parts[rank]:
                metric.update(truth if number else 1 - truth, truth, [f"image {{number}}"])
            print(float(metric.compute()))
        dist.destroy_process_group()
    """))
    running = [subprocess.Popen([sys.executable, str(script), str(rank)], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True) for rank in range(2)]
    said = [process.communicate(timeout=120) for process in running]

    assert [process.returncode for process in running] == [0, 0], [error for _, error in said]
    assert [float(text) for out, _ in said for text in out.split()] == [pytest.approx(0.8)] * 4


def test_without_torchmetrics_the_message_says_what_to_install():
    code = ("import sys; sys.modules['torchmetrics'] = None\n"
            "from segcv.errors import MissingExtra\n"
            "import segcv.training\n"
            "try: segcv.training.ScoreMetric\n"
            "except MissingExtra as error: print(error)\n")

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)

    assert "pip install 'segcv[torchmetrics]'" in done.stdout, done.stderr


def test_counts_are_whole_beyond_single_precision():
    """2**24 + 3 pixels of one class, one of another: float32 would lose three."""
    truth = torch.zeros(1, 4097, 4096, dtype=torch.uint8)
    truth[0, 0, 0] = 1
    metric = ScoreMetric(n_classes=2)
    metric.update(truth, truth, ["large"])

    assert metric.counts()[1].tp.tolist() == [[4097 * 4096 - 1, 1]]
    assert np.issubdtype(metric.counts()[1].tp.dtype, np.int64)
