"""Where the images of a batch come from: the cache beside files decoded in every epoch, and what making it costs."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import albumentations
import cv2
import numpy as np
import pandas as pd
from benches.rows import Row, at_least, ratio, seconds
from PIL import Image

from segcv.pixels import Decoded, decoded_pairs, fit_preprocessing, label_map, read_image, write_mask
from segcv.training import Augmentation, Cropping
from segcv.training.data import TrainingImages, batch_of, pair_reader, training_rows

SIDE, CROP, IMAGES, BATCH = 1024, 512, 12, 4
LABELS = label_map(num_classes=4)
BUILDING_ROUNDS = 9


def pictures(folder: Path) -> pd.DataFrame:
    """PNGs that compress as photographs do (blurred cells with sensor noise), and masks of cells."""
    rng, rows = np.random.default_rng(0), []
    for number in range(IMAGES):
        cells = rng.integers(0, 255, (SIDE // 16, SIDE // 16, 3)).astype(np.float32)
        image = cv2.resize(cells, (SIDE, SIDE), interpolation=cv2.INTER_CUBIC) + rng.normal(0, 4, (SIDE, SIDE, 3))
        truth = np.kron(rng.integers(0, 4, (16, 16)), np.ones((SIDE // 16, SIDE // 16))).astype(np.uint8)
        image_path, mask_path = folder / f"{number}.png", folder / f"{number}_mask.png"
        Image.fromarray(image.clip(0, 255).astype(np.uint8)).save(image_path)
        write_mask(mask_path, truth)
        rows.append((str(number), str(image_path), str(mask_path)))
    return pd.DataFrame(rows, columns=["image_id", "image_path", "mask_path"])


def kept(rows: pd.DataFrame, folder: Path, *, workers: int) -> Decoded:
    return decoded_pairs(zip(rows["image_path"], rows["mask_path"], strict=True), labels=LABELS, folder=folder,
                         limit_gb=10, workers=workers)


def crops(rows: pd.DataFrame, folder: Path) -> list[Row]:
    """CPU time of batches of 512 px crops of 1024 px images, ours with and without transforms, and as it is usually
    written: decode by OpenCV, crop and transform by albumentations, stack."""
    decoded = kept(rows, folder / "cache", workers=1)
    preprocessing = fit_preprocessing(rows, decoded=decoded)

    def images(pipeline: str) -> TrainingImages:
        return TrainingImages(
            training_rows(rows), read=pair_reader(LABELS, preprocessing, max_pixels=SIDE**2, decoded=decoded),
            preprocessing=preprocessing, stride=8, root=0, cropping=Cropping(CROP, foreground=0, void=255),
            augmentation=Augmentation(pipeline, bands=3, dtype="uint8", void=255, side=CROP))

    usual = albumentations.Compose([
        albumentations.RandomCrop(CROP, CROP), albumentations.HorizontalFlip(p=0.5),
        albumentations.RandomBrightnessContrast(p=0.5)])
    paths = list(zip(rows["image_path"], rows["mask_path"], strict=True))

    def from_png(times: int) -> None:
        for _ in range(times):
            made = [usual(image=cv2.cvtColor(cv2.imread(image), cv2.COLOR_BGR2RGB),
                          mask=cv2.imread(mask, cv2.IMREAD_UNCHANGED)) for image, mask in paths[:BATCH]]
            np.stack([one["image"] for one in made])
            np.stack([one["mask"] for one in made])

    def from_cache(found: TrainingImages, times: int) -> None:
        for epoch in range(times):
            batch_of([found[epoch, position] for position in range(BATCH)])

    plain, light, many = images("none"), images("light"), 25
    cv2.setNumThreads(1)
    taken = seconds({"segcv": lambda: from_cache(plain, many), "with transforms": lambda: from_cache(light, many),
                     "PNG + albumentations": lambda: from_png(1)}, rounds=9, clock=time.process_time)
    taken = {name: [one / (1 if name.startswith("PNG") else many) / BATCH for one in values]
             for name, values in taken.items()}
    speed = 1 / float(np.median(taken["segcv"]))

    def shown(value: float) -> str:
        return f"{1 / value:,.0f} images/s/core"

    return [
        Row(f"{CROP} px crops of {SIDE} px images, as batches", f"{speed:,.0f} images/s/core", "", "",
            ">= 2,500 images/s/core", speed >= 2500),
        at_least("the same", taken, "PNG + albumentations", 20, shown=shown),
        at_least("the same, flipped and made lighter (augment=light)", taken, "PNG + albumentations", 20,
                 ours="with transforms", shown=shown)]


def building(rows: pd.DataFrame, folder: Path) -> list[Row]:
    """Wall time of making the cache, beside decoding the same files and keeping nothing, with all cores."""
    cores, made = len(os.sched_getaffinity(0)), iter(range(1000))

    def plain() -> None:
        def decode(paths: tuple[str, str]) -> Any:
            return read_image(Path(paths[0])), LABELS.read(Path(paths[1]))

        with ThreadPoolExecutor(cores) as pool:
            for _ in pool.map(decode, zip(rows["image_path"], rows["mask_path"], strict=True)):
                pass

    taken = seconds({"segcv": lambda: kept(rows, folder / f"made-{next(made)}", workers=cores),
                     "plain decoding": plain}, rounds=BUILDING_ROUNDS)
    found = ratio(taken, "plain decoding")
    return [Row(f"the cache of {len(rows)} such images is made, {cores} cores",
                f"{len(rows) / float(np.median(taken['segcv'])):.0f} images/s",
                f"plain decoding {len(rows) / float(np.median(taken['plain decoding'])):.0f} images/s", f"{found:.2f}x",
                ">= 0.9x", found >= 0.9)]
