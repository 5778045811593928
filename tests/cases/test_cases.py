"""Small inputs that broke other people's tools, run through the commands by `scripts/run_case`."""

from __future__ import annotations

import csv
import subprocess
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
CASES = CHECKOUT.parent / "shared" / "cases"
EXPECTED_TO_FAIL = {
}


def cases() -> list[pytest.param]:
    if not CASES.is_dir():
        return []
    with (CASES / "index.csv").open(encoding="utf-8") as rows:
        found = []
        for row in csv.DictReader(rows):
            reason = EXPECTED_TO_FAIL.get(row["id"])
            marks = [pytest.mark.xfail(strict=True, reason=reason)] if reason else []
            found.append(pytest.param(row["id"], marks=marks, id=row["id"]))
        return found


@pytest.mark.parametrize("case", cases())
def test_a_case_comes_out_as_its_description_says(case: str):
    command = ["bash", str(CHECKOUT / "scripts/run_case"), str(CASES / case)]
    done = subprocess.run(command, capture_output=True, text=True)

    assert done.returncode == 0, done.stdout + done.stderr
