"""The moving average of a network's weights, which is often the better network."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from segcv.errors import ConfigError


class MovingAverage:
    """average <- decay * average + (1 - decay) * weights after each step, buffers of normalisation included.

    The decay grows with the number of steps as (1 + steps) / (10 + steps) up to its value, so that the first weights,
    which are random, are soon forgotten.
    """

    def __init__(self, module: nn.Module, decay: float) -> None:
        if not 0 < decay < 1:
            raise ConfigError(f"trainer.ema={decay} must lie between 0 and 1, such as 0.99 or 0.999.")
        self.decay, self.steps = decay, 0
        self.weights = {name: tensor.detach().clone() for name, tensor in module.state_dict().items()}

    @torch.no_grad()
    def update(self, module: nn.Module) -> None:
        """Take in the weights after a step."""
        self.steps += 1
        decay = min(self.decay, (1 + self.steps) / (10 + self.steps))
        for name, tensor in module.state_dict().items():
            if tensor.is_floating_point():
                self.weights[name].lerp_(tensor, 1 - decay)
            else:
                self.weights[name].copy_(tensor)

    @contextmanager
    def inside(self, module: nn.Module) -> Iterator[None]:
        """A block in which the module has the averaged weights."""
        own = {name: tensor.detach().clone() for name, tensor in module.state_dict().items()}
        module.load_state_dict(self.weights)
        try:
            yield
        finally:
            module.load_state_dict(own)

    def state(self) -> dict[str, object]:
        """For a checkpoint; `load` reads it."""
        return {"steps": self.steps, "weights": self.weights}

    def load(self, state: Mapping[str, object]) -> None:
        """Go on from what `state` gave."""
        steps, weights = state["steps"], state["weights"]
        assert isinstance(steps, int) and isinstance(weights, dict)
        self.steps = steps
        self.weights = {name: tensor for name, tensor in weights.items() if isinstance(tensor, Tensor)}
