"""From a pilot, or from stated variances: how many groups, seeds or repeats reach a wanted precision, and which binds.

Numbers in brackets are the definitions of the methods page.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import special

from segcv.errors import ConfigError, RunError
from segcv.statistics.components import Components
from segcv.statistics.intervals import FEWEST_GROUPS
from segcv.statistics.spread import Spread, binding, detectable_difference

GROUPS = (8, 12, 20, 30, 50, 80, 120, 200, 300, 500)
COLUMNS = (1, 2, 3, 5, 8, 10)
MOST_GROUPS, MOST_COLUMNS = 100_000, 100
OF_ANY_SPLIT = ("split.target=", "split.locked_groups=")
WHOLE = 12                     # up to so many groups leave-one-group-out costs little more than five folds


@dataclass(frozen=True, slots=True)
class Design:
    """How to run (leave_one_group_out, seeds, repeats, training_group_bootstrap), its cost in networks, and why."""

    name: str
    folds: int
    columns: int
    runs: int
    why: str
    commands: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """What a precision costs.

    `table` has one row per number of groups and columns (seeds or repeats): runs, half-width of the interval (or the
    smallest detectable difference) and what binds. `groups_needed` maps numbers of columns to the groups they need,
    `columns_needed` is how many columns the groups at hand need; None: out of reach at any number, because the other
    one binds. `floor` is what is left with endless groups at the columns at hand.
    """

    aim: str                   # "half-width" or "difference"
    wanted: float | None
    reached: float             # with the groups and columns at hand
    groups: int
    columns: int
    floor: float
    binds: str
    groups_needed: dict[int, int | None]
    columns_needed: int | None
    table: pd.DataFrame
    designs: tuple[Design, ...]
    advice: str


def spread_of(components: Components) -> Spread:
    """What planning needs of one candidate's mean: groups with their images, interaction with its noise, models.

    Raises:
        RunError: the pilot has one column, or every group is a fold of its own: the model's part is unknown.
    """
    parts = [components.group.value, components.interaction.value, components.model.value]
    if not np.isfinite(parts).all():
        raise RunError("The pilot does not say how much models vary (one seed, or one group in every fold). Run "
                       "seed=0,1,2 on fewer folds than groups, or state the variances.")
    image, residual = (np.nan_to_num(part.value) if components.repeats == 1 else 0.0
                       for part in (components.image, components.residual))
    h = components.h
    return Spread(components.group.value + image * h, components.interaction.value + residual * h,
                  components.model.value, components.folds)


def spread_of_difference(one: Spread, *, effect_sd: float) -> Spread:
    """What planning needs of the difference of two candidates that each vary like `one` [13].

    `effect_sd` is how much the true difference varies from group to group; only a comparison can measure it.
    """
    if not effect_sd >= 0:
        raise ConfigError(f"effect_sd={effect_sd}: the spread of the true differences over groups is not negative.")
    return Spread(effect_sd**2, 2 * one.interaction, 2 * one.model, one.folds)


def half_width(spread: Spread, *, groups: float, columns: int, level: float = 0.95) -> float:
    """Expected half-width of the recipe's interval of a mean; NaN with one column (the model term is unknown)."""
    variance, df = _variance(spread, groups, columns)
    if columns < 2:
        return np.nan
    return float(special.stdtrit(df, 0.5 + level / 2)) * float(np.sqrt(variance))


def detectable(spread: Spread, *, groups: float, columns: int, level: float = 0.95, power: float = 0.8) -> float:
    """The smallest difference found with this power [13]; with one column by the paired t over folds, df K - 1.

    >>> figures = Spread(group=.03**2, interaction=2 * (.02**2 + .05**2 * .137), model=2 * .012**2, folds=5)
    >>> [round(detectable(figures, groups=g, columns=3), 3) for g in (8, 20, 50, 200)]
    [0.044, 0.027, 0.02, 0.015]
    """
    variance, df = _variance(spread, groups, columns)
    return detectable_difference(variance, df, level=level, power=power)


