"""Masks in less usual files mean what is stored in them, or are refused with what was found."""

from __future__ import annotations

import unicodedata
import zipfile
from pathlib import Path

import cv2
import numpy as np
import pytest
import tifffile
from PIL import Image

from segcv.errors import MaskError, TableError
from segcv.pixels import label_map, read_image
from segcv.tables import pair_folders, read_images

IDS = np.array([[0, 1, 2, 255], [2, 1, 0, 0]], np.uint8)
THREE = label_map(num_classes=3)
TWO = label_map(num_classes=2)


def refused(path: Path, labels=THREE, **limits: int) -> str:
    with pytest.raises(MaskError) as caught:
        labels.read(path, **limits)
    assert str(path) in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.int64, np.float32, ">i4"])
@pytest.mark.parametrize("shape", [(2, 4), (1, 2, 4), (2, 4, 1)])
def test_an_array_holds_class_ids(tmp_path, kind, shape):
    np.save(tmp_path / "m.npy", IDS.astype(kind).reshape(shape))
    np.savez_compressed(tmp_path / "m.npz", mask=IDS.astype(kind).reshape(shape))

    assert THREE.read(tmp_path / "m.npy").tolist() == THREE.read(tmp_path / "m.npz").tolist() == IDS.tolist()


def test_true_in_an_array_is_a_set_pixel(tmp_path):
    """1, or 255 where that is what the map names, as in 1-bit pictures."""
    np.save(tmp_path / "m.npy", np.array([[True, False]]))

    assert TWO.read(tmp_path / "m.npy").tolist() == [[1, 0]]
    assert label_map(num_classes=2, values={0: 0, 255: 1}).read(tmp_path / "m.npy").tolist() == [[1, 0]]


def test_arrays_that_are_no_mask_are_refused(tmp_path):
    path = tmp_path / "m.npy"
    np.save(path, np.zeros((2, 4, 3), np.uint8))
    assert "shape (2, 4, 3)" in refused(path)
    np.save(path, np.zeros((0, 4), np.uint8))
    assert "shape (0, 4)" in refused(path)
    np.save(path, np.zeros((2, 4), np.complex64))
    assert "complex64" in refused(path)
    np.save(path, np.array([[{}]], dtype=object), allow_pickle=True)
    assert "damaged" in refused(path)
    np.save(path, np.full((2, 4), 2**63, np.uint64))
    assert "beyond 9223372036854775807" in refused(path)
    np.save(path, IDS)
    assert "data.max_pixels=8" in refused(path, max_pixels=7)
    path.write_bytes(path.read_bytes()[:-3])
    assert "damaged" in refused(path)


def test_archives_that_are_no_mask_are_refused(tmp_path):
    path = tmp_path / "m.npz"
    np.savez(path, one=IDS, two=IDS)
    assert "2 files (one.npy, two.npy)" in refused(path)
    np.savez_compressed(path, np.zeros((3000, 3000), np.uint8))
    assert "unpacks to 9000128 bytes" in refused(path, max_pixels=1000)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("report.txt", "no mask")
    assert "1 files (report.txt)" in refused(path)
    path.write_bytes(b"PK\x03\x04 nothing else")
    assert "damaged" in refused(path)


def test_a_gif_or_bmp_palette_index_is_the_class_id(tmp_path):
    """Colours of the palette are red and green for 1 and 2."""
    picture = Image.fromarray(IDS % 3, "P")
    picture.putpalette([0, 0, 0, 255, 0, 0, 0, 255, 0] + [0] * 759)
    for suffix in ("gif", "bmp"):
        picture.save(tmp_path / f"m.{suffix}")

        assert THREE.read(tmp_path / f"m.{suffix}").tolist() == (IDS % 3).tolist()


def test_a_lossless_webp_is_read_by_its_colours_and_a_lossy_one_refused(tmp_path):
    colours = np.zeros((16, 16, 3), np.uint8)
    colours[4:9, 5:11] = 255, 0, 0
    labels = label_map(num_classes=2, colors={"000000": 0, "FF0000": 1})
    Image.fromarray(colours).save(tmp_path / "m.webp", lossless=True)
    assert int(labels.read(tmp_path / "m.webp").sum()) == 30
    np.testing.assert_array_equal(read_image(tmp_path / "m.webp"), colours)

    Image.fromarray(colours).save(tmp_path / "m.webp", quality=50)
    assert "lossy (WEBP, RGB)" in refused(tmp_path / "m.webp", labels)
    assert "lossy and colour-coded" in refused(tmp_path / "m.webp")


def test_animations_are_refused(tmp_path):
    frames = [Image.fromarray(IDS), Image.fromarray(255 - IDS)]
    for suffix in ("gif", "webp", "png"):
        frames[0].save(tmp_path / f"m.{suffix}", save_all=True, append_images=frames[1:])

        assert "animation of 2 pictures" in refused(tmp_path / f"m.{suffix}")


@pytest.mark.parametrize("compression", ["lzw", "packbits", "zstd", "lzma", "webp", "jpeg2000", None])
@pytest.mark.parametrize("tile", [None, (16, 16)])
def test_a_tiff_of_any_lossless_compression_is_read(tmp_path, compression, tile):
    tifffile.imwrite(tmp_path / "m.tif", IDS if compression != "webp" else np.dstack([IDS] * 3), tile=tile,
                     photometric="minisblack" if compression != "webp" else "rgb", compression=compression,
                     compressionargs={"lossless": True} if compression == "webp" else None)
    labels = THREE if compression != "webp" else label_map(num_classes=3, colors={
        "000000": 0, "010101": 1, "020202": 2, "FFFFFF": 255})

    assert labels.read(tmp_path / "m.tif").tolist() == IDS.tolist()


