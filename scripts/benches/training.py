"""Training: the data path, the loop and the demo beside their goals. `bash scripts/bench training [short]`: without the
ten runs of the demo, which take minutes.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pandas as pd
from benches.rows import Row, at_most, finish
from benches.training_data import building, crops, pictures
from benches.training_loop import overhead

from segcv.metrics import image_scores
from segcv.recipes import fit_recipe
from segcv.scoring import counts_of
from segcv.settings import TrainCommand
from segcv.splits import fold_roles
from segcv.study import open_study
from segcv.training import StepInfo, run_seeds

FOLDS, SEEDS = 5, 2


def data_share(folder: Path) -> list[Row]:
    """How long the loop of a demo run waits for batches, of the time from its first step to its last."""
    settings = TrainCommand(fold=0, cache=str(folder / "cache"), splits=str(folder / "splits"))
    study = open_study(settings.data, settings.group, settings.split, splits=folder / "splits", cache=folder / "cache")
    rows = fold_roles(study.split, 0, 0)
    marks: list[tuple[float, float]] = []

    def watch(step: StepInfo) -> None:
        marks.append((time.perf_counter(), step.waited_s))

    fit_recipe(settings, rows[rows["role"] == "train"], labels=study.labels, masks=study.split.masks,
               seeds=run_seeds(0, repeat=0, fold=0), out=folder / "run", watch=watch)
    (began, before), (ended, after) = marks[0], marks[-1]
    return [at_most("share of the demo's training that waits for data", 100 * (after - before) / (ended - began), 5,
                    unit="%", rival=f"{len(marks)} steps in {ended - began:.1f} s")]


def demo(folder: Path) -> list[Row]:
    """Ten runs of the demo as a user types them, from nothing; ten more with the normalisation its light asks for."""
    wall, usual = sweep(folder)
    _, own = sweep(folder, "preprocessing=per_source", "optim.lr=0.003", "runs=own")
    return [at_most(f"demo, {FOLDS} folds x {SEEDS} seeds", wall, 180, unit="s"),
            *(Row(f"its worst run{said}, mIoU (images alike within a group, groups alike)", f"{min(found):.3f}",
                  f"best {max(found):.3f}", "", ">= 0.8", min(found) >= 0.8)
              for said, found in (("", usual), (" with preprocessing=per_source optim.lr=0.003", own)))]


def sweep(folder: Path, *settings: str) -> tuple[float, list[float]]:
    """Seconds of the sweep under these settings, and the mIoU of each run."""
    began = time.perf_counter()
    folds, seeds = (",".join(map(str, range(number))) for number in (FOLDS, SEEDS))
    subprocess.run([sys.executable, "-m", "segcv.train", "-m", f"fold={folds}", f"seed={seeds}", *settings], cwd=folder,
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wall, runs = time.perf_counter() - began, "own" if "runs=own" in settings else "runs"
    found = [miou(path) for path in sorted(folder.glob(f"{runs}/*/repeat-*/fold-*/seed-*/scores.parquet"))]
    assert len(found) == FOLDS * SEEDS
    return wall, found


def miou(scores: Path) -> float:
    """Mean over groups of the mean over their images of mIoU."""
    images = counts_of(pd.read_parquet(scores))
    return float(pd.Series(image_scores(images.counts)).groupby(pd.Series(images.group_id)).mean().mean())


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        rows = pictures(folder)
        table = [*crops(rows, folder), *building(rows, folder), *overhead(), *data_share(folder)]
        if sys.argv[1:] != ["short"]:
            (folder / "demo").mkdir()
            table += demo(folder / "demo")
    finish(table)


if __name__ == "__main__":
    main()
