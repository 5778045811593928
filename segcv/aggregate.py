"""python -m segcv.aggregate: all runs of one candidate -> cv_report.md, tables, summary.json. No torch, no images."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from segcv.config import command
from segcv.errors import ConfigError, RunError, SplitError
from segcv.settings import TARGETS, AggregateCommand

if TYPE_CHECKING:
    import pandas as pd

    from segcv.reporting import Evidence
    from segcv.runs import RunRecord
    from segcv.splits import Split
    from segcv.statistics import Estimate

Sweep = list["RunRecord"]
START = "python -m segcv.train -m fold=0,1,2,3,4"


@command("aggregate")
def main(settings: AggregateCommand) -> None:
    """Report the runs of one candidate, or a table of scores made elsewhere."""
    refuse_settings(settings)
    from segcv.reporting import write_report

    if settings.results is not None:
        evidence, folder = evidence_of_results(settings), Path(settings.out or "report")
    else:
        sweep, leaking = chosen_sweep(settings)
        evidence = evidence_of_runs(settings, sweep, leaking)
        folder = Path(settings.out) if settings.out else Path(settings.runs) / set_name(sweep[0]) / "report"
    report = write_report(folder, evidence)
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
    from segcv.statistics import summarise
    from segcv.tables import read_json

    first, split = sweep[0], split_of(sweep[0])
    config = read_json(Path(settings.runs) / first.run_id / "config.json")
    typed = kept_overrides(config["overrides"])
    target = settings.target or split.target
    summary = summarise(
        scores_of(settings, sweep, split), table_of(sweep), folds=split.folds, repeats=split.repeats,
        seeds=settings.seeds if settings.seeds is not None else sorted({record.seed for record in sweep}),
        class_names=split.class_names, images=split.images, masks=split.masks[split.masks["class_id"] >= 0],
        roles=split.roles if split.roles["role"].eq("train").any() else None,
        train_scores=train_scores_of(settings, sweep), profile=split.profile,
        leaking=((scores_of(settings, leaking, split_of(leaking[0])), table_of(leaking))
                 if leaking and not split.known_groups else None),
        target=target, level=settings.level, allow_missing=settings.allow_missing, overrides=typed,
        command=f"python -m segcv.{'evaluate' if first.trained_elsewhere else 'train'}")
    marks: tuple[str, ...] = () if target == split.target else (
        f"The primary target is {target}; the split declared {split.target} before scores existed.",)
    if settings.allow_missing and len(summary.missing):
        marks += (f"{len(summary.missing)} runs are missing (allow_missing=true).",)
    return Evidence(
        summary=summary, source=f"{split.settings['data']['table'] or split.settings['data']['images'] or 'demo data'}",
        images=split.images, balance=balance_of(split), split=split_facts(split),
        leaking=any(record.leaking for record in sweep), known_groups=split.known_groups,
        unproven=sum(not record.held_out_proof for record in sweep), model=first.model, settings=config["config"],
        software=first.environment["versions"],
        fingerprints={"data_id": first.data_id, "split_id": first.split_id, "config_id": first.config_id,
                      "recipe_id": first.recipe_id},
        commands=(rerun_command(typed, sweep), "python -m segcv.aggregate"), marks=marks,
        notes=split.notes)


def chosen_sweep(settings: AggregateCommand) -> tuple[Sweep, Sweep]:
    """The runs to report, and those of the same recipe under a leaking split, if there are any."""
    from segcv.runs import find_failures, find_runs

    runs = Path(settings.runs)
    records = find_runs(runs)
    if not records:
        failed = "".join(f"\n  {run}: {reason}" for run, reason in list(find_failures(runs).items())[:5])
        raise RunError(f"{runs.absolute()}: there is no finished run{' (failed:' + failed + ')' if failed else ''}. "
                       f"Start with: {START}")
    sets: dict[str, Sweep] = {}
    for record in records:
        sets.setdefault(set_name(record), []).append(record)
    wanted = {name: sweep for name, sweep in sets.items()
              if settings.candidate in (None, sweep[0].candidate) and settings.config_id in (None, sweep[0].config_id)}
    if not wanted:
        raise RunError(f"no finished run of candidate={settings.candidate} config_id={settings.config_id} in {runs}; "
                       f"there are {', '.join(sorted(sets))}.")
    honest = {sweep[0].recipe_id for sweep in wanted.values() if not sweep[0].leaking}
    if settings.config_id is None:
        wanted = {name: sweep for name, sweep in wanted.items()
                  if not (sweep[0].leaking and sweep[0].recipe_id in honest)}
    if len(wanted) > 1:
        raise RunError(several(wanted, runs))
    sweep = next(iter(wanted.values()))
    leaking = [other for other in sets.values()
               if other[0].leaking and not sweep[0].leaking and other[0].recipe_id == sweep[0].recipe_id]
    return sweep, leaking[0] if len(leaking) == 1 else []


def several(wanted: dict[str, Sweep], runs: Path) -> str:
    """Why there is more than one set of runs to report, and how to choose."""
    from segcv.tables import read_json

    candidates = sorted({sweep[0].candidate for sweep in wanted.values()})
    if len(candidates) > 1:
        return f"{runs} holds several candidates: {', '.join(candidates)}. Choose one: candidate={candidates[0]}"
    one, other = (sweep for _, sweep in sorted(wanted.items())[:2])
    configs = [flat(read_json(runs / sweep[0].run_id / "config.json")["config"]) for sweep in (one, other)]
    differ = [f"{key} ({configs[0].get(key)} and {configs[1].get(key)})"
              for key in sorted(configs[0].keys() | configs[1].keys()) if configs[0].get(key) != configs[1].get(key)]
    cuts = [sweep[0].split_name for sweep in (one, other)]
    if cuts[0] != cuts[1]:
        differ.insert(0, f"split={cuts[0]} and split={cuts[1]}")
    return (f"candidate {candidates[0]} was run with {len(wanted)} different settings, which must not be averaged; "
            f"{one[0].config_id} and {other[0].config_id} differ in {', '.join(differ[:5])}. Choose one: "
            f"config_id={one[0].config_id}. Next time give each its own name: candidate=NAME")


def flat(data: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested settings as dotted names."""
    found: dict[str, Any] = {}
    for key, value in data.items():
        found |= flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return found


