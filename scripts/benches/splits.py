"""Folds of hard sets by segcv, scikit-learn and splitkit: how uneven, how fast, how different from seed to seed.

Each set: 60 groups of heavy-tailed sizes, six classes, the last two in 12 and 6 of the groups; 5 folds.
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings
from collections.abc import Callable
from itertools import combinations

import numpy as np
import pandas as pd
import splitkit
from benches.rows import Row, at_most, finish
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GroupKFold, StratifiedGroupKFold

from segcv.splits import SPLITTERS, cut_roles, left_out, shared_ground
from segcv.tables import EXCLUDED, HELD_OUT, TRAIN
from tests.hard_sets import FOLDS, hard_set, parallel_strips, unbalance

Folds = np.ndarray
Way = Callable[[pd.DataFrame, pd.DataFrame, int], Folds]
GOALS = {"share": 0.012, "mass": 0.295, "size": 0.06, "empty": 0.0}
WHAT = {"share": "class share deviation, mean", "mass": "class-mass error, mean", "size": "fold size error, largest",
        "empty": "empty cells that could be filled"}


def ours(images: pd.DataFrame, masks: pd.DataFrame, seed: int) -> Folds:
    """The fold of each image by balanced_group_kfold."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        roles = SPLITTERS["balanced_group_kfold"](images, folds=FOLDS, rng=np.random.default_rng(seed), masks=masks)
    held_out = roles[roles["role"] == HELD_OUT].set_index("image_id")["fold"]
    return held_out[images["image_id"]].to_numpy()


def by_scikit_learn(splitter: type, **choices: object) -> Way:
    """The fold of each image by a splitter of scikit-learn, on the largest class of each image."""
    def cut(images: pd.DataFrame, masks: pd.DataFrame, seed: int) -> Folds:
        largest = masks.loc[masks.groupby("image_id")["pixels"].idxmax()].set_index("image_id")["class_id"]
        fold = np.empty(len(images), int)
        chance = {"random_state": seed} if choices.get("shuffle") else {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pairs = splitter(FOLDS, **choices, **chance).split(images, largest[images["image_id"]], images["group_id"])
            for number, (_, test) in enumerate(pairs):
                fold[test] = number
        return fold
    return cut


def by_splitkit(images: pd.DataFrame, masks: pd.DataFrame, seed: int) -> Folds:
    """The fold of each image by splitkit, on the pixels of each class."""
    wide = masks.pivot_table(index="image_id", columns="class_id", values="pixels", aggfunc="sum", fill_value=0)
    wide = wide.reindex(images["image_id"], fill_value=0).add_prefix("class").reset_index(drop=True)
    table = wide.assign(group=images["group_id"].to_numpy())
    parts = {f"fold{number}": 1 / FOLDS for number in range(FOLDS)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = splitkit.split(table, parts, group_col="group", count_cols=list(wide.columns), seed=seed)
    fold = np.empty(len(images), int)
    for number, places in enumerate(result.indices.astuple()):
        fold[places] = number
    return fold


WAYS: dict[str, Way] = {
    "segcv": ours, "splitkit": by_splitkit, "StratifiedGroupKFold": by_scikit_learn(StratifiedGroupKFold),
    "GroupKFold": by_scikit_learn(GroupKFold),
}


def balance_rows(sets: int) -> list[Row]:
    """Means over the sets; every way cuts the same sets, in turn."""
    found: dict[str, list[dict[str, float]]] = {name: [] for name in WAYS}
    seconds: dict[str, list[float]] = {name: [] for name in WAYS}
    for seed in range(sets):
        images, masks = hard_set(seed)
        for name, cut in WAYS.items():
            start = time.perf_counter()
            fold = cut(images, masks, 1)
            seconds[name].append(time.perf_counter() - start)
            found[name].append(unbalance(fold, images, masks))
    mean = {name: pd.DataFrame(each).mean() for name, each in found.items()}
    rivals = [name for name in WAYS if name != "segcv"]
    rows = []
    for key, goal in GOALS.items():
        best = min(rivals, key=lambda name: mean[name][key])
        told = ", ".join(f"{name} {mean[name][key]:.3f}" for name in rivals)
        mine = mean["segcv"][key]
        ratio = f"{mean[best][key] / mine:.2f}x" if mine else ""
        rows.append(Row(f"{WHAT[key]}, {sets} sets", f"{mine:.4f}", told, ratio, f"<= {goal:g}", bool(mine <= goal)))
    median = {name: statistics.median(each) for name, each in seconds.items()}
    told = ", ".join(f"{name} {median[name]:.3g} s" for name in rivals)
    rows.append(at_most("seconds for 60 groups, median", median["segcv"], 0.5, unit="s", rival=told))
    return rows


def seeds_row(sets: int, seeds: int) -> Row:
    """How alike the partitions of different seeds are: adjusted Rand index over the groups, 1 for equal ones."""
    def alike(cut: Way) -> float:
        found = []
        for number in range(sets):
            images, masks = hard_set(number)
            first = images.drop_duplicates("group_id").index
            folds = [cut(images, masks, seed)[first] for seed in range(seeds)]
            found += [adjusted_rand_score(one, other) for one, other in combinations(folds, 2)]
        return float(np.mean(found))

    shuffled = alike(by_scikit_learn(StratifiedGroupKFold, shuffle=True))
    return at_most(f"adjusted Rand index between seeds, {sets} sets x {seeds} seeds", alike(ours), 0.2, unit="",
                   rival=f"StratifiedGroupKFold(shuffle) {shuffled:.3f}")


def many_row(groups: int) -> Row:
    """Seconds for thousands of groups, once, with how even the folds are."""
    images, masks = hard_set(0, groups=groups)
    start = time.perf_counter()
    fold = ours(images, masks, 1)
    taken = time.perf_counter() - start
    uneven = unbalance(fold, images, masks)
    work = f"seconds for {groups:,} groups of {len(images):,} images (share deviation {uneven['share']:.1e})"
    return at_most(work, taken, 10, unit="s")


def ground_rows(seeds: int) -> list[Row]:
    """60 parallel strips that overlap: the share of held-out strips on ground that training has seen, in percent."""
    images = parallel_strips()

    def cut(splitter: str, seed: int) -> pd.DataFrame:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return cut_roles(images, None, splitter=splitter, folds=FOLDS, repeats=1, seed=seed)

    def seen(roles: pd.DataFrame) -> float:
        table = shared_ground(images, roles, distance=None)
        return 100 * float(table["near_groups"].sum() / table["groups"].sum())

    dealt = float(np.mean([seen(cut("group_kfold", seed)) for seed in range(seeds)]))
    blocks = cut("blocks", 0)
    whole = blocks.assign(role=blocks["role"].replace(EXCLUDED, TRAIN))
    lost = 100 * float(left_out(blocks)["share"].sum())
    what = "60 parallel strips, 5 folds: held-out strips on ground seen in training"
    return [
        at_most(f"{what}, split=blocks", seen(blocks), 0, unit="%",
                rival=f"group_kfold {dealt:.1f} %, contiguous blocks that leave nothing out {seen(whole):.1f} %"),
        at_most("the same: training lost", lost, 3.4, unit="%"),
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=20)
    asked = parser.parse_args()
    finish([*balance_rows(asked.sets), seeds_row(sets=10, seeds=4), many_row(5000), *ground_rows(20)])
