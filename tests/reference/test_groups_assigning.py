"""Who belongs together, on small tables with made-up looks: hashes by hand, pictures of noise."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

from segcv.errors import GroupError, SegcvWarning
from segcv.groups import assign_groups, clusters, near_duplicate_pairs


def picture(scene: int, *, noise: float = 0.0, contrast: float = 50.0) -> bytes:
    """Thumbnail of a scene; other scenes do not correlate with it, noisy ones of the same scene do."""
    base = np.random.default_rng(scene).normal(size=(32, 32))
    blurred = base + noise * np.random.default_rng(scene + 1000).normal(size=(32, 32))
    return np.clip(128 + contrast * blurred, 0, 255).astype(np.uint8).tobytes()


def looks_of(rows: dict[str, tuple[int, bytes]], flat: tuple[str, ...] = ()) -> pd.DataFrame:
    return pd.DataFrame({
        "image_id": list(rows), "phash": np.array([phash for phash, _ in rows.values()], np.uint64),
        "flat": [image_id in flat for image_id in rows], "thumbnail": [seen for _, seen in rows.values()]})


def images_of(groups: dict[str, str], **columns: list[str]) -> pd.DataFrame:
    return pd.DataFrame({"image_id": list(groups), "image_path": [f"/d/{i}.png" for i in groups],
                         "mask_path": [f"/d/{i}_m.png" for i in groups], "group_id": list(groups.values())}
                        | columns).astype("str")


def assign(images: pd.DataFrame, looks: pd.DataFrame | None = None, *, pattern: str | None = None,
           max_distance: int | None = 5, folds: int = 5, **choices: Any) -> pd.DataFrame:
    return assign_groups(images, looks, pattern=pattern, max_distance=max_distance if looks is not None else None,
                         folds=folds, **choices).set_index("image_id")


BITS = [0, 0b1, 0b111, 0xFF00, 0xFF00 | 1, 2**63]      # within five bits: the first three, the next two


def test_group_ids_are_text_and_blanks_are_alone():
    """007, 07, 7 and NA are four groups; a blank is a group of its own, named by its image."""
    table = assign(images_of({"a": "007", "b": "07", "c": "7", "d": "NA", "e": "", "f": "  "}))

    assert table["group_id"].tolist() == ["007", "07", "7", "NA", "e", "f"]
    assert table["group_evidence"].tolist() == ["column"] * 4 + ["alone"] * 2


def test_look_alikes_without_group_form_one_and_the_evidence_is_kept():
    looks = looks_of({name: (bits, picture(scene)) for name, bits, scene in
                      zip("abcdef", BITS, [1, 1, 1, 2, 2, 3], strict=True)})
    table = assign(images_of(dict.fromkeys("abcdef", "")), looks)

    assert table["group_id"].tolist() == ["a", "a", "a", "d", "d", "f"]
    assert table["group_evidence"].tolist() == ["near-duplicate of b", "near-duplicate of a", "near-duplicate of b",
                                                "near-duplicate of e", "near-duplicate of d", "alone"]


def test_near_hashes_of_different_pictures_join_nothing():
    looks = looks_of({"a": (0, picture(1)), "b": (1, picture(2))})

    assert assign(images_of({"a": "", "b": ""}), looks)["group_id"].tolist() == ["a", "b"]


def test_noise_is_forgiven_and_dull_pictures_need_more_agreement():
    """Correlation 1 / sqrt(1 + noise^2): .995 at noise .1, .928 at .4, .78 at .8; rich ones (detail about 40) need .9,
    of dull ones (about 8) the rule allows 1 - r <= .1 (8/20)^3 + (1/8)^2 / 2 = .014."""
    pairs = {}
    for contrast in (40.0, 8.0):
        looks = [looks_of({"a": (0, picture(1, contrast=contrast)),
                           "b": (1, picture(1, noise=noise, contrast=contrast))}) for noise in (0.1, 0.4, 0.8)]
        pairs[contrast] = [len(near_duplicate_pairs(two, max_distance=5)) for two in looks]

    assert pairs[40.0] == [1, 1, 0]
    assert pairs[8.0] == [1, 0, 0]


def test_a_row_without_group_takes_the_group_it_looks_like():
    looks = looks_of({"a": (0, picture(1)), "b": (1, picture(1)), "c": (2**40, picture(2))})
    table = assign(images_of({"a": "NA", "b": "", "c": "N2"}), looks)

    assert table["group_id"].tolist() == ["NA", "NA", "N2"]
    assert table.loc["b", "group_evidence"] == "near-duplicate of a"


def test_flat_images_are_counted_and_join_nothing():
    blank = bytes([200]) * 1024
    looks = looks_of(dict.fromkeys("abc", (0, blank)) | {"d": (9, picture(1))}, flat=("a", "b", "c"))
    with pytest.warns(SegcvWarning, match=r"3 flat \(blank\) images have no content .*: a, b, c") as said:
        table = assign(images_of({"a": "g0", "b": "", "c": "", "d": ""}), looks)

    assert table["group_id"].tolist() == ["g0", "b", "c", "d"]
    assert len(said) == 1


def given(sizes: dict[str, int]) -> dict[str, str]:
    return {f"{group}{n}": group for group, size in sizes.items() for n in range(size)}


def scattered(images: dict[str, str], alike: dict[str, tuple[int, int]]) -> pd.DataFrame:
    """Looks in which all are different (distance > 20) but those named: (bits, scene)."""
    rng = np.random.default_rng(5)
    return looks_of({name: (alike[name][0], picture(alike[name][1])) if name in alike
                     else (int(rng.integers(2**62, 2**63)), picture(100 + place))
                     for place, name in enumerate(images)})


def test_look_alike_given_groups_join_while_they_stay_small():
    """x and y have 2 of 10 images each, together 4, at most 1/2 of them."""
    groups = given({"x": 2, "y": 2, "z": 6})
    with pytest.warns(SegcvWarning, match=r"groups joined.*: x and y \(x0 and y1, 1 bits apart\)"):
        table = assign(images_of(groups), scattered(groups, {"x0": (0, 1), "y1": (1, 1)}), folds=2)

    assert table["group_id"].tolist() == ["x+y"] * 4 + ["z"] * 6
    assert table.loc["x1", "group_evidence"] == "column; joined with y by look-alikes"


def test_look_alike_given_groups_ask_when_the_joined_one_would_be_too_large():
    groups = given({"x": 3, "y": 3, "z": 4})
    looks = scattered(groups, {"x0": (0, 1), "y1": (1, 1)})
    with pytest.raises(GroupError, match=r"x and y \(x0 and y1, 1 bits apart\).*more than 1/2 of the 10.*large_joins"):
        assign(images_of(groups), looks, folds=2)
    with pytest.warns(SegcvWarning, match="groups joined"):
        joined = assign(images_of(groups), looks, folds=2, large_joins="join")
    with pytest.warns(SegcvWarning, match=r"stay apart: x and y \(x0 and y1, 1 bits apart\).*more than 1/2 of the 10"):
        table = assign(images_of(groups), looks, folds=2, large_joins="apart")

    assert joined["group_id"].nunique() == 2

    assert table["group_id"].tolist() == list(groups.values())
    assert set(table["group_evidence"]) == {"column"}


def test_identical_images_join_given_groups_whatever_their_size():
    groups = given({"x": 3, "y": 3, "z": 4})
    with pytest.warns(SegcvWarning, match=r"x and y \(x0 and y1, identical\)"):
        table = assign(images_of(groups), scattered(groups, {"x0": (0, 1), "y1": (0, 1)}), folds=2)

    assert table["group_id"].tolist() == ["x+y"] * 6 + ["z"] * 4


def test_equal_content_counts_as_identical_though_flat_copies_do_not():
    looks = looks_of({"a": (0, picture(1)), "b": (2**40, picture(1)), "c": (5, picture(2)), "d": (5, picture(2))},
                     flat=("c", "d")).assign(image_hash=["h1", "h1", "h2", "h2"])

    assert near_duplicate_pairs(looks, max_distance=5)[["first", "second", "identical"]].values.tolist() == [
        ["a", "b", True]]


def test_a_row_between_two_given_groups_goes_to_the_nearer_one():
    """1 bit from x0, 4 from y0; x and y may not join (6 of 10 images at 2 folds), which is said."""
    groups = given({"x": 3, "y": 3, "z": 3}) | {"u": ""}
    with pytest.warns(SegcvWarning, match=r"stay apart: x and y \(u and y0, 4 bits apart\)"):
        table = assign(images_of(groups), scattered(groups, {"x0": (0b0, 1), "u": (0b1, 1), "y0": (0b11111, 1)}),
                       folds=2, max_distance=4, large_joins="apart")

    assert table.loc["u", ["group_id", "group_evidence"]].tolist() == ["x", "near-duplicate of x0"]


def test_a_chain_is_kept_and_its_width_is_said():
    """Steps of 4 bits: the ends of five are 16 bits apart, the threshold is 5."""
    looks = looks_of({f"f{n}": (2**(4 * n) - 1, picture(1)) for n in range(5)})
    with pytest.warns(SegcvWarning, match=r"wider than the threshold of 5 bits: 5 images from f0 to f4 "
                                          r"\(diameter 16 bits\)"):
        table = assign(images_of({f"f{n}": "" for n in range(5)}), looks)

    assert set(table["group_id"]) == {"f0"}


def test_names_come_before_looks_and_after_the_column():
    groups = {"clipA_001": "", "clipA_002": "", "clipB_001": "", "other": "", "clipB_002": "strip9"}
    with pytest.warns(SegcvWarning, match=r"matches 3 of 4 names; not, for example, other"):
        table = assign(images_of(groups), pattern=r"^(?P<group>clip\w)_")

    assert table["group_id"].tolist() == ["clipA", "clipA", "clipB", "other", "strip9"]
    assert table["group_evidence"].tolist()[2:] == [r"name: ^(?P<group>clip\w)_", "alone", "column"]


def test_patches_of_a_source_share_its_group():
    """s1's patch without group takes the group of its other patches; s2 has none and becomes one."""
    table = assign(images_of({"a": "g", "b": "", "c": "", "d": "", "e": ""}, source_id=["s1", "s1", "s2", "s2", ""]))

    assert table["group_id"].tolist() == ["g", "g", "s2", "s2", "e"]
    assert table["group_evidence"].tolist() == ["column", "source_id", "source_id", "source_id", "alone"]


