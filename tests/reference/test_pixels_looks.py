"""Hashes and thumbnails, and pictures as PNG."""

from __future__ import annotations

import io

import imagehash
import numpy as np
import pytest
from PIL import Image

from segcv.errors import MaskError
from segcv.pixels import label_map, look, read_image, thumbnail, write_mask


def landscape(seed: int, shape: tuple[int, ...] = (70, 90, 3)) -> np.ndarray:
    """A smooth random picture of 8 bits."""
    rng = np.random.default_rng(seed)
    small = rng.integers(0, 256, (5, 6, 3), np.uint8)
    picture = np.asarray(Image.fromarray(small).resize((shape[1], shape[0]), Image.Resampling.BICUBIC))
    return picture if len(shape) == 3 else picture[:, :, 0]


@pytest.mark.parametrize("seed", range(20))
def test_the_hash_is_that_of_the_imagehash_library(seed):
    """Second method: imagehash.phash on the picture itself, RGB and grey."""
    for picture in (landscape(seed), landscape(seed, (33, 47))):
        expected = int(str(imagehash.phash(Image.fromarray(picture))), 16)

        assert look(picture.reshape(*picture.shape[:2], -1)).phash == expected


def test_further_bands_do_not_change_the_look():
    picture = landscape(1)
    with_more = np.concatenate([picture, np.zeros_like(picture)], axis=2)

    assert look(with_more).phash == look(picture).phash
    assert (look(with_more).thumbnail == look(picture).thumbnail).all()


def test_16_bit_pictures_keep_their_differences():
    """Values 20,000 to 45,500: a plain conversion to 8 bits makes all of them white, and equal."""
    looks = [look(landscape(seed).astype(np.uint16) * 100 + 20_000) for seed in range(4)]

    assert len({one.phash for one in looks}) == 4
    assert not any(one.flat for one in looks)


def test_a_16_bit_picture_looks_like_its_8_bit_original():
    """Scaling by percentiles moves few bits: at most 4 of 64."""
    picture = landscape(2)
    for deep in (picture.astype(np.uint16) * 16, picture.astype(np.float32) / 255):
        assert (look(deep).phash ^ look(picture).phash).bit_count() <= 4


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32])
def test_blank_pictures_are_flat(dtype):
    assert look(np.full((40, 40, 3), 7, dtype)).flat


def test_content_counts_only_where_there_is_data():
    """Grey 100 beside nodata 0 has an edge and no content; a landscape beside nodata has content."""
    bare = np.zeros((64, 64, 3), np.uint8)
    bare[:, 32:] = 100
    rich = np.zeros((64, 64, 3), np.uint8)
    rich[:, 32:] = landscape(3, (64, 32, 3))

    assert look(bare, nodata=0).flat and not look(bare).flat
    assert not look(rich, nodata=0).flat
    assert look(np.zeros((8, 8, 1), np.uint8), nodata=0).flat


def test_percentiles_are_taken_over_pixels_with_data():
    """A frame of -9999 would otherwise take up the whole range and leave the picture grey."""
    picture = landscape(4).astype(np.float32)
    framed = np.pad(picture, ((8, 8), (8, 8), (0, 0)), constant_values=-9999)

    assert not look(framed, nodata=-9999).flat


@pytest.mark.parametrize("kind", [np.uint8, np.uint16])
@pytest.mark.parametrize("shape", [(1, 1), (5, 3), (64, 100)])
def test_a_written_mask_is_read_back_by_pillow_and_by_us(tmp_path, kind, shape):
    labels = np.random.default_rng(0).integers(0, 3, shape).astype(kind)
    labels[0, 0] = np.iinfo(kind).max
    path = tmp_path / "folder" / "m.png"
    write_mask(path, labels)

    with Image.open(path) as picture:
        assert picture.mode == ("L" if kind == np.uint8 else "I;16")
        np.testing.assert_array_equal(np.asarray(picture), labels)
    ignore = int(np.iinfo(kind).max)
    read = label_map(num_classes=3, ignore=ignore).read(path)
    np.testing.assert_array_equal(read, np.where(labels == ignore, 255, labels))


@pytest.mark.parametrize(("labels", "name"), [
    (np.zeros((2, 2), np.int64), "m.png"), (np.zeros((2, 2, 1), np.uint8), "m.png"),
    (np.zeros((2, 2), np.uint8), "m.jpg"),
])
def test_what_is_no_label_array_is_not_written(tmp_path, labels, name):
    with pytest.raises(MaskError):
        write_mask(tmp_path / name, labels)

    assert not (tmp_path / name).exists()


@pytest.mark.parametrize("image", [landscape(5), landscape(5).astype(np.uint16) * 7, landscape(5)[:, :, :1]])
def test_a_thumbnail_is_a_small_png_of_8_bits(tmp_path, image):
    """70 x 90 in a square of 45 is 35 x 45."""
    data = thumbnail(image, side=45)
    with Image.open(io.BytesIO(data)) as picture:
        assert (picture.size, picture.mode) == ((45, 35), "RGB" if image.shape[2] == 3 else "L")
    (tmp_path / "t.png").write_bytes(data)
    assert read_image(tmp_path / "t.png").std() > 4
