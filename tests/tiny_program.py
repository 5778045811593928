"""A training program as somebody else would have it: learns the mean brightness of each class, predicts the nearest."""

from __future__ import annotations

import argparse
import csv
import sys
from pathlib import Path

import numpy as np
from PIL import Image


def rows(table: str) -> list[dict[str, str]]:
    with Path(table).open(newline="") as file:
        return list(csv.DictReader(file))


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("train", "val", "test", "out", "fail", "skip", "extra", "small", "seed", "wait"):
        parser.add_argument(f"--{name}")
    given = parser.parse_args()
    images, masks = [], []
    for row in rows(given.train):
        images.append(np.asarray(Image.open(row["image_path"]).convert("L"), np.float64))
        masks.append(np.asarray(Image.open(row["mask_path"])))
    bright, truth = np.stack(images), np.stack(masks)
    means = np.array([bright[truth == c].mean() if (truth == c).any() else np.inf for c in range(4)])
    print(f"means of {len(images)} images: {means.round(1)}", flush=True)
    if given.wait:
        import subprocess
        Path(given.wait).write_text("started")
        subprocess.run([sys.executable, "-c", "import time; time.sleep(600)"], check=True)
    if given.fail and not Path(given.fail).exists():
        Path(given.fail).write_text("failed")
        print("no memory for batch 7", file=sys.stderr)
        raise SystemExit(3)
    tests = rows(given.test)
    assert all("mask_path" not in row for row in tests)
    for number, row in enumerate(tests):
        if number == 0 and given.skip:
            continue
        gray = np.asarray(Image.open(row["image_path"]).convert("L"), np.float64)
        found = np.abs(gray[..., None] - means).argmin(axis=-1).astype(np.uint8)
        if number == 0 and given.small:
            found = found[:-1]
        path = Path(given.out, f"{row['image_id']}.png")
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(found).save(path)
    if given.extra:
        Image.fromarray(found).save(Path(given.out, f"{given.extra}.png"))
    Path(given.out, "weights.txt").write_text(str(means.tolist()))
    Path(given.out, ".state").mkdir(exist_ok=True)


if __name__ == "__main__":
    main()
