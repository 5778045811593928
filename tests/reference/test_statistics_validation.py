"""The simulations of scripts/validate_statistics: the reduced ones hold, and what is wrong is found."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from segcv.statistics import student_t

SCRIPTS = Path(__file__).parents[2] / "scripts"


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(SCRIPTS))
    from validation import checks

    return checks


def test_the_reduced_simulation_meets_every_goal():
    """Goals of the methods page, widened by 3 Monte-Carlo standard errors for the small number of tables."""
    paths = os.pathsep.join([str(SCRIPTS.parent), str(SCRIPTS)])
    done = subprocess.run([sys.executable, "-P", str(SCRIPTS / "validation" / "run.py"), "--quick"],
                          capture_output=True, text=True, env=os.environ | {"PYTHONPATH": paths})

    assert done.returncode == 0, done.stdout + done.stderr
    assert " 0 missed" in done.stdout and "MISSED" not in done.stdout


def test_an_interval_over_images_is_found_to_miss(checks):
    """t over images as if they were independent covers 16 to 40 % (methods page): outside any slack."""
    def over_images(drawn, seed: int):
        y = drawn.groups.image_scores.mean(axis=1)
        return student_t(float(y.mean()), float(np.var(y, ddof=1)) / len(y), len(y) - 1, level=.95)

    [found] = checks.coverage((checks.Promise("t over images", over_images, 2.0),), worlds=(checks.NORMAL,),
                              groups=(20,), tables=100, seed=0, slack=3)

    assert found.met is False


def test_a_biased_component_is_found(checks, monkeypatch: pytest.MonkeyPatch):
    """The model variance without its correction for the interaction is too large by x2/n_k: +44 % at 20 groups."""
    right = checks.variances

    def wrong(sums):
        found = right(sums)
        return type(found)(found.group, found.model + found.interaction / 4, found.interaction, found.image,
                           found.residual)

    monkeypatch.setattr(checks, "variances", wrong)
    met = {each.what: each.met for each in checks.component_bias(tables=400, groups=(20,), seed=0, largest_error=.1)}

    assert met["bias of the model variance"] is False
    assert met["bias of the group variance"] is True
