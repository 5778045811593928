"""Predictions as stored by others: class ids, probabilities, logits, in any layout; and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tifffile
from PIL import Image
from tiny_predictions import PREDICTED, TRUTH, probabilities

from segcv.errors import ConfigError, MaskError, ScoreError
from segcv.pixels import LabelMap, label_map, predicted_coding, write_mask
from segcv.scoring import Item, PredictionForm, Reading, Scored, score_item

LABELS = label_map(num_classes=3)


def scored(folder: Path, prediction: Path, *, truth: Any = TRUTH["a"], labels: LabelMap = LABELS, size: str = "nearest",
           values: Any = None, form: PredictionForm | None = None, **choices: Any) -> Scored:
    write_mask(folder / "truth.png", np.array(truth, np.uint8))
    reading = Reading(labels, predicted_coding(labels, values=values), form or PredictionForm(), size, **choices)
    return score_item(Item("run", "a", "g", "", folder / "truth.png", prediction), reading)


def cells(found: Scored) -> list[list[int]]:
    return found.score.cells.tolist()


A_CELLS = [[0, 0, 6], [1, 0, 1], [1, 1, 1]]             # truth 0000/1100 and prediction 0000/1000, counted by hand


@pytest.mark.parametrize(("name", "form"), [
    ("first.npy", PredictionForm("probabilities")), ("last.npy", PredictionForm("probabilities", channels="last")),
    ("batch.npy", PredictionForm("probabilities")), ("half.npy", PredictionForm("probabilities")),
    ("bands.tif", PredictionForm("probabilities")), ("soft.npz", PredictionForm("probabilities")),
    ("two.npz", PredictionForm("probabilities", key="soft")), ("logits.npy", PredictionForm("logits")),
    ("scaled.npy", PredictionForm("probabilities", scale=255)),
])
def test_every_layout_of_the_same_probabilities_gives_the_same_counts(tmp_path: Path, name: str, form: PredictionForm):
    """Counted by hand: six background pixels hit, one of class 1 hit and one missed."""
    soft = probabilities(PREDICTED["a"])                                    # 3 x 2 x 4
    path = tmp_path / name
    if name == "bands.tif":
        tifffile.imwrite(path, np.moveaxis(soft, 0, -1), photometric="minisblack", planarconfig="contig")
    elif name == "soft.npz":
        np.savez(path, soft=soft)
    elif name == "two.npz":
        np.savez(path, soft=soft, other=1 - soft)
    else:
        np.save(path, {"first": soft, "last": np.moveaxis(soft, 0, -1), "batch": soft[None], "half":
                       soft.astype(np.float16), "logits": np.log(soft) + 5, "scaled": soft * 255}[path.stem])

    found = scored(tmp_path, path, form=form)

    assert cells(found) == A_CELLS
    assert found.score.mean_top_probability == pytest.approx(0.8, abs=1e-3)


@pytest.mark.parametrize(("values", "form", "expected"), [
    ([0.2, 0.5, 0.51, 0.9], PredictionForm("probabilities"), [0, 0, 1, 1]),
    ([0.2, 0.5, 0.51, 0.9], PredictionForm("probabilities", threshold=0.6), [0, 0, 0, 1]),
    ([-2.0, 0.0, 0.4, 3.0], PredictionForm("logits"), [0, 0, 1, 1]),
    ([-2.0, 0.0, 0.4, 3.0], PredictionForm("logits", threshold=0.9), [0, 0, 0, 1]),       # logit(0.9) = 2.197
])
def test_one_channel_is_cut_above_the_threshold(values: list[float], form: PredictionForm, expected: list[int]):
    """By hand; logits are cut at the logit of the threshold, 0 for one half."""
    assert form.class_ids(np.array([[values]])).tolist() == [expected]


def test_two_channels_are_cut_like_one():
    """Of two classes the second channel and the threshold say it all."""
    one = np.linspace(0.05, 0.95, 19).reshape(1, 1, -1)
    both = np.concatenate([1 - one, one])

    for kind, stored in (("probabilities", both), ("logits", np.log(both))):
        form = PredictionForm(kind, threshold=0.7)
        assert (form.class_ids(stored)[0] == (one[0, 0] > 0.7)).all()


def test_softmax_and_sigmoid_are_those_of_scipy():
    from scipy.special import expit, softmax

    logits = np.random.default_rng(0).normal(0, 4, (4, 5, 6)).astype(np.float32)

    assert PredictionForm("logits").probabilities(logits) == pytest.approx(softmax(logits, axis=0), abs=1e-6)
    assert PredictionForm("logits").probabilities(logits[:1])[1] == pytest.approx(expit(logits[0]), abs=1e-6)


@pytest.mark.parametrize(("array", "form", "message"), [
    (np.full((3, 2, 4), np.nan), PredictionForm("probabilities"), "NaN or infinity in 8 of 8"),
    (np.full((3, 2, 4), 2.0), PredictionForm("probabilities"), "outside the range of probabilities"),
    (np.full((3, 2, 4), -0.1), PredictionForm("probabilities"), "kind=logits"),
    (np.full((3, 2, 4), 0.5), PredictionForm("probabilities"), "sum over the classes is not 1"),
    (np.zeros((4, 2, 5)), PredictionForm("logits"), "no axis has the 3 channels"),
    (np.zeros((3, 2, 3)), PredictionForm("logits"), "may both be the classes"),
    (np.zeros((2, 4, 3)), PredictionForm("logits", channels="first"), "with channels=first"),
    (np.full((2, 4), 0.3), PredictionForm(), "numbers that are no class ids, such as 0.3"),
    (np.zeros((3, 2, 4)), PredictionForm(), "class ids are H x W"),
    (np.zeros((2, 4), "U1"), PredictionForm(), "not class ids"),
])
def test_what_is_no_prediction_is_refused_by_name(tmp_path: Path, array: np.ndarray, form: PredictionForm,
                                                  message: str):
    np.save(tmp_path / "p.npy", array)

    with pytest.raises(ScoreError, match=message) as error:
        scored(tmp_path, tmp_path / "p.npy", form=form)

    assert "p.npy" in str(error.value)


def test_what_was_predicted_on_ignored_pixels_does_not_matter(tmp_path: Path):
    """Image b ignores its last pixel: a NaN there is neither hit nor fault."""
    soft = probabilities(PREDICTED["b"])
    soft[:, 1, 3] = np.nan
    np.save(tmp_path / "b.npy", soft)

    found = scored(tmp_path, tmp_path / "b.npy", truth=TRUTH["b"], form=PredictionForm("probabilities"))

    assert cells(found) == [[0, 0, 6], [0, 1, 1]]


@pytest.mark.parametrize(("settings", "message"), [
    ({"kind": "softmax"}, "labels, probabilities, logits"), ({"kind": "logits", "channels": "middle"}, "first or last"),
    ({"channels": "first"}, "no effect on class ids"), ({"kind": "logits", "threshold": 1.5}, "between 0 and 1"),
    ({"kind": "logits", "scale": 255}, "probabilities only"), ({"kind": "probabilities", "scale": 0}, "scale=0"),
])
def test_a_form_that_contradicts_itself_is_refused(settings: dict[str, Any], message: str):
    with pytest.raises(ConfigError, match=message):
        PredictionForm(**settings)


def test_a_threshold_among_three_classes_is_refused():
    with pytest.raises(ConfigError, match="two classes only"):
        PredictionForm("logits", threshold=0.3).check_classes(3)


@pytest.mark.parametrize(("labels", "values", "stored", "expected"), [
    (label_map(num_classes=2), None, [0, 1], [0, 1]),
    (label_map(num_classes=2, values={0: 0, 255: 1}), None, [0, 255], [0, 1]),
    (label_map(num_classes=2, values={0: 0, 255: 1}), None, [0, 1], [0, 1]),
    (label_map(num_classes=2), {0: 0, 255: 1}, [0, 255], [0, 1]),
    (label_map(num_classes=3, values={1: 0, 2: 1, 3: 2}), "ids", [0, 2], [0, 2]),
    (label_map(num_classes=3, values={1: 0, 2: 1, 3: 2}), "masks", [1, 3], [0, 2]),
    (label_map(num_classes=2, values={7: 0, 9: 1}), None, [9, 0], [1, 0]),
])
def test_predicted_values_mean_what_was_declared(labels: LabelMap, values: Any, stored: list[int],
                                                 expected: list[int]):
    coding = predicted_coding(labels, values=values)

    assert coding.ids(np.array([stored], np.uint8)).tolist() == [expected]


def test_a_value_with_two_meanings_must_be_said():
    """1 is class 1, or class 0 as the masks code it."""
    with pytest.raises(ConfigError, match=r"class 1, or class 0.*predicted_values=ids"):
        predicted_coding(label_map(num_classes=2, values={1: 0, 2: 1}))


def test_a_value_without_meaning_is_no_class(tmp_path: Path):
    """Under {0: 0, 255: 1} for the predictions a 7 is a miss of the truth below it, whichever that is."""
    Image.fromarray(np.array([[0, 0, 0, 0], [255, 7, 0, 0]], np.uint8)).save(tmp_path / "p.png")

    found = scored(tmp_path, tmp_path / "p.png", labels=label_map(num_classes=2), values={0: 0, 255: 1})

    assert cells(found) == [[0, 0, 6], [1, -1, 1], [1, 1, 1]]
    assert found.outside == (7,)


def test_colours_are_read_as_the_masks_code_them(tmp_path: Path):
    labels = label_map(num_classes=2, colors={"000000": 0, "FF0000": 1})
    picture = np.zeros((2, 4, 3), np.uint8)
    picture[1, 0, 0] = 255
    Image.fromarray(picture).save(tmp_path / "p.png")
    assert predicted_coding(labels).read(tmp_path / "p.png").tolist() == [[0, 0, 0, 0], [1, 0, 0, 0]]

    picture[1, 1, 1] = 9
    Image.fromarray(picture).save(tmp_path / "p.png")
    with pytest.raises(MaskError, match="#000900"):
        predicted_coding(labels).read(tmp_path / "p.png")


def test_a_jpeg_is_no_prediction(tmp_path: Path):
    Image.fromarray(np.zeros((2, 4), np.uint8)).save(tmp_path / "p.jpg")

    with pytest.raises(MaskError, match="lossy"):
        scored(tmp_path, tmp_path / "p.jpg")


@pytest.mark.parametrize(("shape", "size", "refused"), [
    ((4, 8), "nearest", ""), ((1, 2), "nearest", ""), ((2, 2), "nearest", "another shape"), ((2, 2), "stretch", ""),
    ((4, 2), "nearest", "turned by 90"), ((4, 8), "refuse", "must be equal"), ((2, 4), "refuse", ""),
])
def test_another_size_is_brought_to_the_truth_or_refused(tmp_path: Path, shape: tuple[int, int], size: str,
                                                         refused: str):
    write_mask(tmp_path / "p.png", np.zeros(shape, np.uint8))

    if refused:
        with pytest.raises(ScoreError, match=refused):
            scored(tmp_path, tmp_path / "p.png", size=size)
    else:
        assert cells(scored(tmp_path, tmp_path / "p.png", size=size)) == [[0, 0, 6], [1, 0, 2]]


def test_doubled_probabilities_score_as_they_did(tmp_path: Path):
    """Nearest neighbour undoes a doubling exactly."""
    np.save(tmp_path / "p.npy", probabilities(PREDICTED["a"]).repeat(2, axis=1).repeat(2, axis=2))

    found = scored(tmp_path, tmp_path / "p.npy", form=PredictionForm("probabilities"))

    assert cells(found) == A_CELLS
    assert found.score.predicted_size == (4, 8)


def test_outlines_are_scored_where_asked(tmp_path: Path):
    """Truth 1100 and prediction 1000 in the last row, spacing 3 across: border pixels 3 apart at most.

    By hand: from truth distances 0 and 3, from prediction 0; the 95th percentile of (0, 3) is 2.85. Within a tolerance
    of 2 lie two of three border pixels.
    """
    write_mask(tmp_path / "p.png", np.array(PREDICTED["a"], np.uint8))

    found = scored(tmp_path, tmp_path / "p.png", metrics=("hd95_max", "nsd"), spacing=(1.0, 3.0), tolerance=2.0)

    assert found.score.metrics["hd95_max"][1] == pytest.approx(2.85)
    assert found.score.metrics["nsd"][1] == pytest.approx(2 / 3)
    assert np.isnan(found.score.metrics["nsd"][2])


@pytest.mark.parametrize(("settings", "message"), [
    ({"metrics": ("nsd",)}, "needs tolerance"), ({"metrics": ("hd95",)}, "hd95_max"),
    ({"tolerance": 1.0}, "has an effect with"), ({"spacing": (1.0, 2.0)}, "has an effect with"),
    ({"metrics": ("hd95_max",), "spacing": (0.0, 1.0)}, "negative"),
])
def test_outline_settings_that_do_nothing_or_miss_something_are_refused(settings: dict[str, Any], message: str):
    with pytest.raises(ConfigError, match=message):
        Reading(LABELS, predicted_coding(LABELS), PredictionForm(), **settings)