def test_a_source_in_two_groups_is_warned_and_with_open_rows_refused():
    images = images_of({"a": "g", "b": "h", "c": "h"}, source_id=["s", "s", ""])
    with pytest.warns(SegcvWarning, match="source_id s has images in the groups g and h"):
        assign(images)
    with pytest.raises(GroupError, match=r"source_id s .* and 1 without group_id \(c\)"):
        assign(images.assign(group_id=["g", "h", ""], source_id="s"))


def test_an_image_alone_never_gets_the_name_of_a_given_group():
    table = assign(images_of({"a": "b", "b": "", "c": ""}))

    assert table["group_id"].tolist() == ["b", "image b", "c"]


def test_ids_that_differ_by_blanks_only_are_refused():
    with pytest.raises(GroupError, match="'g' and 'g ' differ by blanks only"):
        assign(images_of({"a": "g", "b": "g "}))


def test_ids_that_differ_by_case_only_are_two_groups_and_said():
    with pytest.warns(SegcvWarning, match="'Strip1' and 'strip1' differ by case only"):
        table = assign(images_of({"a": "Strip1", "b": "strip1", "c": "strip2"}))

    assert table["group_id"].tolist() == ["Strip1", "strip1", "strip2"]


def test_looks_must_cover_the_images():
    with pytest.raises(GroupError, match="1 of 2 images have no looks, such as b"):
        assign(images_of({"a": "", "b": ""}), looks_of({"a": (0, picture(1))}))
    with pytest.raises(GroupError, match="need the looks"):
        assign_groups(images_of({"a": ""}), None, pattern=None, max_distance=5, folds=2)


