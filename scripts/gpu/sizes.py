"""How much is computed: on a GPU, and in a dry run on a CPU, whose figures say nothing."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sides in px; `steps` are timed after `warm_up` ones."""

    device: str
    architecture: str
    encoder: str
    side: int                       # of a training crop
    image: int                      # of a stored image
    images: int
    batch: int
    warm_up: int
    steps: int
    strips: int                     # of the small data on which scores are compared
    epochs: int
    processes: tuple[int, ...]      # on one GPU at once
    shared_steps: int               # of each of them


GPU = Sizes("cuda", "Unet", "resnet34", side=512, image=1024, images=192, batch=32, warm_up=20, steps=120, strips=8,
            epochs=8, processes=(1, 2, 4), shared_steps=400)
DRY = Sizes("cpu", "Unet", "resnet18", side=32, image=64, images=6, batch=2, warm_up=1, steps=3, strips=3,
            epochs=1, processes=(1,), shared_steps=3)
