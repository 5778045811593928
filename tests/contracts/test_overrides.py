"""A setting mistyped is refused in the words of the settings, with the one that was meant."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hydra import compose, initialize_config_dir
from hydra.errors import HydraException

from segcv.config import conf_folder, register
from segcv.overrides import as_meant, refusal_of_error, refusal_of_typed
from segcv.settings import AuditCommand, TrainCommand


@pytest.mark.parametrize(("typed", "said"), [
    ("foldd=0", "foldd: no such setting. Did you mean fold?"),
    ("trainer.epoch=3", "Did you mean trainer.epochs"),
    ("epochs=3", "epochs: no such setting. Did you mean trainer.epochs?"),
    ("fold=x", "fold=x: 'x' is not a whole number."),
    ("fold=1.5", "fold=1.5: '1.5' is not a whole number."),
    ("trainer=fast", "trainer=fast: there is no conf/trainer/fast.yaml. There is: command, default."),
    ("+experiment=smok", "Did you mean smoke?"),
    ("data.classes=sky", "data.classes takes a list: type 'data.classes=[A,B]', in quotes."),
    ("fold", "'fold' is not a setting with a value"),
    ("fold=0,1", "type -m for a sweep"),
])
def test_what_hydra_refuses_is_said_in_one_line(typed: str, said: str):
    register("train")
    with initialize_config_dir(version_base="1.3", config_dir=str(conf_folder())), (
            pytest.raises(HydraException)) as caught:
        compose("train", overrides=[typed])

    told = refusal_of_error(caught.value, "train", TrainCommand, conf_folder())
    assert said in told and "\n" not in told


@pytest.mark.parametrize(("typed", "said"), [
    (["fold=0", "+x=1"], "x: no such setting"),
    (["fold=0", "++trainer.epoch=1"], "Did you mean trainer.epochs"),
    (["fold=0", "~data"], "cannot be taken out"),
    (["fold=0", "+data.values.sky=1"], None),
    (["fold=0", "+experiment=smoke", "+hydra.launcher.slots=2", "-m"], None),
])
def test_what_hydra_would_take_without_effect_is_refused(typed: list[str], said: str | None):
    told = refusal_of_typed(typed, "train", TrainCommand, conf_folder())

    assert (told is None) if said is None else (told is not None and said in told)


def test_a_part_of_a_split_that_is_not_named_is_refused():
    """`split` is null by default in an audit: `split.folds` alone would say something of nothing."""
    told = refusal_of_typed(["split.folds=3"], "audit", AuditCommand, conf_folder())

    assert told is not None and "split=NAME" in told
    assert refusal_of_typed(["split=group_kfold", "split.folds=3"], "audit", AuditCommand, conf_folder()) is None


def test_names_that_people_type_and_places_in_paths_are_read_as_meant():
    assert as_meant("model=FOLDER", {"model": "model_folder"}) == "model_folder=FOLDER"
    assert as_meant("data.colors={'3C1098': 0, #3E1098: 1, 000000: 2}", {}) == (
        "data.colors={0x3C1098: 0, 0x3E1098: 1, 0x000000: 2}")
    assert as_meant("predictions=a/{fold}.png", {}) == 'predictions="a/{fold}.png"'


def test_a_command_says_it_on_stderr_and_ends_with_1(tmp_path: Path):
    ended = subprocess.run([sys.executable, "-m", "segcv.train", "fold=0", "trainer.epoch=3"], cwd=tmp_path, text=True,
                           capture_output=True, env={k: v for k, v in os.environ.items() if k != "HYDRA_FULL_ERROR"})

    assert ended.returncode == 1 and not ended.stdout and not list(tmp_path.iterdir())
    assert ended.stderr.startswith("error: trainer.epoch: no such setting. Did you mean trainer.epochs")
    assert ended.stderr.count("\n") == 1
