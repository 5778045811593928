"""The gradient of one batch, at once or in pieces that fit into memory: the same number either way."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from segcv.tables import stream
from segcv.training.determinism import seed_generator
from segcv.training.losses import Loss
from segcv.training.models import Network

AUTOCAST = {"bf16": torch.bfloat16, "fp16": torch.float16}


@dataclass(frozen=True, slots=True)
class Gradient:
    """How a batch becomes gradients: the loss and its class weights, and how many images a forward pass takes."""

    network: Network
    loss: Loss
    weights: Tensor                      # classes
    at_once: int | None                  # None: all
    precision: str
    scaler: torch.amp.GradScaler
    dropout: int                         # the root of its stream

    def add(self, x: Tensor, hits: Tensor, *, step: int, check: Callable[[float], None]) -> float:
        """Add the gradient of the loss over the whole batch to the weights' own; the loss, which `check` may refuse.

        Where the batch is larger than that, a first pass without gradients gives all logits, the loss over them
        gives the gradient of each, and a second pass, piece by piece, takes those to the weights. So losses that are
        no mean over images (class-weighted means, Dice over the batch) come out as for the whole; batch norm alone
        sees the pieces. Each piece has its own dropout, the same in both passes.
        """
        pieces = 1 if self.at_once is None else cut_into(len(x), self.at_once)
        if pieces == 1:
            total = self.loss(self._logits(x, step, 0), hits, self.weights)
            value = total.item()
            check(value)
            self.scaler.scale(total).backward()      # type: ignore[no-untyped-call]
            return value
        cut = torch.tensor_split(x, pieces)
        buffers = [(buffer, buffer.clone()) for buffer in self.network.module.buffers()]
        with torch.no_grad():
            logits = torch.cat([self._logits(piece, step, number) for number, piece in enumerate(cut)])
            for buffer, before in buffers:           # what normalisation counted is counted in the second pass
                buffer.copy_(before)
        logits.requires_grad_()
        total = self.loss(logits, hits, self.weights)
        value = total.item()
        check(value)
        self.scaler.scale(total).backward()          # type: ignore[no-untyped-call]
        assert logits.grad is not None
        for number, (piece, gradient) in enumerate(zip(cut, torch.tensor_split(logits.grad, pieces), strict=True)):
            self._logits(piece, step, number).backward(gradient)      # type: ignore[no-untyped-call]
        return value

    def _logits(self, x: Tensor, step: int, number: int) -> Tensor:
        seed_generator(x.device, stream(self.dropout, "dropout", step, number) if number else
                       stream(self.dropout, "dropout", step))
        with torch.autocast(x.device.type, dtype=AUTOCAST.get(self.precision), enabled=self.precision in AUTOCAST):
            return self.network.logits(x).float()


def cut_into(images: int, at_once: int) -> int:
    """The number of pieces, alike in size and not above `at_once`; none has one image alone, which batch norm needs
    company for, unless `at_once` is 1.

    >>> cut_into(16, 4), cut_into(17, 4), cut_into(3, 2), cut_into(3, 1)
    (4, 5, 1, 3)
    """
    pieces = math.ceil(images / at_once)
    return pieces if at_once == 1 or images // pieces > 1 else max(1, images // 2)
