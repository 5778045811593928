"""The quick ways to a picture and its hash give what Pillow and imagehash give, and leave what is unusual to them."""

from __future__ import annotations

import io

import imagehash
import numpy as np
import pytest
from PIL import Image

from segcv.pixels import look, read_image
from segcv.pixels.files import Fault
from segcv.pixels.phash import phash_of, thumbnail_of
from segcv.pixels.quick import decode_quick


def noise(seed: int, shape: tuple[int, ...]) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, shape, np.uint8)


def file_of(picture: np.ndarray, kind: str, **how: object) -> bytes:
    file = io.BytesIO()
    Image.fromarray(picture).save(file, kind, **how)
    return file.getvalue()


@pytest.mark.parametrize(("shape", "kind", "how"), [
    ((37, 53), "PNG", {}), ((37, 53, 3), "PNG", {}), ((37, 53, 4), "PNG", {}),
    ((41, 64), "JPEG", {}), ((41, 64, 3), "JPEG", {"quality": 75}), ((41, 64, 3), "JPEG", {"progressive": True}),
    ((41, 64, 3), "JPEG", {"quality": 95, "subsampling": 0}),
])
def test_samples_are_those_of_pillow(shape, kind, how):
    data = file_of(noise(1, shape), kind, **how)
    found = decode_quick(data, kind, max_pixels=10_000)

    assert found is not None
    np.testing.assert_array_equal(found.squeeze(), np.asarray(Image.open(io.BytesIO(data))))


def test_what_takes_a_closer_look_is_left_to_pillow():
    exif = Image.Exif()
    exif[274] = 6
    rgb = noise(2, (20, 30, 3))
    for data, kind in (
        (file_of(rgb, "JPEG", exif=exif), "JPEG"),
        (file_of(rgb, "JPEG")[:-2], "JPEG"),
        (file_of(np.asarray(Image.fromarray(rgb).convert("CMYK")), "TIFF"), "TIFF"),
        (file_of(noise(3, (9, 9)).astype(np.uint16), "PNG"), "PNG"),
        (file_of(rgb, "PNG", transparency=(0, 0, 0)), "PNG"),
    ):
        assert decode_quick(data, kind, max_pixels=10_000) is None


def test_a_broken_or_huge_picture_is_refused():
    data = file_of(noise(4, (20, 30, 3)), "PNG")
    with pytest.raises(Fault):
        decode_quick(data[:60] + bytes([data[60] ^ 1]) + data[61:], "PNG", max_pixels=10_000)
    with pytest.raises(Fault):
        decode_quick(data, "PNG", max_pixels=599)


@pytest.mark.parametrize("seed", range(40))
def test_thumbnail_and_hash_have_the_bits_of_the_libraries(seed):
    """Second methods: Pillow's conversion and Lanczos reduction, and imagehash.phash; sizes from 1 to 400 px."""
    rng = np.random.default_rng(seed)
    size = tuple(int(side) for side in rng.integers(1, 400 if seed % 2 else 70, 2))
    picture = noise(seed, size if seed % 3 else (*size, 3))
    shown = Image.fromarray(picture)
    small = np.asarray(shown.convert("L").resize((32, 32), Image.Resampling.LANCZOS))

    np.testing.assert_array_equal(thumbnail_of(picture), small)
    assert phash_of(small) == int(str(imagehash.phash(shown)), 16)


def test_pictures_with_ties_have_the_bits_of_the_library():
    """Blank, mirrored and chessboard pictures: many patterns are zero, and rounding decides their bits."""
    board = (np.indices((64, 64)).sum(0) // 8 % 2 * 255).astype(np.uint8)
    mirrored = np.hstack([noise(1, (40, 20)), noise(1, (40, 20))[:, ::-1]])
    for picture in (np.full((50, 50), 7, np.uint8), board, mirrored):
        assert look(picture[:, :, None]).phash == int(str(imagehash.phash(Image.fromarray(picture))), 16)


@pytest.mark.parametrize("name", ["camvid", "crackforest", "dubai"])
def test_real_pictures_have_the_bits_of_imagehash(shared, name):
    paths = sorted(path for path in (shared / f"data/{name}/images").rglob("*") if path.suffix in (".png", ".jpg"))
    for path in paths[::9]:
        with Image.open(path) as picture:
            assert look(read_image(path)).phash == int(str(imagehash.phash(picture)), 16), path
