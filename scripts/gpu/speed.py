"""How fast a fit is beside a loop over one batch that never leaves the device, and several fits on one GPU."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import torch
from benches.rows import Row
from gpu.sameness import squares
from gpu.sizes import Sizes

from segcv.pixels import decoded_pairs, fit_preprocessing, label_map
from segcv.training import ModelChoice, StepInfo, build_loss, build_model, fit, pinned, run_seeds

RATE, SHARE = 600.0, 0.95
LABELS = label_map(num_classes=2)
WORKERS = 4


class Enough(Exception):
    """All steps are timed."""


class Clock:
    """Watches a fit; images per second over its steps after the warm-up."""

    def __init__(self, sizes: Sizes, steps: int) -> None:
        self.warm_up, self.last, self.batch = sizes.warm_up, sizes.warm_up + steps, sizes.batch
        self.began = self.rate = self.waited = 0.0

    def __call__(self, info: StepInfo) -> None:
        if info.step == self.warm_up:
            self.began, self.waited = time.perf_counter(), info.waited_s
        if info.step == self.last:
            took = time.perf_counter() - self.began
            self.rate = (self.last - self.warm_up) * self.batch / took
            self.waited = (info.waited_s - self.waited) / took
            raise Enough


def fitted(rows: pd.DataFrame, folder: Path, sizes: Sizes, *, choice: ModelChoice, steps: int, workers: int) -> Clock:
    """A fit of crops from images that are decoded already, until enough steps are timed."""
    decoded = decoded_pairs(zip(rows["image_path"], rows["mask_path"], strict=True), labels=LABELS,
                            folder=folder / "cache", limit_gb=20, workers=8)
    clock = Clock(sizes, steps)
    epochs = 1 + (clock.last * sizes.batch) // len(rows) + 1
    try:
        fit(rows, labels=LABELS, preprocessing=fit_preprocessing(rows.head(4)), seeds=run_seeds(0, repeat=0, fold=0),
            out=folder / f"fit-{time.monotonic_ns()}", model=choice, augment="light", crop=sizes.side, epochs=epochs,
            batch_size=sizes.batch, device=sizes.device, precision="bf16", channels_last=True, workers=workers,
            decoded=decoded, watch=clock)
    except Enough:
        return clock
    raise AssertionError("the fit ended before enough steps were timed")


def resident(sizes: Sizes, *, deterministic: bool) -> float:
    """Images per second of the same network, loss and optimizer on one batch that stays on the device."""
    place = torch.device(sizes.device)
    loss, weights = build_loss("cross_entropy+dice"), torch.ones(2, device=place)

    def timed() -> float:
        network = build_model(ModelChoice(sizes.architecture, sizes.encoder), bands=3, n_classes=2)
        network.move(place, channels_last=True).train()
        optimizer = torch.optim.AdamW(network.module.parameters(), lr=1e-3)
        x = torch.randn(sizes.batch, 3, sizes.side, sizes.side, device=place).contiguous(
            memory_format=torch.channels_last)
        first = (torch.rand(sizes.batch, 1, sizes.side, sizes.side, device=place) > 0.5).float()
        hits = torch.cat([first, 1 - first], dim=1)
        began = 0.0
        for step in range(sizes.warm_up + sizes.steps):
            if step == sizes.warm_up:
                wait(place)
                began = time.perf_counter()
            with torch.autocast(place.type, dtype=torch.bfloat16):
                logits = network.logits(x)
            optimizer.zero_grad(set_to_none=True)
            loss(logits.float(), hits, weights).backward()
            optimizer.step()
        wait(place)
        return sizes.steps * sizes.batch / (time.perf_counter() - began)

    if not deterministic:
        torch.backends.cudnn.benchmark = True
        return timed()
    with pinned(place):
        return timed()


def wait(place: torch.device) -> None:
    """Until the device has done what it was given."""
    if place.type == "cuda":
        torch.cuda.synchronize(place)


def speed(sizes: Sizes, folder: Path) -> list[Row]:
    """Rows: images per second of a fit, its share of the resident batch's rate, memory."""
    rows = squares(folder / "squares", sizes.images, sizes.image)
    choice = ModelChoice(sizes.architecture, sizes.encoder)
    what = f"{sizes.architecture} {sizes.encoder}, {sizes.side} px, bf16, batch {sizes.batch}"
    name = torch.cuda.get_device_name() if sizes.device == "cuda" else ""
    if sizes.device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    clock = fitted(rows, folder, sizes, choice=choice, steps=sizes.steps, workers=WORKERS if sizes.images > 100 else 0)
    memory = torch.cuda.max_memory_allocated() / 2**30 if sizes.device == "cuda" else float("nan")
    alike, free = resident(sizes, deterministic=True), resident(sizes, deterministic=False)
    share = clock.rate / alike
    return [
        Row(f"{what}: a fit", f"{clock.rate:.0f} images/s", f"waited for data {clock.waited:.1%}", "",
            f">= {RATE:.0f} images/s on an H200", clock.rate >= RATE if "H200" in name else None),
        Row("the same, of a batch that stays on the device", f"{share:.1%}", f"{alike:.0f} images/s", "",
            f">= {SHARE:.0%}", share >= SHARE),
        Row("the same, of one with any operation allowed", f"{clock.rate / free:.1%}", f"{free:.0f} images/s", "", ""),
        Row("largest memory of the fit", f"{memory:.1f} GiB", "", "", ""),
    ]


def sharing(sizes: Sizes, folder: Path) -> list[Row]:
    """Rows: several fits of the small network on one GPU at once, images per second of all together."""
    squares(folder / "shared", 64 if sizes.images > 100 else sizes.images, sizes.image // 4)
    found: dict[int, float] = {}
    for count in sizes.processes:
        command = [sys.executable, "-P", __file__, sizes.device, str(folder)]
        started = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(count)]
        said = [process.communicate()[0] for process in started]
        if any(process.returncode for process in started):
            raise RuntimeError(f"one of {count} fits on one device failed")
        found[count] = sum(float(text.split()[-1]) for text in said)
    return [Row(f"{count} fits of unet_small on one GPU at once", f"{rate:.0f} images/s together",
                f"one alone {found[1]:.0f}", f"{rate / found[1]:.2f}x", "") for count, rate in found.items()]


def alone(device: str, folder: Path) -> None:
    """One of several fits on one GPU; prints its images per second."""
    from dataclasses import replace

    from gpu.sizes import DRY, GPU

    sizes = GPU if device == "cuda" else DRY
    small = replace(sizes, side=sizes.image // 8, image=sizes.image // 4, batch=min(sizes.batch, 8))
    images = sorted(path for path in (folder / "shared").glob("*.png") if "_mask" not in path.name)
    rows = pd.DataFrame([(path.stem, str(path), str(path.with_name(f"{path.stem}_mask.png")), "g") for path in images],
                        columns=["image_id", "image_path", "mask_path", "group_id"])
    clock = fitted(rows, folder / "alone", small, choice=ModelChoice("unet_small"), steps=small.shared_steps, workers=0)
    print(clock.rate)


if __name__ == "__main__":
    alone(sys.argv[1], Path(sys.argv[2]))
