"""Weights to start from: a local file, or a download that is refused at once where it cannot work."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from segcv.errors import ModelError

HUB = ("huggingface.co", 443)
PATIENCE_S = 2.0            # for the one question whether the hub answers at all
SHOWN = 3                   # tensors named in a message


def require_weights(encoder: str, weights: str) -> None:
    """Do nothing if the pretrained weights of an encoder are in the local cache, or the hub can be reached for them.

    Without a network the download itself would retry for half a minute and then name neither encoder nor cure.

    Raises:
        ModelError: there are no such weights, or they can neither be found nor fetched.
    """
    from huggingface_hub import try_to_load_from_cache

    repo, revision, files = _hub_place(encoder, weights)
    found = [try_to_load_from_cache(repo, name, revision=revision) for name in files]
    if any(isinstance(path, str) for path in found):
        return
    offline = os.environ.get("HF_HUB_OFFLINE", "").lower() in ("1", "true", "yes", "on")
    if offline or not _hub_answers():
        raise ModelError(
            f"model.encoder_weights={weights} for the encoder {encoder}: the weights ({repo}) are not on this machine "
            f"and {'HF_HUB_OFFLINE is set' if offline else HUB[0] + ' does not answer'}. Give a local file with "
            "model.weights_file=PATH (safetensors or a torch state dict), or start from random weights with "
            "model.encoder_weights=null.")


def load_weights_file(module: nn.Module, path: Path) -> None:
    """Load a file of weights into the module, or into its encoder when it holds those of the encoder alone.

    Only tensors are read (safetensors, or torch with weights_only). Tensors beyond the encoder's, such as
    the classifier it was trained with, are left aside; a missing one or one of another shape is refused.

    Raises:
        ModelError: the file is missing, unreadable, or does not hold the encoder's weights.
    """
    state = read_weights(path)
    encoder = getattr(module, "encoder", None)
    inside = getattr(encoder, "model", None)                # timm's own module, under the names of timm's own files
    targets = [("model", module)] + [("encoder", part) for part in (encoder, inside) if isinstance(part, nn.Module)]
    misfits = []
    for what, target in targets:
        wanted = {key: tensor for key, tensor in target.state_dict().items() if not key.endswith("num_batches_tracked")}
        prefixes = ("", "module.") if what == "model" else ("", "encoder.", "module.encoder.", "backbone.")
        for prefix in prefixes:
            given = {key: state[prefix + key] for key in wanted if prefix + key in state}
            if len(given) == len(wanted) and all(given[key].shape == wanted[key].shape for key in wanted):
                target.load_state_dict(given, strict=False)
                return
            bad = [key for key in wanted if key not in given or given[key].shape != wanted[key].shape]
            misfits.append((len(bad), what, bad, {key: tuple(wanted[key].shape) for key in bad},
                            {key: tuple(given[key].shape) for key in bad if key in given}))
    count, what, bad, shapes, found = min(misfits, key=lambda misfit: misfit[0])
    shown = ", ".join(f"{key} {shapes[key]} ({'has ' + str(found[key]) if key in found else 'missing'})"
                      for key in bad[:SHOWN])
    raise ModelError(f"model.weights_file={path} does not fit the {what}: {count} of its tensors are missing or of "
                     f"another shape: {shown}. The file has {len(state)} tensors, such as "
                     f"{', '.join(list(state)[:SHOWN])}. Choose the architecture and encoder, with the "
                     "same bands, that the file was saved from.")


def read_weights(path: Path) -> dict[str, Tensor]:
    """The named tensors of a .safetensors file, or of a torch file (weights_only), on the CPU.

    Raises:
        ModelError: the file is missing, unreadable, or holds something else.
    """
    if not path.is_file():
        raise ModelError(f"{path}: there is no such file of weights.")
    try:
        if path.suffix == ".safetensors":
            from safetensors.torch import load_file
            return dict(load_file(path))
        data: Any = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:      # each library raises its own kinds for a file that is cut short or not its own
        raise ModelError(f"{path} cannot be read as weights ({str(error).splitlines()[0][:200]}). Use safetensors, or "
                         "a state dict saved with torch.save.") from error
    data = data.get("state_dict", data) if isinstance(data, dict) else data
    if not isinstance(data, dict) or not data or not all(isinstance(value, Tensor) for value in data.values()):
        raise ModelError(f"{path} does not hold a state dict (names and tensors).")
    return data


def _hub_place(encoder: str, weights: str) -> tuple[str, str | None, tuple[str, ...]]:
    """Repository, revision and possible file names of an encoder's weights."""
    import timm
    from segmentation_models_pytorch.encoders import encoders, is_equivalent_to_timm_universal

    if is_equivalent_to_timm_universal(encoder):
        encoder = encoder.replace("timm-", "tu-")
        encoder = encoder.replace("tu-", "tu-tf_") if "mobilenetv3" in encoder else encoder
    if encoder.startswith("tu-"):
        known = timm.models.get_pretrained_cfg(encoder.removeprefix("tu-"), allow_unregistered=True)
        if known is None or not known.hf_hub_id:
            raise ModelError(f"model.encoder_weights={weights}: timm has no pretrained weights for {encoder}. "
                             "Use model.encoder_weights=null or model.weights_file=PATH.")
        return known.hf_hub_id, None, ("model.safetensors", "pytorch_model.bin")
    settings = encoders[encoder]["pretrained_settings"]
    if weights not in settings:
        raise ModelError(f"model.encoder_weights={weights} does not exist for {encoder}; it has "
                         f"{', '.join(settings) or 'none'}.")
    return settings[weights]["repo_id"], settings[weights]["revision"], ("model.safetensors",)


def _hub_answers() -> bool:
    try:
        with socket.create_connection(HUB, timeout=PATIENCE_S):
            return True
    except OSError:
        return False
