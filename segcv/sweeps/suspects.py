"""Images whose truth looks wrong: the model is sure and disagrees, borders are ragged, classes are in tiny specks.

A list to look through and to label again, no verdict: a hard image can look the same.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from segcv.errors import SegcvError
from segcv.pixels import LabelMap, mask_look
from segcv.scoring import read_image_facts
from segcv.splits import Split
from segcv.sweeps.choosing import Sweep
from segcv.tables import Progress, quiet

SURE_ABOVE = 0.9             # mean largest probability of an image that the model was sure of
LOWEST = 0.1                 # share of images whose score is called low
MOST_MASKS, MOST_PIXELS = 1_000, 100_000_000      # that are opened, from the lowest score
MOST_LISTED = 200
FEWEST_SPECKS, LEAST_RAGGED = 3, 0.2
COLUMNS = ["image_id", "group_id", "fold", "score", "sure", "specks", "ragged", "reason"]


def suspect_images(runs: Path, sweep: Sweep, split: Split, images: pd.DataFrame, *, masks: bool = True,
                   progress: Progress = quiet) -> pd.DataFrame:
    """At most 200 images whose truth looks wrong, the most suspicious first, with what speaks for it.

    Columns image_id, group_id, fold, score, sure, specks, ragged, reason. `images` has image_id, group_id, fold and
    score. `sure` is the mean largest probability over the runs, NaN where runs kept class ids; `specks` and `ragged`
    are those of the truth (`MaskLook`), NaN where it was not opened: with `masks` the lowest-scoring images are, at
    most 1,000 and 100 million pixels. A reason is given where the score is among the lowest tenth although the model
    was sure (0.9), or where specks (3 or more) or raggedness (0.2 or more) lie far outside those of the other opened
    masks (upper quartile + 1.5 interquartile ranges).
    """
    known = images.dropna(subset=["score"]).sort_values(["score", "image_id"], ignore_index=True)
    facts = pd.concat([read_image_facts(runs / record.run_id)[["image_id", "mean_top_probability"]]
                       for record in sweep])
    table = known[["image_id", "group_id", "fold", "score"]].copy()
    table["sure"] = table["image_id"].map(facts.groupby("image_id")["mean_top_probability"].mean())
    looks = _looks(split, table["image_id"].tolist(), progress) if masks else {}
    for name in ("specks", "ragged"):
        table[name] = table["image_id"].map({image_id: look[name] for image_id, look in looks.items()}).astype(float)
    low = table["score"].le(table["score"].quantile(LOWEST)) & table["score"].lt(table["score"].median())
    said = pd.DataFrame({
        "sure and wrong": table["sure"].ge(SURE_ABOVE) & low,
        "ragged borders": _far_out(table["ragged"], LEAST_RAGGED),
        "tiny specks": _far_out(table["specks"], FEWEST_SPECKS)})
    table["reason"] = [", ".join(name for name, true in zip(said.columns, row, strict=True) if true)
                       for row in said.to_numpy()]
    reasons = said.sum(axis=1)
    order = np.lexsort((table["score"], -reasons))
    return table.iloc[order][reasons.iloc[order].gt(0).to_numpy()][COLUMNS].head(MOST_LISTED).reset_index(drop=True)


def _looks(split: Split, image_ids: list[str], progress: Progress) -> dict[str, dict[str, float]]:
    """specks and ragged of the masks at hand, from the first id on, within the bounds."""
    if "labels" not in split.settings:
        return {}
    labels = LabelMap.from_json(split.settings["labels"])
    paths = split.images.set_index("image_id")["mask_path"]
    sizes = split.profile.set_index("image_id")[["height", "width"]].prod(axis=1)
    wanted = [name for name in image_ids[:MOST_MASKS] if name in paths.index]
    pixels = np.cumsum([int(sizes.get(name, 0)) for name in wanted])
    wanted = wanted[:max(1, int(np.searchsorted(pixels, MOST_PIXELS, side="right")))]
    found = {}
    for name in progress(wanted, total=len(wanted), what="masks"):
        try:
            look = mask_look(Path(str(paths[name])), labels=labels)
        except (SegcvError, OSError):            # the numbers stand without the file
            continue
        found[name] = {"specks": float(look.specks), "ragged": look.ragged}
    return found


def _far_out(values: pd.Series, least: float) -> pd.Series:
    """Whether a value lies far above the others and is at least `least`; NaN does not."""
    low, high = values.quantile([0.25, 0.75])
    return values.ge(least) & values.gt(high + 1.5 * (high - low))
