"""What stands beside the overlap scores where runs kept it: how good probabilities are, how far outlines are off."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import numpy as np
import pandas as pd

from segcv.metrics import BOUNDARY_METRICS, boundary_means, image_diagonal
from segcv.runs import RunRecord
from segcv.scoring import counts_of, histogram_of, probability_scores, read_histograms, read_image_facts, read_scores
from segcv.splits import Split
from segcv.sweeps.choosing import Sweep
from segcv.sweeps.excluding import without
from segcv.tables import read_json


def probabilities_of(runs: Path, sweep: Sweep, split: Split, *, left_out: Collection[str] = ()) -> pd.DataFrame | None:
    """Calibration and ranking of each run: repeat, fold, seed, ECE, Brier, AUROC and AP of each class.

    From histograms of all its images' pixels; None where a run kept none, because its predictions were class ids.
    """
    rows = []
    for record in sweep:
        table = read_histograms(runs / record.run_id)
        if table is None:
            return None
        said = probability_scores(histogram_of(without(table, left_out), n_classes=len(split.class_names)))
        rows.append(_place(record) | {"ECE": said["ece"], "Brier": said["brier"]} | {
            f"{short} {name}": value for short, key in (("AUROC", "auroc_per_class"),
                                                        ("AP", "average_precision_per_class"))
            for name, value in zip(split.class_names, np.atleast_1d(said[key]).tolist(), strict=True)})
    return pd.DataFrame(rows)


def outlines_of(runs: Path, sweep: Sweep, split: Split, *, left_out: Collection[str] = ()) -> pd.DataFrame | None:
    """Boundary metrics of each run: repeat, fold, seed, metric, the mean over images of each class, and of how many
    cells one side was missing. An infinite distance counts as the image's diagonal. None where a run kept none.
    """
    rows = []
    for record in sweep:
        folder = runs / record.run_id
        scores = without(read_scores(folder), left_out)
        names = [name for name in BOUNDARY_METRICS if name in scores]
        if not names:
            return None
        counted = counts_of(scores)
        spacing = read_json(folder / "config.json")["config"].get("spacing", [1.0, 1.0])
        facts = read_image_facts(folder).set_index("image_id").loc[list(counted.image_id)]
        diagonals = [image_diagonal((int(height), int(width)), spacing=(spacing[0], spacing[1]))
                     for height, width in zip(facts["height"], facts["width"], strict=True)]
        for name in names:
            cells = scores.pivot(index="image_id", columns="class_id", values=name).loc[list(counted.image_id)]
            means = boundary_means(cells.to_numpy(np.float64), counted.counts, penalty=diagonals)
            rows.append(_place(record) | {"metric": name} | dict(zip(split.class_names, means.mean, strict=True)) | {
                "missed": int(means.missed.sum()), "false_alarm": int(means.false_alarms.sum())})
    return pd.DataFrame(rows)


def _place(record: RunRecord) -> dict[str, object]:
    return {"repeat": record.repeat, "fold": record.fold, "seed": record.seed}
