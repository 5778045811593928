"""The built-in network: a U-Net of four levels and half a million parameters, made to train in seconds on a CPU."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional as F

WIDTHS = (16, 32, 64, 128)


class UnetSmall(nn.Module):
    """Images x bands x H x W in, logits images x classes x H x W out; H and W are multiples of `stride`.

    After Ronneberger et al. 2015, with batch norm, padded convolutions and nearest-neighbour upsampling.
    """

    stride = 2 ** (len(WIDTHS) - 1)

    def __init__(self, *, bands: int, n_classes: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.down = nn.ModuleList(_block(before, after) for before, after in pairwise((bands, *WIDTHS)))
        self.up = nn.ModuleList(_block(low + high, high) for high, low in reversed(list(pairwise(WIDTHS))))
        self.dropout = nn.Dropout2d(dropout)
        self.head = nn.Conv2d(WIDTHS[0], n_classes, 1)

    def forward(self, x: Tensor) -> Tensor:
        skipped = []
        for block in self.down[:-1]:
            skipped.append(block(x))
            x = F.max_pool2d(skipped[-1], 2)
        x = self.dropout(self.down[-1](x))
        for block in self.up:
            x = block(torch.cat([F.interpolate(x, scale_factor=2), skipped.pop()], dim=1))
        logits: Tensor = self.head(x)
        return logits


def _block(before: int, after: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(before, after, 3, padding=1, bias=False), nn.BatchNorm2d(after), nn.ReLU(inplace=True),
        nn.Conv2d(after, after, 3, padding=1, bias=False), nn.BatchNorm2d(after), nn.ReLU(inplace=True),
    )
