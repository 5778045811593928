"""What every benchmark shares: rivals timed in turn within one run, and a table of rows with their goals."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

Work = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Row:
    """One comparison. `ratio`: the rival's figure divided by ours, where there is a rival."""

    work: str
    ours: str
    rival: str
    ratio: str
    goal: str
    met: bool | None = None        # None: shown for information, no goal


def seconds(works: Mapping[str, Work], *, rounds: int = 7, warm_up: int = 1,
            clock: Callable[[], float] = time.perf_counter) -> dict[str, list[float]]:
    """Seconds of each work in each round; works take turns within a round, so that a slow moment hits all of them.

    `clock`: of one thread's work `time.process_time` leaves out what else runs on the machine.
    """
    for _ in range(warm_up):
        for work in works.values():
            work()
    taken: dict[str, list[float]] = {name: [] for name in works}
    for turn in range(rounds):
        names = list(works)
        for name in names[turn % len(names):] + names[:turn % len(names)]:
            start = clock()
            works[name]()
            taken[name].append(clock() - start)
    return taken


def ratio(taken: Mapping[str, list[float]], rival: str, *, ours: str = "segcv") -> float:
    """Median over rounds of the rival's seconds divided by ours."""
    return statistics.median(theirs / mine for theirs, mine in zip(taken[rival], taken[ours], strict=True))


def fastest(taken: Mapping[str, list[float]], *, ours: str = "segcv") -> str:
    """The rival with the smallest median."""
    return min((name for name in taken if name != ours), key=lambda name: statistics.median(taken[name]))


def at_least(work: str, taken: Mapping[str, list[float]], rival: str, goal: float, *, ours: str = "segcv",
             shown: Callable[[float], str] = lambda value: f"{1000 * value:.3g} ms") -> Row:
    """The row of a goal `rival takes at least goal times as long as we do`."""
    found = ratio(taken, rival, ours=ours)
    mine, theirs = (statistics.median(taken[name]) for name in (ours, rival))
    return Row(work, shown(mine), f"{rival} {shown(theirs)}", f"{found:.2f}x", f">= {goal:g}x", found >= goal)


def at_most(work: str, value: float, goal: float, *, unit: str, rival: str = "") -> Row:
    """The row of a goal `this figure is at most goal`."""
    return Row(work, f"{value:.3g} {unit}", rival, "", f"<= {goal:g} {unit}", value <= goal)


def finish(rows: list[Row]) -> None:
    """Print the table as Markdown and end the process: 0, or 1 where a goal is missed."""
    print("| work | ours | rival | ratio | goal | |\n|---|---|---|---|---|---|")
    for row in rows:
        verdict = {True: "met", False: "MISSED", None: ""}[row.met]
        print(f"| {row.work} | {row.ours} | {row.rival} | {row.ratio} | {row.goal} | {verdict} |")
    sys.exit(any(row.met is False for row in rows))
