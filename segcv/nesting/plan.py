"""Which groups play which part in which fit, decided before anything is fitted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from segcv.errors import SplitError

FINAL, DELIVERED = "final", "delivered"


@dataclass(frozen=True, slots=True)
class Parts:
    """Groups of one fit: base fit, calibration, and the groups whose loss is taken (none for the delivered model)."""

    base: tuple[str, ...]
    calibration: tuple[str, ...]
    judged: tuple[str, ...]

    def __post_init__(self) -> None:
        everything = [*self.base, *self.calibration, *self.judged]
        if len(set(everything)) != len(everything):
            twice = sorted({group for group in everything if everything.count(group) > 1})
            raise SplitError(f"groups {', '.join(twice[:3])} would play two parts in one fit; each plays one.")


@dataclass(frozen=True, slots=True)
class FitPlan:
    """One fit of one candidate. `inner` is None for the refit of the chosen one."""

    outer: int
    inner: int | None
    parts: Parts

    @property
    def name(self) -> str:
        """`outer-0/inner-1` or `outer-0/final`; of the delivered model `delivered/inner-1` or `delivered/final`."""
        outer = DELIVERED if self.outer < 0 else f"outer-{self.outer}"
        return f"{outer}/" + (FINAL if self.inner is None else f"inner-{self.inner}")


@dataclass(frozen=True, slots=True)
class OuterPlan:
    """One outer fold: the inner fits that choose, and the refit that is judged."""

    outer: int
    inner: tuple[FitPlan, ...]
    final: FitPlan


@dataclass(frozen=True, slots=True)
class NestedPlan:
    """All fits of a nested evaluation."""

    folds: tuple[OuterPlan, ...]

    def fits(self, candidates: int) -> int:
        """Base fits, and as many calibrations: K (J M + 1) for K outer folds, J inner folds and M candidates."""
        return sum(len(fold.inner) * candidates + 1 for fold in self.folds)


InnerFolds = Callable[[Sequence[str], int], Sequence[Sequence[str]]]      # training groups, outer fold -> groups of V
Halves = Callable[[Sequence[str], str], tuple[Sequence[str], Sequence[str]]]    # groups, fit name -> B and C


def plan_nested(train: Mapping[int, Sequence[str]], held_out: Mapping[int, Sequence[str]], *, inner: InnerFolds,
                halves: Halves) -> NestedPlan:
    """The plan for outer folds `held_out`, each with its training groups `train`.

    `inner` cuts the training groups of a fold into the groups each inner fold judges; `halves` cuts what is left of
    them, and for the refit all of them, into base fit and calibration. Both see group names only. Training groups need
    not be all others: rolling origin and buffers leave some out.

    Raises:
        SplitError: a fold has no group to train on or to judge, a group would play two parts, or an inner fold judges
            a group that is not a training group.
    """
    folds = []
    for outer in sorted(held_out):
        judged, training = tuple(held_out[outer]), tuple(train[outer])
        if not judged or not training:
            raise SplitError(f"outer fold {outer} has {len(training)} training groups and {len(judged)} held-out ones; "
                             "it needs both.")
        fits = []
        for number, v in enumerate(inner(training, outer)):
            strange = sorted(set(v) - set(training))
            if strange:
                raise SplitError(f"inner fold {number} of outer fold {outer} judges {', '.join(strange[:3])}, which "
                                 "is no training group of it.")
            name = FitPlan(outer, number, Parts((), (), tuple(v))).name
            base, calibration = halves([group for group in training if group not in set(v)], name)
            fits.append(FitPlan(outer, number, Parts(tuple(base), tuple(calibration), tuple(v))))
        base, calibration = halves(training, f"outer-{outer}/{FINAL}")
        final = FitPlan(outer, None, Parts(tuple(base), tuple(calibration), judged))
        folds.append(OuterPlan(outer, tuple(fits), final))
    return NestedPlan(tuple(folds))


def plan_final(groups: Sequence[str], *, inner: InnerFolds, halves: Halves) -> OuterPlan:
    """The plan for the model that is delivered: the same choice and refit on all groups; nobody is left to judge it."""
    fits = []
    for number, v in enumerate(inner(groups, -1)):
        base, calibration = halves([group for group in groups if group not in set(v)], f"{DELIVERED}/inner-{number}")
        fits.append(FitPlan(-1, number, Parts(tuple(base), tuple(calibration), tuple(v))))
    base, calibration = halves(groups, f"{DELIVERED}/{FINAL}")
    return OuterPlan(-1, tuple(fits), FitPlan(-1, None, Parts(tuple(base), tuple(calibration), ())))


def take_turns(groups: Sequence[str], folds: int) -> list[list[str]]:
    """Contiguous blocks of almost equal size, the first ones larger.

    >>> take_turns(["a", "b", "c", "d", "e"], 2)
    [['a', 'b', 'c'], ['d', 'e']]
    """
    if not 1 <= folds <= len(groups):
        raise SplitError(f"{folds} inner folds cannot be cut from {len(groups)} training groups; use at least 1 and at "
                         f"most {len(groups)}.")
    size, more = divmod(len(groups), folds)
    ends = [size * (k + 1) + min(k + 1, more) for k in range(folds)]
    return [list(groups[start:end]) for start, end in zip([0, *ends[:-1]], ends, strict=True)]
