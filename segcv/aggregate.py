"""python -m segcv.aggregate: all runs of one candidate -> cv_report.md, tables, summary.json. No torch, no images."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from segcv.config import command, progress_bar
from segcv.errors import ConfigError, RunError
from segcv.settings import TARGETS, AggregateCommand

if TYPE_CHECKING:
    import pandas as pd

    from segcv.reporting import Evidence, Picture
    from segcv.splits import Split
    from segcv.statistics import Cohort, Estimate, Plan, Summary
    from segcv.sweeps import Sweep


@command("aggregate")
def main(settings: AggregateCommand) -> None:
    """Report the runs of one candidate, or a table of scores made elsewhere."""
    refuse_settings(settings)
    from segcv.reporting import write_report
    from segcv.sweeps import chosen_sweep, set_name

    if settings.results is not None:
        evidence, folder = evidence_of_results(settings), Path(settings.out or "report")
    else:
        sweep, leaking = chosen_sweep(Path(settings.runs), candidate=settings.candidate,
                                      config_id=settings.config_id)
        evidence = evidence_of_runs(settings, sweep, leaking)
        folder = Path(settings.out) if settings.out else Path(settings.runs) / set_name(sweep[0]) / "report"
    report = write_report(folder, evidence, html=settings.report.html, language=settings.report.language)
    for line in headlines(evidence):
        print(line)
    print(f"Report: {report}")


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
    from segcv.reporting import Evidence
    from segcv.statistics import column_weights, own_seeds, summarise
    from segcv.sweeps import (
        kept_overrides,
        outlines_of,
        probabilities_of,
        rerun_commands,
        scores_of,
        split_of,
        table_of,
        train_scores_of,
    )
    from segcv.tables import read_json

    runs = Path(settings.runs)
    first, split = sweep[0], split_of(sweep[0])
    config = read_json(runs / first.run_id / "config.json")
    typed = kept_overrides(config["overrides"])
    target = settings.target or split.target
    scores = scores_of(runs, sweep, split)
    summary = summarise(
        scores, table_of(sweep), folds=split.folds, repeats=split.repeats,
        seeds=settings.seeds if settings.seeds is not None else sorted({record.seed for record in sweep}),
        class_names=split.class_names, images=split.images, masks=split.masks[split.masks["class_id"] >= 0],
        roles=split.roles if split.roles["role"].eq("train").any() else None,
        train_scores=train_scores_of(runs, sweep), profile=split.profile,
        leaking=((scores_of(runs, leaking, split_of(leaking[0])), table_of(leaking))
                 if leaking and not split.known_groups else None),
        weights=None if settings.report.weights is None else column_weights(split.images, settings.report.weights),
        target=target, level=settings.level, allow_missing=settings.allow_missing, overrides=typed,
        own=settings.seeds is None and own_seeds(table_of(sweep)),
        command=f"python -m segcv.{'evaluate' if first.trained_elsewhere else 'train'}")
    cohort = cohort_of(settings, sweep, split, scores)
    marks: tuple[str, ...] = () if target == split.target else (
        f"The primary target is {target}; the split declared {split.target} before scores existed.",)
    if settings.allow_missing and len(summary.missing):
        marks += (f"{len(summary.missing)} runs are missing (allow_missing=true).",)
    if cohort is not None and not cohort.drop:
        marks += (f"Frozen, no folds: {cohort.valid_for}",)
    return Evidence(
        summary=summary, source=f"{split.settings['data']['table'] or split.settings['data']['images'] or 'demo data'}",
        images=split.images, balance=balance_of(split), findings=findings_of(settings, split),
        probabilities=probabilities_of(runs, sweep, split), outlines=outlines_of(runs, sweep, split),
        cohort=cohort, split=split_facts(split),
        leaking=any(record.leaking for record in sweep), known_groups=split.known_groups,
        unproven=sum(not record.held_out_proof for record in sweep), model=first.model, settings=config["config"],
        software=first.environment["versions"],
        fingerprints={"data_id": first.data_id, "split_id": first.split_id, "config_id": first.config_id,
                      "recipe_id": first.recipe_id},
        commands=(*rerun_commands(typed, sweep), "python -m segcv.aggregate"), marks=marks,
        notes=split.notes, confusion=confusion_of(runs, sweep, split.class_names), planned=planned_of(summary),
        pictures=pictures_of(settings, sweep, split, summary.images, scores))


def cohort_of(settings: AggregateCommand, sweep: Sweep, split: Split, scores: pd.DataFrame) -> Cohort | None:
    """What frozen models do on groups that no fold was cut from: those of this sweep, or of the folder `external`."""
    from segcv.statistics import cohort, scored_images
    from segcv.sweeps import chosen_sweep, scores_of, split_of, table_of

    inside = scored_images(scores, runs=table_of(sweep), class_names=split.class_names)
    frozen = split.folds == 1 and split.trained_elsewhere
    if settings.external is None:
        return cohort(inside, level=settings.level) if frozen else None
    if frozen or sweep[0].leaking or split.known_groups:
        why = ("has no folds itself" if frozen else "was cut so that groups are in training and testing")
        raise ConfigError(f"external={settings.external} needs a cross-validation by groups in runs={settings.runs}, "
                          f"and {set_title(sweep)} {why}.")
    outside = chosen_sweep(Path(settings.external), candidate=sweep[0].candidate)[0]
    there = split_of(outside[0])
    return cohort(scored_images(scores_of(Path(settings.external), outside, there), runs=table_of(outside),
                                class_names=there.class_names), inside=inside, level=settings.level)


def set_title(sweep: Sweep) -> str:
    """A sweep in a message."""
    return f"{sweep[0].candidate} (split {sweep[0].split_name})"


def confusion_of(runs: Path, sweep: Sweep, class_names: Sequence[str]) -> pd.DataFrame:
    """Pixels by true and predicted class over all runs."""
    import pandas as pd

    from segcv.scoring import read_confusion

    cells = pd.concat([read_confusion(runs / record.run_id).groupby(["truth", "predicted"])["pixels"].sum()
                       for record in sweep])
    table: pd.DataFrame = cells.groupby(level=["truth", "predicted"]).sum().unstack("predicted", fill_value=0)
    wanted = [*range(len(class_names)), *([-1] if -1 in table.columns else [])]
    table = table.reindex(index=range(len(class_names)), columns=wanted, fill_value=0)
    table.index = pd.Index(class_names)
    table.columns = pd.Index([*class_names, *(["no class"] if -1 in wanted else [])])
    return table


def planned_of(summary: Summary) -> Plan | None:
    """What more groups and seeds would show, where the pilot knows how much models vary."""
    from segcv.statistics import plan, spread_of

    components = summary.sources.components["equal_group"] if summary.sources is not None else None
    if components is None or components.groups < 5:
        return None
    try:
        return plan(spread_of(components), groups=components.groups, columns=components.columns, level=summary.level)
    except (RunError, ConfigError):
        return None


def pictures_of(settings: AggregateCommand, sweep: Sweep, split: Split, images: pd.DataFrame,
                scores: pd.DataFrame) -> tuple[Picture, ...]:
    """Small pictures for the gallery, where they are asked for."""
    if not (settings.report.html and settings.report.pictures):
        return ()
    from segcv.reporting import Picture
    from segcv.sweeps import cut_pictures

    found = cut_pictures(Path(settings.runs), sweep, split, images, scores, progress=progress_bar)
    return tuple(Picture(one.image_id, one.group_id, str(one.fold), one.classes, one.score, one.why, one.panels)
                 for one in found)


def findings_of(settings: AggregateCommand, split: Split) -> pd.DataFrame | None:
    """The findings of the audit of these data and this split; None where there is none."""
    from segcv.tables import FINDINGS, read_json

    about = Path(settings.audit) / "summary.json"
    seen = read_json(about) if about.is_file() else {}
    if (seen.get("data_id"), seen.get("split_id")) != (split.data_id, split.split_id):
        return None
    return FINDINGS.read(Path(settings.audit) / "findings.csv")


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
        found = evidence.cohort
        lines += [f"external cohort, {each.method}: {number(each)}" for each in found.targets["equal_group"]]
        lines += [f"drop to the external cohort: {number(each)}" for each in found.drop.values()]
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
        for name in ("config_id", "target", "external"):
            if getattr(settings, name) is not None:
                raise ConfigError(f"{name}={getattr(settings, name)} has no effect on a results table.")
        if settings.report.weights is not None:
            raise ConfigError(f"report.weights={settings.report.weights} has no effect on a results table.")


if __name__ == "__main__":
    main()
