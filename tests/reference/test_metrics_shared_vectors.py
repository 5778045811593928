"""Every array of metric_vectors.json beside the checkout, by the check that its kind needs; each has a thread."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from segcv import metrics
from segcv.errors import ConfigError, MaskError, ScoreError
from segcv.metrics import Counts, border_distances, confusion, counts_from_confusion
from segcv.pixels import LabelMap
from segcv.scoring import ScoreTables, plan_runs, score_image

Vector = dict[str, Any]
PEOPLE = {"run_id": "r", "group_id": "g"}


def counted(truth: Any, prediction: Any, *, n_classes: int, void: int | None = 255) -> Counts:
    return counts_from_confusion(confusion(np.asarray(truth), np.asarray(prediction), n_classes=n_classes, void=void))


def object_pair(vector: Vector) -> list[np.ndarray]:
    return [np.array(vector[name], bool) for name in ("gt", "pred")]


def as_counted(vector: Vector, _: Path) -> None:
    expected = {part: vector[part] for part in ("iou", "tp", "fp", "fn") if part in vector}
    if vector["name"] == "ignore_index == num_classes":
        expected["iou"] = [0, 1 / 2, 1]                 # not undefined: the one true pixel of class 0 is predicted as 1
    assert expected
    for prediction in [vector[name] for name in ("pred", "pred_a", "pred_b") if name in vector]:
        counts = counted(vector["gt"], prediction, n_classes=vector["C"], void=vector.get("ignore", 255))
        for part, values in expected.items():
            found = metrics.iou(counts)[0] if part == "iou" else getattr(counts, part)[0]
            right = [np.nan if value is None else value for value in values]
            assert found == pytest.approx(right, nan_ok=True), part
        for policy, key in (("union", "mean_skip"), ("zero", "mean_zero"), ("one", "mean_one")):
            if key in vector:
                assert metrics.miou_image(counts, policy=policy) == pytest.approx(vector[key])   # type: ignore[arg-type]
        assert counts.valid[0] == vector.get("n_valid", counts.valid[0])
        if "n_bad" in vector:
            assert counts.valid[0] - counts.predicted.sum() == vector["n_bad"]


def ignoring_a_class(vector: Vector, _: Path) -> None:
    counts = counted(vector["gt"], vector["pred"], n_classes=vector["C"])
    assert metrics.iou(counts)[0, 1] == pytest.approx(vector["iou1_no_ignore"])
    assert metrics.recall(counts)[0, 1] == pytest.approx(vector["iou1_ignore0"])        # what it would silently become
    with pytest.raises(ConfigError, match="recall"):
        counted(vector["gt"], vector["pred"], n_classes=vector["C"], void=0)


def many_pixels(vector: Vector, _: Path) -> None:
    picture = np.zeros((5000, 5000), np.uint8)
    assert counted(picture, picture, n_classes=vector["C"]).tp[0, 0] == vector["tp0"] > 2**24


def one_channel(vector: Vector, _: Path) -> None:
    with pytest.raises(MaskError, match="holds 1"):
        counted(vector["gt"], vector["pred"], n_classes=vector["C"])
    assert metrics.iou(counted(vector["gt"], vector["pred"], n_classes=2))[0] == pytest.approx([2 / 3, 1 / 2])


def batch(vector: Vector, _: Path) -> None:
    pairs = [(np.array(t), np.array(p)) for t, p in zip(vector["gt"], vector["pred"], strict=True)]
    counts = counts_from_confusion(np.stack([confusion(t, p, n_classes=2, void=None) for t, p in pairs]))
    assert metrics.dice(counts)[:, 1] == pytest.approx(vector["dice_per_image"])
    distances = border_distances(pairs[1][0] == 1, pairs[1][1] == 1)
    by_hand = np.sqrt([2, 5, 5, 8])                     # between two squares of 2 x 2 that touch at a corner
    assert np.sort(distances.from_truth) == pytest.approx(by_hand)
    assert metrics.hd95_max(distances) == pytest.approx(by_hand[2] + 0.85 * (by_hand[3] - by_hand[2]))


def pooled(vector: Vector, _: Path) -> None:
    tp, fp, fn = np.array(vector["counts"]).T[:, :, None]
    counts = Counts(tp, fp, fn, (tp + fp + fn)[:, 0])
    assert metrics.mdice_pooled(counts) == pytest.approx(vector["pooled_dice"])
    assert metrics.mdice_image(counts, policy="zero") == pytest.approx(vector["image_mean_zero_policy"])


def repeated_image(vector: Vector, _: Path) -> None:
    tables, labels = ScoreTables(), LabelMap(names=("a", "b"), ignore=None)
    first = np.array([[0, 1]], np.uint8)
    with pytest.raises(ScoreError, match="scored twice"):
        for image, right in zip(vector["ids"], vector["scores"], strict=True):
            tables.add(score_image(first, first if right else 1 - first, labels=labels, image_id=str(image), **PEOPLE))
    counts = tables.scores().groupby("image_id")[["tp", "valid"]].sum()
    assert (counts["tp"] > 0).mean() == vector["right"]


def weights(vector: Vector, _: Path) -> None:
    counts = counted(vector["gt"], vector["pred"], n_classes=vector["C"])
    for average in metrics.AVERAGES.values():
        assert average(counts) == vector["right"]
    assert metrics.frequency_weighted_iou(counts) == vector["right"]


def both_empty(vector: Vector, _: Path) -> None:
    assert vector["dice"] is None
    assert np.isnan(metrics.dice(counted(vector["gt"], vector["pred"], n_classes=2))[0, 1])


def one_side_empty(vector: Vector, _: Path) -> None:
    truth, prediction = object_pair(vector)
    distances = border_distances(truth, prediction)
    assert metrics.hd95_max(distances) == metrics.hd95_pooled(distances) == float(vector["hd95_raw"])
    filled = metrics.penalised(np.array([np.inf]), penalty=metrics.image_diagonal((8, 8)))
    assert filled == pytest.approx([vector["hd95_diag"]])
    assert metrics.nsd(distances, tolerance=1) == vector["nsd"]


def two_percentiles(vector: Vector, _: Path) -> None:
    distances = border_distances(*object_pair(vector))
    assert max(distances.from_truth.max(), distances.from_prediction.max()) == vector["hd"]
    assert metrics.hd95_max(distances) == pytest.approx(vector["hd95_max"])
    assert metrics.hd95_pooled(distances) == pytest.approx(vector["hd95_pooled"])


def at_the_edge(vector: Vector, _: Path) -> None:
    assert metrics.border(np.ones((8, 8), bool)).sum() == vector["border_px"]


def palette(vector: Vector, folder: Path) -> None:
    indexed = Image.fromarray(np.array(vector["gt"], np.uint8))
    indexed = Image.frombytes(vector["png_mode"], indexed.size, indexed.tobytes())
    indexed.putpalette([(37 * k) % 256 for k in range(768)])
    indexed.save(folder / "mask.png")
    assert LabelMap(names=("a", "b", "c"), ignore=255).read(folder / "mask.png").tolist() == vector["gt"]


def stored_as_0_and_255(vector: Vector, folder: Path) -> None:
    with pytest.raises(MaskError, match="255"):
        counted(vector["gt"], vector["pred"], n_classes=vector["C"], void=None)
    Image.fromarray(np.array(vector["gt"], np.uint8)).save(folder / "mask.png")
    with pytest.raises(MaskError, match="255"):
        LabelMap(names=("a", "b"), ignore=None).read(folder / "mask.png")
    mapped = LabelMap(names=("a", "b"), ignore=None, values={0: 0, 255: 1}).read(folder / "mask.png")
    assert metrics.iou(counted(mapped, vector["pred"], n_classes=2)).tolist() == [[1, 1]]


def no_broadcast(vector: Vector, _: Path) -> None:
    with pytest.raises(ScoreError, match="broadcast"):
        counted(np.zeros(vector["gt_shape"], np.uint8), np.zeros(vector["pred_shape"], np.uint8), n_classes=2)


def missing_file(vector: Vector, folder: Path) -> None:
    images = pd.DataFrame({"image_id": ["a", "b"], "group_id": ["g", "g"], "mask_path": ["a.png", "b.png"]})
    found = pd.DataFrame([["", "", "", "", "a", "a.png", -1]],
                         columns=["candidate", "repeat", "fold", "seed", "image_id", "path", "plane"])
    with pytest.raises(ScoreError, match="b"):
        plan_runs(found, images, roles=None, where="masks", name="theirs")


def native_size(vector: Vector, _: Path) -> None:
    truth = np.zeros((6, 8), np.uint8)
    truth[2, 3:5] = 1                                       # two pixels, which half the size would lose
    score = score_image(truth, truth[::2, ::2][:, :4] * 0, labels=LabelMap(names=("a", "b"), ignore=None),
                        image_id="i", **PEOPLE)
    assert score.valid == truth.size
    assert score.cells.tolist() == [[0, 0, truth.size - 2], [1, 0, 2]]


CHECKS: dict[str, Callable[[Vector, Path], None]] = {
    "absent-both class": as_counted, "ignore 255": as_counted, "ignore = a real class": ignoring_a_class,
    "predict ignored label on ignored pixel": as_counted, "predict void on a valid pixel": as_counted,
    "ignore_index == num_classes": as_counted, "more than 2**24 pixels of one class": many_pixels,
    "binary with one output channel": one_channel, "batch is not a volume": batch,
    "pooled vs mean of batch means": pooled, "DDP padding duplicates": repeated_image,
    "class weights average": weights, "Dice both empty": both_empty, "HD95 one side empty": one_side_empty,
    "HD95: max of directed vs pooled": two_percentiles, "object at the image edge": at_the_edge,
    "palette PNG": palette, "0/255 masks": stored_as_0_and_255, "shape mismatch broadcasts": no_broadcast,
    "missing prediction file": missing_file, "resized reference": native_size,
}


@pytest.mark.parametrize("name", CHECKS)
def test_shared_vector(name: str, shared: Path, tmp_path: Path) -> None:
    """The expected values stand in the file; where it names a behaviour, the check above does."""
    vectors = {vector["name"]: vector for vector in json.loads((shared / "metric_vectors.json").read_text())}

    assert set(vectors) == set(CHECKS)
    CHECKS[name](vectors[name], tmp_path)