def set_name(record: RunRecord) -> str:
    """The folder below the runs folder that holds all cells of one candidate with one config."""
    return f"{record.candidate}-{record.config_id}"


def split_of(record: RunRecord) -> Split:
    """The split a run was made under, checked to be the same still."""
    from segcv.splits import read_split

    split = read_split(Path(record.split_folder))
    if split.split_id != record.split_id:
        raise SplitError(f"{split.folder} is now split {split.split_id}; the runs were made under {record.split_id}. "
                         "Bring the old split folder back, or run again.")
    return split


def scores_of(settings: AggregateCommand, sweep: Sweep, split: Split) -> pd.DataFrame:
    """The scores of all runs of a sweep, each of exactly the images that its fold of the split holds out."""
    import pandas as pd

    from segcv.scoring import read_scores, scored_ids
    from segcv.splits import fold_roles

    tables = []
    held_out: dict[tuple[int, int], set[str]] = {}
    for record in sweep:
        scores = read_scores(Path(settings.runs) / record.run_id)
        cell = (record.repeat, record.fold)
        if cell not in held_out:
            roles = fold_roles(split, *cell)
            held_out[cell] = set(scored_ids(roles[roles["role"] == "held_out"]))
        wrong = set(scores["image_id"].unique()) ^ held_out[cell]
        if wrong or set(scores["run_id"].unique()) != {record.run_id}:
            raise RunError(f"{Path(settings.runs) / record.run_id}: its scores are not those of the images that fold "
                           f"{record.fold} holds out ({len(wrong)} differ{': ' + min(wrong) if wrong else ''}). Delete "
                           "this run's folder and run it again.")
        tables.append(scores)
    return pd.concat(tables, ignore_index=True)


def train_scores_of(settings: AggregateCommand, sweep: Sweep) -> pd.DataFrame | None:
    """The scores on training images, where every run has them; shown beside, never used by statistics."""
    import pandas as pd

    from segcv.scoring import read_scores

    folders = [Path(settings.runs) / record.run_id / "train_scores" for record in sweep]
    if not all(folder.is_dir() for folder in folders):
        return None
    return pd.concat([read_scores(folder) for folder in folders], ignore_index=True)


def table_of(sweep: Sweep) -> pd.DataFrame:
    """The run records as a table."""
    import pandas as pd

    return pd.DataFrame([{key: value for key, value in asdict(record).items() if key != "environment"}
                         for record in sweep])


def balance_of(split: Split) -> pd.DataFrame:
    """The balance table of the split."""
    import pandas as pd

    return pd.DataFrame(split.manifest["balance"]).rename(
        columns={f"share_{number}": f"{name} share" for number, name in enumerate(split.class_names)})


def split_facts(split: Split) -> dict[str, Any]:
    """How the split was cut."""
    chosen = {key: value for key, value in split.settings["split"].items() if value not in (None, [], "")}
    return chosen | {"folds": split.folds, "folder": str(split.folder)}


def kept_overrides(typed: Sequence[str]) -> str:
    """What was typed for a run besides its cell, as the shell takes it."""
    cells = ("fold", "seed", "repeat", "device", "workers")
    return " ".join(shlex.quote(text) for text in typed if text.split("=")[0] not in cells)


def rerun_command(overrides: str, sweep: Sweep) -> str:
    """The command that makes these runs again."""
    def listed(name: str) -> str:
        return f"{name}={','.join(map(str, sorted({getattr(record, name) for record in sweep})))}"

    if sweep[0].trained_elsewhere:
        return f"python -m segcv.evaluate {overrides}".rstrip()
    cells = [listed("fold"), *(listed(name) for name in ("seed", "repeat")
                               if {getattr(record, name) for record in sweep} != {0})]
    return " ".join(["python -m segcv.train -m", *cells, overrides]).rstrip()


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
        lines += [f"Still to run: {text}" for text in summary.rest]
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
        for name in ("config_id", "target"):
            if getattr(settings, name) is not None:
                raise ConfigError(f"{name}={getattr(settings, name)} has no effect on a results table.")


if __name__ == "__main__":
    main()
