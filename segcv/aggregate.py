"""python -m segcv.aggregate: all runs of one candidate -> cv_report.md, tables, summary.json. No torch, no images."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from segcv.config import command, overrides, progress_bar, typed
from segcv.errors import ConfigError, RunError
from segcv.report_settings import AggregateCommand, PlanCommand
from segcv.settings import TARGETS

if TYPE_CHECKING:
    import pandas as pd

    from segcv.reporting import Evidence
    from segcv.splits import Split
    from segcv.statistics import Cohort, Estimate, Plan, Summary
    from segcv.sweeps import Sweep

SUSPECTS_SHOWN = 40          # images of the gallery whose truth looks wrong; the list holds more


@command("aggregate")
def main(settings: AggregateCommand) -> None:
    """Report the runs of one candidate, or a table of scores made elsewhere."""
    refuse_settings(settings)
    from segcv.reporting import write_report
    from segcv.sweeps import chosen_sweep

    if settings.results is not None:
        evidence, folder = evidence_of_results(settings), Path(settings.out or "report")
    else:
        sweep, leaking = chosen_sweep(Path(settings.runs), candidate=settings.candidate,
                                      config_id=settings.config_id)
        evidence = evidence_of_runs(settings, sweep, leaking)
        folder = folder_of(settings, sweep)
    report = write_report(folder, evidence, html=settings.report.html, language=settings.report.language)
    for line in headlines(evidence):
        print(line)
    print_table(evidence, settings.report.language)
    print(f"Report: {report}")
    if settings.report.html:
        print(f"Page:   {report.with_suffix('.html')}")
    print(f"Tables: {folder / 'tables'}{os.sep}")
    if evidence.suspects is not None and len(evidence.suspects):
        kept = evidence.kept is not None and evidence.kept.resolve() == (folder / "relabel.csv").resolve()
        print(f"Is the truth right? {len(evidence.suspects)} images to look at: "
              f"{folder / ('tables/relabel.csv' if kept else 'relabel.csv')}")


def folder_of(settings: AggregateCommand, sweep: Sweep) -> Path:
    """Where the report of these runs goes."""
    from segcv.sweeps import set_name

    return Path(settings.out) if settings.out else Path(settings.runs) / set_name(sweep[0]) / "report"


def without_suspects(folder: Path) -> str:
    """What to type to see this report without the images of its list."""
    import shlex

    own = [text for text in overrides() if text.split("=")[0] != "report.exclude"]
    place = (folder / "relabel.csv").as_posix()
    value = place if all(sign.isalnum() or sign in "/._-" for sign in place) else f"'{place}'"   # as Hydra reads it
    return " ".join(["python -m segcv.aggregate", *map(shlex.quote, [*own, f"report.exclude={value}"])])


def print_table(evidence: Evidence, language: str) -> None:
    """The most important numbers, for people."""
    from rich.box import SIMPLE
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from segcv.reporting import terminal_rows

    table = Table(box=SIMPLE, show_header=False, pad_edge=False)
    table.add_column(overflow="fold")
    table.add_column(justify="right", no_wrap=True)
    table.add_column(overflow="fold")
    for row in terminal_rows(evidence, language=language):
        table.add_row(*map(Text, row))               # names are no markup
    Console(highlight=False).print(table)


def evidence_of_results(settings: AggregateCommand) -> Evidence:
    """What a plain table of fold scores supports."""
    from segcv.reporting import Evidence
    from segcv.statistics import read_results, summarise_results

    path = Path(str(settings.results))
    table, unit = read_results(path)
    if settings.candidate is not None:
        table = table[table["candidate"] == settings.candidate]
        if table.empty:
            raise RunError(f"{path} has no row of candidate={settings.candidate}.")
    summaries = summarise_results(table, folds=settings.folds, seeds=settings.seeds, level=settings.level, unit=unit,
                                  allow_missing=settings.allow_missing)
    return Evidence(results=summaries, unit=unit, source=str(path))


def evidence_of_runs(settings: AggregateCommand, sweep: Sweep, leaking: Sweep) -> Evidence:
    """What the scores of a sweep say, with the data and the split they stand on."""
    from segcv.reporting import SECOND_READER, Evidence
    from segcv.statistics import column_weights, group_features, own_seeds, summarise
    from segcv.study import EXTERNAL
    from segcv.sweeps import (
        confusion_of,
        hold_out_of,
        images_without,
        kept_overrides,
        outlines_of,
        probabilities_of,
        read_excluded,
        rerun_commands,
        rung_of,
        scores_of,
        split_of,
        table_of,
        train_scores_of,
        without,
    )
    from segcv.tables import read_json

    runs = Path(settings.runs)
    first, split = sweep[0], split_of(sweep[0])
    config = read_json(runs / first.run_id / "config.json")
    again = kept_overrides(config["overrides"])
    target = settings.target or split.target
    every = scores_of(runs, sweep, split)
    kept = Path(settings.report.exclude) if settings.report.exclude else None
    if kept is not None and not kept.is_file():
        raise ConfigError(f"report.exclude={kept}: there is no such file. Type the path of the list, a CSV with "
                          f"image_id and reason; a report writes one: report.exclude="
                          f"{(folder_of(settings, sweep) / 'relabel.csv').as_posix()}")
    excluded = None if kept is None else read_excluded(kept, set(every["image_id"].unique()))
    left_out = frozenset() if excluded is None else frozenset(excluded["image_id"])
    scores = without(every, left_out)
    refuse_empty_runs(scores, sweep, settings)
    rungs = {name: rung_of(runs, name, scores, setting="report.baselines") for name in settings.report.baselines}
    if settings.report.second_reader is not None:
        rungs[SECOND_READER] = rung_of(runs, settings.report.second_reader, scores, setting="report.second_reader")
    asked: dict[str, Any] = {
        "folds": split.folds, "repeats": split.repeats, "class_names": split.class_names, "target": target,
        "level": settings.level, "allow_missing": settings.allow_missing, "overrides": again,
        "seeds": settings.seeds if settings.seeds is not None else sorted({record.seed for record in sweep}),
        "own": settings.seeds is None and own_seeds(table_of(sweep)),
        "command": f"python -m segcv.{'evaluate' if first.trained_elsewhere else 'train'}"}
    images, trained = images_without(split, left_out), train_scores_of(runs, sweep)
    summary = summarise(
        scores, table_of(sweep), images=images, masks=split.masks[split.masks["class_id"] >= 0],
        roles=split.roles if split.roles["role"].eq("train").any() else None,
        train_scores=None if trained is None else without(trained, left_out), profile=split.profile, rungs=rungs,
        leaking=((without(scores_of(runs, leaking, split_of(leaking[0])), left_out), table_of(leaking))
                 if leaking and not split.known_groups else None),
        hold_out=((without(scores_of(runs, single, split_of(single[0])), left_out), table_of(single))
                  if (single := hold_out_of(runs, sweep)) else None),
        weights=None if settings.report.weights is None else column_weights(images, settings.report.weights), **asked)
    plans = planned_of(summary)
    cohort, unproven_there = cohort_of(settings, sweep, split, scores)
    marks: tuple[str, ...] = () if target == split.target else (
        f"The primary target is {target}; the split declared {split.target} before scores existed.",)
    if settings.allow_missing and len(summary.missing):
        marks += (f"{len(summary.missing)} runs are missing (allow_missing=true).",)
    named = settings.external is not None or split.settings["split"]["name"] == EXTERNAL
    if cohort is not None and not cohort.drop:
        marks += (f"Frozen, no folds: {cohort.valid_for}",)
    found = findings_of(settings, split)
    return Evidence(
        audit_command=audit_command(runs, sweep), torn_levels=torn_levels(found, split),
        cohort_named=named, summary=summary,
        source=f"{split.settings['data']['table'] or split.settings['data']['images'] or 'demo data'}",
        images=split.images, balance=balance_of(split), findings=found,
        probabilities=probabilities_of(runs, sweep, split, left_out=left_out),
        outlines=outlines_of(runs, sweep, split, left_out=left_out), cohort=cohort,
        split=split_facts(split),
        leaking=any(record.leaking for record in sweep), known_groups=split.known_groups,
        unproven=sum(not record.held_out_proof for record in sweep), unproven_there=unproven_there,
        model=first.model, settings=config["config"],
        software=first.environment["versions"],
        fingerprints={"data_id": first.data_id, "split_id": first.split_id, "config_id": first.config_id,
                      "recipe_id": first.recipe_id},
        commands=(*rerun_commands(again, sweep), f"python -m segcv.aggregate {typed()}".rstrip()), marks=marks,
        notes=split.notes, confusion=confusion_of(runs, sweep, split.class_names, left_out=left_out),
        planned=plans.get("planned"), compared=plans.get("compared"), effect_sd=PlanCommand.effect_sd,
        features=group_features(images, profile=split.profile, shares=summary.shares),
        excluded=excluded, kept=kept, exclude_command=without_suspects(folder_of(settings, sweep)),
        with_excluded=None if excluded is None else headline_of(every, sweep, asked),
        **pictures_of(settings, sweep, split, summary.images, scores))


def cohort_of(settings: AggregateCommand, sweep: Sweep, split: Split,
              scores: pd.DataFrame) -> tuple[Cohort | None, int]:
    """What frozen models do on groups that no fold was cut from: those of this sweep, or of the folder `external`;
    and how many runs of that folder may have been trained on what they are scored on."""
    from segcv.statistics import cohort, scored_images
    from segcv.sweeps import chosen_sweep, scores_of, split_of, table_of

    frozen = split.folds == 1 and split.trained_elsewhere
    if settings.external is None and not frozen:
        return None, 0
    inside = scored_images(scores, runs=table_of(sweep), class_names=split.class_names)
    if settings.external is None:
        return cohort(inside, level=settings.level), 0
    if frozen or sweep[0].leaking or split.known_groups:
        why = ("has no folds itself" if frozen else "was cut so that groups are in training and testing")
        raise ConfigError(f"external={settings.external} needs a cross-validation by groups in runs={settings.runs}, "
                          f"and {set_title(sweep)} {why}.")
    outside = chosen_sweep(Path(settings.external), candidate=sweep[0].candidate)[0]
    there = split_of(outside[0])
    found = cohort(scored_images(scores_of(Path(settings.external), outside, there), runs=table_of(outside),
                                 class_names=there.class_names), inside=inside, level=settings.level)
    return found, sum(not record.held_out_proof for record in outside)


def set_title(sweep: Sweep) -> str:
    """A sweep in a message."""
    return f"{sweep[0].candidate} (split {sweep[0].split_name})"


def refuse_empty_runs(scores: pd.DataFrame, sweep: Sweep, settings: AggregateCommand) -> None:
    """Refuse a list of images to leave out that leaves a run without any."""
    empty = sorted({record.run_id for record in sweep} - set(scores["run_id"].unique()))
    if empty:
        raise RunError(f"report.exclude={settings.report.exclude} leaves {empty[0]} without one scored image. Leave "
                       "fewer out; a fold that nobody scores is no cross-validation.")


def headline_of(scores: pd.DataFrame, sweep: Sweep, asked: dict[str, Any]) -> Estimate:
    """The headline of these scores alone."""
    import warnings

    from segcv.statistics import summarise
    from segcv.sweeps import table_of

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")              # said of the numbers that are reported; this one stands beside
        return summarise(scores, table_of(sweep), **asked).headline


def planned_of(summary: Summary) -> dict[str, Plan]:
    """What more groups and seeds would show of this recipe, and of it beside one like it; empty where unknown."""
    from segcv.statistics import plan, spread_of, spread_of_difference

    components = summary.sources.components["equal_group"] if summary.sources is not None else None
    if components is None or components.groups < 5:
        return {}
    try:
        own = spread_of(components)
        pair = spread_of_difference(own, effect_sd=PlanCommand.effect_sd)
        return {name: plan(spread, groups=components.groups, columns=components.columns, level=summary.level,
                           question=question)
                for name, spread, question in (("planned", own, "recipe"), ("compared", pair, "comparison"))}
    except (RunError, ConfigError):
        return {}


def pictures_of(settings: AggregateCommand, sweep: Sweep, split: Split, images: pd.DataFrame,
                scores: pd.DataFrame) -> dict[str, Any]:
    """Small pictures for the gallery with their legend, and the images whose truth looks wrong, if asked for."""
    if not (settings.report.html and settings.report.pictures):
        return {}
    from segcv.reporting import Picture
    from segcv.sweeps import cut_pictures, legend_of, suspect_images

    runs = Path(settings.runs)
    suspects = suspect_images(runs, sweep, split, images, progress=progress_bar)
    found = cut_pictures(runs, sweep, split, images, scores, progress=progress_bar,
                         suspects=suspects["image_id"].head(SUSPECTS_SHOWN).tolist())
    reasons = dict(zip(suspects["image_id"], suspects["reason"], strict=True))
    return {"suspects": suspects, "legend": legend_of(split), "pictures": tuple(Picture(
        one.image_id, one.group_id, str(one.fold), one.classes, one.score, one.why, one.panels, one.scores,
        reasons.get(one.image_id, "")) for one in found)}


def findings_of(settings: AggregateCommand, split: Split) -> pd.DataFrame | None:
    """The findings of the audit of these data and this split; None where there is none."""
    from segcv.tables import FINDINGS, read_json

    about = Path(settings.audit) / "summary.json"
    seen = read_json(about) if about.is_file() else {}
    if (seen.get("data_id"), seen.get("split_id")) != (split.data_id, split.split_id):
        return None
    return FINDINGS.read(Path(settings.audit) / "findings.csv")


def torn_levels(findings: pd.DataFrame | None, split: Split) -> tuple[str, ...]:
    """What the audit found torn, group or coarser id; without an audit, what was said when the split was cut."""
    if findings is None:
        from segcv.study import level_notes

        return level_notes(split.notes)
    torn = findings[findings["check"].eq("groups_whole") & findings["severity"].isin(["fail", "warn"])]
    return tuple(f"{what}. {remedy}." for what, remedy in torn[["what", "remedy"]].itertuples(index=False))


def audit_command(runs: Path, sweep: Sweep) -> str:
    """What to type to audit these runs; the split is named where the folder holds others."""
    import shlex

    from segcv.runs import find_runs

    folder, here = Path(sweep[0].split_folder), Path.cwd()
    said = [f"runs={runs.as_posix()}"]
    if len({record.split_folder for record in find_runs(runs)}) > 1:
        place = folder.relative_to(here) if folder.is_relative_to(here) else folder
        said.append(f"split_folder={place.as_posix()}")
    return " ".join(["python -m segcv.audit", *map(shlex.quote, said)])


def balance_of(split: Split) -> pd.DataFrame:
    """The balance table of the split."""
    import pandas as pd

    return pd.DataFrame(split.manifest["balance"]).rename(
        columns={f"share_{number}": f"{name} share" for number, name in enumerate(split.class_names)})


def split_facts(split: Split) -> dict[str, Any]:
    """How the split was cut."""
    chosen = {key: value for key, value in split.settings["split"].items() if value not in (None, [], "")}
    return chosen | {"folds": split.folds, "folder": str(split.folder)}


def headlines(evidence: Evidence) -> list[str]:
    """What the terminal says: the number, its interval, and what to type for the rest."""
    from segcv.statistics import Summary

    summaries = evidence.results or ((evidence.summary,) if evidence.summary is not None else ())
    lines = []
    for summary in summaries:
        if isinstance(summary, Summary):
            estimate = summary.bounded if summary.bounded_first else summary.headline
        else:
            estimate = summary.mean
        proven = "  [held-out not proven]" if evidence.unproven else ""
        lines.append(f"{summary.candidate}: {number(estimate)}{proven}")
        if isinstance(summary, Summary):
            lines += [f"images by their weights: {number(each)}" for each in summary.targets.get("weighted", ())]
        lines += [f"Still to run: {text}" for text in summary.rest]
    if evidence.cohort is not None:
        found, proven = evidence.cohort, "  [held-out not proven]" if evidence.unproven_there else ""
        what = "external cohort" if evidence.cohort_named else "predictions without folds"
        lines += [f"{what}, {each.method}: {number(each)}{proven}" for each in found.targets["equal_group"]]
        lines += [f"drop to the external cohort: {number(each)}{proven}" for each in found.drop.values()]
        lines.append(found.valid_for)
    return lines


def number(estimate: Estimate) -> str:
    """A value with its interval, or why there is none."""
    value = "n/a" if estimate.value != estimate.value else f"{estimate.value:.3f}"
    sure = (f"{estimate.low:.3f} to {estimate.high:.3f} at {estimate.level:.0%}" if estimate.has_interval
            else f"no interval: {estimate.note}")
    return f"{estimate.unit} {value} ({sure}; {estimate.target})"


def refuse_settings(settings: AggregateCommand) -> None:
    """Refuse settings that have no effect or are not known."""
    if settings.target is not None and settings.target not in TARGETS:
        raise ConfigError(f"target={settings.target} is not known; use one of {', '.join(TARGETS)}.")
    if settings.results is None and settings.folds is not None:
        raise ConfigError(f"folds={settings.folds} has an effect with results=FILE only; runs know their folds.")
    if settings.results is not None:
        given = {name: getattr(settings, name) for name in ("config_id", "target", "external")} | {
            f"report.{name}": getattr(settings.report, name) or None for name in
            ("baselines", "second_reader", "exclude", "weights")}
        for name, value in given.items():
            if value is not None:
                raise ConfigError(f"{name}={value} has no effect on a results table.")


if __name__ == "__main__":
    main()