def plan(
    spread: Spread, *, groups: int, columns: int = 1, interval: float | None = None, difference: float | None = None,
    level: float = 0.95, power: float = 0.8, question: str = "recipe", one_partition: bool = False,
    typed: Sequence[str] = (), try_groups: Sequence[int] = GROUPS, try_columns: Sequence[int] = COLUMNS,
) -> Plan:
    """How many groups, seeds or repeats reach an interval of half-width `interval`, or show a true `difference`.

    `spread` is that of one score for an interval and that of a difference for a difference. `groups` and `columns`
    are those at hand. `question` is "recipe" (a mean for the recipe), "comparison" or "seed_noise"; `one_partition`
    says that the folds cannot be cut again (they come from a table, or from time); `typed` are the settings of the
    pilot, repeated in the commands of the designs. Neither asked: what is reached.

    >>> figures = Spread(group=.03**2, interaction=2 * (.02**2 + .05**2 * .137), model=2 * .012**2, folds=5)
    >>> found = plan(figures, groups=50, columns=3, difference=.012)
    >>> found.groups_needed[3], found.groups_needed[5], found.binds
    (None, 198, 'groups')

    Raises:
        ConfigError: both or impossible aims, too few groups or columns, or a spread that is not known.
    """
    _check(spread, groups, columns, interval, difference, question)
    by_difference = difference is not None or (interval is None and question == "comparison")
    wanted = difference if by_difference else interval

    def reach(g: float, s: int) -> float:
        if by_difference:
            return detectable(spread, groups=g, columns=s, level=level, power=power)
        return half_width(spread, groups=g, columns=s, level=level)

    name = "detectable difference" if by_difference else "half-width"
    rows = [{"groups": g, "columns": s, "runs": spread.folds * s, name: reach(g, s),
             "binds": binding(spread, groups=g, columns=s)}
            for g in sorted({*try_groups, groups}) for s in sorted({*try_columns, columns})]
    table = pd.DataFrame(rows)
    table["reached"] = table[name] <= wanted if wanted is not None else pd.NA
    needed: dict[int, int | None] = {}
    columns_needed = None
    if wanted is not None:
        enough = wanted

        def groups_for(s: int) -> int | None:
            return _smallest(lambda g: reach(g, s) <= enough, FEWEST_GROUPS, MOST_GROUPS)

        needed = {s: groups_for(s) for s in sorted({*try_columns, columns})}
        columns_needed = _smallest(lambda s: reach(groups, s) <= enough, 1, MOST_COLUMNS)
    binds = binding(spread, groups=groups, columns=columns)
    made = designs(groups, folds=spread.folds, columns=columns_needed or max(3, columns), question=question,
                   one_partition=one_partition, typed=typed)
    reached, floor = reach(groups, columns), reach(np.inf, columns)
    return Plan("difference" if by_difference else "half-width", wanted, reached, groups, columns, floor, binds, needed,
                columns_needed, table, made, _advice(name, wanted, reached, floor, groups, columns, binds,
                                                     needed.get(columns), columns_needed, spread.folds))


def designs(
    groups: int, *, folds: int = 5, columns: int = 3, question: str = "recipe", one_partition: bool = False,
    typed: Sequence[str] = (),
) -> tuple[Design, ...]:
    """Ways to run for this number of groups, the recommended one first, each with its cost in trained networks.

    Conventions: below 5 groups nothing but a bounded interval is possible, so every group is left out once; up to 12
    leave-one-group-out costs little more than five folds and trains on most; above, repeats (a new partition and a
    new seed each, the same for both candidates of a comparison), seeds when seed noise alone is asked; the
    training-group bootstrap where the folds cannot be cut again. `typed` settings end each command, but for those that
    the design says itself.

    >>> [(design.name, design.runs) for design in designs(50, columns=3)]
    [('repeats', 15), ('seeds', 15), ('leave_one_group_out', 50), ('training_group_bootstrap', 15)]
    """
    k = min(folds, groups)
    listed = ",".join(map(str, range(k)))
    seeds = ",".join(map(str, range(columns)))

    def command(said: str, *without: str) -> str:
        kept = [shlex.quote(text) for text in typed if text.startswith(OF_ANY_SPLIT) or not text.startswith(without)]
        return " ".join([f"python -m segcv.{said}", *kept])

    one_each = f"fold={','.join(map(str, range(groups)))}" if groups <= 30 else f"fold=0,1,...,{groups - 1}"
    ways = {
        "leave_one_group_out": Design(
            "leave_one_group_out", groups, 1, groups,
            "every group is tested by a network trained on all others; one network per group, so no model variance",
            (command(f"train -m split=leave_one_group_out {one_each}", "split=", "split."),)),
        "seeds": Design(
            "seeds", k, columns, k * columns, "the same folds with other seeds: seed noise alone, training sets fixed",
            (command(f"train -m fold={listed} seed={seeds}", "split.repeats=", "split.bootstrap="),)),
        "repeats": Design(
            "repeats", k, columns, k * columns,
            "a new partition and a new seed each: seeds and training sets vary, at the cost of as many seeds",
            tuple(command(f"train -m split.repeats={columns} repeat={r} seed={r} fold={listed}", "split.repeats=",
                          "split.bootstrap=") for r in range(columns))),
        "training_group_bootstrap": Design(
            "training_group_bootstrap", k, columns, k * columns,
            "the same folds, training groups redrawn with replacement: training sets vary where folds are given",
            tuple(command(f"train -m split.bootstrap=true split.repeats={columns} repeat={r} seed={r} fold={listed}",
                          "split.repeats=", "split.bootstrap=") for r in range(columns))),
    }
    if groups <= WHOLE:
        order = ["leave_one_group_out", "repeats", "seeds", "training_group_bootstrap"]
    elif question == "seed_noise":
        order = ["seeds", "repeats", "training_group_bootstrap", "leave_one_group_out"]
    else:
        order = ["repeats", "seeds", "leave_one_group_out", "training_group_bootstrap"]
    if one_partition:
        order = [name for name in order if name not in ("repeats", "leave_one_group_out")]
        if question != "seed_noise":
            order = ["training_group_bootstrap", "seeds"]
    return tuple(ways[name] for name in order)


