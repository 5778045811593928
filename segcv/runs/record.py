"""A run is one network: what it is called, where it lies, and what is written down about it."""

from __future__ import annotations

from dataclasses import MISSING, asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from segcv.errors import RunError
from segcv.tables import read_json, write_json

RECORD = "run.json"
FINISHED, FAILED = "finished", "failed"


@dataclass(frozen=True, slots=True, order=True)
class RunKey:
    """One cell of a sweep: candidate with its settings, repeat, fold, seed."""

    candidate: str
    config_id: str
    repeat: int
    fold: int
    seed: int

    @property
    def set_name(self) -> str:
        """The folder, below the runs folder, of all cells of this candidate with these settings."""
        return f"{self.candidate}-{self.config_id}"

    @property
    def run_id(self) -> str:
        """Text id; also the folder below the runs folder ('=' in it would break later overrides)."""
        return f"{self.set_name}/repeat-{self.repeat}/fold-{self.fold}/seed-{self.seed}"

    def __post_init__(self) -> None:
        if not self.candidate or any(sign in self.candidate for sign in "/\\=:") or self.candidate.startswith("."):
            raise RunError(f"candidate={self.candidate!r} cannot name a folder; use letters, digits, '_', '-', '.'.")


@dataclass(frozen=True, slots=True)
class RunRecord:
    """What is known of a run without opening its tables."""

    run_id: str
    candidate: str
    config_id: str
    recipe_id: str               # the settings without the split: the same recipe under another split shares it
    data_id: str
    split_id: str
    split_name: str
    split_folder: str
    leaking: bool                # trained under a split that tears groups
    repeat: int
    fold: int
    seed: int
    status: str
    seconds: float
    device: str
    threads: int
    code_version: str
    model: str
    train_images: int
    held_out_images: int
    majority_class: int          # of the training pixels of this fold: the trivial predictor
    unlabelled_train_images: int # training images without one labelled pixel
    best_epoch: int
    error: str = ""
    trained_elsewhere: bool = False  # the predictions were handed in, not made here
    weights: str = ""            # which weights were scored: of the last epoch, of the best, their moving average
    held_out_proof: str = "split"    # what proves that scored images were held out; blank: nothing does
    environment: dict[str, Any] = field(default_factory=dict)

    def write(self, folder: Path) -> None:
        """Write the record into the run's folder."""
        write_json(folder / RECORD, asdict(self))

    @classmethod
    def read(cls, folder: Path) -> RunRecord:
        """The record in a run's folder.

        Raises:
            RunError: there is none, or it was written by another version.
        """
        path = folder / RECORD
        if not path.is_file():
            raise RunError(f"{path}: there is no run record.")
        data = read_json(path)
        known = {entry.name for entry in fields(cls)}
        if not isinstance(data, dict):
            raise RunError(f"{path}: damaged, not a run record. Delete its folder and run it again.")
        needed = {entry.name for entry in fields(cls) if entry.default is MISSING and entry.default_factory is MISSING}
        odd = ", ".join(sorted((needed - set(data)) | (set(data) - known)))
        if odd:
            raise RunError(f"{path}: written by another version of segcv (fields: {odd}). Run it again elsewhere.")
        kinds = {"str": str, "int": int, "float": int | float, "bool": bool, "dict[str, Any]": dict}
        wrong = [entry.name for entry in fields(cls)
                 if entry.name in data and not isinstance(data[entry.name], kinds[str(entry.type)])]
        if wrong:
            raise RunError(f"{path}: damaged, {wrong[0]} is {data[wrong[0]]!r}. Delete its folder and run it again.")
        return cls(**data)
