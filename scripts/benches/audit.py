"""The audit of 100,000 images that were read and hashed before: `bash scripts/bench audit`, or another number after it.

Every check runs, each on a set in which it has something to do: 5 folds of whole groups with a hundredth of the images
dealt wrongly, a fifth of them in clusters of look-alikes, tiles on a ground of their group, numbered names.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace

import numpy as np
import pandas as pd
from benches.rows import Row, at_most, finish

from segcv.leakage import CHECKS, Facts, audit, facts_of, folds_of_roles

FOLDS, GROUP, CLASSES, CLUSTER = 5, 50, 5, 4
GOAL_SECONDS = 5.0


def planted(count: int) -> Facts:
    """Facts of `count` images; the same for the same count."""
    rng = np.random.default_rng(0)
    group = np.arange(count) // GROUP
    ids = pd.Series([f"site{g:05d}/clip_{k:03d}" for g, k in zip(group, np.arange(count) % GROUP, strict=True)])
    images = pd.DataFrame({
        "image_id": ids, "image_path": ids + ".png", "mask_path": ids + "_mask.png",
        "group_id": [f"site{one:05d}" for one in group], "group_evidence": "column group_id",
        "patient_id": [f"patient{one // 2:05d}" for one in group],
        "x": 10_000.0 * group + 480.0 * (np.arange(count) % GROUP), "y": 0.0, "w": 512.0, "h": 512.0})
    hashes, thumbnails = looks(count, rng)
    table = pd.DataFrame({"image_id": ids, "phash": hashes, "flat": rng.random(count) < 0.01,
                          "thumbnail": pd.Series([row.tobytes() for row in thumbnails], dtype=object)})
    content = pd.Series([f"{number:032x}" for number in range(count)])
    content[rng.choice(count, count // 1000, replace=False)] = content[0]
    profile = pd.DataFrame({
        "image_id": ids, "image_hash": content, "mask_hash": content, "height": 512, "width": 512, "bands": 3,
        "dtype": "uint8", "pixels_hash": content, "labels_hash": content, "orientation": 1, "alpha": False,
        "palette": False, "mask_kind": "PNG, L"})
    masks = pd.DataFrame({"image_id": np.repeat(ids.to_numpy(object), CLASSES + 1),
                          "class_id": np.tile([*range(CLASSES), -1], count),
                          "pixels": rng.integers(0, 60_000, count * (CLASSES + 1))})
    fold = group // 2 % FOLDS
    wrong = rng.choice(count, count // 100, replace=False)
    fold[wrong] = rng.integers(FOLDS, size=len(wrong))
    roles = pd.concat([pd.DataFrame({"repeat": 0, "fold": k, "image_id": ids,
                                     "role": np.where(fold == k, "held_out", "train")}) for k in range(FOLDS)])
    return facts_of(images, profile=profile, masks=masks, looks=table,
                    folds=folds_of_roles(roles, ids, each_once=True, origin="planted"))


def looks(count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Hashes and thumbnails: every fifth image belongs to a cluster of look-alikes one bit apart."""
    hashes = rng.integers(0, 2**63, count, np.uint64) * np.uint64(2) + rng.integers(0, 2, count, np.uint64)
    thumbnails = rng.integers(0, 256, (count, 1024)).astype(np.uint8)
    members = rng.choice(count, count // 5 // CLUSTER * CLUSTER, replace=False).reshape(-1, CLUSTER)
    for place in range(1, CLUSTER):
        bit = np.uint64(1) << rng.integers(0, 64, len(members), np.uint64)
        hashes[members[:, place]] = hashes[members[:, 0]] ^ bit
        thumbnails[members[:, place]] = thumbnails[members[:, 0]]
    return hashes, thumbnails


def rows(count: int) -> list[Row]:
    """Seconds of the whole audit, with the goal at 100,000 images, and of its slowest checks."""
    audit(planted(4000))                                                            # compiles what is compiled
    facts = planted(count)
    start, on_cpu = time.perf_counter(), time.process_time()
    done = audit(facts)
    whole, on_cpu = time.perf_counter() - start, time.process_time() - on_cpu
    facts = replace(facts)                                                          # nothing of it is kept
    taken = {}
    for name, check in CHECKS.items():
        if not check.needs - facts.known():
            start = time.perf_counter()
            list(check.find(facts))
            taken[name] = time.perf_counter() - start
    work = f"audit of {count:,} images, {len(done.silent) + len({f.check for f in done.findings})} checks"
    first = at_most(work, whole, GOAL_SECONDS, unit="s") if count == 100_000 else (
        Row(work, f"{whole:.3g} s", "", "", ""))
    slowest = sorted(taken, key=lambda name: -taken[name])[:6]
    parts = {"on the processor": on_cpu} | {name: taken[name] for name in slowest}
    return [first, *(Row(f"of it {name}", f"{seconds:.3g} s", "", "", "") for name, seconds in parts.items())]


if __name__ == "__main__":
    finish(rows(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000))
