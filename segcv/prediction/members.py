"""A model as it is delivered: one network or several, each with its normalisation and calibration."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segcv.errors import ModelError
from segcv.pixels import LabelMap
from segcv.prediction.predicting import Prediction, predict
from segcv.tables import fingerprint, read_json
from segcv.training import SavedModel, load_model

DELIVERED = "delivered.json"


@dataclass(frozen=True, slots=True)
class Members:
    """Networks that answer together: the mean of their calibrated probabilities."""

    models: tuple[SavedModel, ...]
    names: tuple[str, ...]              # folder of each
    fingerprint: str                    # of all their files

    @property
    def labels(self) -> LabelMap:
        """What the class ids mean."""
        return self.models[0].labels

    @property
    def stride(self) -> int:
        """Sizes in px that all networks take are multiples of it."""
        return int(np.lcm.reduce([model.network.stride for model in self.models]))


def load_members(folder: Path) -> Members:
    """The model in a folder: of a run, of a saved model, or one that was delivered (also an ensemble).

    Raises:
        ModelError: the folder holds none, or its networks have other labels or bands than each other.
    """
    if (folder / DELIVERED).is_file():
        places = [folder / str(name) for name in read_json(folder / DELIVERED)["members"]]
    elif (folder / "model" / "model.json").is_file():
        places = [folder / "model"]
    elif (folder / "model.json").is_file():
        places = [folder]
    else:
        raise ModelError(f"{folder} holds no model: neither {DELIVERED}, nor model/, nor model.json. Name the folder "
                         "of a run, or what python -m segcv.fit_final wrote.")
    models = [load_model(place) for place in places]
    first = models[0]
    for place, model in zip(places, models, strict=True):
        if (model.labels, model.preprocessing.bands, model.preprocessing.dtype) != (
                first.labels, first.preprocessing.bands, first.preprocessing.dtype):
            raise ModelError(f"{place} has other labels or bands than {places[0]}; they cannot answer together.")
    files = [file.read_bytes() for place in places for file in sorted(place.iterdir()) if file.is_file()]
    return Members(tuple(models), tuple(map(str, places)),
                   fingerprint([fingerprint([data.hex()], length=32) for data in files]))


def predict_members(members: Members, image_id: str, image: NDArray[Any], **choices: Any) -> Prediction:
    """What the members say together about one image, H x W x bands, with its probabilities; choices as for `predict`.

    One member: its calibrated probabilities, its threshold. Several: the mean of their calibrated probabilities; where
    all have thresholds, class 1 where it exceeds them on average.
    """
    found = [next(_one(model, image_id, image, choices)) for model in members.models]
    if len(found) == 1:
        labels, shares = found[0]
    else:
        shares = np.stack([share for _, share in found]).mean(axis=0, dtype=np.float64).astype(np.float32)
        votes = np.mean([label == 1 for label, _ in found], axis=0)
        thresholds = [model.calibration.threshold for model in members.models]
        labels = (votes >= 0.5).astype(np.uint8) if all(cut is not None for cut in thresholds) else (
            shares.argmax(axis=0).astype(found[0][0].dtype))
    return Prediction(image_id, labels, float(shares.max(axis=0).mean(dtype=np.float64)), shares)


def _one(model: SavedModel, image_id: str, image: NDArray[Any],
         choices: dict[str, Any]) -> Iterator[tuple[NDArray[Any], NDArray[np.float32]]]:
    for prediction in predict(model.network, [(image_id, image)], preprocessing=model.preprocessing,
                              probabilities=True, **choices):
        assert prediction.probabilities is not None
        yield (model.calibration.labels(prediction.probabilities),
               model.calibration.probabilities(prediction.probabilities))
