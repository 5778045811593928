"""Images come back as they are shown, in the range they are stored in, or are refused by name."""

from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path

import cv2
import numpy as np
import pytest
import tifffile
from PIL import Image, ImageOps

from segcv.errors import ImageFileError
from segcv.pixels import read_image

RNG = np.random.default_rng(5)
GREY = RNG.integers(0, 256, (7, 5), np.uint8)
RGB = RNG.integers(0, 256, (7, 5, 3), np.uint8)
RGBA = RNG.integers(0, 256, (7, 5, 4), np.uint8)
DEEP = RNG.integers(0, 65536, (7, 5), np.uint16)
DEEP_RGBA = RNG.integers(0, 65536, (7, 5, 4), np.uint16)


def refused(path: Path, **settings: int) -> str:
    with pytest.raises(ImageFileError) as caught:
        read_image(path, **settings)
    assert str(path) in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("stored", [GREY, RGB, RGBA, RGBA[:, :, :2], DEEP], ids=["L", "RGB", "RGBA", "LA", "I16"])
def test_a_png_is_read_as_it_was_stored(tmp_path, stored):
    """What was written comes back; a grey picture keeps its third axis."""
    path = tmp_path / "a.png"
    Image.fromarray(stored).save(path)

    image = read_image(path)

    assert image.dtype == stored.dtype
    np.testing.assert_array_equal(image, stored.reshape(7, 5, -1))


@pytest.mark.parametrize("bands", [3, 4])
def test_a_16_bit_colour_png_keeps_16_bits_in_rgb_order(tmp_path, bands):
    """Pillow cuts such files to 8 bits. Written by OpenCV, whose order is blue, green, red, alpha."""
    path = tmp_path / "a.png"
    stored = DEEP_RGBA[:, :, :bands]
    cv2.imwrite(str(path), stored[:, :, [2, 1, 0, 3][:bands]])

    image = read_image(path)

    assert image.dtype == np.uint16
    np.testing.assert_array_equal(image, stored)


def test_a_16_bit_grey_png_with_alpha_has_two_bands(tmp_path):
    """The file is put together here by the PNG specification: colour type 4, bit depth 16."""
    def chunk(name: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    stored = DEEP_RGBA[:, :, :2]
    rows = b"".join(b"\x00" + row.astype(">u2").tobytes() for row in stored)
    path = tmp_path / "a.png"
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 5, 7, 16, 4, 0, 0, 0))
                     + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))

    np.testing.assert_array_equal(read_image(path), stored)


def test_a_palette_picture_becomes_rgb_and_a_transparent_one_rgba(tmp_path):
    """Colours chosen by hand: index 0 red, index 1 blue; then index 1 is made transparent."""
    indices = np.array([[0, 1], [1, 0]], np.uint8)
    picture = Image.fromarray(indices, "P")
    picture.putpalette([255, 0, 0, 0, 0, 255])
    picture.save(tmp_path / "p.png")
    picture.save(tmp_path / "t.png", transparency=1)

    opaque, transparent = read_image(tmp_path / "p.png"), read_image(tmp_path / "t.png")

    assert opaque.tolist() == [[[255, 0, 0], [0, 0, 255]], [[0, 0, 255], [255, 0, 0]]]
    assert transparent[:, :, 3].tolist() == [[255, 0], [0, 255]]


def test_a_1_bit_picture_holds_0_and_255(tmp_path):
    """A set bit is white, whatever the format."""
    bits = GREY > 127
    for name in ("a.png", "a.tif", "a.bmp"):
        Image.fromarray(bits).save(tmp_path / name)

        np.testing.assert_array_equal(read_image(tmp_path / name)[:, :, 0], bits * np.uint8(255))


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("suffix", ["jpg", "tif", "png"])
def test_exif_orientation_is_applied_as_pillow_would(tmp_path, orientation, suffix):
    """Second method: Pillow's ImageOps.exif_transpose."""
    path = tmp_path / f"a.{suffix}"
    exif = Image.Exif()
    exif[274] = orientation
    Image.fromarray(RGB).save(path, exif=exif)
    with Image.open(path) as stored:
        expected = np.asarray(ImageOps.exif_transpose(stored))

    np.testing.assert_array_equal(read_image(path), expected)


