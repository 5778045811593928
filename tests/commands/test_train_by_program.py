"""Somebody else's training as the job of python -m segcv.train."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from segcv.candidates import refuse_settings as refuse_nested
from segcv.errors import ConfigError, ScoreError
from segcv.pixels import label_map, predicted_coding, write_flight_strips, write_mask
from segcv.programs import forget_predictions, hand_out, score_left
from segcv.scoring import PredictionForm, Reading
from segcv.settings import AugmentSettings, NestedCommand, TrainCommand, TrainerSettings
from segcv.train import refuse_settings

PROGRAM = f"{sys.executable} {Path(__file__).parents[1] / 'tiny_program.py'}"
TOLD = PROGRAM + " --train {train_csv} --test {test_csv} --out {out} --seed {seed}"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_flight_strips(tmp_path_factory.mktemp("data"), strips=4, patches=3, size=32)


def segcv(folder: Path, name: str, *overrides: str, code: int = 0) -> tuple[str, str]:
    done = subprocess.run([sys.executable, "-m", f"segcv.{name}", *overrides], cwd=folder, capture_output=True,
                          text=True)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout, done.stderr


def test_a_sweep_of_somebody_elses_program_is_resumed_scored_and_reported(tmp_path: Path, data: Path):
    """Its scores are the pixels that numpy counts in its masks, it heard of the fold's training images only, and the
    fold in which it failed is named with its last words and made by the same command."""
    given = [f"data.table={data}", "data.num_classes=4", "split.folds=2", "workers=0", "candidate=nearest",
             "trackers=[]"]
    failing = f"trainer.command={TOLD} --fail {tmp_path / 'failed'}"
    sweep = ["-m", "fold=0,1", *given, "trainer=command", failing, "hydra.launcher.gpus=[]", "hydra.launcher.slots=1"]

    assert "2 of them run another program" in segcv(tmp_path, "train", *sweep, "hydra.launcher.dry_run=true")[0]
    told = segcv(tmp_path, "train", *sweep, code=1)[1]
    assert "failed jobs of the sweep: 1 of 2" in told
    assert "trainer.command failed (exit code 3)" in told and "no memory for batch 7" in told
    said, _ = segcv(tmp_path, "train", *sweep)
    assert "2 runs finished, 1 of them before" in said

    report, _ = segcv(tmp_path, "aggregate", "report.html=false")
    assert "Report" in report
    runs = sorted(tmp_path.glob("runs/nearest-*/repeat-0/fold-*/seed-0"))
    for fold, run in enumerate(runs):
        lists = {name: pd.read_csv(run / f"program/{name}.csv") for name in ("train", "test")}
        split = pd.read_csv(next(tmp_path.glob(f"splits/*/*/fold_{fold}_train.csv")))
        assert set(lists["train"]["image_id"]) == set(split["image_id"])
        assert set(lists["test"].columns) == {"image_id", "image_path"}
        assert "means of 6 images" in (run / "program.log").read_text()
        assert len(list((run / "masks").rglob("*.png"))) == 6
        scores = pd.read_parquet(run / "scores.parquet").set_index(["image_id", "class_id"])
        for image_id in lists["test"]["image_id"]:
            truth, found = (np.asarray(Image.open(path)) for path in (
                data.parent / f"masks/{Path(image_id).name}.png", run / f"program/out/{image_id}.png"))
            for c in range(4):
                counted = [int(((truth == c) & (found == c)).sum()), int(((truth != c) & (found == c)).sum()),
                           int(((truth == c) & (found != c)).sum())]
                assert scores.loc[(image_id, c), ["tp", "fp", "fn"]].tolist() == counted
    assert len(runs) == 2


def test_a_program_ends_with_the_command_that_started_it(tmp_path: Path, data: Path):
    """The program has a child that sleeps for ten minutes; SIGTERM to the command ends all three."""
    marker = tmp_path / "marker"
    process = subprocess.Popen(
        [sys.executable, "-m", "segcv.train", "fold=0", f"data.table={data}", "data.num_classes=4", "split.folds=2",
         "workers=0", "trainer=command", f"trainer.command={TOLD} --wait {marker}"], cwd=tmp_path)
    patience = time.monotonic() + 120
    while not marker.exists():
        assert process.poll() is None and time.monotonic() < patience
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    process.wait()

    def alive() -> list[str]:
        commands = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if os.access(path, os.R_OK)]
        return [command.decode(errors="replace") for command in commands if str(marker).encode() in command]

    while alive():
        assert time.monotonic() < patience
        time.sleep(0.05)


def settings(command: str, **changed: object) -> TrainCommand:
    trainer = {name: changed.pop(name) for name in list(changed) if name in vars(TrainerSettings())}
    return TrainCommand(fold=0, trainer=TrainerSettings(command=command, **trainer), **changed)


@pytest.mark.parametrize(("command", "changed", "message"), [
    ("", {}, "trainer=command needs the command: trainer.command='their_train --seed {seed} --train"),
    ("train --train {train_csv}", {}, "needs {out}"),
    ("train --out {out}", {}, "needs {train_csv}, or {fold}"),
    ("train {train_csv} {outt} {out}", {}, "{outt} is no place"),
    ("train {train_csv} '{out}", {}, "No closing quotation"),
    ("train {train_csv} {val_csv} {out}", {}, "never those that are scored: type trainer.stopping=early"),
    ("train {train_csv} {out}", {"stopping": "early"}, "has no {val_csv}"),
    ("train {train_csv} {out}", {"seed": 1}, "seed=1 has no effect"),
    ("train {train_csv} {out}", {"epochs": 3}, "trainer.epochs=3 has no effect on trainer.command"),
    ("train {train_csv} {out}", {"augment": AugmentSettings(crop=64)}, "augment.crop=64 has no effect"),
    ("train {train_csv} {out}", {"device": "cpu"}, "device=cpu has no effect"),
])
def test_a_command_that_cannot_be_right_is_refused_with_what_to_type(command: str, changed: dict[str, object],
                                                                     message: str):
    with pytest.raises(ConfigError) as refused:
        refuse_settings(settings(command, **changed))
    assert message in str(refused.value)


def test_a_nested_evaluation_refuses_a_program():
    """It fits, calibrates and judges each candidate on groups that it names itself."""
    asked = NestedCommand(candidates=["x"], trainer=TrainerSettings(command="train {train_csv} {out}"))

    with pytest.raises(ConfigError, match=r"candidate x: trainer\.command runs in python -m segcv\.train only"):
        refuse_nested(asked, {"x": asked})


@pytest.mark.parametrize(("changed", "message"), [
    ({"kind": "logits"}, "trainer.kind=logits has an effect with trainer=command only"),
    ({"patience": 3}, "trainer.patience=3 has an effect with trainer.stopping=early only"),
    ({"validation_share": 0.3}, "trainer.validation_share=0.3 has an effect with trainer.stopping=early only"),
    ({"stopping": "early", "validation_fold": 1, "validation_share": 0.3}, "validation_share=0.3 has no effect beside"),
])
def test_settings_without_effect_on_our_own_training_are_refused(changed: dict[str, object], message: str):
    with pytest.raises(ConfigError) as refused:
        refuse_settings(settings(None, **changed))
    assert message in str(refused.value)


@pytest.mark.parametrize(("predictions", "message"), [
    ({"a": (4, 4)}, "missing b"),
    ({"a": (4, 4), "b": (4, 4), "c": (4, 4)}, "1 predictions in .* are of images that fold 0 does not hold out"),
    ({"a": (4, 4), "b": (4, 4), "curve": (9, 9)}, "belong to no image of the table: .*curve.png"),
    ({"a": (4, 4), "b": (4, 3)}, "b.png.* 4 ?x ?3"),
    ({}, "there is no prediction"),
])
def test_masks_that_are_missing_extra_or_of_another_size_are_one_error(tmp_path: Path, predictions, message: str):
    masks = [tmp_path / f"truth/{name}.png" for name in "abc"]
    for path in masks:
        write_mask(path, np.zeros((4, 4), np.uint8))
    images = pd.DataFrame({"image_id": list("abc"), "image_path": "x.png", "mask_path": [str(path) for path in masks],
                           "group_id": list("abc"), "source_id": ""})
    roles = pd.DataFrame({"repeat": 0, "fold": 0, "image_id": list("abc"), "role": ["held_out", "held_out", "train"]})
    (tmp_path / "out").mkdir()
    for name, size in predictions.items():
        write_mask(tmp_path / f"out/{name}.png", np.zeros(size, np.uint8))
    labels = label_map(num_classes=2)
    reading = Reading(labels, predicted_coding(labels), PredictionForm("labels"), "refuse")

    with pytest.raises(ScoreError, match=message):
        score_left(str(tmp_path / "out"), images, roles, reading, candidate="x", repeat=0, fold=0, seed=0, run_id="x",
                   out=tmp_path / "run")
    assert not (tmp_path / "run/scores.parquet").exists()


def test_only_what_an_earlier_try_predicted_is_forgotten(tmp_path: Path):
    rows = pd.DataFrame({"image_id": ["images/s/a", "images/s/b"], "image_path": "i.png", "mask_path": "m.png",
                         "group_id": "g"})
    places = hand_out(tmp_path, rows, inner=rows, held_out=rows, masks=False)
    out = Path(places["out"])
    kept, gone = ["weights.pt", "images/s/c.png"], ["images/s/a.png", "s/b.nii.gz", "a.npy"]
    for name in [*kept, *gone]:
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_text("x")

    forget_predictions(out, rows["image_id"].tolist())

    assert sorted(path.relative_to(out).as_posix() for path in out.rglob("*.*")) == sorted(kept)
    assert "mask_path" in Path(places["val_csv"]).read_text() and "mask" not in Path(places["test_csv"]).read_text()