def test_rows_and_inputs_keep_their_order():
    images = images_of({"c": "", "a": "g", "b": ""})
    before = images.copy()

    assert assign(images).index.tolist() == ["c", "a", "b"]
    pd.testing.assert_frame_equal(images, before)


def test_without_any_column_or_look_every_image_is_alone_and_nothing_is_said():
    images = images_of({"b": "", "a": ""}).drop(columns="group_id")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = assign(images)

    assert table["group_id"].tolist() == ["b", "a"]


def test_clusters_follow_links_over_any_number_of_steps():
    pairs = pd.DataFrame({"first": ["a", "b", "x"], "second": ["b", "c", "y"]})

    assert clusters(pd.Series(list("cxbaqy")), pairs).tolist() == ["a", "x", "a", "a", "q", "x"]


def test_a_pile_of_copies_is_linked_once_each():
    looks = looks_of({f"i{n:03d}": (7, picture(1)) for n in range(200)})

    pairs = near_duplicate_pairs(looks, max_distance=5)

    assert len(pairs) == 199
    assert set(pairs["first"]) == {"i000"}


def test_every_value_of_a_level_stays_in_one_group_and_names_it():
    """Studies s1 and s2 are of patient p1; u has a patient and no study; p3 and p4 share the study s3."""
    images = images_of({"a": "s1", "b": "s2", "c": "", "d": "s3", "e": "s3", "f": "s4", "g": ""},
                       patient=["p1", "p1", "p1", "p3", "p4", "", ""])
    table = assign(images, levels=["patient"])

    assert table["group_id"].tolist() == ["p1", "p1", "p1", "s3", "s3", "s4", "g"]
    assert table["group_evidence"].tolist() == [
        "column; joined with s2 by patient", "column; joined with s1 by patient", "patient", "column", "column",
        "column", "alone"]