@pytest.mark.parametrize("stored", [
    GREY, RGB, RGBA, DEEP, DEEP_RGBA, GREY.astype(np.float32) / 7, RNG.integers(0, 9, (7, 5, 8), np.uint16),
], ids=["grey", "rgb", "rgba", "16", "rgba16", "float", "8bands"])
@pytest.mark.parametrize("compression", [None, "zlib"])
def test_a_tiff_of_any_number_of_bands_is_read_as_stored(tmp_path, stored, compression):
    """What tifffile wrote, pixel by pixel."""
    path = tmp_path / "a.tif"
    photometric = "rgb" if stored.ndim == 3 and stored.shape[2] in (3, 4) else "minisblack"
    tifffile.imwrite(path, stored, compression=compression, photometric=photometric, planarconfig="contig"
                     if stored.ndim == 3 else None)

    image = read_image(path)

    assert image.dtype == stored.dtype
    np.testing.assert_array_equal(image, stored.reshape(7, 5, -1))


def test_a_tiff_stored_band_by_band_comes_back_pixel_by_pixel(tmp_path):
    """The same bands, moved from the first axis to the last."""
    bands_first = RNG.integers(0, 256, (6, 7, 5), np.uint8)
    tifffile.imwrite(tmp_path / "a.tif", bands_first, photometric="minisblack", planarconfig="separate")

    np.testing.assert_array_equal(read_image(tmp_path / "a.tif"), np.moveaxis(bands_first, 0, -1))


@pytest.mark.parametrize("stored", [GREY, RGB, RGBA, DEEP, DEEP > 9000, GREY.astype(np.float32)],
                         ids=["grey", "rgb", "rgba", "16", "1bit", "float"])
def test_an_lzw_tiff_is_read_without_a_further_library(tmp_path, stored):
    """Written by Pillow with LZW, which tifffile alone does not decode."""
    Image.fromarray(stored).save(tmp_path / "a.tif", compression="tiff_lzw")
    expected = stored * np.uint8(255) if stored.dtype == bool else stored

    np.testing.assert_array_equal(read_image(tmp_path / "a.tif"), expected.reshape(7, 5, -1))


def test_a_16_bit_colour_tiff_with_lzw_keeps_16_bits(tmp_path):
    """Written by OpenCV (LZW, 16 bits, its order is blue, green, red)."""
    cv2.imwrite(str(tmp_path / "a.tif"), DEEP_RGBA[:, :, [2, 1, 0]], [cv2.IMWRITE_TIFF_COMPRESSION, 5])

    np.testing.assert_array_equal(read_image(tmp_path / "a.tif"), DEEP_RGBA[:, :, :3])


def test_a_float_tiff_with_the_float_predictor_is_read(tmp_path):
    """Deflate with predictor 3, as GDAL writes for heights; written by OpenCV."""
    stored = GREY.astype(np.float32) / 7
    cv2.imwrite(str(tmp_path / "a.tif"), stored, [cv2.IMWRITE_TIFF_COMPRESSION, 8, cv2.IMWRITE_TIFF_PREDICTOR, 3])

    np.testing.assert_array_equal(read_image(tmp_path / "a.tif")[:, :, 0], stored)


@pytest.mark.parametrize("suffix", ["png", "jpg", "tif", "bmp"])
def test_the_array_belongs_to_the_caller(tmp_path, suffix):
    Image.fromarray(RGB).save(tmp_path / f"a.{suffix}")

    assert read_image(tmp_path / f"a.{suffix}").flags.writeable


def test_whole_numbers_outside_16_bits_become_floats_when_that_is_exact(tmp_path):
    """Heights below zero fit float32 exactly; 2**24 + 1 does not (24 bits of mantissa)."""
    tifffile.imwrite(tmp_path / "heights.tif", np.array([[-3, 2000]], np.int16))
    tifffile.imwrite(tmp_path / "ids.tif", np.array([[0, 2**24 + 1]], np.int32))

    heights = read_image(tmp_path / "heights.tif")

    assert heights.dtype == np.float32 and heights[0, :, 0].tolist() == [-3, 2000]
    assert "float32" in refused(tmp_path / "ids.tif")


def test_a_white_is_zero_tiff_is_turned_to_black_is_zero(tmp_path):
    """Second method: Pillow."""
    tifffile.imwrite(tmp_path / "a.tif", GREY, photometric="miniswhite")
    with Image.open(tmp_path / "a.tif") as picture:
        expected = np.asarray(picture)

    np.testing.assert_array_equal(read_image(tmp_path / "a.tif")[:, :, 0], expected)


