"""Many images stream: memory stays, the number of processes changes nothing, a killed command leaves nothing half."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest
from tiny_predictions import write_truth

from segcv.errors import ScoreError
from segcv.pixels import write_mask
from segcv.scoring.streaming import in_order


def square(number: int) -> int:
    if number < 0:
        raise ScoreError(f"{number} is negative")
    time.sleep(0.02 if number % 7 == 0 else 0)                # some items take longer than others
    return number * number


def test_results_come_in_the_order_of_the_items_from_any_number_of_processes():
    expected = [number * number for number in range(40)]

    for workers in (1, 3):
        assert list(in_order(square, iter(range(40)), workers=workers)) == expected


def test_an_error_in_a_process_is_the_error():
    with pytest.raises(ScoreError, match="-1 is negative"):
        list(in_order(square, [1, 2, -1, 4], workers=2))


def test_what_waits_is_bounded():
    """The source is never read further ahead than four items a process."""
    taken = []

    def source():
        for number in range(200):
            taken.append(number)
            yield number

    for number, _ in enumerate(in_order(square, source(), workers=2)):
        assert len(taken) - number <= 4 * 2 + 1


MEASURE = textwrap.dedent("""
    import resource, sys
    from pathlib import Path
    import pandas as pd
    from segcv.pixels import label_map, predicted_coding
    from segcv.scoring import PredictionForm, Reading, RunPlan, score_run

    folder, number = Path(sys.argv[1]), int(sys.argv[2])
    labels = label_map(num_classes=20)
    rows = pd.DataFrame({"image_id": [f"{n:06d}" for n in range(number)], "mask_path": str(folder / "m.png"),
                         "group_id": "g", "source_id": "", "path": str(folder / "p.png")})
    out = folder / str(number)
    score_run(RunPlan("x", 0, 0, 0, rows, 0), Reading(labels, predicted_coding(labels), PredictionForm()), run_id="r",
              out=out)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
""")


def peak_mib(folder: Path, images: int) -> float:
    done = subprocess.run([sys.executable, "-c", MEASURE, str(folder), str(images)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return float(done.stdout)


@pytest.mark.slow
def test_memory_does_not_grow_with_the_number_of_images(tmp_path: Path):
    """20 classes in every possible confusion, 400 cells an image: as rows of a table these are 30 kB an image, and the
    1 000 further images would take 30 MB; their counts take 0.6."""
    rng = np.random.default_rng(0)
    write_mask(tmp_path / "m.png", rng.integers(0, 20, (64, 64)).astype(np.uint8))
    write_mask(tmp_path / "p.png", rng.integers(0, 20, (64, 64)).astype(np.uint8))

    grown = peak_mib(tmp_path, 1_600) - peak_mib(tmp_path, 600)

    assert grown < 12, f"{grown:.1f} MiB"


def test_a_killed_command_leaves_no_run_and_can_be_started_again(tmp_path: Path):
    """Killed while it scores: no run folder; started again: the same bytes as in one go."""
    names = [f"i{number:03d}" for number in range(80)]
    rng = np.random.default_rng(1)
    write_truth(tmp_path / "data", {name: rng.integers(0, 3, (96, 96)).tolist() for name in names})
    for name in names:
        write_mask(tmp_path / f"theirs/{name}.png", rng.integers(0, 3, (96, 96)).astype(np.uint8))
    command = [sys.executable, "-m", "segcv.evaluate", "data.table=data/images.csv", "data.num_classes=3",
               "predictions=theirs", "name=theirs", "workers=1"]
    subprocess.run([*command, "runs=whole"], cwd=tmp_path, check=True, capture_output=True)

    process = subprocess.Popen([*command, "runs=killed"], cwd=tmp_path, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob("killed/*/repeat-0/fold-0/.seed-0.unfinished/.scores-*")):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not list(tmp_path.glob("killed/*/repeat-0/fold-0/seed-0"))

    subprocess.run([*command, "runs=killed"], cwd=tmp_path, check=True, capture_output=True)
    whole, again = (next(tmp_path.glob(f"{runs}/*/repeat-0/fold-0/seed-0")) for runs in ("whole", "killed"))
    assert sorted(path.name for path in whole.iterdir()) == sorted(path.name for path in again.iterdir())
    for name in ("scores.parquet", "confusion.parquet", "image_facts.parquet", "summary.json"):
        assert (whole / name).read_bytes() == (again / name).read_bytes()
