"""What normalisation was fitted on, held against the role of the run."""

from __future__ import annotations

from collections.abc import Iterator

from segcv.leakage.facts import Facts
from segcv.leakage.finding import FAIL, SHOWN, WARN, Finding
from segcv.leakage.runs_read import RunFacts, fingerprint_of
from segcv.leakage.words import some

NAME = "fitted_on"


def find(facts: Facts) -> Iterator[Finding]:
    """Fail when a fingerprint is not that of the training images; warn where nothing tells what was read."""
    assert facts.runs is not None
    known = [run for run in facts.runs if not run.split_fault and run.fitted_on is not None]
    wrong = {run.run_id: saw for run in known if (saw := _saw(run)) is not None}
    if wrong:
        told = [f"{run_id} {saw}" for run_id, saw in wrong.items()]
        yield Finding(
            NAME, "preprocessing", FAIL, f"{len(wrong)} of {len(known)} runs were fitted on other images than their "
            f"training role: {some(told, 3)}",
            "Mean, spread or palette of held-out images are known to the model: its score is not that of new images.",
            "Train the fold again: python -m segcv.train fold=K; fit nothing before the folds are cut.",
            evidence="fingerprints of the image ids that were read", examples=tuple(told[:SHOWN]))
    silent = [run.run_id for run in facts.runs if not run.proof]
    if silent:
        yield Finding(
            NAME, "not proven", WARN, f"nothing shows what {len(silent)} runs that were not made here were trained "
            f"on: {some(silent, 3)}", "A model that saw the scored images in training is graded on its memory.",
            "Hand in its training lists: python -m segcv.evaluate trained_on=FILE; give a program {train_csv}, and no "
            "masks of held-out images.", evidence="the run records",
            examples=tuple(silent[:SHOWN]))


def _saw(run: RunFacts) -> str | None:
    """What the run was fitted on, in words, when that is not its training role; None when it is."""
    if run.fitted_on in {fingerprint_of(run.train), fingerprint_of(run.train - run.inside)}:
        return None
    for name, ids in (("saw all images, held-out ones included", run.train | run.held_out),
                      ("saw the held-out images", run.held_out)):
        if run.fitted_on == fingerprint_of(ids):
            return name
    return "saw a set of images that is neither its training role nor the part of it that it fits on"