def test_overviews_beside_the_picture_are_left_out(tmp_path):
    """A reduced copy (NewSubfileType 1), as GDAL adds, is no second picture."""
    with tifffile.TiffWriter(tmp_path / "a.tif") as file:
        file.write(GREY)
        file.write(GREY[::2, ::2], subfiletype=1)

    np.testing.assert_array_equal(read_image(tmp_path / "a.tif")[:, :, 0], GREY)


def test_a_stack_of_pages_is_refused(tmp_path):
    """Three pages may be three times, depths or bands: which, only the user knows."""
    tifffile.imwrite(tmp_path / "pages.tif", np.stack([GREY] * 3), photometric="minisblack")
    tifffile.imwrite(tmp_path / "imagej.tif", np.stack([GREY] * 3), imagej=True)

    assert "3 pages of 7x5" in refused(tmp_path / "pages.tif")
    assert "3 pages of 7x5" in refused(tmp_path / "imagej.tif")


@pytest.mark.parametrize("suffix", ["jpg", "tif"])
def test_colours_that_are_not_rgb_are_refused(tmp_path, suffix):
    Image.fromarray(RGB).convert("CMYK").save(tmp_path / f"a.{suffix}")

    assert "RGB" in refused(tmp_path / f"a.{suffix}")


def test_an_animation_is_refused(tmp_path):
    frames = [Image.fromarray(GREY), Image.fromarray(255 - GREY)]
    frames[0].save(tmp_path / "a.png", save_all=True, append_images=frames[1:])

    assert "2 pictures" in refused(tmp_path / "a.png")


@pytest.mark.parametrize("name", ["a.png", "a.jpg", "plain.tif", "deflate.tif", "tiled.tif"])
@pytest.mark.parametrize("kept", [0.05, 0.6, 0.97])
def test_a_file_that_was_cut_off_is_refused(tmp_path, name, kept):
    """Whatever the format and wherever the cut: no reader may fill the rest with grey or zeros."""
    path = tmp_path / name
    big = np.random.default_rng(1).integers(0, 256, (96, 80, 3), np.uint8)
    if name.endswith("tif"):
        tifffile.imwrite(path, big, photometric="rgb", compression="zlib" if name == "deflate.tif" else None,
                         tile=(32, 32) if name == "tiled.tif" else None)
    else:
        Image.fromarray(big).save(path)
    whole = path.read_bytes()
    path.write_bytes(whole[:int(len(whole) * kept)])

    assert "damaged" in refused(path)


def test_a_png_with_one_wrong_byte_is_refused(tmp_path):
    """The checksum of the chunk tells, even where the byte decodes to some other picture."""
    buffer = io.BytesIO()
    Image.fromarray(RGB).save(buffer, "PNG", compress_level=0)
    data = bytearray(buffer.getvalue())
    data[60] ^= 1
    (tmp_path / "a.png").write_bytes(data)

    assert "checksum" in refused(tmp_path / "a.png")


@pytest.mark.parametrize(("content", "said"), [
    (b"", "empty"), (b"<html>404</html>", "begins with"),
    (b"version https://git-lfs.github.com/spec/v1\n", "git lfs pull"),
    (b"II*\x00\x08\x00", "damaged"), (b"\x89PNG\r\n\x1a\n", "damaged"), (b"\xff\xd8\xff\xe0", "damaged"),
])
def test_a_file_that_is_no_picture_is_refused_with_what_it_is(tmp_path, content, said):
    (tmp_path / "a.png").write_bytes(content)

    assert said in refused(tmp_path / "a.png")


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    assert "no such file" in refused(tmp_path / "a.png")
    assert "cannot be opened" in refused(tmp_path)


@pytest.mark.parametrize("suffix", ["png", "tif"])
def test_the_size_in_the_header_is_checked_before_decoding(tmp_path, suffix):
    """300 x 200 = 60,000 pixels, one more than allowed; at the limit the file is read."""
    path = tmp_path / f"a.{suffix}"
    Image.new("1", (200, 300)).save(path)

    said = refused(path, max_pixels=59_999)

    assert "300x200" in said and "data.max_pixels=60000" in said and "tiles" in said
    assert read_image(path, max_pixels=60_000).shape == (300, 200, 1)


def test_the_kind_is_told_by_content_and_any_path_works(tmp_path):
    """A JPEG named .png in a folder with spaces and Cyrillic letters."""
    path = tmp_path / "données 1" / "снимок.png"
    path.parent.mkdir()
    Image.fromarray(RGB).save(path, "JPEG", quality=100)

    assert read_image(path).shape == (7, 5, 3)
