"""conf/ and the names in code are the same: whatever a user can choose exists, and whatever exists can be chosen."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

from segcv.config import conf_folder, register
from segcv.errors import ConfigError
from segcv.launching import LocalEngine, RayEngine, SlurmEngine
from segcv.pixels import STATISTICS, label_map
from segcv.settings import SplitCommand, TrainCommand
from segcv.splits import SPLITTERS
from segcv.train import refuse_settings
from segcv.training import LOSSES, PIPELINES, SCHEDULES, WEIGHTINGS, ModelChoice, build_model


def options(group: str) -> list[str]:
    return sorted(path.stem for path in (conf_folder() / group).glob("*.yaml"))


def composed(command: str, *overrides: str) -> SplitCommand | TrainCommand:
    register(command)
    with initialize_config_dir(version_base="1.3", config_dir=str(conf_folder())):
        return OmegaConf.to_object(compose(command, overrides=list(overrides)))


def test_every_splitter_has_its_yaml_and_every_yaml_its_splitter():
    assert set(options("split")) == set(SPLITTERS) | {"from_table"}


@pytest.mark.parametrize("name", options("data"))
def test_every_data_config_declares_labels_that_can_be_read(name: str):
    data = composed("split", f"data={name}", "data.root=FOLDER").data

    if name == "demo":
        assert data.table is None
    else:
        assert Path(data.table) == Path("FOLDER/dataset.csv")
        labels = label_map(names=data.classes, ignore=data.ignore, values=data.values, colors=data.colors)
        assert labels.n_classes == len(data.classes)


@pytest.mark.parametrize("name", options("model"))
def test_every_model_config_builds(name: str):
    model = composed("train", f"model={name}", "fold=0").model

    network = build_model(ModelChoice(model.name, model.encoder, model.encoder_weights), bands=3, n_classes=2)
    assert network.n_classes == 2


@pytest.mark.parametrize("group", ["preprocessing", "loss", "optim", "augment", "trainer", "experiment"])
def test_every_other_choice_is_known_to_the_code(group: str):
    for name in options(group):
        chosen = composed("train", f"{group}={name}", "fold=0")
        assert set(chosen.loss.name.split("+")) <= set(LOSSES)
        assert chosen.loss.class_weights in WEIGHTINGS
        assert chosen.optim.schedule in SCHEDULES
        assert chosen.augment.pipeline in PIPELINES
        assert chosen.preprocessing.statistics in STATISTICS


def test_a_program_that_is_chosen_and_not_named_is_refused():
    """Else our own training would run in its place."""
    with pytest.raises(ConfigError, match=r"trainer=command needs the command"):
        refuse_settings(composed("train", "trainer=command", "fold=0"))


def test_the_yaml_defaults_and_the_dataclass_defaults_agree():
    """One of them would be dead otherwise."""
    assert composed("train", "fold=0") == TrainCommand(fold=0)


@pytest.mark.parametrize("name", options("hydra/launcher"))
def test_the_yaml_of_a_launcher_says_all_that_its_engine_takes(name: str):
    """With the defaults that hold without it, so that none of the two is dead."""
    register("train")
    with initialize_config_dir(version_base="1.3", config_dir=str(conf_folder())):
        config = compose("train", overrides=["fold=0", f"hydra/launcher={name}"], return_hydra_config=True)
    written = OmegaConf.to_container(OmegaConf.load(conf_folder() / f"hydra/launcher/{name}.yaml"))
    engine = {"segcv_local": LocalEngine, "segcv_slurm": SlurmEngine, "segcv_ray": RayEngine}[name]
    taken = {key: parameter.default for key, parameter in inspect.signature(engine).parameters.items()
             if key not in ("folder", "threads")}

    assert set(written) - {"defaults", "retries", "wait", "dry_run"} == set(taken)
    assert {key: value for key, value in config.hydra.launcher.items() if key in taken} == {
        key: {"setup": [], "sbatch": {}}.get(key, default) for key, default in taken.items()}
    assert {**config.hydra.launcher, **{key: value for key, value in written.items() if key != "defaults"}} == (
        config.hydra.launcher)
