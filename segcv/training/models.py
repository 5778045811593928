"""Networks by name: the built-in one, those of segmentation-models-pytorch, or a user's function."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import partial
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from segcv.errors import ModelError
from segcv.training.pretrained import load_weights_file, require_weights
from segcv.training.unet_small import UnetSmall

SMP_NAMES = ("Unet", "UnetPlusPlus", "MAnet", "Linknet", "FPN", "PSPNet", "DeepLabV3", "DeepLabV3Plus", "PAN",
             "UPerNet", "Segformer", "DPT")
DEFAULT_STRIDE = 32          # of a user's module that does not say its own


@dataclass(frozen=True, slots=True)
class Network:
    """A module with what must be known to call it: bands in, classes out, and the multiple its image sides must be."""

    module: nn.Module
    bands: int
    n_classes: int
    stride: int

    def move(self, device: torch.device, *, channels_last: bool = False) -> nn.Module:
        """The module, moved in place to the device and memory layout."""
        layout = torch.channels_last if channels_last else torch.contiguous_format
        return self.module.to(device).to(memory_format=layout)

    def logits(self, x: Tensor) -> Tensor:
        """Images x classes x H x W for normalised images (images x bands x H x W).

        Raises:
            ModelError: the module returns something else, or needs larger images.
        """
        try:
            out = self.module(x)
        except RuntimeError as error:
            if "too small" not in str(error):
                raise
            raise ModelError(f"Images of {x.shape[2]} x {x.shape[3]} px are too small for this model: {error}. "
                             "Use larger windows or another model.") from error
        if isinstance(out, Mapping) and "out" in out:          # as torchvision's segmentation models answer
            out = out["out"]
        wanted = (x.shape[0], self.n_classes, *x.shape[2:])
        if not isinstance(out, Tensor) or tuple(out.shape) != wanted:
            found = f"a tensor of shape {tuple(out.shape)}" if isinstance(out, Tensor) else type(out).__name__
            raise ModelError(f"The model returned {found} for images of shape {tuple(x.shape)}; segcv needs logits of "
                             f"shape {wanted}: one plane per class, at the size of the image.")
        return out


def unet_small(*, bands: int, n_classes: int, dropout: float = 0.0) -> nn.Module:
    """The built-in U-Net; `dropout` in [0, 1) drops whole feature maps at its lowest level."""
    return UnetSmall(bands=bands, n_classes=n_classes, dropout=dropout)


def smp_model(architecture: str, *, bands: int, n_classes: int, encoder: str | None = None,
              encoder_weights: str | None = None, **arguments: Any) -> nn.Module:
    """An architecture of segmentation-models-pytorch; further arguments are its own (`decoder_channels`, ...).

    Without `encoder` it takes its own default. Weights are random unless `encoder_weights` names some.
    """
    import segmentation_models_pytorch as smp  # takes seconds: it loads timm

    kind = getattr(smp, architecture)
    encoder = encoder or str(signature(kind.__init__).parameters["encoder_name"].default)
    known = smp.encoders.get_encoder_names()
    if encoder not in known and not encoder.startswith(("tu-", "timm-")):
        near = get_close_matches(encoder, known, n=3)
        hint = f"; did you mean {' or '.join(near)}?" if near else "."
        raise ModelError(f"model.encoder={encoder} is unknown{hint} Encoders are {', '.join(known)}, and "
                         "tu-NAME for any of timm.")
    if architecture == "DPT":
        arguments = {"dynamic_img_size": True} | arguments          # else it takes one size only
    if encoder_weights is not None:
        require_weights(encoder, encoder_weights)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            warnings.simplefilter("ignore", UserWarning)       # what `encoder_weights` means for timm encoders
            module: nn.Module = kind(
                encoder_name=encoder, encoder_weights=encoder_weights, in_channels=bands, classes=n_classes,
                **arguments)
    except (KeyError, ValueError, TypeError, RuntimeError, NotImplementedError) as error:
        raise ModelError(f"model {architecture} with encoder {encoder} cannot be built: {str(error)[:300]}") from error
    if architecture == "DPT":
        module.stride = 32        # type: ignore[assignment]      # one more halving than its encoder says
    return module


MODELS: dict[str, Callable[..., nn.Module]] = {
    "unet_small": unet_small, **{name: partial(smp_model, name) for name in SMP_NAMES},
}


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """What to build: a name of MODELS (in any case) or "package.module:function", and its options.

    `encoder` and `encoder_weights` belong to the architectures of segmentation-models-pytorch. `weights_file` is a
    local file of weights to start from, for the encoder or for all. `arguments` go to the function as they are.
    """

    name: str = "unet_small"
    encoder: str | None = None
    encoder_weights: str | None = None
    weights_file: Path | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Plain values, for model.json and the checkpoint; `from_json` reads them."""
        return {"name": self.name, "encoder": self.encoder, "encoder_weights": self.encoder_weights,
                "weights_file": None if self.weights_file is None else str(self.weights_file),
                "arguments": dict(self.arguments)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ModelChoice:
        """What `to_json` gave."""
        weights = data["weights_file"]
        return cls(**{**data, "weights_file": None if weights is None else Path(weights)})


def build_model(choice: ModelChoice, *, bands: int, n_classes: int) -> Network:
    """The network of this choice, its first weights drawn from torch's generator (`fit` seeds it just before).

    Raises:
        ModelError: the name, encoder or an argument is unknown, or weights to start from cannot be had.
    """
    options: dict[str, Any] = dict(choice.arguments)
    build, is_smp = _builder(choice.name)
    if is_smp:
        if choice.weights_file is not None and choice.encoder_weights is not None:
            raise ModelError(f"model.encoder_weights={choice.encoder_weights} and "
                             f"model.weights_file={choice.weights_file} are both set; choose one.")
        options |= {"encoder": choice.encoder, "encoder_weights": choice.encoder_weights}
    elif choice.encoder is not None or choice.encoder_weights is not None:
        raise ModelError(f"model.encoder={choice.encoder} and model.encoder_weights={choice.encoder_weights} have no "
                         f"effect on {choice.name}: only {', '.join(SMP_NAMES)} have an encoder to choose. "
                         "Leave them out.")
    try:
        module = build(bands=bands, n_classes=n_classes, **options)
    except TypeError as error:
        raise ModelError(f"model {choice.name} does not take bands, n_classes"
                         f"{''.join(', ' + name for name in options)}: {error}") from error
    if not isinstance(module, nn.Module):
        raise ModelError(f"{choice.name} returned {type(module).__name__}; a model function returns a torch.nn.Module.")
    if choice.weights_file is not None:
        load_weights_file(module, choice.weights_file)
    said = [getattr(module, "stride", None), getattr(getattr(module, "encoder", None), "output_stride", None)]
    stride = next((value for value in said if isinstance(value, int)), DEFAULT_STRIDE)
    return Network(module, bands=bands, n_classes=n_classes, stride=stride)


def _builder(name: str) -> tuple[Callable[..., nn.Module], bool]:
    """The function behind a name, and whether it is one of segmentation-models-pytorch."""
    if ":" in name:
        place, _, function = name.partition(":")
        try:
            found: Callable[..., nn.Module] = getattr(import_module(place), function)
        except (ImportError, AttributeError) as error:
            raise ModelError(f"model.name={name}: {error}. It is read as package.module:function, and the package must "
                             "be importable from where the command runs (python path).") from error
        return found, False
    known = {key.lower(): key for key in MODELS}
    wanted = name.lower().replace("+", "plus")
    if wanted not in known:
        near = get_close_matches(wanted, known, n=1)
        raise ModelError(f"model.name={name} is unknown{f'; did you mean {known[near[0]]}?' if near else '.'} Choose "
                         f"from {', '.join(MODELS)}, or name your own as package.module:function.")
    return MODELS[known[wanted]], known[wanted] in SMP_NAMES
