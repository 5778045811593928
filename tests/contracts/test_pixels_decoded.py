"""The cache of decoded images: what it gives is what the files hold, whatever happened to it or to them."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import tifffile
from PIL import Image
from tiny_images import write_squares

from segcv.pixels import Decoded, decoded_pairs, fit_preprocessing, label_map, read_image
from segcv.tables import held

LABELS = label_map(names=["background", "square"])


@pytest.fixture
def rows(tmp_path: Path) -> pd.DataFrame:
    """Five images of two sizes, one of them with an odd number of bytes."""
    return pd.concat([write_squares(tmp_path / "small", 3), write_squares(tmp_path / "large", 2, side=45).assign(
        image_id=["large_0", "large_1"])], ignore_index=True)


def kept(rows: pd.DataFrame, folder: Path, *, limit_gb: float = 1, **changed: object) -> Decoded:
    pairs = zip(rows["image_path"], rows["mask_path"], strict=True)
    return decoded_pairs(pairs, folder=folder, limit_gb=limit_gb, **({"labels": LABELS, "workers": 2} | changed))


def files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.pixels"))


def assert_as_the_files_say(found: Decoded, rows: pd.DataFrame) -> None:
    for image_path, mask_path in zip(map(Path, rows["image_path"]), map(Path, rows["mask_path"]), strict=True):
        pair = found.pair(image_path, mask_path)
        assert pair is not None
        np.testing.assert_array_equal(pair[0], read_image(image_path))
        np.testing.assert_array_equal(pair[1], LABELS.read(mask_path))
        assert pair[0].dtype == np.uint8 and not pair[0].flags.writeable


def test_it_gives_what_the_files_hold_and_decodes_each_once(rows, tmp_path):
    first = kept(rows, tmp_path / "cache")
    before = [(path, path.stat().st_mtime_ns) for path in files(tmp_path / "cache")]

    again = kept(rows.iloc[::-1], tmp_path / "cache")

    assert len(first) == len(again) == 5 and not first.streamed
    assert_as_the_files_say(first, rows)
    assert_as_the_files_say(pickle.loads(pickle.dumps(again)), rows)
    assert [(path, path.stat().st_mtime_ns) for path in files(tmp_path / "cache")] == before and len(before) == 1


def test_only_what_is_asked_for_is_opened_and_what_another_asked_for_is_there(rows, tmp_path):
    """A fold opens its own images: the files of the others are gone, and nobody misses them."""
    hidden = rows.iloc[3:]
    for path in hidden["image_path"]:
        Path(path).rename(path + ".hidden")
    few = kept(rows.iloc[:3], tmp_path / "cache")
    for path in hidden["image_path"]:
        Path(path + ".hidden").rename(path)
    first = files(tmp_path / "cache")

    every = kept(rows, tmp_path / "cache")

    (second,) = set(files(tmp_path / "cache")) - set(first)
    assert len(few) == 3 and len(every) == 5
    assert second.stat().st_size == 2 * (6080 + 2048)   # 45 x 45 x 3 and 45 x 45 bytes, each to the next 64
    assert_as_the_files_say(every, rows)


@pytest.mark.parametrize("which", ["image_path", "mask_path"])
def test_a_changed_file_is_noticed(rows, tmp_path, which: str):
    """Another picture, saved under the same name with the same number of pixels."""
    kept(rows, tmp_path / "cache")
    changed = Path(rows[which].iloc[1])
    Image.fromarray((1 if which == "mask_path" else 255) - np.asarray(Image.open(changed))).save(changed)
    os.utime(changed, ns=(0, 1))

    assert_as_the_files_say(kept(rows, tmp_path / "cache"), rows)


def test_files_of_pictures_that_all_changed_are_removed(rows, tmp_path):
    kept(rows, tmp_path / "cache")
    for path in [*rows["image_path"], *rows["mask_path"]]:
        os.utime(path, ns=(0, 1))

    assert_as_the_files_say(kept(rows, tmp_path / "cache"), rows)
    assert len(files(tmp_path / "cache")) == 1


@pytest.mark.parametrize("damage", ["cut off", "emptied", "a hole", "no table", "half a table", "gone"])
def test_a_damaged_cache_is_made_again(rows, tmp_path, damage: str):
    kept(rows, tmp_path / "cache")
    (pixels,) = files(tmp_path / "cache")
    table = pixels.with_suffix(".json")
    data, text = pixels.read_bytes(), table.read_text()
    if damage == "cut off":
        pixels.write_bytes(data[:-100])
    elif damage == "emptied":
        pixels.write_bytes(b"")
    elif damage == "a hole":
        pixels.write_bytes(data[:64] + bytes(512) + data[576:])
    elif damage == "no table":
        table.unlink()
    elif damage == "half a table":
        table.write_text(text[:len(text) // 2])
    else:
        pixels.unlink()

    found = kept(rows, tmp_path / "cache")

    assert len(found) == 5 and not found.streamed
    assert_as_the_files_say(found, rows)
    assert len(files(tmp_path / "cache")) == 1


def test_what_a_killed_process_left_is_removed(rows, tmp_path):
    kept(rows.iloc[:1], tmp_path / "cache")
    left = files(tmp_path / "cache")[0].with_name(".new-1.pixels")
    left.write_bytes(b"half")

    kept(rows, tmp_path / "cache")

    assert not left.exists()


def test_another_meaning_of_mask_values_is_another_truth(rows, tmp_path):
    kept(rows, tmp_path / "cache")
    exchanged = label_map(names=["square", "background"], values={0: 1, 1: 0})

    found = kept(rows, tmp_path / "cache", labels=exchanged)

    path = Path(rows["mask_path"].iloc[0])
    pair = found.pair(Path(rows["image_path"].iloc[0]), path)
    assert pair is not None
    np.testing.assert_array_equal(pair[1], 1 - LABELS.read(path))


def test_two_processes_at_once_decode_once(rows, tmp_path):
    """Both start while a third holds the lock, so both want to decode; one shard is the proof that one did."""
    rows.to_csv(tmp_path / "rows.csv")
    code = ("import sys, pandas as pd; from segcv.pixels import decoded_pairs, label_map; from pathlib import Path\n"
            "rows = pd.read_csv(sys.argv[1]); found = decoded_pairs(zip(rows.image_path, rows.mask_path), "
            "labels=label_map(names=['background', 'square']), folder=Path(sys.argv[2]), limit_gb=1)\n"
            "print(len(found), found.streamed)")
    kept(rows.iloc[:0], tmp_path / "cache")
    one = kept(rows.iloc[:1], tmp_path / "aside")
    here = tmp_path / "cache" / files(tmp_path / "aside")[0].parent.name
    with held(here / ".lock", what="the cache"):
        both = [subprocess.Popen([sys.executable, "-c", code, tmp_path / "rows.csv", tmp_path / "cache"],
                                 stdout=subprocess.PIPE, text=True) for _ in range(2)]
    said = [process.communicate()[0].split() for process in both]

    assert said == [["5"], ["5"]] and len(one) == 1
    assert len(files(tmp_path / "cache")) == 1


def test_what_finds_no_room_is_said_in_one_line_and_read_from_its_file(rows, tmp_path):
    """An image of 32 x 32 x 3 bytes with its mask takes 4,096 bytes: 9,000 bytes hold two of them."""
    found = kept(rows.iloc[:3], tmp_path / "cache", limit_gb=9000 / 1e9, workers=1)

    assert len(found) == 2 and files(tmp_path / "cache")[0].stat().st_size == 8192
    assert found.streamed.startswith("Decoded again whenever they are read: 1 of 3 because the cache is full "
                                     "(cache_gb=9e-06")
    assert kept(rows.iloc[:3], tmp_path / "cache", limit_gb=0.1).streamed == ""


def test_floats_are_not_kept_and_are_not_decoded_to_find_out_again(rows, tmp_path, monkeypatch):
    tifffile.imwrite(tmp_path / "float.tif", np.zeros((32, 32), np.float32))
    rows = rows.assign(image_path=[str(tmp_path / "float.tif"), *rows["image_path"].iloc[1:]])

    found = kept(rows, tmp_path / "cache")

    assert found.streamed == "Decoded again whenever they are read: 1 of 5 because they hold float32."
    assert len(found) == 4 and found.pair(Path(rows["image_path"].iloc[0]), Path(rows["mask_path"].iloc[0])) is None
    monkeypatch.setattr("segcv.pixels.decoded.read_image", None)
    assert kept(rows, tmp_path / "cache").streamed == found.streamed


def test_a_file_that_cannot_be_read_is_left_to_who_reads_it(rows, tmp_path):
    Path(rows["image_path"].iloc[0]).write_bytes(b"no picture")

    found = kept(rows, tmp_path / "cache")

    assert len(found) == 4 and "1 of 5 because their files cannot be read" in found.streamed


def test_a_folder_that_cannot_be_written_to_makes_it_slower_and_nothing_else(rows, tmp_path):
    (tmp_path / "cache").write_text("a file where the folder should be")

    found = kept(rows, tmp_path / "cache")

    assert len(found) == 0 and "5 of 5 because" in found.streamed and "cannot be written to" in found.streamed


def test_a_disk_that_is_full_in_the_middle_makes_it_slower_and_nothing_else(rows, tmp_path, monkeypatch):
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("segcv.pixels.decoded_files.os.pwrite", full)
    found = kept(rows, tmp_path / "cache")
    monkeypatch.undo()

    assert len(found) == 0 and "cannot be written to (No space left on device)" in found.streamed
    assert not files(tmp_path / "cache")
    assert_as_the_files_say(kept(rows, tmp_path / "cache"), rows)


def test_the_normalisation_is_the_same_to_the_last_bit(rows, tmp_path):
    assert fit_preprocessing(rows, decoded=kept(rows, tmp_path / "cache")) == fit_preprocessing(rows)
