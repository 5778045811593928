"""Score tables with a known truth: sizes, folds and distributions of the methods' definition 14."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator

from segcv.statistics import GroupScores

FOLDS = 5
POINTS, WEIGHTS = np.polynomial.hermite_e.hermegauss(80)       # E f(Z), Z standard normal
WEIGHTS = WEIGHTS / WEIGHTS.sum()


def clip(latent: np.ndarray) -> np.ndarray:
    return np.clip(latent, 0, 1)


def expit(latent: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-latent))


@dataclass(frozen=True, slots=True)
class World:
    """y = shape(mu + group + model + interaction + image + residual); `failures` of the groups lie at `fail`."""

    name: str
    shape: Callable[[np.ndarray], np.ndarray]
    mu: float
    sd: tuple[float, float, float, float, float]       # group, model, interaction, image, residual
    failures: float = 0.0
    fail: float = 0.0

    def mean(self, model: np.ndarray | None = None) -> np.ndarray:
        """Expected score of a new image of a new group, of networks with these effects; of the recipe without."""
        a, m, x, b, e = self.sd
        noise = np.hypot(np.hypot(a, x), np.hypot(b, e))
        rest = np.hypot(x, np.hypot(b, e))
        if model is None:
            noise, rest, model = np.hypot(noise, m), np.hypot(rest, m), np.zeros(1)
        points = np.asarray(model)[..., None]
        whole = self._over(self.mu + points, noise)
        if not self.failures:
            return whole
        return (1 - self.failures) * whole + self.failures * self._over(self.fail + points, rest)

    def _over(self, center: np.ndarray, sd: float) -> np.ndarray:
        if self.shape is clip:                          # not smooth: a fine grid instead of Gauss-Hermite
            z = np.linspace(-6, 6, 4_001)
            density = np.exp(-z**2 / 2)
            return self.shape(center + sd * z) @ (density / density.sum())
        return self.shape(center + sd * POINTS) @ WEIGHTS


NORMAL = World("normal", clip, .75, (.10, .015, .02, .08, .04))
SKEWED = World("skewed", expit, 1.6, (.8, .09, .15, .5, .25))
FAILURES = World("failures", expit, 1.8, (.6, .09, .15, .5, .25), .07, -3.4)
PLAIN = World("components", lambda latent: latent, .5, (.06, .015, .02, .06, .03))
NO_GROUPS = replace(PLAIN, name="no group effect", sd=(0, .015, 0, .06, .03))
NO_MODELS = replace(PLAIN, name="no model effect", sd=(.06, 0, .02, .06, .03))


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """One table of scores, with what it was drawn from."""

    groups: GroupScores
    model: np.ndarray          # folds x columns
    images: np.ndarray         # images of each group


def sizes_and_folds(groups: int, rng: Generator) -> tuple[np.ndarray, np.ndarray]:
    """Heavy-tailed numbers of images, and folds: the largest group to the lightest fold."""
    sizes = np.minimum(np.ceil(rng.lognormal(np.log(12), 1.2, groups)), 1_000).astype(np.int64)
    fold = np.zeros(groups, np.int64)
    weights = [(0, k) for k in range(FOLDS)]
    for g in np.argsort(-sizes, kind="stable"):
        weight, k = heapq.heappop(weights)
        fold[g] = k
        heapq.heappush(weights, (weight + int(sizes[g]), k))
    return sizes, fold


def draw(
    world: World, *, groups: int, columns: int, rng: Generator, repeats: bool = False, seeds: int = 1,
    training: float = 0.0,
) -> Drawn:
    """A table of `groups` in 5 folds with `columns` seeds, or as many repeats with a new partition each.

    `repeats` may have `seeds` each, and a training-set effect (SD `training`) that the seeds of a repeat share.
    """
    a, m, x, b, e = world.sd
    sizes, fold = sizes_and_folds(groups, rng)
    of = np.repeat(np.arange(groups), sizes)
    folds = np.tile(fold[:, None], (1, columns))
    if repeats:
        for s in range(1, columns):
            folds[:, s] = fold[_alike(sizes, rng)]
    repeat = np.arange(columns) if repeats else np.zeros(columns, np.int64)
    shared = rng.normal(0, training, (FOLDS, columns)) if training else np.zeros((FOLDS, columns))
    if seeds > 1:
        folds, shared, repeat = (np.repeat(each, seeds, axis=-1) for each in (folds, shared, repeat))
        columns *= seeds
    base = np.where(rng.random(groups) < world.failures, world.fail, world.mu + rng.normal(0, a, groups))
    model = shared + rng.normal(0, m, (FOLDS, columns))
    cell = base[:, None] + model[folds, np.arange(columns)] + rng.normal(0, x, (groups, columns))
    latent = cell[of] + rng.normal(0, b, (len(of), 1)) + rng.normal(0, e, (len(of), columns))
    y = world.shape(latent)
    start = np.cumsum(sizes) - sizes
    means = np.add.reduceat(y, start, axis=0) / sizes[:, None]
    table = GroupScores(tuple(map(str, range(groups))), means, folds,
                        repeat, sizes, 0, y, of, folds[of, 0])
    return Drawn(table, model, sizes)


def draw_difference(
    *, groups: int, columns: int, delta: float, skewed: bool, rng: Generator,
    c: float = .03, m: float = .012, x: float = .02, e: float = .05,
) -> GroupScores:
    """Differences of two candidates: the true one varies over groups with SD c, normal or c (1 - Exp(1))."""
    sizes, fold = sizes_and_folds(groups, rng)
    effect = c * (1 - rng.exponential(size=groups)) if skewed else rng.normal(0, c, groups)
    model = rng.normal(0, m * np.sqrt(2), (FOLDS, columns))
    noise = np.sqrt(2 * (x**2 + e**2 / sizes))[:, None] * rng.standard_normal((groups, columns))
    scores = delta + effect[:, None] + model[fold] + noise
    return GroupScores(tuple(map(str, range(groups))), scores, np.tile(fold[:, None], (1, columns)),
                       np.zeros(columns, np.int64), sizes, 0)


def _alike(sizes: np.ndarray, rng: Generator) -> np.ndarray:
    """A random order of the groups that swaps neighbours in size, so that folds stay balanced and differ."""
    order = np.argsort(-sizes, kind="stable")
    moved = order.copy()
    for start in range(0, len(order), 2 * FOLDS):
        block = moved[start:start + 2 * FOLDS]
        moved[start:start + 2 * FOLDS] = rng.permutation(block)
    found = np.empty(len(order), np.int64)
    found[order] = moved
    return found
