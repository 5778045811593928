"""What a model is to be measured against on the same images: rules, earlier models, a second reader."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from segcv.errors import RunError
from segcv.runs import RECORD, RunRecord, find_runs
from segcv.scoring import read_scores
from segcv.sweeps.choosing import chosen_sweep
from segcv.sweeps.reading import scores_of, split_of, table_of

Rung = tuple[pd.DataFrame, pd.DataFrame]


def rung_of(runs: Path, name: str, scored: pd.DataFrame, *, setting: str) -> Rung:
    """The scores and runs of what `name` names, on exactly the images of the scores table `scored`.

    `name` is a candidate below `runs`, or the folder of one finished run.

    Raises:
        RunError: there is nothing of that name, or it did not score all of these images, or other classes.
    """
    if (Path(name) / RECORD).is_file():
        sweep = [RunRecord.read(Path(name))]
        scores = read_scores(Path(name))
    elif name in {record.candidate for record in find_runs(runs)}:
        sweep, _ = chosen_sweep(runs, candidate=name)
        scores = scores_of(runs, sweep, split_of(sweep[0]))
    else:
        there = ", ".join(sorted({record.candidate for record in find_runs(runs)}))
        raise RunError(f"{setting}={name} is neither a candidate below {runs} ({there}) nor a run's folder. Score its "
                       f"masks first: python -m segcv.evaluate predictions=FOLDER name={name} runs={runs}")
    wanted = set(scored["image_id"].unique())
    lacking = sorted(wanted - set(scores["image_id"].unique()))
    if lacking:
        raise RunError(f"{setting}={name} did not score {len(lacking)} of the {len(wanted)} images of these runs, such "
                       f"as {lacking[0]}. Score its masks on the same images.")
    if set(scores["class_id"].unique()) != set(scored["class_id"].unique()):
        raise RunError(f"{setting}={name} was scored on {scores['class_id'].nunique()} classes, these runs on "
                       f"{scored['class_id'].nunique()}. Score its masks with the same classes.")
    group = scored.drop_duplicates("image_id").set_index("image_id")["group_id"]
    kept = scores[scores["image_id"].isin(wanted)].reset_index(drop=True)
    return kept.assign(group_id=kept["image_id"].map(group)), table_of(sweep)