@pytest.mark.parametrize("compression", ["group3", "group4", "tiff_ccitt"])
def test_a_fax_compressed_mask_is_read(tmp_path, compression):
    """1 bit, written by libtiff through Pillow."""
    Image.fromarray(IDS > 0).save(tmp_path / "m.tif", compression=compression)

    assert TWO.read(tmp_path / "m.tif").tolist() == (IDS > 0).astype(int).tolist()


def test_a_1_bit_tiff_that_counts_white_as_zero_is_turned(tmp_path):
    """Second method: Pillow."""
    tifffile.imwrite(tmp_path / "m.tif", IDS > 0, photometric="miniswhite")
    with Image.open(tmp_path / "m.tif") as picture:
        expected = np.asarray(picture).astype(int)

    assert TWO.read(tmp_path / "m.tif").tolist() == expected.tolist()


def test_a_jpeg_inside_a_tiff_is_lossy_too(tmp_path):
    tifffile.imwrite(tmp_path / "m.tif", np.kron(IDS, np.ones((16, 16), np.uint8)), compression="jpeg")

    assert "lossy (JPEG in TIFF, uint8)" in refused(tmp_path / "m.tif")


def test_colours_of_16_bits_are_refused_and_not_cut_to_8(tmp_path):
    """300 cut to its high byte is 1, which might be a declared colour. Written by OpenCV."""
    cv2.imwrite(str(tmp_path / "m.png"), np.dstack([IDS.astype(np.uint16) * 300] * 3))
    labels = label_map(num_classes=3, colors={"000000": 0, "010101": 1, "020202": 2})

    assert "3 channels of 16 bits" in refused(tmp_path / "m.png", labels)


def test_negative_numbers_are_named(tmp_path):
    """-1 as 8 bits without sign would be 255, the ignore value, by luck."""
    tifffile.imwrite(tmp_path / "m.tif", np.array([[0, 1, -1]], np.int8))
    said = refused(tmp_path / "m.tif")

    assert "value -1 in 1 of 3 pixels" in said and "data.ignore=-1" in said


@pytest.mark.parametrize(("content", "said"), [
    (b"\x1f\x8b\x08\x00", "gzip (a NIfTI volume?)"), (b"\x89HDF\r\n", "HDF5"),
    (b"\x00\x00\x00\x0cjP  \r\n", "JPEG 2000"), (b"P5\n2 2\n255\n0000", "not a PNG, JPEG, TIFF"),
])
def test_other_files_are_named_for_what_they_are(tmp_path, content, said):
    (tmp_path / "m.png").write_bytes(content)

    assert said in refused(tmp_path / "m.png")


def test_an_array_is_no_image(tmp_path):
    np.save(tmp_path / "a.npy", IDS)

    with pytest.raises(Exception, match="array of numpy"):
        read_image(tmp_path / "a.npy")


def test_the_suffix_says_nothing_and_links_are_followed(tmp_path):
    Image.fromarray(IDS).save(tmp_path / "real.JPG", "PNG")
    (tmp_path / "link.tif").symlink_to(tmp_path / "real.JPG")
    (tmp_path / "dangling.png").symlink_to(tmp_path / "gone.png")

    assert THREE.read(tmp_path / "link.tif").tolist() == IDS.tolist()
    assert "no such file" in refused(tmp_path / "dangling.png")


def test_a_name_that_is_nearly_there_is_said(tmp_path):
    """Upper case, and ü as one character against u and dots."""
    Image.fromarray(IDS).save(tmp_path / "Mask.PNG")
    Image.fromarray(IDS).save(tmp_path / unicodedata.normalize("NFD", "grün.png"))

    assert "'Mask.PNG' is there, which differs in case" in refused(tmp_path / "mask.png")
    assert "differs in the Unicode form" in refused(tmp_path / unicodedata.normalize("NFC", "grün.png"))


def test_names_in_two_unicode_forms_are_one_name(tmp_path):
    """An image from one system and its mask from another; the id is written in one form."""
    composed, decomposed = (unicodedata.normalize(form, "grün.png") for form in ("NFC", "NFD"))
    for folder, name in (("images", composed), ("masks", decomposed)):
        (tmp_path / folder).mkdir()
        Image.fromarray(IDS).save(tmp_path / folder / name)
    (tmp_path / "t.csv").write_text(f"image_path,mask_path\nimages/{composed},masks/{decomposed}\n", encoding="utf-8")

    found = pair_folders(tmp_path / "images", tmp_path / "masks")

    assert found["image_id"].tolist() == [unicodedata.normalize("NFC", "grün")]
    assert THREE.read(Path(found["mask_path"][0])).tolist() == IDS.tolist()
    assert read_images(tmp_path / "t.csv")["image_id"].tolist() == [unicodedata.normalize("NFC", "images/grün")]
    Image.fromarray(IDS).save(tmp_path / "images" / decomposed)
    with pytest.raises(TableError, match="same name"):
        pair_folders(tmp_path / "images", tmp_path / "masks")


def test_masks_may_be_arrays_beside_images_of_any_suffix(tmp_path):
    (tmp_path / "images").mkdir()
    (tmp_path / "masks").mkdir()
    for name in ("a.JPG", "b.webp"):
        Image.fromarray(np.zeros((2, 4, 3), np.uint8)).save(tmp_path / "images" / name)
        np.save(tmp_path / "masks" / f"{name[0]}.npy", IDS)

    assert pair_folders(tmp_path / "images", tmp_path / "masks")["image_id"].tolist() == ["a", "b"]
