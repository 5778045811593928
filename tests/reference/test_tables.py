"""Tables: ids stay text, blanks stay blank, a bad row is named, and a file is the old version or the new one."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from segcv.errors import SegcvWarning, TableError
from segcv.tables import SCORES, make_once, pair_folders, read_images, read_json, replacing, write_images, write_json

SCORE = {"run_id": "r", "image_id": "a", "class_id": 0, "group_id": "g", "source_id": "",
         "tp": 1, "fp": 2, "fn": 3, "valid": 6}


def table(folder: Path, text: str) -> Path:
    path = folder / "images.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_ids_that_look_like_numbers_or_missing_values_stay_what_was_written(tmp_path: Path):
    """By hand: four ids that number parsing or NA parsing would merge or drop."""
    images = read_images(table(tmp_path, "image_path,mask_path,group_id\na.png,ma.png,007\nb.png,mb.png,7\n"
                                         "c.png,mc.png,NA\nd.png,md.png,\n"))

    assert images["group_id"].tolist() == ["007", "7", "NA", ""]


def test_image_id_is_the_relative_path_without_suffix(tmp_path: Path):
    images = read_images(table(tmp_path, "image_path,mask_path\nTile 1/part_001.jpg,m/x.png\n"
                                         "Tile 2/part_001.jpg,m/y.png\n"))

    assert images["image_id"].tolist() == ["Tile 1/part_001", "Tile 2/part_001"]
    assert images["image_path"].tolist() == [str(tmp_path / f"Tile {n}/part_001.jpg") for n in (1, 2)]


def test_a_table_written_elsewhere_still_points_to_the_same_files(tmp_path: Path):
    images = read_images(table(tmp_path, "image_path,mask_path\ni/a.png,m/a.png\n"))
    elsewhere = tmp_path / "deep" / "down" / "images.csv"

    write_images(images, elsewhere)

    pd.testing.assert_frame_equal(read_images(elsewhere), images)


def test_a_row_listed_twice_is_used_once_and_said(tmp_path: Path):
    path = table(tmp_path, "image_path,mask_path,group_id\na.png,ma.png,g0\nb.png,mb.png,g1\na.png,ma.png,g2\n")

    with pytest.warns(SegcvWarning, match=r"a\.png listed twice .* 'g0' is kept, 'g2' dropped"):
        assert read_images(path)["group_id"].tolist() == ["g0", "g1"]


@pytest.mark.parametrize(("rows", "message"), [
    ("a.png,ma.png\na.png,mb.png\n", r"a\.png is listed 2 times with different masks"),
    ("a.png,\n", r"mask_path is blank in 1 of 1 rows \(line 2, a\.png\)"),
    ("a.png,ma.png\na.jpg,mb.png\n", r"a\.png and a\.jpg share the image_id 'a'"),
    ("", "no row below the header"),
])
def test_a_table_that_cannot_be_right_is_refused_with_the_row(tmp_path: Path, rows: str, message: str):
    with pytest.raises(TableError, match=message):
        read_images(table(tmp_path, "image_path,mask_path\n" + rows))


@pytest.mark.parametrize(("written", "on_disk", "said"), [
    ("images\\a.png", "images/a.png", r"images\.csv: paths are written with backslashes"),
    ("images/gru\u0308n.png", "images/gr\u00fcn.png", "accents in another Unicode form"),
    ("images/gr\u00fcn.png", "images/gru\u0308n.png", "accents in another Unicode form"),
    ("gru\u0308n\\a.png", "gr\u00fcn/a.png", "accents in another Unicode form"),
])
def test_paths_of_windows_and_in_another_unicode_form_lead_to_the_file(tmp_path: Path, written: str, on_disk: str,
                                                                       said: str):
    """u with a dieresis is U+00FC, or u and U+0308 as macOS writes it; both print alike."""
    file = tmp_path / on_disk
    file.parent.mkdir()
    file.touch()
    path = table(tmp_path, f"image_path,mask_path\n{written},{written}\n")

    with pytest.warns(SegcvWarning, match=said):
        images = read_images(path)

    assert images["image_path"].tolist() == images["mask_path"].tolist() == [str(file)]
    assert "\\" not in images["image_id"][0]


def test_a_file_whose_name_has_a_backslash_is_itself(tmp_path: Path):
    (tmp_path / "a").mkdir()
    for name in ("a\\b.png", "a/b.png"):
        (tmp_path / name).touch()

    images = read_images(table(tmp_path, "image_path,mask_path\na\\b.png,a/b.png\n"))

    assert images["image_path"].tolist() == [str(tmp_path / "a\\b.png")]
    assert images["mask_path"].tolist() == [str(tmp_path / "a/b.png")]


def test_a_header_that_names_a_column_twice_is_refused(tmp_path: Path):
    with pytest.raises(TableError, match=r"images\.csv: the header names group_id more than once"):
        read_images(table(tmp_path, "image_path,mask_path,group_id, group_id\na.png,ma.png,g,h\n"))


def test_folders_are_paired_by_name_and_never_by_order(tmp_path: Path):
    for name in ("images/1.png", "images/2.png", "masks/01.png", "masks/02.png"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()

    with pytest.raises(TableError, match=r"2 of 2 images have no mask of the same name .*1\.png"):
        pair_folders(tmp_path / "images", tmp_path / "masks")


def test_a_suffix_in_mask_names_is_proposed_and_then_used(tmp_path: Path):
    for name in ("images/s/1.png", "masks/s/1_mask.png"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()

    with pytest.raises(TableError, match=r"data\.mask_suffix=_mask"):
        pair_folders(tmp_path / "images", tmp_path / "masks")
    assert pair_folders(tmp_path / "images", tmp_path / "masks", mask_suffix="_mask")["image_id"].tolist() == ["s/1"]


@pytest.mark.parametrize(("change", "message"), [
    ({"tp": 1.5}, "tp is not a whole number in 1 of 1 rows"),
    ({"tp": None}, "tp is not a whole number"),
    ({"tp": "many"}, "tp is not a whole number"),
    ({"image_id": ""}, "image_id is blank in 1 of 1 rows"),
])
def test_a_schema_names_the_column_and_the_row_it_refuses(change: dict[str, object], message: str):
    with pytest.raises(TableError, match=message):
        SCORES.check(pd.DataFrame([SCORE | change]), where="here")


def test_counts_above_two_to_the_53_stay_exact(tmp_path: Path):
    """By hand: 2**53 + 1 is the first whole number that a double cannot hold."""
    frame = pd.DataFrame([SCORE | {"tp": 2**53 + 1}])

    SCORES.write(frame, tmp_path / "scores.parquet")

    assert SCORES.read(tmp_path / "scores.parquet")["tp"].tolist() == [2**53 + 1]


def test_a_repeated_key_is_named():
    with pytest.raises(TableError, match="listed 2 times"):
        SCORES.check(pd.DataFrame([SCORE, SCORE]), where="here")


def test_an_undefined_number_is_null_in_json(tmp_path: Path):
    write_json(tmp_path / "a.json", {"miou": float("nan"), "n": np.int64(3)})

    assert read_json(tmp_path / "a.json") == {"miou": None, "n": 3}


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path):
    path = tmp_path / "a.csv"
    path.write_text("old")

    with pytest.raises(OSError, match="disk full"), replacing(path) as beside:
        beside.write_text("half of the n")
        raise OSError("disk full")

    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def _build(folder: Path, queue: multiprocessing.Queue) -> None:
    def build(beside: Path) -> None:
        (beside / "a").write_text("a")

    queue.put(make_once(folder, build))


def test_five_processes_that_want_the_same_folder_build_it_once(tmp_path: Path):
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    processes = [context.Process(target=_build, args=(tmp_path / "split", queue)) for _ in range(5)]
    for process in processes:
        process.start()
    built = [queue.get(timeout=60) for _ in processes]
    for process in processes:
        process.join()

    assert sorted(built) == [False] * 4 + [True]
    assert (tmp_path / "split" / "a").read_text() == "a"


def test_a_damaged_file_is_named(tmp_path: Path):
    for name, read in (("scores.parquet", SCORES.read), ("run.json", read_json)):
        (tmp_path / name).write_text("{ half")
        with pytest.raises(TableError, match=f"{name}: damaged"):
            read(tmp_path / name)


@pytest.mark.parametrize("image_id", ["/tmp/a", "../a", "a/../b", "a//b", "a/", "a\\b", "a" * 300])
def test_an_id_that_would_name_a_file_elsewhere_is_refused(tmp_path: Path, image_id: str):
    with pytest.raises(TableError, match="cannot name a file"):
        read_images(table(tmp_path, f"image_id,image_path,mask_path\n{image_id},a.png,ma.png\n"))
