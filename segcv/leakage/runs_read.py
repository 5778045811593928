"""Finished runs as the checks see them: what each was allowed to read, what it says it read, and what it scored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from segcv.errors import RunError, SegcvError
from segcv.leakage.ledgers import read_ledger
from segcv.runs import RunRecord, find_runs
from segcv.splits import Split, fold_roles, inner_fold, inner_holdout, read_split
from segcv.tables import HELD_OUT, SCORES, TRAIN, fingerprint, read_json, stream

LEDGER_FILE = "ledger.parquet"


@dataclass(frozen=True, slots=True, eq=False)
class RunFacts:
    """One run. Ids are image ids; None or "" where the run does not say."""

    run_id: str
    set_name: str                        # candidate and settings
    recipe_id: str
    repeat: int
    fold: int
    seed: int
    leaking: bool
    train: frozenset[str]                # by its split
    held_out: frozenset[str]
    inside: frozenset[str]               # of train, held out inside it to stop on
    fitted_on: str | None                # fingerprint of the images that normalisation was fitted on
    scores: pd.DataFrame                 # SCORES, held-out
    train_scores: pd.DataFrame | None = None
    split_fault: str = ""                # why nothing is known of its roles
    proof: str = "split"                 # what proves that its scored images were held out; "": nothing


def fingerprint_of(ids: frozenset[str] | set[str]) -> str:
    """The name under which fitted things keep the images they saw."""
    return fingerprint(sorted(ids))


def read_runs(runs: Path) -> tuple[RunFacts, ...]:
    """All finished runs below `runs`.

    Raises:
        RunError: there is none.
    """
    records = find_runs(runs)
    if not records:
        raise RunError(f"runs={runs}: there is no finished run. Train one: python -m segcv.train fold=0")

    @cache
    def split_of(folder: str) -> Split | str:
        try:
            return read_split(Path(folder))
        except SegcvError as error:
            return str(error)

    return tuple(_run(runs / record.run_id, record, split_of) for record in records)


def split_folders(runs: Path) -> list[str]:
    """The split folders that the finished runs were trained under, each once."""
    return sorted({record.split_folder for record in find_runs(runs)} - {""})


def read_ledgers(runs: Path) -> pd.DataFrame | None:
    """fit_id, outer, group_id, role of every ledger below `runs`, or beside it; None where there is none."""
    parts, here = [], runs.absolute()
    for path in sorted({*here.rglob(LEDGER_FILE), *here.parent.glob(LEDGER_FILE)}):
        ledger = read_ledger(path)
        inside = "" if path.parent in (here, here.parent) else f" of {path.parent.relative_to(here).as_posix()}"
        parts.append(ledger.assign(fit_id=ledger["fit_id"] + inside, outer=ledger["outer"] + inside))
    return pd.concat(parts, ignore_index=True) if parts else None


def _run(folder: Path, record: RunRecord, split_of: Callable[[str], Split | str]) -> RunFacts:
    model = folder / "model" / "model.json"
    inside_train = folder / "train_scores" / "scores.parquet"
    nothing: frozenset[str] = frozenset()
    run = RunFacts(
        record.run_id, record.run_id.split("/")[0], record.recipe_id, record.repeat, record.fold, record.seed,
        record.leaking, nothing, nothing, nothing, read_json(model)["fitted_on"] if model.is_file() else None,
        SCORES.read(folder / "scores.parquet"), SCORES.read(inside_train) if inside_train.is_file() else None,
        proof=record.held_out_proof)
    split = split_of(record.split_folder) if record.split_folder else "it was scored without a split"
    if isinstance(split, str):
        return replace(run, split_fault=split)
    if split.split_id != record.split_id:
        return replace(run, split_fault=f"{split.folder} holds split {split.split_id}, and the run is of "
                                        f"{record.split_id}")
    rows = fold_roles(split, record.repeat, record.fold)
    train, held_out = (rows[rows["role"].eq(role)] for role in (TRAIN, HELD_OUT))
    config = folder / "config.json"
    settings = read_json(config).get("settings", {}) if config.is_file() else {}
    inside = frozenset(_inside(settings, split, record, train.reset_index(drop=True)))
    return replace(run, train=frozenset(train["image_id"]), held_out=frozenset(held_out["image_id"]), inside=inside)


def _inside(settings: dict[str, Any], split: Split, record: RunRecord, train: pd.DataFrame) -> list[str]:
    """The training images that stopping looked at, cut again from the settings of the run."""
    trainer = settings.get("trainer") or {}
    if trainer.get("stopping", "fixed") == "fixed":
        return []
    if trainer.get("validation_fold") is not None:
        return inner_fold(split.roles, repeat=record.repeat, fold=record.fold,
                          validation_fold=int(trainer["validation_fold"]))[1]["image_id"].tolist()
    rng = np.random.default_rng(stream(int(settings["split"]["seed"]), "inner", record.repeat, record.fold))
    return inner_holdout(train, share=float(trainer["validation_share"]), rng=rng)[1]["image_id"].tolist()
