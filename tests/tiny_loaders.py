"""Data pipelines as users write them, in order and out of order."""

from __future__ import annotations

import albumentations as A
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, get_worker_info


class Flipped(Dataset):
    """Images flipped and brightened by one albumentations pipeline, made once: the usual way, and its fault."""

    def __init__(self) -> None:
        self.compose = A.Compose([A.HorizontalFlip(p=0.5), A.RandomBrightnessContrast(p=1.0)], seed=7)

    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> dict[str, np.ndarray]:
        image = np.arange(192, dtype=np.uint8).reshape(8, 8, 3) + index
        return self.compose(image=image)


class Plain(Dataset):
    """No chance at all."""

    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        return torch.full((3, 4, 4), index), index


class Noise(Plain):
    """Chance from torch's generator, which the DataLoader seeds anew in each worker and epoch."""

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        return torch.rand(3, 4, 4), index


def reseed(worker: int) -> None:
    info = get_worker_info()
    info.dataset.dataset.compose.set_random_seed(torch.initial_seed() % 2**32)


flipped, plain, noise = Flipped(), Plain(), Noise()
reseeded = DataLoader(Flipped(), batch_size=2, num_workers=2, worker_init_fn=reseed)


def make_noise() -> DataLoader:
    return DataLoader(Noise(), batch_size=4)
