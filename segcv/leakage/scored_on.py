"""What a run scored, held against the role of its images."""

from __future__ import annotations

from collections.abc import Iterator

from segcv.leakage.facts import Facts
from segcv.leakage.finding import FAIL, SHOWN, WARN, Finding
from segcv.leakage.words import some

NAME = "scored_on"


def find(facts: Facts) -> Iterator[Finding]:
    """Fail when a run scored its own training images; warn of held-out ones left out, torn groups and lost splits."""
    assert facts.runs is not None
    trained: dict[str, list[str]] = {}
    missing: dict[str, int] = {}
    held_out = 0
    for run in facts.runs:
        if run.split_fault:
            continue
        scored = set(run.scores["image_id"])
        held_out += len(run.held_out)
        if scored & run.train:
            trained[run.run_id] = sorted(scored & run.train)
        if run.held_out - scored:
            missing[run.run_id] = len(run.held_out - scored)
    if trained:
        count = sum(map(len, trained.values()))
        told = [f"{run_id}: {some(ids, 2)}" for run_id, ids in trained.items()]
        yield Finding(
            NAME, "training images", FAIL, f"{len(trained)} runs scored {count} images of their own training: "
            f"{some(told, 3)}", "The model was shown the answers to what it is graded on.",
            "Delete the run's folder and run the fold again: python -m segcv.train fold=K",
            evidence="scores.parquet beside the roles of the split", held_out_touched=count, held_out=held_out,
            examples=tuple(told[:SHOWN]))
    if missing:
        told = [f"{run_id} ({count})" for run_id, count in missing.items()]
        yield Finding(
            NAME, "held-out images", WARN, f"{len(missing)} runs scored only a part of what they hold out: "
            f"{some(told, 3)}", "A score over the images that happened to work is too good.",
            "Run the fold again, or say why images are missing.",
            evidence="scores.parquet beside the roles of the split", examples=tuple(told[:SHOWN]))
    torn = [run.run_id for run in facts.runs if run.leaking]
    if torn:
        yield Finding(
            NAME, "torn groups", WARN, f"{len(torn)} runs were trained under folds that tear groups: {some(torn, 3)}",
            "Their scores are about groups the model knows, and are marked so in every report.",
            "Keep them for comparison only; for the score: python -m segcv.train split=balanced_group_kfold",
            evidence="the run records", examples=tuple(torn[:SHOWN]))
    lost = [f"{run.run_id}: {run.split_fault}" for run in facts.runs if run.split_fault and run.proof == "split"]
    if lost:
        yield Finding(
            NAME, "split", WARN, f"the roles of {len(lost)} runs are not known: {some(lost, 2)}",
            "Nothing shows that what they scored was held out.", "Bring the split folder back.",
            evidence="the run records", examples=tuple(lost[:SHOWN]))
