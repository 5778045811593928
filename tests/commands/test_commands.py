"""The commands as a user types them, in an empty folder, on a tiny data set."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from hashlib import sha256
from pathlib import Path

import pandas as pd
import pytest

from segcv.pixels import write_flight_strips

TINY = ["data.num_classes=4", "split.folds=3", "trainer.epochs=2", "workers=0"]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_flight_strips(tmp_path_factory.mktemp("data"), strips=6, patches=4, size=32)


def segcv(folder: Path, name: str, *overrides: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", f"segcv.{name}", *overrides]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == code, done.stdout + done.stderr
    return done


def test_folds_are_trained_and_reported(tmp_path: Path, data: Path):
    """One fold is a first look; two of three are refused by name; all three make a report."""
    given = [f"data.table={data}", *TINY]
    segcv(tmp_path, "train", "fold=0", *given)
    first = segcv(tmp_path, "aggregate")
    assert f"python -m segcv.train -m fold=1,2 data.table={data} data.num_classes=4" in first.stdout

    segcv(tmp_path, "train", "fold=1", *given)
    assert "fold=2 seed=0 is missing" in segcv(tmp_path, "aggregate", code=1).stderr
    marked = segcv(tmp_path, "aggregate", "allow_missing=true", "out=marked")
    assert "missing" in (tmp_path / "marked/cv_report.md").read_text()
    assert len(list(tmp_path.glob("runs/*/repeat-0/fold-*/seed-0/tensorboard/events*"))) == 2
    assert "Report" in marked.stdout

    again = segcv(tmp_path, "train", "-m", "fold=0,1,2", *given)
    assert again.stdout.count("Finished before") == 2
    segcv(tmp_path, "aggregate", "out=report")
    summary = json.loads((tmp_path / "report/summary.json").read_text())
    assert 0 <= summary["folds"]["mean"] <= 1
    assert summary["folds"]["n"] == 3

    scores = next(tmp_path.glob("runs/*/repeat-0/fold-0/seed-0/scores.parquet"))
    rows = pd.read_parquet(scores)
    rows[rows["image_id"] != rows["image_id"].iloc[0]].to_parquet(scores)
    assert rows["image_id"].iloc[0] in segcv(tmp_path, "aggregate", code=1).stderr


def test_a_killed_run_goes_on_to_the_same_weights(tmp_path: Path, data: Path):
    """sha256 of the weights: one run in one go, one killed in mid epoch and started again."""
    given = [f"data.table={data}", *TINY, "fold=0", "trainer.epochs=30", "trainer.checkpoint_steps=1"]
    segcv(tmp_path, "train", *given, "runs=whole")
    process = subprocess.Popen([sys.executable, "-m", "segcv.train", *given, "runs=killed"], cwd=tmp_path,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while not list(tmp_path.glob("killed/*/repeat-0/fold-0/.seed-0.unfinished/checkpoint.pt")):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not list(tmp_path.glob("killed/*/repeat-0/fold-0/seed-0"))

    segcv(tmp_path, "train", *given, "runs=killed")
    weights = [next(tmp_path.glob(f"{runs}/*/repeat-0/fold-0/seed-0/model/model.safetensors")).read_bytes()
               for runs in ("whole", "killed")]
    assert sha256(weights[0]).hexdigest() == sha256(weights[1]).hexdigest()


def test_processes_that_start_together_make_one_split(tmp_path: Path, data: Path):
    command = [sys.executable, "-m", "segcv.split", f"data.table={data}", "data.num_classes=4", "split.folds=3"]
    processes = [subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    said = [process.communicate()[0] for process in processes]

    assert [process.returncode for process in processes] == [0] * 4
    assert sum(text.startswith("Made") for text in said) == 1
    assert len(list(tmp_path.glob("splits/*/*/manifest.json"))) == 1


def test_two_folders_are_as_good_as_a_table(tmp_path: Path, data: Path):
    said = segcv(tmp_path, "split", f"data.images={data.parent}/images", f"data.masks={data.parent}/masks",
                 "data.num_classes=4", "split.folds=3", r"group.pattern='^(strip\d+)_'").stdout

    assert "24 images in 6 groups" in said
    assert len((tmp_path / said.split()[1] / "fold_0_val.csv").read_text().splitlines()) == 1 + 8


def test_a_changed_mask_stops_the_next_run_with_its_name(tmp_path: Path):
    table = write_flight_strips(tmp_path / "data", strips=6, patches=2, size=32)
    given = [f"data.table={table}", *TINY]
    segcv(tmp_path, "split", *given[:3])
    mask = tmp_path / "data/masks/strip03_01.png"
    mask.write_bytes((tmp_path / "data/masks/strip00_00.png").read_bytes())
    os.utime(mask, (1, 1))

    assert "images/strip03_01" in segcv(tmp_path, "train", "fold=0", *given, code=1).stderr
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(("command", "overrides", "message"), [
    ("train", [], "fold must be given"),
    ("train", ["fold=9"], "fold=9 is not in"),
    ("train", ["fold=0", "trainer.validation_fold=0", "trainer.stopping=early"], "is the test fold"),
    ("train", ["fold=0", "trainer.validation_fold=1"], "has an effect with"),
    ("train", ["fold=0", "model=unet_small", "model.name=unet_smal"], "unet_small"),
    ("train", ["fold=0", "loss.name=dise"], "dice"),
    ("train", ["fold=0", "optim.lr=nan"], "optim.lr=nan"),
    ("train", ["fold=0", "augment.crop=-3"], "augment.crop=-3"),
    ("split", ["data.num_classes=2", "data.values=[0,1]"], "is no mapping"),
    ("split", ["data.num_classes=2", "data.values={0: null}"], "map it to a class id"),
    ("split", ["split.folds=40"], "only 12 groups"),
    ("split", ["data.table=nowhere.csv"], "nowhere.csv: there is no such table"),
    ("split", ["data=camvid"], "data.root=FOLDER"),
    ("split", ["group.column=strip"], "group.column=strip is not a column"),
    ("aggregate", [], "there is no finished run"),
    ("aggregate", ["results=nowhere.csv"], "nowhere.csv"),
    ("aggregate", ["folds=3"], "has an effect with results"),
])
def test_a_wrong_setting_is_one_message_and_no_traceback(tmp_path: Path, command: str, overrides: list[str],
                                                        message: str):
    done = segcv(tmp_path, command, *overrides, code=1)

    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.count("error:") == 1


def test_help_answers_quickly():
    """About a second is promised; three of the processor's own leave room for a slower one."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = subprocess.run([sys.executable, "-m", "segcv.train", "--help"], capture_output=True, text=True)

    assert done.returncode == 0 and "fold: ???" in done.stdout
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before < 3


def test_a_part_of_what_is_not_named_is_refused_with_the_way_out(tmp_path: Path):
    """evaluate and audit name no split by themselves: split.folds alone would say something of nothing."""
    done = subprocess.run([sys.executable, "-m", "segcv.audit", "split.folds=3"], cwd=tmp_path, capture_output=True,
                          text=True)

    assert done.returncode == 2
    assert done.stderr.startswith("error: split.folds says something of split") and "Traceback" not in done.stderr
