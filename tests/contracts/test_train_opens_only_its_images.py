"""What fits receives training rows and has no way to others: watched at the level of the operating system's open()."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from segcv import recipes
from segcv import train as command
from segcv.pixels import write_flight_strips
from segcv.settings import (
    AugmentSettings,
    DataSettings,
    SplitSettings,
    TrainCommand,
    TrainerSettings,
)
from segcv.splits import fold_roles
from segcv.study import open_study

opened: list[str] = []
listening = False


def listen(event: str, args: tuple[object, ...]) -> None:
    if listening and event == "open":
        opened.append(str(args[0]))


sys.addaudithook(listen)


@pytest.mark.parametrize("stopping", ["fixed", "early"])
def test_no_excluded_or_held_out_image_is_opened_before_the_network_is_fitted(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stopping: str):
    """A locked group, a cap and a held-out fold: every file opened until the fit ends must be of a training row."""
    global listening
    table = write_flight_strips(tmp_path / "data", strips=6, patches=4, size=32)
    settings = TrainCommand(
        data=DataSettings(table=str(table), num_classes=4),
        split=SplitSettings(name="group_kfold", folds=3, locked_groups=["strip05"], max_per_group=3),
        fold=1, workers=0, trainer=TrainerSettings(epochs=1, stopping=stopping), augment=AugmentSettings("none"),
        runs=str(tmp_path / "runs"), splits=str(tmp_path / "splits"), cache=str(tmp_path / "cache"))
    study = open_study(settings.data, settings.group, settings.split, splits=tmp_path / "splits", cache=tmp_path)
    rows = fold_roles(study.split, 0, 1).set_index("image_id")
    fit = recipes.fit_recipe

    def watched(*args: object, **kwargs: object) -> object:
        global listening
        listening = True
        try:
            return fit(*args, **kwargs)
        finally:
            listening = False

    monkeypatch.setattr(recipes, "fit_recipe", watched)
    opened.clear()
    command.train(settings, study)

    pictures = {path for path in opened if str(tmp_path / "data") in path}
    allowed = rows[rows["role"] == "train"]
    assert set(rows["role"]) == {"train", "held_out", "excluded"}
    assert {str(path) for path in pictures} == set(allowed["image_path"]) | set(allowed["mask_path"])


def test_the_hook_would_see_a_held_out_image(tmp_path: Path):
    global listening
    (tmp_path / "a.png").touch()
    opened.clear()
    listening = True
    (tmp_path / "a.png").read_bytes()
    listening = False

    assert str(tmp_path / "a.png") in opened
