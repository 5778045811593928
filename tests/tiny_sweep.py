"""A finished sweep with images, masks and predictions of 24 x 24 pixels, written without a network."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image

from segcv.pixels import label_map
from segcv.runs import FINISHED, RunKey, RunRecord
from segcv.splits import write_split
from segcv.tables import CONFUSION, IMAGE_FACTS, IMAGE_PROFILE, MASK_PROFILE, SCORES, write_json

SIDE, CLASSES = 24, ("field", "road")


def truth_of(number: int) -> np.ndarray:
    """Left of column 6 + number % 12 is field, the rest road."""
    mask = np.zeros((SIDE, SIDE), np.uint8)
    mask[:, 6 + number % 12:] = 1
    return mask


def predicted_of(number: int, wrong: int) -> np.ndarray:
    """The truth with its first `wrong` rows all field."""
    mask = truth_of(number)
    mask[:wrong] = 0
    return mask


def write_tiny_sweep(folder: Path, wrong: dict[str, int], *, groups: int = 6, size: int = 2,
                     sure: float = 0.8, names: list[str] | None = None, seeds: tuple[int, ...] = (0,)) -> Path:
    """splits/tiny and runs/ below `folder`, of candidate -> wrong rows in group 0 (one more in each further group).

    Image number n is image n % size of group n // size, called NAME/n; fold = group % 2. `names` are those of groups.
    """
    labels = label_map(names=list(CLASSES))
    group_names = names or [f"g{number}" for number in range(groups)]
    numbers = range(groups * size)
    ids = [f"g{number // size}/{number}" for number in numbers]
    group = [group_names[number // size] for number in numbers]
    fold = np.array([number // size % 2 for number in numbers])
    for number, name in zip(numbers, ids, strict=True):
        for kind, picture in (("images", truth_of(number) * 120 + 40), ("masks", truth_of(number))):
            path = folder / kind / f"{name}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(picture).save(path)
    images = pd.DataFrame({
        "image_id": ids, "image_path": [str(folder / "images" / f"{name}.png") for name in ids],
        "mask_path": [str(folder / "masks" / f"{name}.png") for name in ids], "group_id": group,
        "group_evidence": "column"})
    roles = pd.concat([pd.DataFrame({
        "repeat": 0, "fold": k, "image_id": ids, "group_id": group,
        "role": np.where(fold == k, "held_out", "train"), "reason": ""}) for k in range(2)], ignore_index=True)
    profile = IMAGE_PROFILE.check(pd.DataFrame({
        "image_id": ids, "image_hash": "0", "mask_hash": "0", "height": SIDE, "width": SIDE, "bands": 1,
        "dtype": "uint8", "brightness": .5, "contrast": .2, "nodata_share": 0.0}), where="profile")
    masks = MASK_PROFILE.check(pd.DataFrame([
        {"image_id": name, "class_id": c, "pixels": int((truth_of(number) == c).sum())}
        for number, name in zip(numbers, ids, strict=True) for c in range(2)]), where="masks")
    split_id = write_split(
        folder / "splits" / "tiny", images=images, roles=roles, profile=profile, masks=masks, data_id="tiny",
        leaking=False, settings={"data": {"table": "tiny.csv", "images": None}, "split": {"name": "tiny"},
                                 "labels": labels.to_json()},
        seed=0, target="equal_group", class_names=list(CLASSES))
    for candidate, rows_wrong in wrong.items():
        for k in range(2):
            for seed in seeds:
                inside = [number for number in numbers if fold[number] == k]
                _write_run(folder, RunKey(candidate, "c", 0, k, seed), inside, ids, group, rows_wrong, size, sure,
                           split_id, seed)
    return folder


def _write_run(folder: Path, key: RunKey, inside: list[int], ids: list[str], group: list[str], wrong: int, size: int,
               sure: float, split_id: str, seed: int) -> None:
    out = folder / "runs" / key.run_id
    scores, cells = [], []
    for number in inside:
        truth, said = truth_of(number), predicted_of(number, wrong + number // size + seed)
        path = out / "masks" / f"{ids[number]}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(said).save(path)
        for c in range(2):
            tp, fp, fn = (int(each.sum()) for each in ((truth == c) & (said == c), (truth != c) & (said == c),
                                                       (truth == c) & (said != c)))
            scores.append((key.run_id, ids[number], c, group[number], "", tp, fp, fn, SIDE * SIDE))
            cells += [(key.run_id, ids[number], c, d, int(((truth == c) & (said == d)).sum())) for d in range(2)]
    SCORES.write(pd.DataFrame(scores, columns=["run_id", "image_id", "class_id", "group_id", "source_id", "tp", "fp",
                                               "fn", "valid"]), out / "scores.parquet")
    confusion = pd.DataFrame(cells, columns=["run_id", "image_id", "truth", "predicted", "pixels"])
    CONFUSION.write(confusion[confusion["pixels"] > 0], out / "confusion.parquet")
    IMAGE_FACTS.write(pd.DataFrame({"run_id": key.run_id, "image_id": [ids[number] for number in inside],
                                    "mean_top_probability": sure, "outside_label_set": 0}),
                      out / "image_facts.parquet")
    write_json(out / "config.json", {"overrides": [], "config": {"tiny": True}})
    RunRecord(
        run_id=key.run_id, candidate=key.candidate, config_id=key.config_id, recipe_id=key.candidate, data_id="tiny",
        split_id=split_id, split_name="tiny", split_folder=str((folder / "splits" / "tiny").absolute()),
        leaking=False, repeat=0, fold=key.fold, seed=key.seed, status=FINISHED, seconds=0.0, device="cpu", threads=1,
        code_version="0", model="none", train_images=len(ids) - len(inside), held_out_images=len(inside),
        majority_class=0, unlabelled_train_images=0, best_epoch=0, environment={"versions": {}}).write(out)
