"""The balance of folds: tables by hand, and a comparison with scikit-learn on hard sets."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from hard_sets import FOLDS, hard_set, unbalance

from segcv.splits import SPLITTERS, balance_floor, balance_table
from segcv.splits.balancing import balanced_folds
from segcv.tables import HELD_OUT


def test_the_balance_table_counts_images_groups_pixels_and_shares():
    """By hand: fold 0 holds out a (30 + 10 pixels), trains on b (20 + 40); ignored pixels (class -1) do not count."""
    images = pd.DataFrame({"image_id": ["1", "2", "3"], "group_id": ["a", "b", "b"]})
    masks = pd.DataFrame({"image_id": ["1", "1", "2", "2", "3", "3"], "class_id": [0, 1, 0, -1, 1, -1],
                          "pixels": [30, 10, 20, 5, 40, 7]})
    roles = pd.DataFrame({"repeat": 0, "fold": 0, "image_id": ["1", "2", "3"], "group_id": ["a", "b", "b"],
                          "role": ["held_out", "train", "train"], "reason": ""})

    table = balance_table(roles, images, masks).set_index("role")

    assert table.loc["held_out", ["images", "groups", "pixels"]].tolist() == [1, 1, 40]
    assert table.loc["train", ["images", "groups", "pixels"]].tolist() == [2, 1, 60]
    assert table.loc["held_out", ["share_0", "share_1"]].tolist() == [0.75, 0.25]
    assert table.loc["train", "share_1"] == pytest.approx(2 / 3)


def test_shares_without_labelled_pixels_are_undefined():
    images = pd.DataFrame({"image_id": ["1", "2"], "group_id": ["a", "b"]})
    masks = pd.DataFrame({"image_id": ["1", "2"], "class_id": [0, -1], "pixels": [30, 5]})
    roles = pd.DataFrame({"repeat": 0, "fold": 0, "image_id": ["1", "2"], "group_id": ["a", "b"],
                          "role": ["train", "held_out"], "reason": ""})

    table = balance_table(roles, images, masks).set_index("role")

    assert table.loc["held_out", "pixels"] == 0
    assert np.isnan(table.loc["held_out", "share_0"])


def test_the_floor_of_a_giant_group_and_of_a_rare_class():
    """By hand, 4 folds: a group with 6 of 10 images fills one fold to 6/10 x 4 = 2.4 shares, 1.4 too many. A class
    in 2 equal groups stays out of 2 folds (deviation 1) and fills the others to 4 / 2 = 2 shares (deviation 1)."""
    images = pd.DataFrame({"image_id": list("0123456789"), "group_id": list("aaaaaabbcd")})
    masks = pd.DataFrame({"image_id": [*"0123456789", "6", "8"], "class_id": [0] * 10 + [1, 1],
                          "pixels": [10] * 10 + [5, 5]})

    floor = balance_floor(images, masks, folds=4).set_index("column")

    assert floor.loc["images", ["groups", "largest_group", "empty_folds"]].tolist() == [4, "a", 0]
    assert floor.loc["images", "worst"] == pytest.approx(1.4)
    assert floor.loc["class 1", ["groups", "empty_folds", "worst"]].tolist() == [2, 2, 1.0]


def test_the_floor_is_reached_and_never_beaten_by_any_of_the_cuts_of_six_groups():
    """Second method: all 3^6 ways to deal six groups to three folds."""
    sizes = np.array([9, 4, 3, 2, 1, 1])
    images = pd.DataFrame({"image_id": [f"{g}{n}" for g, size in enumerate(sizes) for n in range(size)],
                           "group_id": np.repeat(list("abcdef"), sizes)})
    ways = np.stack(np.meshgrid(*[range(3)] * 6), -1).reshape(-1, 6)                     # ways x groups
    load = np.stack([(sizes * (ways == k)).sum(1) for k in range(3)], 1)                 # ways x folds
    best = np.abs(load / sizes.sum() * 3 - 1).max(1).min()

    floor = balance_floor(images, None, folds=3).set_index("column").loc["images", "worst"]
    ours = balanced_folds(sizes[:, None], folds=3, rng=np.random.default_rng(0))

    assert floor <= best + 1e-12
    assert np.abs(np.bincount(ours, sizes) / sizes.sum() * 3 - 1).max() == pytest.approx(best)


def folds_by(name: str, images: pd.DataFrame, masks: pd.DataFrame) -> np.ndarray:
    roles = SPLITTERS[name](images, folds=FOLDS, rng=np.random.default_rng(1), masks=masks)
    held_out = roles[roles["role"] == HELD_OUT].set_index("image_id")["fold"]
    return held_out[images["image_id"]].to_numpy()


def test_class_balanced_folds_are_nearer_to_equal_than_those_of_scikit_learn():
    """On 20 sets of 60 groups: class share deviation at most two thirds of that of scikit-learn's StratifiedGroupKFold
    (on each image's largest class) and GroupKFold, class mass nearer too, and no cell empty that could be filled.
    The absolute goals (.013, .295, .065) allow for the giant groups and the rare classes of these sets."""
    from sklearn.model_selection import GroupKFold, StratifiedGroupKFold

    found: dict[str, list[dict[str, float]]] = {"segcv": [], "stratified": [], "group": []}
    for seed in range(20):
        images, masks = hard_set(seed)
        found["segcv"].append(unbalance(folds_by("balanced_group_kfold", images, masks), images, masks))
        largest = masks.loc[masks.groupby("image_id")["pixels"].idxmax()].set_index("image_id")["class_id"]
        for name, rival in (("stratified", StratifiedGroupKFold(FOLDS)), ("group", GroupKFold(FOLDS))):
            fold = np.empty(len(images), int)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                for k, (_, test) in enumerate(rival.split(images, largest[images["image_id"]], images["group_id"])):
                    fold[test] = k
            found[name].append(unbalance(fold, images, masks))
    mean = {name: pd.DataFrame(rows).mean() for name, rows in found.items()}

    assert mean["segcv"]["share"] <= 0.013
    assert mean["segcv"]["mass"] <= 0.295
    assert mean["segcv"]["size"] <= 0.065
    assert mean["segcv"]["empty"] == 0
    for rival in ("stratified", "group"):
        assert mean["segcv"]["share"] < 2 / 3 * mean[rival]["share"]
        assert mean["segcv"]["mass"] < mean[rival]["mass"]


@pytest.mark.parametrize("seed", range(4))
def test_group_folds_hold_as_equal_numbers_of_images_as_the_largest_group_allows(seed):
    """The floor is where the largest group alone is more than a fold's share; see the hand-worked floor above."""
    images, masks = hard_set(seed)
    floor = balance_floor(images, None, folds=FOLDS)["worst"].item()

    assert unbalance(folds_by("group_kfold", images, masks), images, masks)["size"] <= floor + 0.02


def test_thousands_of_groups_are_balanced():
    """Amounts of 2000 groups spread so finely that every fold can hold its fifth to a thousandth."""
    rng = np.random.default_rng(0)
    amounts = rng.lognormal(0, 1, (2000, 4))

    fold = balanced_folds(amounts, folds=FOLDS, rng=rng)

    mass = np.stack([amounts[fold == k].sum(0) for k in range(FOLDS)])
    assert np.abs(mass / mass.sum(0) * FOLDS - 1).max() < 1e-3
