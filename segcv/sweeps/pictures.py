"""Which images of a sweep are worth looking at, and small pictures of them, cut where images and masks are at hand."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from segcv.errors import SegcvError
from segcv.pixels import LabelMap, picture_panels
from segcv.scoring import read_image_facts
from segcv.splits import Split
from segcv.sweeps.choosing import Sweep
from segcv.tables import Progress, quiet

PER_FOLD, PER_CLASS, SURE, MOST = 3, 3, 10, 200
SURE_ABOVE = 0.9             # mean largest probability of an image that the model was sure of


@dataclass(frozen=True, slots=True)
class CutPicture:
    """An image with its small pictures: caption and bytes."""

    image_id: str
    group_id: str
    fold: int
    classes: tuple[str, ...]
    score: float
    why: str
    panels: tuple[tuple[str, bytes], ...]


def worth_looking_at(images: pd.DataFrame, scores: pd.DataFrame, facts: pd.DataFrame | None, *,
                     class_names: tuple[str, ...]) -> pd.DataFrame:
    """image_id and why, each image once, at most 200: worst, median and best of each fold, worst of each class and
    group, and images that the model was sure of and wrong about, whose truth may be wrong.

    `images` has image_id, group_id, fold and score (mean over columns), `scores` is the scores table.
    """
    known = images.dropna(subset=["score"]).sort_values(["score", "image_id"], ignore_index=True)
    chosen: list[tuple[str, str]] = []
    for fold in sorted(known["fold"].unique().tolist()):
        ids = known.loc[known["fold"].eq(fold), "image_id"].tolist()
        chosen += [(name, "worst of its fold") for name in ids[:PER_FOLD]]
        chosen += [(ids[len(ids) // 2], "median of its fold"), (ids[-1], "best of its fold")]
    if facts is not None:
        sure = facts.groupby("image_id")["mean_top_probability"].mean()
        both = known[known["image_id"].map(sure).ge(SURE_ABOVE)]
        chosen += [(name, "sure and wrong: is the truth right?") for name in both["image_id"].head(SURE)
                   if float(known.loc[known["image_id"].eq(name), "score"].iloc[0]) < known["score"].median()]
    for number, label in enumerate(class_names):
        rows = scores[scores["class_id"].eq(number) & (scores["tp"] + scores["fn"]).gt(0)]
        summed = rows.groupby("image_id")[["tp", "fp", "fn"]].sum()
        iou = (summed["tp"] / summed.sum(axis=1)).sort_values(kind="stable")
        chosen += [(str(name), f"worst at {label}") for name in iou.index[:PER_CLASS]]
    chosen += [(str(rows["image_id"].iloc[0]), "worst of its group") for _, rows in known.groupby("group_id")]
    table = pd.DataFrame(chosen, columns=["image_id", "why"]).drop_duplicates("image_id")
    return table.head(MOST).reset_index(drop=True)


def cut_pictures(runs: Path, sweep: Sweep, split: Split, images: pd.DataFrame, scores: pd.DataFrame, *,
                 side: int = 160, progress: Progress = quiet) -> tuple[CutPicture, ...]:
    """Small pictures of the images that `worth_looking_at` chooses; those whose files are not at hand are left out.

    The prediction shown is that of the first seed of the first repeat.
    """
    labels = LabelMap.from_json(split.settings["labels"])
    first = min((record.repeat, record.seed) for record in sweep)
    records = {record.fold: record for record in sweep if (record.repeat, record.seed) == first}
    facts = pd.concat([read_image_facts(runs / record.run_id) for record in records.values()])
    place = split.images.set_index("image_id")
    known = images[images["image_id"].isin(place.index)]
    chosen = worth_looking_at(known, scores, facts if facts["mean_top_probability"].notna().any() else None,
                              class_names=tuple(split.class_names))
    rows = chosen.merge(known[["image_id", "group_id", "fold", "score"]], on="image_id")
    seen = scores[(scores["tp"] + scores["fp"] + scores["fn"]).gt(0)].groupby("image_id")["class_id"].unique()
    found = []
    for image_id, why, group_id, fold, score in progress(rows.itertuples(index=False, name=None), total=len(rows),
                                                         what="pictures"):
        predicted = runs / records[fold].run_id / "masks" / f"{image_id}.png"
        if not predicted.is_file():
            continue
        try:
            paths = [Path(str(place.at[image_id, column])) for column in ("image_path", "mask_path")]
            panels = picture_panels(paths[0], paths[1], predicted, labels=labels, side=side)
        except SegcvError:                       # the numbers stand without the file; the picture does not
            continue
        classes = tuple(split.class_names[number] for number in sorted(seen.get(image_id, [])))
        found.append(CutPicture(str(image_id), str(group_id), int(fold), classes, float(score), why, panels))
    return tuple(found)
