"""python -m segcv.plan: from a pilot, or stated components, to the groups, seeds or repeats that a precision takes."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from segcv.config import command
from segcv.errors import ConfigError
from segcv.report_settings import PlanCommand

if TYPE_CHECKING:
    import pandas as pd

    from segcv.statistics import Candidate, Plan, Spread


@command("plan")
def main(settings: PlanCommand) -> None:
    """Say what is reached, what a wanted precision takes, which of groups and models binds, and how to run it."""
    refuse_settings(settings)
    from segcv.statistics import plan

    spread, groups, columns, one_partition, typed, score = pilot(settings)
    found = plan(spread, groups=settings.groups or groups, columns=settings.columns or columns,
                 interval=settings.interval, difference=settings.difference, level=settings.level, power=settings.power,
                 question="comparison" if settings.against or settings.difference is not None else "recipe",
                 one_partition=one_partition, typed=typed)
    page = "\n".join([*score, *lines_of(found)])
    print(page)
    if settings.out:
        from segcv.tables import write_json, write_text

        write_text(Path(settings.out) / "plan.md", "# Plan\n\n" + page + "\n")
        write_json(Path(settings.out) / "plan.json", {
            "aim": found.aim, "wanted": found.wanted, "reached": found.reached, "groups": found.groups,
            "columns": found.columns, "floor": found.floor, "binds": found.binds,
            "groups_needed": {str(key): value for key, value in found.groups_needed.items()},
            "columns_needed": found.columns_needed, "table": found.table.to_dict("records"),
            "designs": [asdict(design) for design in found.designs], "advice": found.advice})


def pilot(settings: PlanCommand) -> tuple[Spread, int, int, bool, tuple[str, ...], tuple[str, ...]]:
    """The spread to plan with, and the groups and columns of the pilot; are its folds given by a table or by time; the
    settings that were typed for it; and which score is planned for, where it is not aggregate's headline."""
    from segcv.statistics import Spread, spread_of, spread_of_difference

    stated = settings.components
    if stated.group is not None and stated.model is not None:
        spread = Spread(stated.group ** 2, stated.interaction ** 2 + stated.residual ** 2 * stated.h,
                        stated.model ** 2, stated.folds)
        if settings.difference is not None:
            spread = spread_of_difference(spread, effect_sd=settings.effect_sd)
        assert settings.groups is not None
        return spread, settings.groups, settings.columns or 1, False, (), ()
    from segcv.statistics import compare_candidates, decompose, group_scores
    from segcv.sweeps import chosen_sweep, kept_overrides, split_of
    from segcv.tables import read_json

    runs = Path(settings.runs)
    sweep = chosen_sweep(runs, candidate=settings.candidate, config_id=settings.config_id)[0]
    split = split_of(sweep[0])
    fixed = sweep[0].split_name in ("from_table", "time", "known_groups")
    typed = () if sweep[0].trained_elsewhere else tuple(shlex.split(kept_overrides(
        read_json(runs / sweep[0].run_id / "config.json")["overrides"])))
    first = candidate_of(runs, sweep, policy_name=sweep[0].candidate)
    if settings.against is not None:
        other = candidate_of(runs, chosen_sweep(runs, candidate=settings.against)[0], policy_name=settings.against)
        pair = compare_candidates([first, other], target=split.target, level=settings.level).pairs[0].overall
        return pair.spread, pair.groups, pair.columns, fixed, typed, ()
    from segcv.metrics import image_scores

    groups = group_scores(first.scored, image_scores(first.scored.counts, policy="truth"))
    components = decompose(groups, level=settings.level)
    headline = group_scores(first.scored, image_scores(first.scored.counts, policy="union"))
    spread = spread_of(components)
    if settings.difference is not None:
        spread = spread_of_difference(spread, effect_sd=settings.effect_sd)
    return spread, components.groups, components.columns, fixed, typed, (
        "This plan is of the mIoU under the absent-class policy truth, whose cells are the same in every run "
        f"({groups.means.mean():.3f} here, the mean over groups); aggregate's headline is under union "
        f"({headline.means.mean():.3f}, the mean over groups).", "")


def candidate_of(runs: Path, sweep: list, *, policy_name: str) -> Candidate:  # type: ignore[type-arg]
    """The scores of a sweep as a candidate."""
    from segcv.statistics import candidate
    from segcv.sweeps import scores_of, split_of, table_of

    split = split_of(sweep[0])
    return candidate(policy_name, scores_of(runs, sweep, split), table_of(sweep), class_names=split.class_names)


def lines_of(found: Plan) -> list[str]:
    """The plan in words and one table: what is reached by so many groups and columns (seeds or repeats)."""
    what = "half-width of the interval" if found.aim == "half-width" else "smallest true difference that shows"
    lines = [f"With {found.groups} groups and {found.columns} columns (seeds or repeats): {what} {found.reached:.4f}; "
             f"with endless groups {found.floor:.4f}. What limits it: {found.binds}.", "", found.advice, ""]
    if found.wanted is not None:
        lines += [f"Wanted: {found.wanted:g}", "", "| columns | groups needed |", "|---:|---:|"]
        lines += [f"| {columns} | {'out of reach' if groups is None else groups} |"
                  for columns, groups in found.groups_needed.items()]
        lines.append("")
    wide: pd.DataFrame = found.table.pivot(index="groups", columns="columns", values=found.table.columns[3])
    lines += ["| groups \\ columns | " + " | ".join(map(str, wide.columns)) + " |",
              "|---:|" + "---:|" * len(wide.columns)]
    lines += [f"| {groups} | " + " | ".join("n/a" if value != value else f"{value:.4f}" for value in row) + " |"
              for groups, row in zip(wide.index, wide.to_numpy(), strict=True)]
    lines += ["", "How to run it (the first is recommended):", ""]
    for design in found.designs:
        lines.append(f"- {design.name}: {design.runs} networks; {design.why}")
        lines += [f"      {typed}" for typed in design.commands]
    return lines


def refuse_settings(settings: PlanCommand) -> None:
    """Refuse settings that contradict each other, or that have no effect."""
    if settings.interval is not None and settings.difference is not None:
        raise ConfigError("interval and difference are both given; plan for one of them.")
    for name in ("interval", "difference"):
        value = getattr(settings, name)
        if value is not None and not 0 < value < 1:
            raise ConfigError(f"{name}={value} must lie between 0 and 1.")
    stated = settings.components
    if stated.group is None and stated.model is None:
        return
    if stated.group is None or stated.model is None:
        raise ConfigError(f"components: {'group' if stated.group is None else 'model'} is missing. State standard "
                          "deviations: 'components={group:.06,model:.012,interaction:.02,residual:.05,h:.137}'.")
    if settings.groups is None:
        raise ConfigError("components needs groups=NUMBER: how many there are.")
    if settings.candidate is not None or settings.against is not None:
        raise ConfigError("candidate and against have no effect beside components.")


if __name__ == "__main__":
    main()
