"""Every scored image of a sweep as a FiftyOne data set: image, truth, prediction, scores, group and fold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from segcv.errors import ConfigError, MissingExtra, SegcvError
from segcv.pixels import LabelMap, write_mask
from segcv.splits import Split
from segcv.sweeps.choosing import Sweep
from segcv.sweeps.pictures import first_of_each_fold, predicted_mask
from segcv.tables import Progress, quiet

VOID = 255                   # of the written truth: pixels that were not scored


def export_fiftyone(runs: Path, sweep: Sweep, split: Split, images: pd.DataFrame, scores: pd.DataFrame, *, name: str,
                    folder: Path, replace: bool = False, progress: Progress = quiet) -> int:
    """How many images the persistent FiftyOne data set `name` holds now.

    A sample has filepath, image_id, group, fold (also as tags), score (mean over runs, None where undefined),
    class_iou, truth and prediction. Truth is written as class ids into `folder`, 255 where nothing is scored;
    predictions are the masks of the first seed of the first repeat, where they lie. Images without files are left out.

    Raises:
        MissingExtra: fiftyone is not installed.
        ConfigError: there is a data set of this name, and it is not to be replaced.
    """
    try:
        import fiftyone
    except ImportError as error:
        raise MissingExtra("to=fiftyone needs the library fiftyone: pip install 'segcv[fiftyone]'") from error
    if fiftyone.dataset_exists(name):
        if not replace:
            raise ConfigError(f"FiftyOne has a data set {name!r} already. Give another name (dataset=NAME), or make it "
                              "anew: replace=true")
        fiftyone.delete_dataset(name)
    labels, records = LabelMap.from_json(split.settings["labels"]), first_of_each_fold(sweep)
    place, own = split.images.set_index("image_id"), _class_scores(scores, split)
    samples: list[Any] = []
    rows = list(images[["image_id", "group_id", "fold", "score"]].itertuples(index=False, name=None))
    for image_id, group, fold, score in progress(rows, total=len(rows), what="images"):
        if image_id not in place.index:
            continue                             # scored on its whole source: there is no such file
        predicted = predicted_mask(runs, records[int(fold)], image_id)
        image, mask = (Path(str(place.at[image_id, column])) for column in ("image_path", "mask_path"))
        if not (predicted.is_file() and image.is_file()):
            continue
        try:
            truth = labels.read(mask)
        except SegcvError:
            continue
        written = folder / "truth" / f"{image_id}.png"
        written.parent.mkdir(parents=True, exist_ok=True)
        known = np.ones(truth.shape, bool) if labels.void is None else truth != labels.void
        kind = np.uint8 if labels.n_classes <= VOID else np.uint16
        write_mask(written, np.where(known, truth, VOID).astype(kind))
        samples.append(fiftyone.Sample(
            filepath=str(image.absolute()), tags=[f"fold {int(fold)}", f"group {group}"], image_id=image_id,
            group=str(group), fold=int(fold), score=_number(score), class_iou=own.get(image_id, {}),
            truth=fiftyone.Segmentation(mask_path=str(written.absolute())),
            prediction=fiftyone.Segmentation(mask_path=str(predicted.absolute()))))
    made = fiftyone.Dataset(name, persistent=True)
    made.default_mask_targets = dict(enumerate(split.class_names)) | {VOID: "ignored"}
    made.info = {"data_id": split.data_id, "split_id": split.split_id, "runs": [record.run_id for record in sweep]}
    made.add_samples(samples)
    made.save()
    return len(samples)


def _class_scores(scores: pd.DataFrame, split: Split) -> dict[str, dict[str, float]]:
    """image_id -> class -> IoU, all runs added; classes in neither mask are left out. Dots and $ are no keys there."""
    summed = scores.groupby(["image_id", "class_id"], as_index=False)[["tp", "fp", "fn"]].sum()
    iou = summed["tp"] / summed[["tp", "fp", "fn"]].sum(axis=1)
    found: dict[str, dict[str, float]] = {}
    for image_id, number, value in zip(summed["image_id"], summed["class_id"], iou, strict=True):
        if value == value:
            key = split.class_names[int(number)].replace(".", "_").replace("$", "_")
            found.setdefault(str(image_id), {})[key] = float(value)
    return found


def _number(value: float) -> float | None:
    return float(value) if value == value else None
