"""From outer losses to what a report says: the estimate with its interval, choices, inner scores, calibration."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from segcv.nesting.protocol import NestedResult
from segcv.statistics import THESE_MODELS, Estimate, bootstrap_t, gaffke

FEWEST_GROUPS = 5
BINS = 15
NONE = (float("nan"), float("nan"))


def group_scores_table(results: Mapping[int, NestedResult]) -> pd.DataFrame:
    """group_id, score (1 - loss, mean over outer repeats) and repeats, worst first; undefined scores are left out."""
    rows = [{"group_id": group, "score": 1.0 - float(loss)}
            for result in results.values() for (_, group), loss in result.losses.items()]
    found = pd.DataFrame(rows).dropna().groupby("group_id")["score"].agg(score="mean", repeats="count").reset_index()
    return found.sort_values(["score", "group_id"], ignore_index=True)


def outer_estimates(results: Mapping[int, NestedResult], *, unit: str, level: float) -> tuple[Estimate, Estimate]:
    """Equal-group mean of 1 - loss over all outer groups: by bootstrap-t over groups, and bounded (Gaffke)."""
    means = group_scores_table(results)["score"].to_numpy()
    losses = [float(loss) for result in results.values() for loss in result.losses.values()]

    def said(interval: tuple[float, float], method: str) -> Estimate:
        return Estimate(float(means.mean()), *interval, level=level, method=method,
                        target=f"equal_group, the recipe with its choice, {THESE_MODELS}", unit=unit,
                        groups=len(means), runs=sum(len(result.folds) for result in results.values()),
                        undefined=int(np.isnan(losses).sum()),
                        note="" if np.isfinite(interval).all() else "too few groups, or all score alike")

    drawn = bootstrap_t(means, level=level, rng=np.random.default_rng(0)) if len(means) >= FEWEST_GROUPS else NONE
    bounded = gaffke(means, level=level, rng=np.random.default_rng(0)) if len(means) > 1 else NONE
    return said(drawn, "bootstrap-t over groups"), said(bounded, "Gaffke bound (validity conjectured)")


def inner_mean(results: Mapping[int, NestedResult]) -> float:
    """Mean inner score of what was chosen, each inner group counting once: what naive reporting would say."""
    choices = [fold.choice for result in results.values() for fold in result.folds]
    total = sum(float(choice.totals[choice.candidate]) for choice in choices)
    return 1.0 - total / sum(choice.groups for choice in choices)


def choices_table(results: Mapping[int, NestedResult]) -> pd.DataFrame:
    """Per outer fold: what was chosen, its inner score, how far the next was, the outer score, and any fallback."""
    return pd.DataFrame([{
        "repeat": repeat, "fold": fold.outer, "chosen": fold.choice.candidate,
        "inner": 1.0 - float(fold.choice.inner_mean),
        "margin": np.nan if fold.choice.margin is None else float(fold.choice.margin),
        "outer": 1.0 - float(np.nanmean([float(loss) for loss in fold.losses.values()])), "groups": len(fold.losses),
        "fallback": fold.fallback} for repeat, result in results.items() for fold in result.folds])


def inner_table(results: Mapping[int, NestedResult]) -> pd.DataFrame:
    """Per outer fold and candidate: its inner score."""
    return pd.DataFrame([{"repeat": repeat, "fold": fold.outer, "candidate": name,
                          "inner": 1.0 - float(total) / fold.choice.groups}
                         for repeat, result in results.items() for fold in result.folds
                         for name, total in fold.choice.totals.items()])


def reliability_table(row: NDArray[np.int64]) -> pd.DataFrame:
    """Bins of the largest probability (2 x 256: wrong, right): pixels, mean probability said, share that was right."""
    number = row.sum(axis=0)
    bin_of = np.maximum(-(-np.arange(256) * BINS // 255) - 1, 0)
    pixels = np.bincount(bin_of, weights=number, minlength=BINS)
    said = np.bincount(bin_of, weights=number * np.arange(256) / 255, minlength=BINS)
    right = np.bincount(bin_of, weights=row[1], minlength=BINS)
    seen = pixels > 0
    names = np.array([f"{low / BINS:.2f} to {(low + 1) / BINS:.2f}" for low in range(BINS)])
    return pd.DataFrame({"bin": names[seen], "pixels": pixels[seen].astype(np.int64),
                         "said": said[seen] / pixels[seen], "right": right[seen] / pixels[seen]})
