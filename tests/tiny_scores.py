"""Small scores tables without images: exact counts made by a rule, so that any number can be worked out again."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

CLASSES = ("field", "road", "car")
TRUTH = (60, 30, 10)           # pixels of each class in an image of 100


def tiny_scores(
    *, groups: int = 10, folds: int = 5, seeds: Sequence[int] = (0,), repeats: int = 1,
    names: Sequence[str] | None = None,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Scores and runs: group g has 2 + g % 3 images; misses of a class fall to the next one and grow with the group.

    Fold of group g in repeat r is (g + r * (g // folds)) % folds, so repeats cut differently. The last image of every
    third group has no car in truth or prediction.
    """
    ids = list(names) if names is not None else [f"g{number:02d}" for number in range(groups)]
    rows, runs = [], []
    for repeat in range(repeats):
        for seed in seeds:
            runs += [{"run_id": f"r{repeat}-f{fold}-s{seed}", "candidate": "unet", "repeat": repeat, "fold": fold,
                      "seed": seed, "data_id": "d1", "split_id": "p1", "config_id": "c1"} for fold in range(folds)]
            for group in range(groups):
                fold = (group + repeat * (group // folds)) % folds
                size = 2 + group % 3
                for image in range(size):
                    truth = np.array(TRUTH)
                    if image == size - 1 and group % 3 == 2:
                        truth = np.array([70, 30, 0])
                    easy = 0.9 - 0.05 * group - 0.02 * image + 0.03 * ((7 * seed + 3 * fold + repeat) % 4)
                    tp = np.floor(truth * np.clip(easy, 0.1, 1)).astype(int)
                    fn = truth - tp
                    fp = np.roll(fn, 1)
                    if truth[2] == 0:
                        fp = np.array([fn[1], fn[0], 0])
                    rows += [(f"r{repeat}-f{fold}-s{seed}", f"{ids[group]}/{image}", number, ids[group], "",
                              int(tp[number]), int(fp[number]), int(fn[number]), 100) for number in range(3)]
    columns = ["run_id", "image_id", "class_id", "group_id", "source_id", "tp", "fp", "fn", "valid"]
    return pd.DataFrame(rows, columns=columns), pd.DataFrame(runs)


def tiny_tables(scores: pd.DataFrame, runs: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """The images, mask profile and roles that go with `tiny_scores`."""
    once = scores.drop_duplicates(["image_id", "class_id"])
    images = once.drop_duplicates("image_id")[["image_id", "group_id"]].reset_index(drop=True)
    images["group_evidence"] = "column"
    masks = once.assign(pixels=once["tp"] + once["fn"])[["image_id", "class_id", "pixels"]].reset_index(drop=True)
    held = scores.drop_duplicates(["run_id", "image_id"])[["run_id", "image_id"]].merge(
        runs[["run_id", "repeat", "fold"]], on="run_id").drop_duplicates(["repeat", "fold", "image_id"])
    roles = []
    for (repeat, fold), rows in held.groupby(["repeat", "fold"]):
        inside = images["image_id"].isin(rows["image_id"])
        roles.append(images[["image_id", "group_id"]].assign(
            repeat=repeat, fold=fold, role=np.where(inside, "held_out", "train"), reason=""))
    return images, masks, pd.concat(roles, ignore_index=True)
