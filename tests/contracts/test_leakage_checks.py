"""The contract of every check of the audit: it finds its planted leak, and is silent where there is none."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tiny_leaks import PLANTED, clean

from segcv.leakage import CHECKS, FAIL, NOTE, WARN, Facts, audit, findings_table

PAGES = Path(__file__).parents[2] / "segcv/leakage/README.md"


@pytest.fixture(scope="module")
def facts() -> Facts:
    return clean()


def test_every_check_looks_at_the_clean_set_and_finds_nothing(facts: Facts):
    done = audit(facts)

    assert done.findings == ()
    assert set(done.silent) == set(CHECKS) and done.skipped == {}


def test_every_check_has_a_planted_leak():
    assert set(PLANTED) == set(CHECKS)


@pytest.mark.parametrize(("check", "plant"), [(check, plant) for check, plants in PLANTED.items() for plant in plants],
                         ids=lambda value: value if isinstance(value, str) else value.__name__)
def test_a_check_finds_its_planted_leak_and_all_others_stay_silent(check: str, plant: Callable[[Facts], Facts],
                                                                  facts: Facts):
    found = audit(plant(facts)).findings

    assert {finding.check for finding in found} == {check}
    for finding in found:
        assert finding.severity in (FAIL, WARN, NOTE)
        assert all((finding.subject, finding.what, finding.why_it_matters, finding.remedy, finding.evidence))
        assert "Traceback" not in finding.what and "nan" not in finding.what
    findings_table(found)


@pytest.mark.parametrize("check", list(CHECKS))
def test_a_check_changes_nothing_it_is_shown(check: str):
    facts = PLANTED[check][0](clean())
    before = {entry.name: getattr(facts, entry.name).copy() for entry in fields(facts)
              if isinstance(getattr(facts, entry.name), pd.DataFrame)}
    bits = facts.folds.roles.copy()

    list(CHECKS[check].find(facts))

    for name, table in before.items():
        pd.testing.assert_frame_equal(getattr(facts, name), table)
    np.testing.assert_array_equal(facts.folds.roles, bits)


@pytest.mark.parametrize("check", [name for name, check in CHECKS.items() if "folds" in check.needs
                                   and "images" in check.needs])
def test_the_order_of_rows_has_no_influence_on_what_is_counted(check: str):
    facts = PLANTED[check][0](clean())
    order = np.random.default_rng(3).permutation(len(facts.images))

    def shuffled(table: pd.DataFrame) -> pd.DataFrame:
        return table.iloc[order].reset_index(drop=True)

    other = replace(facts, images=shuffled(facts.images), profile=shuffled(facts.profile), looks=shuffled(facts.looks),
                    folds=replace(facts.folds, roles=facts.folds.roles[:, order]))

    one, two = (list(CHECKS[check].find(each)) for each in (facts, other))
    assert [(f.subject, f.severity, f.held_out_touched, f.held_out) for f in one] == [
        (f.subject, f.severity, f.held_out_touched, f.held_out) for f in two]


def test_copies_with_other_masks_are_said_to_contradict_each_other(facts: Facts):
    planted = PLANTED["same_bytes"][0](facts)
    labels = planted.profile["labels_hash"].tolist()
    labels[5] = "another answer"
    found = audit(replace(planted, profile=planted.profile.assign(labels_hash=labels))).findings

    assert [one.check for one in found] == ["same_bytes"]
    assert "1 of these pictures come with different masks" in found[0].what


def test_identical_blank_tiles_are_no_finding(facts: Facts):
    """Two blank tiles of one grey across sides are equal in bytes, pixels, looks and mask, and no leak."""
    profile, looks = facts.profile.copy(), facts.looks.copy()
    for column in ("image_hash", "pixels_hash", "labels_hash"):
        profile.loc[5, column] = profile[column][0]
    looks.loc[[0, 5], "flat"] = True
    found = audit(replace(facts, profile=profile, looks=looks)).findings

    assert [(one.check, one.subject) for one in found] == [("file_kinds", "blank")]


def test_the_nearest_training_image_is_measured_in_days(facts: Facts):
    """By hand: half a day between 2024-05-01 and 2024-05-01 12:00."""
    planted = PLANTED["neighbouring_frames"][1](facts)

    found = audit(planted).findings[0]
    assert found.measures["nearest_min"] == 0.5 and "0.5 days" in found.what


def test_a_check_without_what_it_needs_is_named_as_skipped(facts: Facts):
    done = audit(replace(facts, folds=None, runs=None))

    assert done.skipped["groups_whole"] == ("folds",) and done.skipped["fitted_on"] == ("runs",)
    assert set(done.skipped) | set(done.silent) == set(CHECKS)


def test_every_check_has_a_page():
    """segcv/leakage/README.md has a heading for each check, with what it finds, an example, why, and what to do."""
    pages = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", PAGES.read_text(encoding="utf-8"), re.M | re.S))

    assert set(CHECKS) <= set(pages)
    for check in CHECKS:
        assert all(part in pages[check] for part in ("**Finds**", "**Example**", "**Why**", "**Do**")), check
