"""A small data set without any leak, as tables, and one planted leak for each check of the audit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd

from segcv.leakage import Facts, Folds, RunFacts, facts_of, fingerprint_of, folds_of_roles
from segcv.pixels import look

GROUPS, EACH, FOLDS = 8, 4, 4
IMAGES = GROUPS * EACH


def picture(number: int) -> np.ndarray:
    """A smooth coloured picture, 64 x 64 x 3; other numbers look like nothing alike."""
    rng = np.random.default_rng(number)
    coarse = rng.uniform(0, 255, (8, 8, 3))
    rows = np.linspace(0, 7, 64)
    low, part = np.floor(rows).astype(int), (rows % 1)[:, None, None]
    high = np.minimum(low + 1, 7)
    tall = coarse[low] * (1 - part) + coarse[high] * part
    part = part.transpose(1, 0, 2)
    return (tall[:, low] * (1 - part) + tall[:, high] * part).astype(np.uint8)


def looks_of(ids: pd.Series, pictures: list[np.ndarray]) -> pd.DataFrame:
    seen = [look(one, marks="landmarks") for one in pictures]
    return pd.DataFrame({
        "image_id": ids, "phash": np.array([one.phash for one in seen], np.uint64),
        "flat": [one.flat for one in seen], "thumbnail": [one.thumbnail.tobytes() for one in seen],
        "blocks": [one.blocks.tobytes() for one in seen], "landmarks": [one.landmarks.tobytes() for one in seen]})


def name(number: int) -> str:
    """A name that tells nothing: no number, no position, no word for a copy."""
    return "".join(chr(ord("k") + number // 3 ** place % 3) for place in range(5))


def k_folds(fold: np.ndarray, ids: pd.Series, **others: object) -> Folds:
    roles = pd.concat([pd.DataFrame({"repeat": 0, "fold": k, "image_id": ids,
                                     "role": np.where(fold == k, "held_out", "train")}) for k in range(FOLDS)])
    return folds_of_roles(roles, ids, each_once=True, **({"origin": "test"} | others))


def scores_of(ids: list[str], run_id: str, *, iou: float) -> pd.DataFrame:
    tp = round(100 * iou)
    return pd.DataFrame([{"run_id": run_id, "image_id": image_id, "class_id": c, "group_id": "g", "source_id": "",
                          "tp": tp, "fp": 0, "fn": 100 - tp, "valid": 200} for image_id in ids for c in (0, 1)])


def a_run(fold: int, train: list[str], held_out: list[str]) -> RunFacts:
    run_id = f"unet-12345678/repeat-0/fold-{fold}/seed-0"
    return RunFacts(
        run_id, "unet-12345678", "recipe", 0, fold, 0, False, frozenset(train), frozenset(held_out), frozenset(),
        fingerprint_of(set(train)), scores_of(held_out, run_id, iou=0.6), scores_of(train, run_id, iou=0.8))


def clean() -> Facts:
    """Eight groups of four images on ground of their own, in four folds of whole groups; a ledger; four runs."""
    ids = pd.Series([name(number) for number in range(IMAGES)])
    group = np.repeat(np.arange(GROUPS), EACH)
    images = pd.DataFrame({
        "image_id": ids, "image_path": "missing/" + ids + ".png", "mask_path": "missing/" + ids + "_mask.png",
        "group_id": [f"farm {'abcdefgh'[one]}" for one in group], "group_evidence": "column",
        "patient_id": [f"owner {'abcd'[one % 4]}" for one in group],
        "x": 1000.0 * group, "y": 100.0 * (np.arange(IMAGES) % EACH), "w": 64.0, "h": 64.0})
    profile = pd.DataFrame({
        "image_id": ids, "image_hash": "bytes " + ids, "mask_hash": "mask " + ids, "height": 64, "width": 64,
        "bands": 3, "dtype": "uint8", "pixels_hash": "pixels " + ids, "labels_hash": "labels " + ids,
        "orientation": 1, "alpha": False, "palette": False, "mask_kind": "PNG, L"})
    masks = pd.DataFrame([{"image_id": image_id, "class_id": c, "pixels": 2048 if c >= 0 else 0}
                          for image_id in ids for c in (0, 1, -1)])
    fold = group % FOLDS
    runs = tuple(a_run(k, ids[fold != k].tolist(), ids[fold == k].tolist()) for k in range(FOLDS))
    ledger = pd.DataFrame([(f"outer-{k}/final", str(k), f"farm {one}", "O" if number % FOLDS == k else "B")
                           for k in range(FOLDS) for number, one in enumerate("abcdefgh")],
                          columns=["fit_id", "outer", "group_id", "role"])
    return facts_of(images, profile=profile, masks=masks, looks=looks_of(ids, [picture(n) for n in range(IMAGES)]),
                    folds=k_folds(fold, ids), ledger=ledger, runs=runs, class_names=("field", "road"),
                    overlaps="landmarks")


def _set(table: pd.DataFrame, column: str, values: dict[int, object]) -> pd.DataFrame:
    changed = table.copy()
    changed[column] = changed[column].astype(object)
    for row, value in values.items():
        changed.loc[row, column] = value
    return changed


def _roles(facts: Facts, changes: dict[tuple[int, int], int]) -> Facts:
    """Bits of (fold, image): 1 trains, 2 is held out, 4 is excluded."""
    bits = facts.folds.roles.copy()
    for (fold, row), value in changes.items():
        bits[fold, row] = value
    return replace(facts, folds=replace(facts.folds, roles=bits))


def _alone(facts: Facts) -> Facts:
    """Image 0 is a group of its own."""
    images = _set(facts.images, "group_id", {0: "hermitage"})
    return replace(facts, images=images.drop(columns="patient_id"))


def image_on_both_sides(facts: Facts) -> Facts:
    return _roles(_alone(facts), {(0, 0): 3})


def empty_side(facts: Facts) -> Facts:
    """Fold 0 holds out nothing: its groups are excluded everywhere."""
    bits = facts.folds.roles.copy()
    bits[:, (bits[0] & 2) > 0] = 4
    return replace(facts, folds=replace(facts.folds, roles=bits))


def held_out_twice(facts: Facts) -> Facts:
    return _roles(_alone(facts), {(1, 0): 2})


def locked_in_use(facts: Facts) -> Facts:
    return replace(facts, locked_groups=("farm c",))


def torn_group(facts: Facts) -> Facts:
    """Images of two groups change their names, nothing else: farm a is now in folds 0 and 1."""
    images = _set(facts.images, "group_id", dict.fromkeys(range(4, 6), "farm a"))
    return replace(facts, images=images.drop(columns="patient_id"))


def torn_patient(facts: Facts) -> Facts:
    """The groups stay whole, one level above is cut: owner a has the farms a, b and e."""
    return replace(facts, images=_set(facts.images, "patient_id", dict.fromkeys(range(4, 8), "owner a")))


def torn_declared_level(facts: Facts) -> Facts:
    """A column whose name says nothing, declared as a level: field 1 is in folds 0 and 1."""
    sheets = [f"sheet {max(1, number // EACH)}" for number in range(IMAGES)]
    return replace(facts, images=facts.images.assign(map_sheet=sheets), declared_levels=("map_sheet",))


def same_file(facts: Facts) -> Facts:
    return replace(facts, profile=_equal(facts.profile, "image_hash", "pixels_hash", "labels_hash"),
                   looks=looks_of(facts.images["image_id"], [picture(0 if n == 5 else n) for n in range(IMAGES)]))


def same_pixels_in_another_file(facts: Facts) -> Facts:
    return replace(facts, profile=_equal(facts.profile, "pixels_hash", "labels_hash"),
                   looks=looks_of(facts.images["image_id"], [picture(0 if n == 5 else n) for n in range(IMAGES)]))


def same_mask_under_another_picture(facts: Facts) -> Facts:
    return replace(facts, profile=_equal(facts.profile, "labels_hash"))


def _equal(profile: pd.DataFrame, *columns: str) -> pd.DataFrame:
    """Image 5 (group b, fold 1) equals image 0 (group a, fold 0)."""
    for column in columns:
        profile = _set(profile, column, {5: profile[column][0]})
    return profile


def look_alike(facts: Facts) -> Facts:
    brighter = np.clip(picture(0).astype(int) + 6, 0, 255).astype(np.uint8)
    return _shown_as_5(facts, brighter)


def turned_copy(facts: Facts) -> Facts:
    return _shown_as_5(facts, np.rot90(picture(0)).copy())


def _shown_as_5(facts: Facts, other: np.ndarray) -> Facts:
    pictures = [other if number == 5 else picture(number) for number in range(IMAGES)]
    return replace(facts, looks=looks_of(facts.images["image_id"], pictures))


def overlapping_ground(facts: Facts) -> Facts:
    """Image 5 lies half on image 0: 32 of 64 in x, the same y."""
    images = _set(_set(facts.images, "x", {5: 32.0}), "y", {5: 0.0})
    return replace(facts, images=images.astype({"x": float, "y": float}))


def overlapping_georeferences(facts: Facts) -> Facts:
    """No columns; the files of images 0 and 5 say that 5 begins 16 m east of 0, which is 32 m wide."""
    images = facts.images.drop(columns=["x", "y", "w", "h"])
    found = images[["image_id"]].assign(x=[1000.0 * row for row in range(IMAGES)], y=5e6, w=32.0, h=32.0,
                                        crs="EPSG:32632", unit="m", pixel_size=0.5, turned=False)
    return replace(facts, images=images, georeferences=_set(found, "x", {5: 16.0}).astype({"x": float}))


def ground_side_by_side(facts: Facts) -> Facts:
    images = _set(_set(facts.images, "x", {5: 64.0}), "y", {5: 0.0})
    return replace(facts, images=images.astype({"x": float, "y": float}))


def a_part_of_the_same_ground(facts: Facts) -> Facts:
    """Images 0 and 5 are two windows of one larger picture, half of each in the other."""
    grain = np.random.default_rng(0).integers(0, 60, (96, 64, 3))
    wide = np.vstack([picture(0), picture(98)[:32]]).astype(int) // 2 + grain
    pictures = [picture(number) for number in range(IMAGES)]
    pictures[0], pictures[5] = wide[:64].astype(np.uint8), wide[32:].astype(np.uint8)
    return replace(facts, looks=looks_of(facts.images["image_id"], pictures))


def frames_of_one_sequence(facts: Facts) -> Facts:
    """Columns say that images 0 and 5 are frames 10 and 12 of one clip; every other clip lies in one group."""
    clips = [f"clip {group}" for group in facts.images["group_id"]]
    clips[5] = clips[0]
    frames = [10 * (row % EACH + 1) for row in range(IMAGES)]
    frames[5] = 12
    return replace(facts, images=facts.images.assign(clip_id=clips, frame=frames))


def times_of_one_source(facts: Facts) -> Facts:
    """Image 5 was taken half a day after image 0, by the same camera trap; all other traps lie in one group."""
    traps = facts.images["group_id"].tolist()
    traps[5] = traps[0]
    times = [f"2024-05-{row + 1:02d}" for row in range(IMAGES - 1)] + ["2024-06-01"]
    times[5] = "2024-05-01 12:00"
    return replace(facts, images=facts.images.assign(video=traps, time=times))


def augmented_names(facts: Facts) -> Facts:
    """Image 5 is called a flip of image 0."""
    ids = facts.images["image_id"].tolist()
    old, ids[5] = ids[5], f"{ids[0]}_flip"

    def renamed(table: pd.DataFrame) -> pd.DataFrame:
        return table.assign(image_id=table["image_id"].replace(old, ids[5]))

    return replace(facts, images=renamed(facts.images), profile=renamed(facts.profile), masks=renamed(facts.masks),
                   looks=renamed(facts.looks))


def uneven_folds(facts: Facts) -> Facts:
    """Five of the eight groups in fold 0, one in each other: 2.5 times the even share."""
    fold = np.repeat([0, 0, 0, 0, 0, 1, 2, 3], EACH)
    return replace(facts, folds=k_folds(fold, facts.images["image_id"]),
                   images=facts.images.drop(columns="patient_id"))


def class_in_one_group(facts: Facts) -> Facts:
    """Class 1 is found in group a only; its pixels elsewhere are class 0."""
    masks = facts.masks.copy()
    elsewhere = ~masks["image_id"].isin(facts.images["image_id"][:EACH]) & masks["class_id"].eq(1)
    masks.loc[elsewhere, "pixels"] = 0
    return replace(facts, masks=masks, runs=None)


def giant_group(facts: Facts) -> Facts:
    """One group of 18 of the 32 images, in a fold of its own; pairs make up the rest."""
    rows = np.arange(IMAGES)
    fold = np.where(rows < 18, 0, 1 + (rows // 2) % 3)
    group = ["farm a" if row < 18 else f"farm {'bcdefgh'[(row - 18) // 2]}" for row in range(IMAGES)]
    images = facts.images.assign(group_id=group).drop(columns="patient_id")
    return replace(facts, images=images, folds=k_folds(fold, images["image_id"]))


def chain(facts: Facts) -> Facts:
    """Ungrouped images of fold 0 change step by step from one picture into another: neighbours are alike, ends not."""
    ids = facts.images["image_id"]
    fold = np.arange(IMAGES) * FOLDS // IMAGES
    steps = 8                                                     # the images of fold 0
    pictures = [picture(number) for number in range(IMAGES)]
    for step in range(steps):
        part = step / (steps - 1)
        pictures[step] = (picture(0) * (1 - part) + picture(99) * part).astype(np.uint8)
    images = facts.images.assign(group_id="").drop(columns=["patient_id"])
    return replace(facts, images=images, looks=looks_of(ids, pictures), folds=k_folds(fold, ids))


def kinds_of_files(facts: Facts) -> Facts:
    profile = _set(_set(_set(_set(facts.profile, "dtype", {1: "uint16"}), "orientation", {2: 6}), "alpha", {3: True}),
                   "palette", {4: True}).astype({"alpha": bool, "palette": bool})
    pictures = [np.full((64, 64, 3), 90, np.uint8) if number == 6 else picture(number) for number in range(IMAGES)]
    return replace(facts, profile=profile, looks=looks_of(facts.images["image_id"], pictures))


def judged_and_used(facts: Facts) -> Facts:
    """Farm a judges outer fold 0 and chose in it."""
    more = pd.DataFrame([("outer-0/inner-0", "0", "farm a", "V")], columns=facts.ledger.columns)
    return replace(facts, ledger=pd.concat([facts.ledger, more], ignore_index=True))


def fitted_on_everything(facts: Facts) -> Facts:
    first = facts.runs[0]
    return replace(facts, runs=(replace(first, fitted_on=fingerprint_of(first.train | first.held_out)),
                                *facts.runs[1:]))


def scored_its_training(facts: Facts) -> Facts:
    first = facts.runs[0]
    ids = sorted(first.held_out) + sorted(first.train)[:2]
    return replace(facts, runs=(replace(first, scores=scores_of(ids, first.run_id, iou=0.6)), *facts.runs[1:]))


def better_than_training(facts: Facts) -> Facts:
    return replace(facts, runs=tuple(replace(run, scores=scores_of(sorted(run.held_out), run.run_id, iou=0.9))
                                     for run in facts.runs))


PLANTED: dict[str, list[Callable[[Facts], Facts]]] = {
    "ledger_roles": [judged_and_used],
    "sides_disjoint": [image_on_both_sides],
    "folds_filled": [empty_side],
    "held_out_once": [held_out_twice],
    "locked_unused": [locked_in_use],
    "groups_whole": [torn_group, torn_patient, torn_declared_level],
    "same_bytes": [same_file],
    "same_pixels": [same_pixels_in_another_file],
    "same_masks": [same_mask_under_another_picture],
    "near_duplicates": [look_alike, turned_copy],
    "shared_ground": [overlapping_ground, overlapping_georeferences, ground_side_by_side],
    "seen_ground": [a_part_of_the_same_ground],
    "neighbouring_frames": [frames_of_one_sequence, times_of_one_source],
    "name_sources": [augmented_names],
    "fitted_on": [fitted_on_everything],
    "scored_on": [scored_its_training],
    "score_too_good": [better_than_training],
    "fold_balance": [uneven_folds],
    "group_sizes": [class_in_one_group, giant_group],
    "cluster_width": [chain],
    "file_kinds": [kinds_of_files],
}
