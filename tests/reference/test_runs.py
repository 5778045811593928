"""Run folders: claimed by one process, whole or absent."""

from __future__ import annotations

from pathlib import Path

import pytest

from segcv.errors import RunError
from segcv.runs import RunKey, RunRecord, claimed, find_failures, find_runs, finished_folder
from segcv.tables import read_json, write_json

KEY = RunKey("unet", "abc123", repeat=0, fold=2, seed=1)


def record(key: RunKey) -> RunRecord:
    return RunRecord(
        run_id=key.run_id, candidate=key.candidate, config_id=key.config_id, recipe_id="r", data_id="d", split_id="s",
        split_name="group_kfold", split_folder="splits/x", leaking=False, repeat=key.repeat, fold=key.fold,
        seed=key.seed, status="finished", seconds=1.5, device="cpu", threads=1, code_version="0", model="unet_small",
        train_images=4, held_out_images=2, majority_class=0, unlabelled_train_images=0, best_epoch=7,
    )


def test_a_run_is_absent_until_it_is_whole(tmp_path: Path):
    with claimed(tmp_path, KEY) as working:
        (working / "checkpoint.pt").write_text("half")
        assert finished_folder(tmp_path, KEY) is None
        assert find_runs(tmp_path) == []
        record(KEY).write(working)

    assert finished_folder(tmp_path, KEY) == tmp_path / "unet-abc123/repeat-0/fold-2/seed-1"
    assert find_runs(tmp_path) == [record(KEY)]


def test_a_failed_run_is_named_with_its_reason_and_keeps_its_checkpoint(tmp_path: Path):
    with pytest.raises(ValueError, match="loss"), claimed(tmp_path, KEY) as working:
        (working / "checkpoint.pt").write_text("epoch 3")
        raise ValueError("loss is not finite")

    assert find_failures(tmp_path) == {KEY.run_id: "loss is not finite"}
    assert find_runs(tmp_path) == []
    with claimed(tmp_path, KEY) as working:
        assert (working / "checkpoint.pt").read_text() == "epoch 3"
        record(KEY).write(working)
    assert find_failures(tmp_path) == {}


def test_two_processes_cannot_make_the_same_run(tmp_path: Path):
    with claimed(tmp_path, KEY) as working:
        with pytest.raises(RunError, match="being made by another process"), claimed(tmp_path, KEY):
            pass
        record(KEY).write(working)


def test_a_run_that_ends_without_a_record_is_not_a_run(tmp_path: Path):
    with pytest.raises(RunError, match="no run record"), claimed(tmp_path, KEY):
        pass

    assert finished_folder(tmp_path, KEY) is None


@pytest.mark.parametrize("name", ["", "a/b", "..", ".hidden", "a=b"])
def test_a_candidate_that_cannot_name_a_folder_is_refused(name: str):
    with pytest.raises(RunError, match="cannot name a folder"):
        RunKey(name, "abc", 0, 0, 0)


@pytest.mark.parametrize(("change", "message"), [
    ({"fold": "x"}, "fold is 'x'"),
    ({"environment": None}, "environment is None"),
    ({"fold": 4}, "another run's folder"),
])
def test_an_edited_record_is_refused(tmp_path: Path, change: dict[str, object], message: str):
    with claimed(tmp_path, KEY) as working:
        record(KEY).write(working)
    path = tmp_path / KEY.run_id / "run.json"
    write_json(path, read_json(path) | change)

    with pytest.raises(RunError, match=message):
        find_runs(tmp_path)
