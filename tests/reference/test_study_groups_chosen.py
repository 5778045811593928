"""What groups are made from when nothing is said: id columns that stay whole, names that tell groups."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from segcv.errors import GroupError, SegcvWarning
from segcv.groups import Levels, coarser_levels, proposed_pattern
from segcv.settings import GroupSettings, SplitSettings
from segcv.study.choosing import chosen_groups, level_notes


def slides(**columns: list[str]) -> pd.DataFrame:
    """24 images of 12 slides."""
    ids = [f"{chr(ord('k') + n // 5)}{chr(ord('k') + n % 5)}" for n in range(24)]
    return pd.DataFrame({"image_id": ids, "group_id": [f"s{n // 2:02d}" for n in range(24)]} | columns)


def of_slides(values: list[str]) -> list[str]:
    return np.repeat(values, 24 // len(values)).tolist()


PATIENTS, HOSPITALS = of_slides([f"p{n}" for n in range(6)]), of_slides(["h0", "h1", "h2"])


def chosen(images: pd.DataFrame, *, folds: int = 5, **group: object) -> tuple[GroupSettings, str]:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", SegcvWarning)
        found = chosen_groups(images, GroupSettings(**group), SplitSettings(folds=folds))
    return found, " / ".join(str(one.message) for one in said)


def test_patients_above_slides_stay_whole_and_it_is_said():
    found, said = chosen(slides(patient_id=PATIENTS))

    assert found.levels == ["patient_id"]
    assert "patient_id stay whole (12 groups become 6)" in said and "group.level=null" in said


def test_the_coarsest_that_leaves_enough_groups_is_kept_and_the_next_is_named():
    """6 patients are enough for 5 folds, 3 subjects above them are not; with 3 folds they are."""
    images = slides(patient_id=PATIENTS, subject_id=HOSPITALS)
    five, said = chosen(images)
    three, _ = chosen(images, folds=3)

    assert five.levels == ["patient_id"]
    assert "subject_id would leave 3 groups, fewer than the 5 folds" in said and "split.folds=3" in said
    assert three.levels == ["patient_id", "subject_id"]


def test_other_ids_are_proposed_and_not_taken():
    found, said = chosen(slides(clinic_id=PATIENTS))

    assert found.levels == [] and "clinic_id (6 groups)" in said and "type group.level=clinic_id" in said


def test_the_notes_on_ids_that_folds_may_tear_are_found_among_all_notes():
    """Two of three: what stays whole is no such note."""
    images = slides(patient_id=PATIENTS, subject_id=HOSPITALS)
    said = [*chosen(images)[1].split(" / "), *chosen(slides(clinic_id=PATIENTS))[1].split(" / ")]

    assert len(said) == 3
    assert [note.split(",")[0] for note in level_notes(said)] == [
        "subject_id would leave 3 groups", said[2].split(",")[0]]
    assert "clinic_id" in level_notes(said)[1]


@pytest.mark.parametrize(("columns", "group"), [
    ({"patient_id": PATIENTS}, {"level": None}),
    ({"weather": PATIENTS}, {}),                                       # no id
    ({"patient_id": ["p", "q"] * 12}, {}),                             # cuts through slides
    ({"slide_id": [f"s{n // 2:02d}" for n in range(24)]}, {}),         # the same groups under another name
    ({"patient_id": ["one"] * 24}, {}),
])
def test_what_is_no_level_changes_nothing(columns: dict[str, list[str]], group: dict[str, object]):
    found, said = chosen(slides(**columns), **group)

    assert found.levels == [] and said == ""


def test_a_level_that_is_named_is_taken_and_must_be_a_column():
    found, _ = chosen(slides(weather=PATIENTS), level="weather")

    assert found.levels == ["weather"]
    with pytest.raises(GroupError, match=r"group.level=season is not a column"):
        chosen(slides(), level="season")


def test_without_any_group_the_patients_are_the_groups():
    found, said = chosen(slides(group_id=[""] * 24, patient_id=PATIENTS))

    assert found.levels == ["patient_id"] and "patient_id stay whole (6 groups)" in said


def test_levels_that_cross_each_other_are_not_both_kept():
    """Six patients and, across them, four flights: only what is nested can be a hierarchy."""
    flights = [f"f{n % 4}" for n in range(12) for _ in range(2)]
    levels = coarser_levels(slides(patient_id=PATIENTS, flight=flights), slides()["group_id"], least=2)

    assert levels == Levels(kept=("patient_id",))


def names(*stems: str, each: int = 3, form: str = "{}_{:04d}") -> pd.DataFrame:
    ids = [form.format(stem, 10 * n) for stem in stems for n in range(each)]
    return pd.DataFrame({"image_id": ids, "group_id": ""})


def test_names_of_clips_are_the_groups_when_none_is_given():
    images = pd.concat([names(*"klmnop"), pd.DataFrame({"image_id": ["cover"], "group_id": [""]})], ignore_index=True)
    found, said = chosen(images)

    assert found.pattern == "frames"
    assert "18 of 19 names tell one by group.pattern=frames: 6 groups" in said
    assert "(3 images)" in said and "not, for example, cover" in said and "group.pattern=null" in said


def test_names_that_tell_too_few_groups_are_said_and_not_used():
    found, said = chosen(names("a", "b"))

    assert found.pattern is None
    assert "2 groups" in said and "group.pattern=frames split.folds=2" in said


@pytest.mark.parametrize("change", [{"group_id": "g"}, {"source_id": "s"}])
def test_names_are_not_asked_where_something_is_given(change: dict[str, str]):
    found, _ = chosen(names(*"klmnop").assign(**change))

    assert found.pattern is None


def test_two_numbers_tell_the_part_before_both_and_positions_are_no_frames():
    """site_3_07: 3 and 7 may be row and column, or clip and frame; what stands before both is certain to be one."""
    assert proposed_pattern(pd.Series([f"site{s}_{n}_{n + 1:02d}" for s in "ab" for n in range(4)])) == "numbered"
    assert chosen(names("x0", "x48", "x96", "x144", "x192", form="scene_{}_y{}"))[0].pattern is None
    assert proposed_pattern(pd.Series(["train_001", "train_002", "val_001", "val_002"])) is None
