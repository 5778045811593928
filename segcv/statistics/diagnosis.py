"""Patterns in the folds, each a rule with the evidence it rests on. Thresholds are conventions; their error rates are
in the room's README."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import special

from segcv.statistics.any_table import Table, table_groups
from segcv.statistics.by_group import GroupScores
from segcv.statistics.components import Components
from segcv.statistics.permutation import DRAWS, chunks, permuted
from segcv.statistics.scored import Floats, Ints

FOLDS_VARY = 0.05              # SD over folds, in score units, from which a reader should ask why
LARGE_GAP = 0.10               # training minus held-out score
LITTLE_LEARNED = 0.10          # training score minus trivial predictor
SURE = 0.05                    # p-value
HALF = 0.5                     # share of the fold variance
STABILISE, SUBGROUPS, SPLIT, COLLECT = "stabilise training", "look at sub-groups", "change the split", "collect groups"
ACTIONS = (STABILISE, SUBGROUPS, SPLIT, COLLECT)


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """A pattern that was found: `rule`, what it is, the numbers it rests on, and which of ACTIONS it speaks for."""

    rule: str                  # one_fold_low, folds_vary, train_high, little_learned, hold_out_high
    what: str
    evidence: str
    actions: tuple[str, ...]


def diagnose(
    table: Table, *, components: Components | None = None, train: pd.DataFrame | None = None,
    trivial: float | None = None, hold_out: float | None = None, seed: int = 0, draws: int = DRAWS,
) -> tuple[Diagnosis, ...]:
    """The rules that hold for these scores; empty when none does.

    `components` opens the reason for folds that vary; `train` is one row per run with columns train and held_out, in
    one score; `trivial` is the score of a predictor that looks at nothing; `hold_out` a score of the same recipe on a
    single hold-out, to be set against the folds.
    """
    groups = table_groups(table)
    found = [one_fold_low(groups, seed=seed, draws=draws), folds_vary(groups, components),
             *train_and_held_out(train, trivial), hold_out_high(groups, hold_out)]
    return tuple(each for each in found if each is not None)


def one_fold_low(groups: GroupScores, *, seed: int = 0, draws: int = DRAWS) -> Diagnosis | None:
    """One fold scores lower than groups dealt at random would explain: p < .05 of the largest shortfall.

    Whole groups are exchanged over folds, with their means over the columns of the first partition.
    """
    here = groups.repeat == groups.repeat[0]
    names, fold = np.unique(groups.fold[:, 0], return_inverse=True)
    count, folds = len(fold), len(names)
    if folds < 3 or folds == count or not groups.complete:
        return None
    u, size = groups.scores[:, here].mean(axis=1), np.bincount(fold)
    order, start = np.argsort(fold, kind="stable"), np.cumsum(size) - size
    total = float(u.sum())

    def shortfall(values: Floats) -> Floats:
        sums = np.add.reduceat(values[:, order], start, axis=1)                     # rows x folds
        low: Floats = ((total - sums) / (count - size) - sums / size) * np.sqrt(size * (count - size) / count)
        return low

    seen = shortfall(u[None])[0]
    worst = int(np.argmax(seen))
    rng = np.random.default_rng(seed)
    beyond = sum(int(np.sum(shortfall(permuted(u, rows, rng)).max(axis=1) >= seen[worst] - 1e-12))
                 for rows in chunks(draws, count))
    p_value = (1 + beyond) / (draws + 1)
    if p_value >= SURE or seen[worst] <= 1e-12:
        return None
    inside = u[fold == worst]
    others = np.array([u[fold == k].mean() for k in range(folds) if k != worst])
    columns, lows = int(here.sum()), _times_lowest(groups.scores[:, here], fold, worst)
    evidence = (f"fold {names[worst]}: {inside.mean():.3f} over {len(inside)} groups, other folds {others.min():.3f} "
                f"to {others.max():.3f}; p = {p_value:.4f} with whole groups exchanged over folds; lower than all "
                f"others in {lows} of {columns} columns")
    lowest = int(np.argmin(np.where(fold == worst, u, np.inf)))
    if len(inside) > 1 and (inside.sum() - u[lowest]) / (len(inside) - 1) >= others.min():
        return Diagnosis("one_fold_low", f"Fold {names[worst]} is low because of group {groups.group_ids[lowest]}.",
                         f"{evidence}; without that group the fold is among the others", (SUBGROUPS,))
    evidence += "; leaving out its lowest group does not change that"
    if columns == 1:
        return Diagnosis("one_fold_low", f"Fold {names[worst]} is low as a whole; another seed of this fold tells "
                         "whether its network or its groups do it.", evidence, (STABILISE, SPLIT))
    if lows < columns:
        return Diagnosis("one_fold_low", f"Fold {names[worst]} is low as a whole, but not with every seed: look at its "
                         "networks before its groups.", evidence, (STABILISE,))
    return Diagnosis("one_fold_low", f"Fold {names[worst]} is low as a whole with every seed: its training set, or "
                     "groups that are hard together.", evidence, (SPLIT, SUBGROUPS))


def folds_vary(groups: GroupScores, components: Components | None) -> Diagnosis | None:
    """The SD over folds of one seed's scores is .05 or more; with components, what it comes from."""
    if components is None or not components.observed_fold_sd >= FOLDS_VARY:
        return None
    evidence = f"SD over folds {components.observed_fold_sd:.3f} (n - 1, {components.folds} folds)"
    shares = components.shares
    if not np.isfinite(shares["model"].value):
        return Diagnosis("folds_vary", "The folds vary; with one seed it is unknown whether models or groups do it.",
                         f"{evidence}; {shares['model'].note}", (STABILISE,))
    model = shares["model"]
    of_groups = sum(shares[name].value for name in ("group", "image") if np.isfinite(shares[name].value))
    said = (f"{evidence}; expected shares: model {model.value:.0%} ({model.low:.0%} to {model.high:.0%}), groups with "
            f"their images {of_groups:.0%}")
    if model.value >= HALF:
        return Diagnosis("folds_vary", "The folds vary, and the networks are the most of it.", said, (STABILISE,))
    if of_groups >= HALF:
        return Diagnosis("folds_vary", "The folds vary, and which groups they hold is the most of it.", said,
                         (SUBGROUPS, COLLECT))
    return Diagnosis("folds_vary", "The folds vary, and no part is more than half of it.", said, (STABILISE, COLLECT))


