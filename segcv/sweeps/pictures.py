"""Which images of a sweep are worth looking at, and small pictures of them, cut where images and masks are at hand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from segcv.errors import SegcvError
from segcv.pixels import LabelMap, class_colours, difference_panels, picture_panels
from segcv.runs import RunRecord
from segcv.splits import Split
from segcv.sweeps.choosing import Sweep
from segcv.tables import Progress, quiet

WORST, MOST = 3, 200
SUSPICIOUS, CHANGED = "suspicious", "changed"
Panels = tuple[tuple[str, bytes], ...]


@dataclass(frozen=True, slots=True)
class CutPicture:
    """An image with its small pictures, caption and bytes; `scores` are those of its classes, NaN = undefined.

    `why` holds the reasons to look at it: `worst fold`, `median group`, `best class road`, `suspicious`, `changed`.
    """

    image_id: str
    group_id: str
    fold: int
    classes: tuple[str, ...]
    scores: tuple[float, ...]
    score: float
    why: tuple[str, ...]
    panels: Panels


def worth_looking_at(images: pd.DataFrame, scores: pd.DataFrame, *, class_names: tuple[str, ...],
                     suspects: Sequence[str] = (), most: int = MOST) -> dict[str, tuple[str, ...]]:
    """image_id -> why, at most `most` images, the most telling first.

    The three worst, the median and the best of each fold, class and group (the worst one of a group), and `suspects`.
    `images` has image_id, group_id, fold and score (mean over columns), `scores` is the scores table.
    """
    known = images.dropna(subset=["score"]).sort_values(["score", "image_id"], ignore_index=True)
    chosen: list[tuple[int, str, str]] = [(1, str(name), SUSPICIOUS) for name in suspects]
    ranked = [(f"fold {fold}", rows["image_id"].tolist(), WORST) for fold, rows in known.groupby("fold")]
    for number, label in enumerate(class_names):
        ids = _by_class(scores, number)
        ranked += [(f"class {label}", ids, WORST)] if ids else []
    ranked += [("group", rows["image_id"].tolist(), 1) for _, rows in known.groupby("group_id")]
    for of, ids, worst in ranked:
        part, _, name = of.partition(" ")
        label = f"{part} {name}" if part == "class" else part
        turn = {"fold": 0, "class": 1, "group": 2}[part]
        chosen += [(turn, name, f"worst {label}") for name in ids[:worst]]
        chosen += [(turn + 3, ids[len(ids) // 2], f"median {label}"), (turn + 3, ids[-1], f"best {label}")]
    chosen.sort(key=lambda each: each[0])                       # stable: worst before median before best
    why: dict[str, list[str]] = {}
    for _, name, reason in chosen:
        if name in why or len(why) < most:
            why.setdefault(name, [])
            why[name] += [] if reason in why[name] else [reason]
    return {name: tuple(reasons) for name, reasons in why.items()}


def _by_class(scores: pd.DataFrame, number: int) -> list[str]:
    """Images that have the class in their truth, from the lowest IoU of it, all runs added."""
    rows = scores[scores["class_id"].eq(number) & (scores["tp"] + scores["fn"]).gt(0)]
    summed = rows.groupby("image_id")[["tp", "fp", "fn"]].sum()
    return [str(name) for name in (summed["tp"] / summed.sum(axis=1)).sort_values(kind="stable").index]


def cut_pictures(runs: Path, sweep: Sweep, split: Split, images: pd.DataFrame, scores: pd.DataFrame, *,
                 suspects: Sequence[str] = (), most: int = MOST, side: int = 160,
                 progress: Progress = quiet) -> tuple[CutPicture, ...]:
    """Small pictures of the images that `worth_looking_at` chooses; those whose files are not at hand are left out.

    The prediction shown is that of the first seed of the first repeat.
    """
    if "labels" not in split.settings:
        return ()
    labels, records = LabelMap.from_json(split.settings["labels"]), first_of_each_fold(sweep)
    known = images[images["image_id"].isin(split.images["image_id"])]
    chosen = worth_looking_at(known, scores, class_names=tuple(split.class_names), suspects=suspects, most=most)

    def cut(image_id: str, fold: int, paths: tuple[Path, Path]) -> Panels | None:
        predicted = predicted_mask(runs, records[fold], image_id)
        return picture_panels(*paths, predicted, labels=labels, side=side) if predicted.is_file() else None

    found = []
    for image_id, row, paths in _at_hand(chosen, known, split, progress):
        try:
            panels = cut(image_id, int(row["fold"]), paths)
        except SegcvError:                       # the numbers stand without the file; the picture does not
            continue
        if panels is not None:
            found.append((image_id, row, panels))
    return _pictures(found, chosen, scores, tuple(split.class_names))


def cut_differences(runs: Path, sweeps: tuple[Sweep, Sweep], split: Split, images: pd.DataFrame,
                    scores: pd.DataFrame, *, side: int = 160, progress: Progress = quiet) -> tuple[CutPicture, ...]:
    """Small pictures of `images` (image_id, group_id, fold, score) with both predictions and where they differ.

    `scores` are those of the first candidate. Predictions are those of the first seed of the first repeat.
    """
    if "labels" not in split.settings:
        return ()
    labels = LabelMap.from_json(split.settings["labels"])
    first, second = (first_of_each_fold(sweep) for sweep in sweeps)
    chosen: dict[str, tuple[str, ...]] = {str(name): (CHANGED,) for name in images["image_id"]}
    found = []
    for image_id, row, paths in _at_hand(chosen, images, split, progress):
        masks = [predicted_mask(runs, records[int(row["fold"])], image_id) for records in (first, second)]
        try:
            if all(mask.is_file() for mask in masks):
                found.append((image_id, row, difference_panels(*paths, masks[0], masks[1], labels=labels, side=side)))
        except SegcvError:
            continue
    return _pictures(found, chosen, scores, tuple(split.class_names))


def legend_of(split: Split) -> tuple[tuple[str, str], ...]:
    """Class names with the colours in which pictures show them."""
    return tuple(zip(split.class_names, class_colours(len(split.class_names)), strict=True))


def first_of_each_fold(sweep: Sweep) -> dict[int, RunRecord]:
    """fold -> its run with the first seed of the first repeat."""
    return {record.fold: record for record in sorted(sweep, key=lambda each: (each.repeat, each.seed), reverse=True)}


def predicted_mask(runs: Path, record: RunRecord, image_id: str) -> Path:
    """Where a run keeps the predicted mask of an image."""
    return runs / record.run_id / "masks" / f"{image_id}.png"


def _at_hand(chosen: Mapping[str, tuple[str, ...]], images: pd.DataFrame, split: Split,
             progress: Progress) -> Iterator[tuple[str, dict[str, Any], tuple[Path, Path]]]:
    """Each chosen image that is a file of the table (a stitched source is none): id, row of `images`, paths of image
    and mask."""
    place = split.images.set_index("image_id")
    rows = {str(name): {"group_id": group, "fold": fold, "score": score} for name, group, fold, score in
            images[["image_id", "group_id", "fold", "score"]].itertuples(index=False)}
    files = [image_id for image_id in chosen if image_id in rows and image_id in place.index]
    for image_id in progress(files, total=len(files), what="pictures"):
        paths = (Path(str(place.at[image_id, "image_path"])), Path(str(place.at[image_id, "mask_path"])))
        yield image_id, rows[image_id], paths


def _pictures(found: list[tuple[str, dict[str, Any], Panels]], chosen: Mapping[str, tuple[str, ...]],
              scores: pd.DataFrame, class_names: tuple[str, ...]) -> tuple[CutPicture, ...]:
    """CutPictures with the IoU of each class that an image has in truth or prediction, all runs added."""
    seen = scores[scores["image_id"].isin([image_id for image_id, _, _ in found])]
    summed = seen.groupby(["image_id", "class_id"], as_index=False)[["tp", "fp", "fn"]].sum()
    union = summed[["tp", "fp", "fn"]].sum(axis=1)
    own: dict[str, list[tuple[int, float]]] = {}
    for image_id, number, value in zip(summed["image_id"], summed["class_id"], summed["tp"] / union, strict=True):
        if value == value:                       # a class in neither is undefined and not shown
            own.setdefault(image_id, []).append((int(number), float(value)))
    return tuple(CutPicture(
        image_id, str(row["group_id"]), int(row["fold"]),
        tuple(class_names[number] for number, _ in own.get(image_id, [])),
        tuple(value for _, value in own.get(image_id, [])), float(row["score"]), chosen[image_id], panels)
        for image_id, row, panels in found)
