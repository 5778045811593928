"""Which runs below a folder belong together, and how they were made."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from segcv.errors import RunError
from segcv.runs import RECORD, RunRecord, find_failures, find_runs
from segcv.tables import read_json

Sweep = list[RunRecord]
HOLD_OUT = "repeated_holdout"
START = "python -m segcv.train -m fold=0,1,2,3,4"


def chosen_sweep(runs: Path, *, candidate: str | None, config_id: str | None = None) -> tuple[Sweep, Sweep]:
    """The runs of one candidate, and those of the same recipe under a leaking split, if there are any. A single
    hold-out of a recipe that was also cross-validated stands beside (`hold_out_of`) and is not what is chosen.

    Raises:
        RunError: there is no such run, or several candidates or settings, of which one must be chosen.
    """
    sets = sets_of(runs)
    if not sets:
        failed = "".join(f"\n  {run}: {reason}" for run, reason in list(find_failures(runs).items())[:5])
        raise RunError(f"{runs.absolute()}: there is no finished run{' (failed:' + failed + ')' if failed else ''}. "
                       f"Start with: {START}")
    wanted = {name: sweep for name, sweep in sets.items()
              if candidate in (None, sweep[0].candidate) and config_id in (None, sweep[0].config_id)}
    if not wanted:
        raise RunError(f"no finished run of candidate={candidate} config_id={config_id} in {runs}; "
                       f"there are {', '.join(sorted(sets))}.")
    honest = {sweep[0].recipe_id for sweep in wanted.values() if not sweep[0].leaking}
    if config_id is None:
        wanted = {name: sweep for name, sweep in wanted.items()
                  if not (sweep[0].leaking and sweep[0].recipe_id in honest)}
        folds = {sweep[0].recipe_id for sweep in wanted.values() if not is_hold_out(sweep)}
        wanted = {name: sweep for name, sweep in wanted.items()
                  if not (is_hold_out(sweep) and sweep[0].recipe_id in folds)}
    if len(wanted) > 1:
        raise RunError(several(wanted, runs))
    sweep = next(iter(wanted.values()))
    leaking = [other for other in sets.values()
               if other[0].leaking and not sweep[0].leaking and other[0].recipe_id == sweep[0].recipe_id]
    return sweep, leaking[0] if len(leaking) == 1 else []


def sets_of(runs: Path) -> dict[str, Sweep]:
    """The finished runs by candidate and config."""
    sets: dict[str, Sweep] = {}
    for record in find_runs(runs):
        sets.setdefault(set_name(record), []).append(record)
    return sets


def is_hold_out(sweep: Sweep) -> bool:
    """Whether the runs are of one hold-out, drawn once."""
    return sweep[0].split_name == HOLD_OUT and len({(record.repeat, record.fold) for record in sweep}) == 1


def hold_out_of(runs: Path, sweep: Sweep) -> Sweep:
    """The runs of the same recipe on a single hold-out of whole groups, if there is one such set; else none."""
    found = [other for name, other in sets_of(runs).items() if is_hold_out(other) and not is_hold_out(sweep)
             and other[0].recipe_id == sweep[0].recipe_id]
    return found[0] if len(found) == 1 else []


def named_sweep(runs: Path, name: str) -> Sweep:
    """The runs of a candidate, or, as candidate-config_id, those of it with one config."""
    of_set = next((record for record in find_runs(runs) if set_name(record) == name), None)
    if of_set is None:
        return chosen_sweep(runs, candidate=name)[0]
    return chosen_sweep(runs, candidate=of_set.candidate, config_id=of_set.config_id)[0]


def named_run(runs: Path, name: str) -> tuple[Path, RunRecord]:
    """One finished run and the folder its id is below; `name` is its id below `runs`, or its folder.

    Raises:
        RunError: there is no finished run of that name.
    """
    for folder in (runs / name, Path(name)):
        if (folder / RECORD).is_file():
            record = RunRecord.read(folder)
            return folder.absolute().parents[len(Path(record.run_id).parts) - 1], record
    there = [record.run_id for record in find_runs(runs)]
    shown = "".join(f"\n  {run_id}" for run_id in there[:10])
    raise RunError(f"run={name} is neither a run below {runs} nor a run's folder. "
                   f"{'There are:' + shown if there else 'There is none; start with: ' + START}")


def several(wanted: dict[str, Sweep], runs: Path) -> str:
    """Why there is more than one set of runs to report, and how to choose."""
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
            f"config_id={one[0].config_id} (in compare: {set_name(one[0])}). Next time give each its "
            "own name: candidate=NAME")


def flat(data: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested settings as dotted names."""
    found: dict[str, Any] = {}
    for key, value in data.items():
        found |= flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return found


def set_name(record: RunRecord) -> str:
    """The folder below the runs folder that holds all cells of one candidate with one config."""
    return f"{record.candidate}-{record.config_id}"


def kept_overrides(typed: Sequence[str]) -> str:
    """What was typed for a run besides its cell, as the shell takes it."""
    cells = ("fold", "seed", "repeat", "device", "workers")
    return " ".join(shlex.quote(text) for text in typed if text.split("=")[0] not in cells)


def rerun_commands(overrides: str, sweep: Sweep) -> tuple[str, ...]:
    """The commands that make these runs again: one, or one a repeat where each repeat has its own seed."""
    if sweep[0].trained_elsewhere:
        return (f"python -m segcv.evaluate {overrides}".rstrip(),)
    repeats = sorted({record.repeat for record in sweep})
    columns = {(record.repeat, record.seed) for record in sweep}
    own = len(columns) == len(repeats) == len({seed for _, seed in columns})
    parts = [[record for record in sweep if record.repeat == r] for r in repeats] if own else [sweep]

    def listed(part: Sweep, name: str) -> str:
        return f"{name}={','.join(map(str, sorted({getattr(record, name) for record in part})))}"

    return tuple(" ".join(["python -m segcv.train -m", listed(part, "fold"), *(
        listed(part, name) for name in ("seed", "repeat") if {getattr(record, name) for record in part} != {0}),
        overrides]).rstrip() for part in parts)
