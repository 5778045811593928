"""Scores that are better than they can honestly be: above training, above the same recipe on whole groups, or best
where training comes near."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from segcv.leakage.facts import Facts, codes_of
from segcv.leakage.finding import NOTE, WARN, Finding
from segcv.leakage.near_duplicates import alike_in_training
from segcv.leakage.runs_read import RunFacts
from segcv.leakage.touched import touched_by_code
from segcv.metrics import counts_from_rows, image_scores
from segcv.statistics import leak_gap, scored_images

NAME = "score_too_good"
NOTEWORTHY = 0.02        # difference of mean IoU that is worth a word
FEWEST = 5               # images on either side of a comparison
ERRORS = 2.0             # standard errors beyond which a difference is not by chance
Floats = NDArray[np.float64]


def find(facts: Facts) -> Iterator[Finding]:
    """Warnings with the size of the gap; a score alone proves no leak."""
    assert facts.runs is not None
    sets: dict[str, list[RunFacts]] = {}
    for run in facts.runs:
        sets.setdefault(run.set_name, []).append(run)
    for name, runs in sets.items():
        yield from _above_training(name, runs)
        yield from _better_when_touched(facts, name, runs)
    yield from _above_whole_groups(list(sets.values()))


def _above_training(name: str, runs: Sequence[RunFacts]) -> Iterator[Finding]:
    both = [(_per_image(run.scores).mean(), _per_image(run.train_scores).mean())
            for run in runs if run.train_scores is not None]
    if not both:
        return
    held_out, trained = np.mean(both, axis=0)
    if held_out - trained > NOTEWORTHY:
        yield Finding(
            NAME, f"{name}, above training", WARN,
            f"{name} scores {held_out:.3f} on held-out images and {trained:.3f} on those it was trained on (mean IoU "
            f"per image, {len(both)} runs)",
            "Unseen images are harder than seen ones. Either the held-out ones are easier, or they were not unseen.",
            "Compare the class shares of both sides (balance.csv), and look what the other checks say.",
            evidence="scores.parquet and train_scores/scores.parquet",
            measures={"held_out": float(held_out), "trained": float(trained)})


def _above_whole_groups(sets: Sequence[Sequence[RunFacts]]) -> Iterator[Finding]:
    for leaking in sets:
        honest = next((other for other in sets if other[0].recipe_id == leaking[0].recipe_id
                       and not other[0].leaking), None)
        if not leaking[0].leaking or honest is None:
            continue
        gap = leak_gap(*(scored_images(_scores(runs), runs=_places(runs)) for runs in (leaking, honest)))
        sure = gap.difference.has_interval and gap.difference.low > 0
        limits = f" ({gap.difference.low:.3f} to {gap.difference.high:.3f})" if gap.difference.has_interval else ""
        yield Finding(
            NAME, f"{leaking[0].set_name}, above whole groups", WARN if sure else NOTE,
            f"torn groups say {gap.random.value:.3f}, whole groups {gap.group.value:.3f} of the same recipe: a "
            f"difference of {gap.difference.value:.3f}{limits}",
            "That much of the score is recognition of groups, and is gone on new ones.",
            "Report the score under whole groups only.", evidence="both sets of runs, paired by group",
            measures={"difference": gap.difference.value})


def _better_when_touched(facts: Facts, name: str, runs: Sequence[RunFacts]) -> Iterator[Finding]:
    if facts.images is None or facts.folds is None:
        return
    touched = dict(zip(facts.ids.tolist(), _reached(facts).tolist(), strict=True))
    rows = pd.concat([_per_image(run.scores) for run in runs])
    known = rows[rows.index.isin(list(touched))].groupby(level=0).mean().dropna()
    near = np.array([touched[image_id] for image_id in known.index], bool)
    values = known.to_numpy(np.float64)
    one, other = values[near], values[~near]
    if min(len(one), len(other)) < FEWEST:
        return
    difference = float(one.mean() - other.mean())
    error = float(np.sqrt(one.var(ddof=1) / len(one) + other.var(ddof=1) / len(other)))
    if difference > max(NOTEWORTHY, ERRORS * error):
        yield Finding(
            NAME, f"{name}, near training", WARN,
            f"{name} scores {one.mean():.3f} on the {len(one)} held-out images that have a copy, a look-alike or their "
            f"group in training, and {other.mean():.3f} on the other {len(other)}",
            "The first number is partly memory. The second is nearer to what a new image gets.",
            "Cut the folds anew, so that these images train or are held out together.",
            evidence=f"mean IoU per image; the difference is {difference:.3f}, its standard error {error:.3f}",
            held_out_touched=len(one), held_out=len(values), measures={"difference": difference})


def _reached(facts: Facts) -> NDArray[np.bool_]:
    """Images that training reaches in the fold that holds them out."""
    assert facts.folds is not None and facts.images is not None
    return touched_by_code(facts.folds, codes_of(facts.images["group_id"])).images | alike_in_training(facts)


def _per_image(scores: pd.DataFrame | None) -> pd.Series:
    """Mean IoU over the classes of each image, by image id; NaN where it has none."""
    assert scores is not None
    ids, _, counts = counts_from_rows(scores["image_id"].to_numpy(object).astype(str), scores["class_id"],
                                      tp=scores["tp"], fp=scores["fp"], fn=scores["fn"], valid=scores["valid"])
    return pd.Series(image_scores(counts, metric="iou"), index=ids).dropna()


def _scores(runs: Sequence[RunFacts]) -> pd.DataFrame:
    return pd.concat([run.scores for run in runs], ignore_index=True)


def _places(runs: Sequence[RunFacts]) -> pd.DataFrame:
    return pd.DataFrame([{"run_id": run.run_id, "repeat": run.repeat, "fold": run.fold, "seed": run.seed}
                         for run in runs])
