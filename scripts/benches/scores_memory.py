"""What scoring keeps of an image: peak memory of `python -m segcv.evaluate` on few and on many pairs of masks."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from benches.label_maps import pair
from benches.rows import Row, at_most
from PIL import Image

SIDE, N_CLASSES, FEW, MANY = 512, 19, 200, 1400
AND_PEAK = ("import runpy, sys; sys.argv[0] = 'evaluate'; runpy.run_module('segcv.evaluate', run_name='__main__'); "
            "lines = open('/proc/self/status').read().splitlines(); "      # ru_maxrss would have this process's memory
            "print('PEAK', next(line.split()[1] for line in lines if line.startswith('VmHWM')))")


def rows() -> list[Row]:
    """Peak memory for each image more: its counts, and nothing of its pixels."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        truth, prediction = pair(np.random.default_rng(0), SIDE, n_classes=N_CLASSES, kind="noisy")
        for kind, labels in (("images", truth), ("masks", truth), ("predictions", prediction)):
            (folder / kind).mkdir()
            Image.fromarray(labels).save(folder / kind / "0.png")
            for number in range(1, MANY):
                (folder / kind / f"{number}.png").hardlink_to(folder / kind / "0.png")
        peaks = {number: peak_bytes(folder, number) for number in (FEW, MANY)}
    kib = max(0, peaks[MANY] - peaks[FEW]) / (MANY - FEW) / 1024
    work = f"memory for each image more, {SIDE}², C = {N_CLASSES} (its two masks are {2 * SIDE * SIDE >> 10} KiB)"
    seen = f"peak {peaks[FEW] >> 20} MiB of {FEW} images, {peaks[MANY] >> 20} of {MANY}"
    return [at_most(work, kib, 64, unit="KiB", rival=seen)]


def peak_bytes(folder: Path, images: int) -> int:
    numbers = [str(number) for number in range(images)]
    table, listed = folder / f"{images}.csv", folder / f"predictions-{images}.csv"
    pd.DataFrame({"image_path": [f"images/{number}.png" for number in numbers],
                  "mask_path": [f"masks/{number}.png" for number in numbers],
                  "group_id": numbers}).to_csv(table, index=False)
    pd.DataFrame({"image_id": [f"images/{number}" for number in numbers],
                  "prediction_path": [f"predictions/{number}.png" for number in numbers]}).to_csv(listed, index=False)
    asked = [f"data.table={table}", f"data.num_classes={N_CLASSES}", f"predictions={listed}", f"name=n{images}",
             "workers=1"]
    done = subprocess.run([sys.executable, "-c", AND_PEAK, *asked], cwd=folder, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    return 1024 * int(done.stdout.rpartition("PEAK")[2])