def test_levels_go_from_fine_to_coarse():
    images = images_of({"a": "s1", "b": "s2", "c": "s3"}, patient=["p1", "p1", "p2"], household=["h", "", "h"])

    assert set(assign(images, levels=["patient", "household"])["group_id"]) == {"h"}
    with pytest.raises(GroupError, match=r"group.levels=family is not a column of the table; it has image_id"):
        assign(images, levels=["family"])


def test_positions_that_overlap_join_given_groups_and_say_so():
    ground = pd.DataFrame({"first": ["a"], "second": ["b"], "share": [0.25]})
    with pytest.warns(SegcvWarning, match=r"joined, because their images overlap: x and y \(a and b, 25 % of one is"):
        table = assign(images_of({"a": "x", "b": "y", "c": "z", "d": "z"}), ground=ground, folds=2)
    alone = assign(images_of({"a": "", "b": "", "c": "", "d": ""}), ground=ground, folds=2)

    assert table["group_id"].tolist() == ["x+y", "x+y", "z", "z"]
    assert table["group_evidence"].tolist()[0] == "column; joined with y by shared ground"
    assert alone["group_evidence"].tolist() == ["overlap with b", "overlap with a", "alone", "alone"]


def test_a_long_chain_of_overlaps_is_not_glued_to_one_group():
    """Five strips in a row are 5 of 8 images, above 1/2, and stay five; the pair beside them is 2 of 8 and joins."""
    chain = dict.fromkeys("abcdefgh", "")
    ground = pd.DataFrame([("a", "b"), ("b", "c"), ("c", "d"), ("d", "e"), ("f", "g")], columns=["first", "second"])
    ground["share"] = 0.2
    table = assign(images_of(chain), ground=ground, folds=2)
    whole = assign(images_of(chain), ground=ground, folds=2, large_joins="join")

    assert table["group_id"].tolist() == ["a", "b", "c", "d", "e", "f", "f", "h"]
    assert whole["group_id"].tolist() == ["a", "a", "a", "a", "a", "f", "f", "h"]
