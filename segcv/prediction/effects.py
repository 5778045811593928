"""What a wrong input does to the prediction, and whether an exported network answers like its original."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from segcv.errors import MissingExtra, ModelError
from segcv.prediction.serving import ServingDifference
from segcv.tables import replacing
from segcv.training import SavedModel, chosen_device, next_multiple, padded, pinned

EXPORT_TOLERANCE = 1e-3        # of a probability


def network_probabilities(model: SavedModel, tensor: NDArray[np.float32], *, device: str = "auto",
                          threads: int = 1) -> NDArray[np.float32]:
    """Probabilities, classes x H x W, of a tensor that is fed as it is, bands x H x W."""
    place = chosen_device(device)
    height, width = tensor.shape[1:]
    stride = model.network.stride
    grown = padded(tensor.transpose(1, 2, 0), next_multiple(height, stride), next_multiple(width, stride))
    with pinned(place, threads=threads), torch.inference_mode():
        model.network.move(place, channels_last=False).eval()
        x = torch.from_numpy(np.ascontiguousarray(grown.transpose(2, 0, 1)))[None].to(place)
        found: NDArray[np.float32] = model.network.logits(x).float().softmax(dim=1)[0, :, :height, :width].cpu().numpy()
    return found


def effect_of_serving(model: SavedModel, found: ServingDifference, *, device: str = "auto", threads: int = 1) -> str:
    """How much of the prediction changes when the served tensor is fed instead of the model's own input, in words."""
    right = network_probabilities(model, found.expected, device=device, threads=threads)
    wrong = network_probabilities(model, found.served, device=device, threads=threads)
    if right.shape != wrong.shape:
        shares = [", ".join(f"{name} {100 * share:.1f} %" for name, share in zip(
            model.labels.names, np.bincount(p.argmax(axis=0).ravel(), minlength=len(p)) / p[0].size, strict=True))
            for p in (right, wrong)]
        return f"Predicted shares: {shares[0]}; with the served tensor: {shares[1]}."
    changed = float((right.argmax(axis=0) != wrong.argmax(axis=0)).mean())
    moved = float(np.abs(right - wrong).mean())
    return f"{100 * changed:.1f} % of the pixels change their class; probabilities move by {moved:.3f} on average."


def require_onnx() -> None:
    """Do nothing where a model can be exported.

    Raises:
        MissingExtra: onnx, onnxscript or onnxruntime is not installed.
    """
    missing = [name for name in ("onnx", "onnxscript", "onnxruntime") if find_spec(name) is None]
    if missing:
        raise MissingExtra(f"Export to ONNX needs {', '.join(missing)}: pip install 'segcv[onnx]'")


def export_onnx(model: SavedModel, path: Path, images: list[NDArray[Any]]) -> float:
    """Write the network as ONNX (input bands x H x W, normalised; output probabilities of the classes) and check it.

    The largest difference of a probability on `images` (H x W x bands) between onnxruntime and torch is returned; the
    file appears only when it is below 1e-3. Sizes must be multiples of the network's stride; the batch and both sides
    are free.

    Raises:
        MissingExtra: onnx, onnxscript or onnxruntime is not installed.
        ModelError: the network cannot be exported, or answers otherwise than torch.
    """
    require_onnx()
    import onnxruntime

    network = _WithSoftmax(model).eval()
    side = 4 * model.network.stride
    example = torch.zeros(2, model.preprocessing.bands, side, 2 * side)
    dynamic = {0: torch.export.Dim("images"), 2: torch.export.Dim.AUTO, 3: torch.export.Dim.AUTO}
    with replacing(path) as beside:
        try:
            torch.onnx.export(network, (example,), str(beside), input_names=["image"], output_names=["probabilities"],
                              dynamic_shapes=(dynamic,), dynamo=True, external_data=False, verbose=False)
        except Exception as error:      # the exporter meets an operation it does not know with any exception whatever
            raise ModelError(f"the network cannot be exported to ONNX: {str(error).splitlines()[0][:300]}") from error
        session = onnxruntime.InferenceSession(str(beside), providers=["CPUExecutionProvider"])
        worst = 0.0
        for image in images:
            tensor = model.preprocessing.apply(image)
            height, width = (next_multiple(size, model.network.stride) for size in tensor.shape[1:])
            grown = np.ascontiguousarray(padded(tensor.transpose(1, 2, 0), height, width).transpose(2, 0, 1))
            with torch.inference_mode():
                own = network(torch.from_numpy(grown)[None]).numpy()
            (there,) = session.run(None, {"image": grown[None]})
            worst = max(worst, float(np.abs(own - there).max()))
        if not worst <= EXPORT_TOLERANCE:
            raise ModelError("the exported network answers otherwise than torch: a probability differs by "
                             f"{worst:.3g}.")
    return worst


class _WithSoftmax(torch.nn.Module):
    def __init__(self, model: SavedModel) -> None:
        super().__init__()
        model.network.move(torch.device("cpu"), channels_last=False)
        self.network = model.network.module

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.network(image)
        return logits.softmax(dim=1)
