"""Intervals, variance components and reports: seconds beside scipy and statsmodels, and the size of an aggregate."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from benches.made_sweep import write_sweep
from benches.rows import Row, at_least, at_most, finish, seconds
from scipy import stats

from segcv.metrics import Counts, image_scores
from segcv.statistics import (
    ScoredImages,
    Variances,
    bootstrap_t,
    drawn_groups,
    drawn_means,
    equal_row_estimates,
    group_scores,
    group_sums_of,
    pooled_estimates,
    sums_of_squares,
    variances,
)

GROUPS, IMAGES, CLASSES, DRAWS = 300, 50_000, 10, 10_000
TARGETS = ("equal_group", "equal_row", "pooled")


def made_scores() -> ScoredImages:
    """One pass over 5 folds: 50,000 images of 10 classes in 300 groups."""
    rng = np.random.default_rng(0)
    group = np.sort(np.append(np.arange(GROUPS), rng.integers(GROUPS, size=IMAGES - GROUPS)))
    truth = rng.multinomial(65_536, rng.dirichlet(np.full(CLASSES, .5)), size=IMAGES)
    hard = np.clip(.2 + .1 * rng.standard_normal(GROUPS), .02, .9)
    missed = rng.binomial(truth, hard[group][:, None])
    ids = tuple(f"g{g:03d}" for g in range(GROUPS))
    rows = pd.DataFrame({"run_id": "r", "repeat": 0, "fold": group % 5, "seed": 0,
                         "image_id": [f"{n:06d}" for n in range(IMAGES)], "group_id": [ids[g] for g in group],
                         "source_id": ""})
    counts = Counts(truth - missed, np.roll(missed, 1, axis=1), missed, np.full(IMAGES, 65_536))
    return ScoredImages(rows, counts, tuple(f"class {c}" for c in range(CLASSES)), np.zeros(IMAGES, np.int64),
                        group.astype(np.int64), ids)


def intervals() -> list[Row]:
    scored = made_scores()

    def score(counts: Counts) -> np.ndarray:
        return image_scores(counts, metric="iou", policy="union")

    def percentiles(targets: tuple[str, ...]) -> dict[str, np.ndarray]:
        sums = group_sums_of(scored, score(scored.counts))
        drawn = [drawn_means(sums, weights, targets=targets, score=score)
                 for weights in drawn_groups(GROUPS, draws=DRAWS, rng=np.random.default_rng(0))]
        return {name: np.quantile(np.concatenate([part[name] for part in drawn]), [.025, .975]) for name in targets}

    def everything() -> None:
        groups = group_scores(scored, score(scored.counts))
        bootstrap_t(groups.means, level=.95, rng=np.random.default_rng(0), draws=DRAWS - 1)
        equal_row_estimates(groups, unit="mIoU", level=.95, runs=5)
        pooled_estimates(scored, score, unit="mIoU", level=.95)

    order = np.argsort(scored.group, kind="stable")
    start = np.searchsorted(scored.group[order], np.arange(GROUPS))
    tp, fp, fn = (np.add.reduceat(part[order], start, axis=0).T for part in (       # classes x groups
        scored.counts.tp, scored.counts.fp, scored.counts.fn))

    def miou(tp: np.ndarray, fp: np.ndarray, fn: np.ndarray, axis: int) -> np.ndarray:
        inside, around = tp.sum(axis=axis), (tp + fp + fn).sum(axis=axis)
        return (inside / around).mean(axis=0)

    def by_scipy() -> np.ndarray:
        found = stats.bootstrap((tp, fp, fn), miou, paired=True, vectorized=True, n_resamples=DRAWS, batch=500,
                                axis=-1, method="percentile", rng=np.random.default_rng(0))
        return np.array(found.confidence_interval)

    def by_us() -> np.ndarray:
        drawn = [drawn_means(sums, weights, targets=("pooled",), score=score)["pooled"]
                 for weights in drawn_groups(GROUPS, draws=DRAWS, rng=np.random.default_rng(0))]
        return np.quantile(np.concatenate(drawn), [.025, .975])

    sums = group_sums_of(scored, score(scored.counts))
    assert np.allclose(by_us(), by_scipy(), atol=2e-3), "the two bootstraps disagree"
    drawn = seconds({"segcv": lambda: percentiles(TARGETS)}, rounds=5)["segcv"]
    quoted = seconds({"segcv": everything}, rounds=5)["segcv"]
    taken = seconds({"segcv": by_us, "scipy.stats.bootstrap": by_scipy}, rounds=3)
    size = f"{GROUPS} groups, {IMAGES:,} images, {CLASSES} classes"
    return [
        at_most(f"equal, row and pooled mIoU redrawn {DRAWS:,} times, {size}", float(np.median(drawn)), .3, unit="s"),
        at_most(f"bootstrap-t, CR2 and jackknife intervals of the same, {DRAWS:,} draws", float(np.median(quoted)), .3,
                unit="s"),
        at_least(f"pooled mIoU, {DRAWS:,} draws of groups", taken, "scipy.stats.bootstrap", 5)]


def decomposition(groups: int, images: int, rounds: int) -> Row:
    """The same five components of one table: group, model, interaction, image, residual."""
    from statsmodels.formula.api import mixedlm

    rng, seeds = np.random.default_rng(0), 3
    group = np.repeat(np.arange(groups), images)
    fold = group % 5
    scores = (.5 + rng.normal(0, .06, groups)[group][:, None] + rng.normal(0, .03, (5, seeds))[fold]
              + rng.normal(0, .03, (groups, seeds))[group] + rng.normal(0, .06, len(group))[:, None]
              + rng.normal(0, .03, (len(group), seeds)))                            # images x seeds
    table = pd.DataFrame({"score": scores.reshape(-1), "image": np.repeat(np.arange(len(group)), seeds),
                          "group": np.repeat(group, seeds), "fold": np.repeat(fold, seeds),
                          "seed": np.tile(np.arange(seeds), len(group))})
    table["run"], table["cell"] = table["fold"] * seeds + table["seed"], table["group"] * seeds + table["seed"]
    parts = {"group": "0 + C(group)", "model": "0 + C(run)", "interaction": "0 + C(cell)", "image": "0 + C(image)"}

    def rival() -> dict[str, float]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fit = mixedlm("score ~ C(fold)", table, groups="fold", re_formula="0", vc_formula=parts).fit(reml=True)
        return dict(zip(fit.model.exog_vc.names, fit.vcomp, strict=True))

    def ours() -> Variances:
        return variances(sums_of_squares(scores, group=group, fold=fold))

    mine, theirs = ours(), rival()
    assert all(np.isclose(getattr(mine, name), theirs[name], rtol=1e-2) for name in parts), "they disagree"
    taken = seconds({"segcv": lambda: [ours() for _ in range(100)], "statsmodels MixedLM": rival}, rounds=rounds)
    taken["segcv"] = [each / 100 for each in taken["segcv"]]
    return at_least(f"five variance components, {groups} groups x {images} images x {seeds} seeds in 5 folds", taken,
                    "statsmodels MixedLM", 1_000)


def aggregate() -> list[Row]:
    with tempfile.TemporaryDirectory() as place:
        folder = write_sweep(Path(place), folds=5, seeds=5, images_in_run=5_000, classes=20, groups=300)
        taken, used = [], []
        for _ in range(3):
            started, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([sys.executable, "-m", "segcv.aggregate", "report.html=false"], cwd=folder, check=True,
                           capture_output=True, env=os.environ)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            taken.append(time.perf_counter() - started)
            used.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
    work = "python -m segcv.aggregate report.html=false, 25 runs x 5,000 images x 20 classes"
    return [at_most(work, min(taken), 10, unit="s"), at_most(f"{work}: memory", memory, 2, unit="GiB"),
            Row(f"{work}: processor time (a busy machine takes longer by the clock)", f"{min(used):.3g} s", "", "", "")]


if __name__ == "__main__":
    finish([*intervals(), decomposition(50, 10, 3), *aggregate()])
