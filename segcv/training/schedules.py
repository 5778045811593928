"""Learning rates as a function of the step alone, so that a resumed fit needs no scheduler state."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from math import cos, pi

from segcv.errors import ConfigError


def one_cycle(step: int, *, steps: int, warmup: int) -> float:
    """Share of the peak rate: a cosine up from 1/25, then a cosine down to 1/250000 (after Smith & Topin 2017)."""
    low, end = 1 / 25, 1 / 25 / 1e4
    if step < warmup:
        return low + (1 - low) * _half_cosine(step / warmup)
    return 1 - (1 - end) * _half_cosine((step - warmup) / max(1, steps - 1 - warmup))


def cosine(step: int, *, steps: int, warmup: int) -> float:
    """Share of the peak rate: straight up over the warm-up, then a cosine towards 0."""
    if step < warmup:
        return (step + 1) / (warmup + 1)
    return 1 - _half_cosine((step - warmup) / max(1, steps - warmup))


def constant(step: int, *, steps: int, warmup: int) -> float:
    """Share of the peak rate: straight up over the warm-up, then 1."""
    return (step + 1) / (warmup + 1) if step < warmup else 1.0


SCHEDULES: dict[str, Callable[..., float]] = {"one_cycle": one_cycle, "cosine": cosine, "constant": constant}


def learning_rate(schedule: str, *, peak: float, steps: int, warmup: float) -> Callable[[int], float]:
    """The learning rate at each step 0..steps-1; `warmup` is the share of all steps spent rising, in [0, 1).

    Raises:
        ConfigError: the schedule is unknown, or the warm-up is no share.
    """
    if schedule not in SCHEDULES:
        near = get_close_matches(schedule, SCHEDULES, n=1)
        raise ConfigError(f"schedule={schedule} is unknown{f'; did you mean {near[0]}?' if near else '.'} "
                          f"Choose from {', '.join(SCHEDULES)}.")
    if not 0 <= warmup < 1:
        raise ConfigError(f"warmup={warmup} must be a share of the steps, from 0 to below 1.")
    shape, rising = SCHEDULES[schedule], round(warmup * steps)

    def rate(step: int) -> float:
        return peak * shape(step, steps=steps, warmup=rising)

    return rate


def _half_cosine(share: float) -> float:
    """0 at 0, 1 at 1, flat at both ends."""
    return (1 - cos(pi * min(1.0, share))) / 2
