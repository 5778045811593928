"""Do a GPU and bfloat16 give the scores that a CPU in float32 gives?"""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pandas as pd
from benches.rows import Row
from gpu.sizes import Sizes

from segcv.metrics import confusion, counts_from_confusion, miou_pooled
from segcv.pixels import fit_preprocessing, label_map, write_flight_strips
from segcv.prediction import predict
from segcv.tables import read_images
from segcv.training import Fit, fit, run_seeds

SAME_PIXELS, SAME_SCORE, CLOSE_SCORE = 0.999, 0.001, 0.01


def sameness(sizes: Sizes, folder: Path) -> list[Row]:
    """Rows: one network on both devices and in both precisions, the GPU's training run twice, and beside the CPU's."""
    table = write_flight_strips(folder / "strips", strips=sizes.strips, patches=8, size=64)
    images = read_images(table)
    images["group_id"] = images["image_id"].str.extract(r"(strip\d+)", expand=False)
    last = sorted(images["group_id"].unique())[-1]
    train, held_out = images[images["group_id"] != last], images[images["group_id"] == last]
    labels, preprocessing = label_map(num_classes=4), fit_preprocessing(train)

    def trained(device: str, precision: str, name: str) -> Fit:
        return fit(train, labels=labels, preprocessing=preprocessing, seeds=run_seeds(0, repeat=0, fold=0),
                   out=folder / name, augment="light", epochs=sizes.epochs, batch_size=8, lr=5e-3, device=device,
                   precision=precision)

    def answers(found: Fit, device: str, precision: str) -> list[np.ndarray]:
        return [one.labels for one in predict(found.network, held_out, preprocessing=preprocessing, device=device,
                                              precision=precision)]

    def score(answered: list[np.ndarray]) -> float:
        truths = [labels.read(Path(path)) for path in held_out["mask_path"]]
        matrices = [confusion(truth, one, n_classes=4, void=labels.void)
                    for truth, one in zip(truths, answered, strict=True)]
        return miou_pooled(counts_from_confusion(np.stack(matrices)))

    on_cpu = trained("cpu", "fp32", "cpu")
    cpu, gpu, short = (answers(on_cpu, *how) for how in (
        ("cpu", "fp32"), (sizes.device, "fp32"), (sizes.device, "bf16")))
    once, again = trained(sizes.device, "bf16", "once"), trained(sizes.device, "bf16", "again")
    listed = ", ".join(once.nondeterministic)
    same_bits = bits(once) == bits(again)
    own, other = score(cpu), score(answers(once, sizes.device, "bf16"))
    return [
        Row("held-out pixels that CPU and GPU (fp32) label alike", f"{alike(cpu, gpu):.5f}", "", "",
            f">= {SAME_PIXELS}", alike(cpu, gpu) >= SAME_PIXELS),
        Row("mIoU of one network, CPU and GPU (fp32)", f"{score(gpu):.4f}", f"CPU {own:.4f}", "",
            f"within {SAME_SCORE}", abs(own - score(gpu)) <= SAME_SCORE),
        Row("the same, GPU in bf16", f"{score(short):.4f}", f"CPU {own:.4f}", "", f"within {CLOSE_SCORE}",
            abs(own - score(short)) <= CLOSE_SCORE),
        Row("bits of two GPU fits with the same seed", "equal" if same_bits else "differ",
            f"without a deterministic form: {listed or 'none'}", "", "equal, or listed", same_bits or bool(listed)),
        Row("mIoU trained on the GPU in bf16", f"{other:.4f}", f"trained on the CPU {own:.4f}", "", ""),
    ]


def alike(one: list[np.ndarray], other: list[np.ndarray]) -> float:
    """The share of equal pixels."""
    return float(np.mean([first == second for first, second in zip(one, other, strict=True)]))


def bits(found: Fit) -> str:
    """sha256 of the weights."""
    digest = hashlib.sha256()
    for name, tensor in found.network.module.state_dict().items():
        digest.update(name.encode() + tensor.cpu().numpy().tobytes())
    return digest.hexdigest()


def squares(folder: Path, count: int, side: int) -> pd.DataFrame:
    """Rows of `count` noisy images with a bright square, for timing."""
    from PIL import Image

    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for number in range(count):
        rng = np.random.default_rng(number)
        truth = np.zeros((side, side), np.uint8)
        top, left = rng.integers(0, side // 2, 2)
        truth[top:top + side // 2, left:left + side // 2] = 1
        image = rng.integers(0, 120, (side, side, 3)).astype(np.uint8)
        image[truth == 1] += 100
        paths = folder / f"{number}.png", folder / f"{number}_mask.png"
        Image.fromarray(image).save(paths[0], compress_level=1)
        Image.fromarray(truth).save(paths[1], compress_level=1)
        rows.append((f"{number:04d}", str(paths[0]), str(paths[1]), f"g{number % 8}"))
    return pd.DataFrame(rows, columns=["image_id", "image_path", "mask_path", "group_id"])
