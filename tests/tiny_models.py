"""Model functions as a user would write them, for tests that name them as package.module:function."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import torch
from torch import Tensor, nn


def pixelwise(*, bands: int, n_classes: int) -> nn.Module:
    """A network that sees one pixel at a time, so that no window or padding can change its answer."""
    module = nn.Sequential(nn.Conv2d(bands, 16, 1), nn.ReLU(), nn.Conv2d(16, n_classes, 1))
    module.stride = 1
    return module


class Blur(nn.Module):
    """The mean of 5 x 5 px of each band against 0: what it says depends on a pixel's surroundings."""

    stride = 4

    def __init__(self, *, bands: int, n_classes: int) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.linspace(-1, 1, n_classes))

    def forward(self, x: Tensor) -> Tensor:
        assert x.shape[2] % self.stride == 0 and x.shape[3] % self.stride == 0
        mean = nn.functional.avg_pool2d(x, 5, stride=1, padding=2, count_include_pad=False).mean(dim=1, keepdim=True)
        return mean * self.scale[:, None, None]


class DiesOnce(nn.Conv2d):
    """A pixelwise network whose process is killed at its fifth training step, unless the file DIED is there."""

    stride, steps = 1, 0

    def forward(self, x: Tensor) -> Tensor:
        self.steps += self.training
        died = Path(os.environ["DIED"])
        if self.steps == 5 and not died.exists():
            died.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().forward(x)


def dies_once(*, bands: int, n_classes: int) -> nn.Module:
    """A network with which the first run is killed in the middle."""
    return DiesOnce(bands, n_classes, 1)


def half_size(*, bands: int, n_classes: int) -> nn.Module:
    """A network that answers at half the size of its image."""
    return nn.Conv2d(bands, n_classes, 2, stride=2)


def not_a_module(*, bands: int, n_classes: int) -> str:
    """A function that is not one of models."""
    return f"{bands} bands, {n_classes} classes"


def unsure(logits: Tensor, hits: Tensor, weights: Tensor) -> Tensor:
    """A loss of one's own: the mean probability of what is not the truth, over labelled pixels."""
    return (logits.softmax(dim=1) * (1 - hits) * hits.sum(dim=1, keepdim=True)).sum() / hits.sum()


class EncoderAndHead(nn.Module):
    """A convolution with batch norm called encoder, and a head."""

    stride = 1

    def __init__(self, *, bands: int, n_classes: int) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(bands, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU())
        self.head = nn.Conv2d(8, n_classes, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.encoder(x))


class NoMemoryOnce(EncoderAndHead):
    """Out of memory at its fourth training step, unless the file DIED is there."""

    steps = 0

    def forward(self, x: Tensor) -> Tensor:
        self.steps += self.training
        died = Path(os.environ["DIED"])
        if self.steps == 4 and not died.exists():
            died.touch()
            raise torch.OutOfMemoryError("CUDA out of memory")
        return super().forward(x)