def _variance(spread: Spread, groups: float, columns: int) -> tuple[float, float]:
    """V = v/G + model/(K S) and its Satterthwaite degrees of freedom; with one column K - 1 [13]."""
    by_groups = max(0.0, spread.group + spread.interaction / columns) / groups
    by_models = max(0.0, spread.model) / (spread.folds * columns)
    variance = by_groups + by_models
    if columns < 2:
        return variance, spread.folds - 1.0
    bottom = by_models**2 / (spread.folds * (columns - 1))
    if np.isfinite(groups):
        bottom += by_groups**2 / (groups - 1)
    return variance, variance**2 / bottom if bottom > 0 else np.inf


def _smallest(enough: Callable[[int], bool], first: int, last: int) -> int | None:
    """The smallest whole number in first..last that is enough; None where none is.

    Looked for on a geometric grid, then between two of its points: more is not always better, because few models make
    the degrees of freedom fall as groups are added.
    """
    grid = [int(each) for each in np.unique(np.geomspace(first, last, 400).round())]
    at = next((place for place, each in enumerate(grid) if enough(each)), None)
    if at is None:
        return None
    low, high = (grid[at - 1] + 1 if at else first), grid[at]
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle + 1, high)
    return low


def _advice(name: str, wanted: float | None, reached: float, floor: float, groups: int, columns: int, binds: str,
            groups_needed: int | None, columns_needed: int | None, folds: int) -> str:
    what = {"groups": "groups bind: more groups help, more seeds or repeats hardly",
            "models": "models bind: more seeds or repeats help, more groups hardly",
            "unknown": "which of groups and models binds is unknown"}[binds]
    at_hand = f"{groups} groups and {columns} column{'s' if columns > 1 else ''}"
    known = f"{name} {reached:.4f} with {at_hand}" if np.isfinite(reached) else \
        f"with {at_hand} the {name} is unknown (one seed): run seed=0,1,2"
    if wanted is None:
        return f"{known}; {what}."
    if reached <= wanted:
        return f"{known}: {wanted:g} is reached."
    ways = []
    if groups_needed is not None:
        ways.append(f"{groups_needed} groups with {columns} column{'s' if columns > 1 else ''}")
    else:
        ways.append(f"no number of groups is enough at {columns} column{'s' if columns > 1 else ''} "
                    f"(with endless groups {floor:.4f})")
    if columns_needed is not None:
        ways.append(f"{columns_needed} seeds or repeats with {groups} groups ({folds * columns_needed} runs)")
    else:
        ways.append(f"no number of seeds or repeats is enough with {groups} groups")
    return f"{known}; {what}. For {wanted:g}: {'; '.join(ways)}."


def _check(spread: Spread, groups: int, columns: int, interval: float | None, difference: float | None,
           question: str) -> None:
    if interval is not None and difference is not None:
        raise ConfigError("Plan for an interval or for a difference, not for both at once.")
    for name, value in (("interval", interval), ("difference", difference)):
        if value is not None and not 0 < value < 1:
            raise ConfigError(f"{name}={value} must lie between 0 and 1, in the unit of the score.")
    if groups < 2 or columns < 1:
        raise ConfigError(f"groups={groups} columns={columns}: a plan needs 2 or more groups and 1 or more columns.")
    if question not in ("recipe", "comparison", "seed_noise"):
        raise ConfigError(f"question={question} is not known; use recipe, comparison or seed_noise.")
    if not np.isfinite([spread.group, spread.interaction, spread.model]).all() or spread.folds < 2:
        raise ConfigError("The pilot does not say how much groups and models vary (one seed, one fold, or one group in "
                          "every fold). Run seed=0,1,2 on fewer folds than groups, or state the variances.")
