"""A fitted network as a folder: weights as safetensors, and in model.json all that must be known to use them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import nn

from segcv.errors import ModelError
from segcv.pixels import LabelMap, Preprocessing
from segcv.tables import read_json, replacing, write_json
from segcv.training.calibration import Calibration
from segcv.training.determinism import versions
from segcv.training.models import ModelChoice, Network, build_model
from segcv.training.pretrained import read_weights

FORMAT = 1
WEIGHTS, ABOUT, CALIBRATION = "model.safetensors", "model.json", "calibration.json"


@dataclass(frozen=True, slots=True)
class SavedModel:
    """A network with the labels it predicts and the preprocessing that is its contract with images."""

    network: Network
    choice: ModelChoice
    labels: LabelMap
    preprocessing: Preprocessing
    calibration: Calibration = field(default_factory=Calibration)      # nothing learned: probabilities as they are


def save_model(folder: Path, network: Network, *, choice: ModelChoice, labels: LabelMap,
               preprocessing: Preprocessing) -> None:
    """Write model.safetensors and model.json into `folder`; the weights come first, so that model.json means both."""
    from safetensors.torch import save_file

    tensors = {name: tensor.detach().to("cpu", copy=True).contiguous()
               for name, tensor in network.module.state_dict().items()}
    folder.mkdir(parents=True, exist_ok=True)
    with replacing(folder / WEIGHTS) as beside:
        save_file(tensors, beside)
    write_json(folder / ABOUT, {
        "format": FORMAT, "model": choice.to_json(), "bands": network.bands, "n_classes": network.n_classes,
        "stride": network.stride, "labels": labels.to_json(), "preprocessing": preprocessing.to_json(),
        "fitted_on": preprocessing.fitted_on, "versions": versions(),
    })


def load_model(folder: Path, *, device: torch.device | None = None) -> SavedModel:
    """What `save_model` wrote, in evaluation mode; no download, and the first weights are not read again.

    Raises:
        ModelError: a file is missing or damaged, or the weights are not those of this model.
    """
    if not (folder / ABOUT).is_file():
        raise ModelError(f"{folder} holds no {ABOUT}: it is not the folder of a saved model.")
    about: dict[str, Any] = read_json(folder / ABOUT)
    if about.get("format") != FORMAT:
        raise ModelError(f"{folder / ABOUT} has the format {about.get('format')}; this version of segcv reads "
                         f"{FORMAT}.")
    choice = ModelChoice.from_json(about["model"])
    with torch.random.fork_rng(devices=[]):        # the weights that a new network draws are replaced at once
        network = build_model(ModelChoice(choice.name, encoder=choice.encoder, arguments=choice.arguments),
                              bands=about["bands"], n_classes=about["n_classes"])
    _load_all(network.module, folder / WEIGHTS)
    network.module.to(device or torch.device("cpu")).eval()
    return SavedModel(network, choice, LabelMap.from_json(about["labels"]),
                      Preprocessing.from_json(about["preprocessing"]), read_calibration(folder))


def write_calibration(folder: Path, calibration: Calibration) -> None:
    """Write what was learned on C beside the saved model."""
    write_json(folder / CALIBRATION, calibration.to_json())


def read_calibration(folder: Path) -> Calibration:
    """The calibration beside a saved model; one that changes nothing where none was fitted."""
    path = folder / CALIBRATION
    return Calibration.from_json(read_json(path)) if path.is_file() else Calibration()


def _load_all(module: nn.Module, path: Path) -> None:
    try:
        module.load_state_dict(read_weights(path))
    except RuntimeError as error:
        raise ModelError(f"{path} does not hold the weights of the model in {ABOUT}: {str(error)[:300]}. Was one of "
                         "the two replaced, or does a model function of your own build another network now?") from error