def train_and_held_out(train: pd.DataFrame | None, trivial: float | None) -> tuple[Diagnosis, ...]:
    """Training high and held-out low (gap .10 or more); little learned (training within .10 of the trivial score)."""
    if train is None:
        return ()
    rows = train.dropna(subset=["train", "held_out"])
    if rows.empty:
        return ()
    inside, outside = float(rows["train"].mean()), float(rows["held_out"].mean())
    evidence = f"training {inside:.3f}, held-out {outside:.3f}, mean over {len(rows)} runs"
    found = []
    if inside - outside >= LARGE_GAP:
        found.append(Diagnosis(
            "train_high", "The networks know their training groups and less of new ones.",
            f"{evidence}; a gap of {LARGE_GAP:.2f} or more", (COLLECT, STABILISE)))
    if trivial is not None and np.isfinite(trivial) and inside - trivial < LITTLE_LEARNED:
        found.append(Diagnosis(
            "little_learned", "Little was learned, even of the training images.",
            f"{evidence}; a predictor that looks at nothing reaches {trivial:.3f}", (STABILISE,)))
    return tuple(found)


def hold_out_high(groups: GroupScores, hold_out: float | None) -> Diagnosis | None:
    """A single hold-out scores above the 95 % range in which one more fold would lie, and above every fold."""
    if hold_out is None or not groups.complete:
        return None
    fold = np.unique(groups.fold[:, 0], return_inverse=True)[1]
    scores = np.bincount(fold, weights=groups.means) / np.bincount(fold)
    if len(scores) < 3:
        return None
    reach = float(special.stdtrit(len(scores) - 1, .975)) * float(scores.std(ddof=1)) * np.sqrt(1 + 1 / len(scores))
    if hold_out <= max(float(scores.mean()) + reach, float(scores.max())):
        return None
    return Diagnosis(
        "hold_out_high", "The single hold-out is easier than the folds, or has been seen.",
        f"hold-out {hold_out:.3f}; folds {scores.min():.3f} to {scores.max():.3f}, one more fold is expected between "
        f"{scores.mean() - reach:.3f} and {scores.mean() + reach:.3f}", (SPLIT,))


def _times_lowest(scores: Floats, fold: Ints, worst: int) -> int:
    """In how many columns the fold is below all others."""
    means = np.stack([scores[fold == k].mean(axis=0) for k in range(int(fold.max()) + 1)])
    return int(np.sum(means.argmin(axis=0) == worst))
