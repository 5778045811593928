"""A finished sweep made of numbers: split folder and run folders with exact counts, without networks.

With pictures, a few noisy images with masks of blocks stand for all: each file lies under many names.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image

from segcv.pixels import label_map, write_mask
from segcv.runs import FINISHED, RunKey, RunRecord
from segcv.splits import write_split
from segcv.tables import CONFUSION, IMAGE_FACTS, IMAGE_PROFILE, MASK_PROFILE, SCORES, write_json

PIXELS = 65_536
SIDE, FILES, BLOCK = 256, 60, 32


def write_sweep(folder: Path, *, folds: int, seeds: int, images_in_run: int, classes: int, groups: int,
                pictures: bool = False) -> Path:
    """A folder with `splits/` and `runs/` of folds x seeds finished runs, each scoring `images_in_run` images."""
    rng = np.random.default_rng(0)
    count = folds * images_in_run
    group = np.sort(rng.integers(groups // folds, size=count)) * folds + np.arange(count) % folds      # fold = g % K
    ids = np.array([f"g{g:04d}/{n:06d}" for n, g in enumerate(group)], dtype=object)
    names = np.array([f"g{g:04d}" for g in group], dtype=object)
    fold = group % folds
    images = pd.DataFrame({"image_id": ids, "image_path": [f"{i}.png" for i in ids],
                           "mask_path": [f"{i}-mask.png" for i in ids], "group_id": names, "group_evidence": "column"})
    files = write_pictures(folder / "pictures", classes, rng) if pictures else []
    for column, kind in (("image_path", 0), ("mask_path", 1)) if pictures else ():
        images[column] = [str(linked(folder / column / f"{ids[n]}.png", files[n % FILES][kind])) for n in range(count)]
    roles = pd.concat([pd.DataFrame({
        "repeat": 0, "fold": k, "image_id": ids, "group_id": names,
        "role": np.where(fold == k, "held_out", "train"), "reason": ""}) for k in range(folds)], ignore_index=True)
    truth = rng.multinomial(PIXELS, rng.dirichlet(np.full(classes, .5)), size=count)
    profile = IMAGE_PROFILE.check(pd.DataFrame({
        "image_id": ids, "image_hash": "0", "mask_hash": "0", "height": 256, "width": 256, "bands": 3, "dtype": "uint8",
        "brightness": .5, "contrast": .2, "nodata_share": 0.0}), where="profile")
    masks = MASK_PROFILE.check(pd.DataFrame({
        "image_id": np.repeat(ids, classes), "class_id": np.tile(np.arange(classes), count),
        "pixels": truth.reshape(-1)}), where="masks")
    place = folder / "splits" / "made"
    split_id = write_split(
        place, images=images, roles=roles, profile=profile, masks=masks, data_id="made", leaking=False,
        settings={"data": {"table": "made.csv", "images": None}, "split": {"name": "made"},
                  "labels": label_map(names=[f"class {c}" for c in range(classes)]).to_json()}, seed=0,
        target="equal_group", class_names=[f"class {c}" for c in range(classes)])
    hard = np.clip(.2 + .1 * rng.standard_normal(groups), .02, .9)
    for k in range(folds):
        inside = np.flatnonzero(fold == k)
        inside = inside[np.argsort(ids[inside])]
        for seed in range(seeds):
            key = RunKey("made", "config", 0, k, seed)
            shift = .03 * rng.standard_normal()
            missed = rng.binomial(truth[inside], np.clip(hard[group[inside]] + shift, 0, 1)[:, None])
            out = folder / "runs" / key.run_id
            out.mkdir(parents=True)
            SCORES.write(pd.DataFrame({
                "run_id": key.run_id, "image_id": np.repeat(ids[inside], classes),
                "class_id": np.tile(np.arange(classes), len(inside)), "group_id": np.repeat(names[inside], classes),
                "source_id": "", "tp": (truth[inside] - missed).reshape(-1),
                "fp": np.roll(missed, 1, axis=1).reshape(-1), "fn": missed.reshape(-1), "valid": PIXELS}),
                out / "scores.parquet")
            hit = truth[inside] - missed
            cells = pd.DataFrame({
                "run_id": key.run_id, "image_id": np.repeat(ids[inside], 2 * classes),
                "truth": np.tile(np.repeat(np.arange(classes), 2), len(inside)),
                "predicted": np.tile(np.stack([np.arange(classes), (np.arange(classes) + 1) % classes], 1).reshape(-1),
                                     len(inside)),
                "pixels": np.stack([hit, missed], axis=2).reshape(-1)})
            CONFUSION.write(cells[cells["pixels"] > 0], out / "confusion.parquet")
            IMAGE_FACTS.write(pd.DataFrame({"run_id": key.run_id, "image_id": ids[inside], "mean_top_probability": .9,
                                            "outside_label_set": 0}), out / "image_facts.parquet")
            for n in inside.tolist() if pictures and not seed else []:
                linked(out / "masks" / f"{ids[n]}.png", files[n % FILES][2])
            write_json(out / "config.json", {"overrides": [], "config": {"made": True}})
            RunRecord(
                run_id=key.run_id, candidate="made", config_id="config", recipe_id="recipe", data_id="made",
                split_id=split_id, split_name="made", split_folder=str(place.absolute()), leaking=False, repeat=0,
                fold=k, seed=seed, status=FINISHED, seconds=0.0, device="cpu", threads=1, code_version="0",
                model="none", train_images=count - len(inside), held_out_images=len(inside), majority_class=0,
                unlabelled_train_images=0, best_epoch=0, environment={"versions": {}}).write(out)
    return folder


def write_pictures(folder: Path, classes: int, rng: np.random.Generator) -> list[tuple[Path, Path, Path]]:
    """Images of noise, the worst to compress, with masks and predictions in blocks of classes."""
    folder.mkdir(parents=True)
    found = []
    for n in range(FILES):
        image, mask, predicted = (folder / f"{n}-{name}.png" for name in ("image", "mask", "predicted"))
        Image.fromarray(rng.integers(256, size=(SIDE, SIDE, 3), dtype=np.uint8)).save(image)
        for path in (mask, predicted):
            blocks = rng.integers(classes, size=(SIDE // BLOCK, SIDE // BLOCK), dtype=np.uint8)
            write_mask(path, np.kron(blocks, np.ones((BLOCK, BLOCK), np.uint8)))
        found.append((image.absolute(), mask.absolute(), predicted.absolute()))
    return found


def linked(place: Path, file: Path) -> Path:
    """The absolute path of `place`, one more name of the file."""
    place.parent.mkdir(parents=True, exist_ok=True)
    place.hardlink_to(file)
    return place.absolute()
