"""An encoder that stays as it came for the first epochs, and submodules that answer without learning."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn

from segcv.errors import ConfigError


def refuse_freezing(module: nn.Module, *, name: str, epochs: int, of: int) -> None:
    """Do nothing if the encoder can be frozen for `epochs` of all epochs.

    Raises:
        ConfigError: there is no encoder, or not so many epochs.
    """
    if not 0 <= epochs <= of:
        raise ConfigError(f"trainer.freeze_encoder={epochs} must be a number of epochs, from 0 to trainer.epochs={of}.")
    if epochs and not isinstance(getattr(module, "encoder", None), nn.Module):
        raise ConfigError(f"trainer.freeze_encoder={epochs} has no effect: {name} has no part called encoder. The "
                          "architectures of segmentation-models-pytorch have one, as may a model of your own.")


class FrozenEncoder:
    """The encoder of a module, which learns nothing before the epoch `until` (from 0)."""

    def __init__(self, module: nn.Module, *, until: int) -> None:
        self.module, self.until = module, until
        self.encoder: nn.Module | None = module.encoder if until else None      # type: ignore[assignment]
        self.learning = [] if self.encoder is None else [p for p in self.encoder.parameters() if p.requires_grad]

    def begin(self, epoch: int) -> None:
        """Training mode for this epoch; a frozen encoder neither learns nor counts into its normalisation."""
        self.module.train()
        if self.encoder is not None:
            self.encoder.train(epoch >= self.until)
        for parameter in self.learning:
            parameter.requires_grad_(epoch >= self.until)


@contextmanager
def answering(module: nn.Module) -> Iterator[None]:
    """A block in which the module is in evaluation mode; after it each part is in the mode it was in."""
    learning = [part for part in module.modules() if part.training]
    module.eval()
    try:
        yield
    finally:
        for part in learning:
            part.training = True
