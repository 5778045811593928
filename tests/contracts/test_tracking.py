"""What trackers are told, and that they cannot harm the run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from tiny_images import write_squares

from segcv.errors import ConfigError, MissingExtra, SegcvWarning
from segcv.pixels import fit_preprocessing, label_map
from segcv.recipes import Following
from segcv.recipes.following import sample_rows
from segcv.tracking import TRACKERS, Tell, refuse_trackers, tracked
from segcv.tracking.choosing import Kind
from segcv.training import fit, run_seeds

LABELS = label_map(names=["background", "square"])
RUN = "unet-12345678/repeat-0/fold-1/seed-2"
PICTURE = np.zeros((4, 6, 3), np.uint8)


def told(folder: Path, names: list[str], steps: range, *, stops: bool = False) -> None:
    """A try that tells of these steps, and is then interrupted or not."""
    with tracked(names, folder=folder, runs=folder.parent, run_id=RUN, settings={"optim": {"lr": 0.1}}) as tell:
        for step in steps:
            tell.numbers({"step/loss": 1 / step, "step/undefined": float("nan")}, step=step)
        tell.pictures({"training_images/a": PICTURE}, step=steps[-1])
        if stops:
            raise KeyboardInterrupt


def test_a_curve_of_tensorboard_has_each_step_once_after_an_interruption(tmp_path: Path):
    """The first try tells of steps 1 to 5; its last checkpoint is of step 3, so that the second begins with step 4."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    with pytest.raises(KeyboardInterrupt):
        told(tmp_path, ["tensorboard"], range(1, 6), stops=True)
    told(tmp_path, ["tensorboard"], range(4, 8))

    found = EventAccumulator(str(tmp_path / "tensorboard")).Reload()
    assert [event.step for event in found.Scalars("step/loss")] == [1, 2, 3, 4, 5, 6, 7]
    assert found.Scalars("step/loss")[3].value == pytest.approx(1 / 4)
    assert "step/undefined" not in found.Tags()["scalars"]
    assert (found.Images("training_images/a")[0].height, found.Images("training_images/a")[0].width) == (4, 6)


def test_a_run_of_mlflow_is_one_run_over_two_tries(tmp_path: Path):
    mlflow = pytest.importorskip("mlflow", reason="needs mlflow: pip install 'segcv[mlflow]'")
    folder = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        told(folder, ["mlflow"], range(1, 4), stops=True)
    told(folder, ["mlflow"], range(4, 6))

    client = mlflow.MlflowClient(tracking_uri=f"sqlite:///{tmp_path / 'mlflow.db'}")
    experiment = client.get_experiment_by_name("unet-12345678")
    runs = client.search_runs([experiment.experiment_id])
    assert [(run.info.run_name, run.info.status) for run in runs] == [("repeat-0 fold-1 seed-2", "FINISHED")]
    assert runs[0].data.params == {"optim.lr": "0.1"}
    assert [one.step for one in client.get_metric_history(runs[0].info.run_id, "step/loss")] == [1, 2, 3, 4, 5]
    assert len(list((tmp_path / "mlflow").rglob("*.png"))) == 2


def test_a_run_of_wandb_is_kept_offline_in_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("wandb", reason="needs wandb: pip install 'segcv[wandb]'")
    monkeypatch.setenv("WANDB_MODE", "offline")
    told(tmp_path, ["wandb"], range(1, 3))

    assert list(tmp_path.glob("wandb/offline-run-*/run-*.wandb"))


class Broken:
    """A tracker that fails at the second number."""

    def __init__(self) -> None:
        self.heard: list[int] = []

    def numbers(self, values: object, *, step: int) -> None:
        if step > 1:
            raise ConnectionError("the server is away\nand more lines")
        self.heard.append(step)

    def pictures(self, pictures: object, *, step: int) -> None:
        self.heard.append(-step)

    def close(self, *, failed: bool) -> None:
        self.heard.append(0)


def test_a_tracker_that_fails_is_said_once_and_the_others_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    broken = Broken()
    monkeypatch.setitem(TRACKERS, "broken", Kind("numpy", "", lambda about: broken))

    with pytest.warns(SegcvWarning, match=r"The tracker broken failed .*\(the server is away\)") as warned:
        told(tmp_path, ["broken", "tensorboard"], range(1, 4))

    assert len(warned) == 1 and broken.heard == [1]
    assert list(tmp_path.glob("tensorboard/events*"))


def test_a_tracker_that_cannot_be_opened_does_not_stop_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def refuses(about: object) -> Broken:
        raise PermissionError("no key")

    monkeypatch.setitem(TRACKERS, "closed", Kind("numpy", "", refuses))
    with pytest.warns(SegcvWarning, match="closed failed"):
        told(tmp_path, ["closed"], range(1, 3))


def test_trackers_change_no_bit_of_a_fit_and_see_training_images_only(tmp_path: Path):
    """Weights, tensor by tensor, of a fit that nobody follows and of one with curves and pictures."""
    rows = write_squares(tmp_path / "data", 6)
    opened: list[str] = []

    class Listener(Broken):
        def numbers(self, values: object, *, step: int) -> None:
            assert isinstance(values, dict) and all(np.isfinite(value) for value in values.values())

        def pictures(self, pictures: object, *, step: int) -> None:
            assert isinstance(pictures, dict)
            opened.extend(pictures)
            assert all(picture.shape == (32, 96, 3) for picture in pictures.values())

    def fitted(out: Path, follow: Following | None) -> dict[str, torch.Tensor]:
        found = fit(rows.iloc[:4], labels=LABELS, preprocessing=fit_preprocessing(rows.iloc[:4]), out=out,
                    seeds=run_seeds(0, repeat=0, fold=0), epochs=2, batch_size=2, device="cpu", augment="light",
                    watch=follow and follow.step, after_epoch=follow and follow.epoch)
        return found.network.module.state_dict()

    alone = fitted(tmp_path / "a", None)
    followed = fitted(tmp_path / "b", Following(Tell({"x": Listener()}), rows.iloc[:4], labels=LABELS))

    assert all(torch.equal(alone[name], followed[name]) for name in alone)
    assert set(opened) == {"training_images/square_0", "training_images/square_2"} and len(opened) == 4


def test_samples_are_one_image_each_of_up_to_four_groups():
    """Ten groups: positions 0, 10/4, 20/4, 30/4 rounded down."""
    rows = pd.DataFrame({"group_id": [f"g{number // 2}" for number in range(20)],
                         "image_id": [f"i{number:02d}" for number in range(20)]})

    assert sample_rows(rows)["image_id"].tolist() == ["i00", "i04", "i10", "i14"]


def test_an_unknown_tracker_or_a_missing_library_is_refused(monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(ConfigError, match="did you mean tensorboard"):
        refuse_trackers(["tensorbord"])
    with pytest.raises(ConfigError, match="named twice"):
        refuse_trackers(["tensorboard", "tensorboard"])
    monkeypatch.setitem(TRACKERS, "mlflow", Kind("there_is_no_such_library", "mlflow", TRACKERS["mlflow"].open))
    with pytest.raises(MissingExtra, match=r"pip install 'segcv\[mlflow\]'"):
        refuse_trackers(["mlflow"])
