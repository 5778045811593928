"""What was seen in files is kept: the second look opens none, gives the same, and is never wrong about changed ones."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from tiny_images import write_squares

from segcv.errors import MaskError
from segcv.pixels import Profile, check_data, label_map
from segcv.pixels import profile as looking

TWO = label_map(num_classes=2)


@pytest.fixture
def images(tmp_path: Path) -> pd.DataFrame:
    return write_squares(tmp_path / "files", 4)


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Ids of the images that were read, in their order."""
    seen: list[str] = []
    original = looking._check_pair

    def watched(row, **others):
        seen.append(row[0])
        return original(row, **others)

    monkeypatch.setattr(looking, "_check_pair", watched)
    return seen


def look(images: pd.DataFrame, folder: Path, **others: object) -> Profile:
    return check_data(images, TWO, marks="landmarks", kept=folder / "cache", **others)


def assert_same(one: Profile, other: Profile) -> None:
    for name in ("images", "masks", "looks"):
        pd.testing.assert_frame_equal(getattr(one, name), getattr(other, name))


def test_the_second_look_opens_no_file_and_gives_the_same(images, tmp_path, looked):
    first = look(images, tmp_path, workers=3)
    plain = check_data(images, TWO, marks="landmarks")
    count = len(looked)
    second = look(images, tmp_path)

    assert count == 8 and len(looked) == 8
    assert_same(first, second)
    assert_same(plain, second)
    assert len(list((tmp_path / "cache").iterdir())) == 1


def test_rows_in_another_order_under_other_names_are_known_by_their_files(images, tmp_path, looked):
    look(images, tmp_path)
    renamed = images.iloc[::-1].assign(image_id=["a", "b", "c", "d"]).reset_index(drop=True)
    found = look(renamed, tmp_path)

    assert len(looked) == 4
    assert_same(found, check_data(renamed, TWO, marks="landmarks"))


def test_a_file_that_was_touched_is_known_by_its_content_and_a_changed_one_is_read(images, tmp_path, looked):
    """A mirrored BMP has the size of what it replaces; its time of change is set back too."""
    changed = Path(images["image_path"][2]).with_suffix(".bmp")
    picture = np.asarray(Image.open(images["image_path"][2]))
    Image.fromarray(picture).save(changed)
    images.loc[2, "image_path"] = str(changed)
    look(images, tmp_path)
    before = changed.stat()
    Image.fromarray(np.ascontiguousarray(picture[:, ::-1])).save(changed)
    os.utime(changed, ns=(before.st_atime_ns, before.st_mtime_ns))
    os.utime(images["image_path"][1])
    looked.clear()
    found = look(images, tmp_path)

    assert changed.stat().st_size == before.st_size
    assert looked == ["square_2"]
    assert_same(found, check_data(images, TWO, marks="landmarks"))


@pytest.mark.parametrize("harm", [lambda data: data[:-7], lambda data: b"", lambda data: data[:99] + b"x" + data[100:]])
def test_a_damaged_cache_is_made_anew(images, tmp_path, looked, harm):
    first = look(images, tmp_path)
    kept = next((tmp_path / "cache").iterdir())
    kept.write_bytes(harm(kept.read_bytes()))
    again = look(images, tmp_path)
    assert len(looked) == 8
    assert_same(first, again)
    look(images, tmp_path)
    assert len(looked) == 8


def test_another_way_of_looking_looks_again(images, tmp_path, looked):
    look(images, tmp_path)
    look(images, tmp_path, nodata=0.0)
    check_data(images, label_map(num_classes=3), marks="landmarks", kept=tmp_path / "cache")

    assert len(looked) == 12


def test_what_is_fit_is_kept_when_another_file_is_not(images, tmp_path, looked):
    mask = Path(images["mask_path"][3])
    shutil.copy(mask, tmp_path / "saved.png")
    Image.fromarray(np.full((32, 32), 9, np.uint8)).save(mask)
    with pytest.raises(MaskError):
        look(images, tmp_path)
    shutil.copy(tmp_path / "saved.png", mask)
    looked.clear()
    look(images, tmp_path)

    assert looked == ["square_3"]
