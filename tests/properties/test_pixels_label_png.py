"""The quick reader of label PNGs says what Pillow says, of every file, and refuses what Pillow refuses."""

from __future__ import annotations

import io
import subprocess
import sys
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from PIL import Image

from segcv.pixels.files import Fault
from segcv.pixels.label_png import decode_label_png
from segcv.pixels.masks import decode_mask
from tests.tiny_png import GREY, PALETTE, assembled, chunk, filtered, packed_rows

KINDS = [(GREY, bits) for bits in (1, 2, 4, 8, 16)] + [(PALETTE, bits) for bits in (1, 2, 4, 8)]
SILENT = [(b"gAMA", b"\x00\x00\xb1\x8f"), (b"pHYs", bytes(9)), (b"tEXt", b"Software\x00drawn"), (b"tIME", bytes(7))]
SPEAKING = [(b"zTXt", b"note\x00\x00" + zlib.compress(b"x")), (b"iTXt", b"XML:com.adobe.xmp\x00\x00\x00\x00\x00x"),
            (b"tEXt", b"Raw profile type exif\x00\nexif\n0\n"), (b"abCd", b"private"), (b"gAMA", b"\x00" * 5)]


@st.composite
def label_files(draw: st.DrawFn) -> tuple[bytes, bytes, dict[str, object]]:
    """A file, its rows with filters, and what `assembled` was told."""
    colour_type, bits = draw(st.sampled_from(KINDS))
    height, width = draw(st.tuples(st.integers(1, 6), st.integers(1, 40)))
    few = draw(st.integers(1, 4))                                        # labels are few, and come in runs
    names = draw(st.lists(st.integers(0, 2**bits - 1), min_size=few, max_size=few))
    runs = draw(hnp.arrays(np.int64, (height, width), elements=st.integers(0, few - 1), fill=st.just(0)))
    values = np.array(names)[runs]
    filters = draw(st.lists(st.integers(0, 4), min_size=height, max_size=height))
    before = list(draw(st.permutations(SILENT)))[:draw(st.integers(0, 2))]
    if colour_type == PALETTE:
        colours = draw(st.integers(1, 2**bits))
        before.append((b"PLTE", draw(st.binary(min_size=3 * colours, max_size=3 * colours))))
    if draw(st.booleans()):
        before.append((b"tRNS", b"\x00\x01" if colour_type == GREY else b"\x00"))
    rows = filtered(packed_rows(values, bits), filters, 2 if bits == 16 else 1)
    about: dict[str, object] = {"width": width, "height": height, "bits": bits, "colour_type": colour_type,
                                "before": before, "parts": draw(st.integers(1, 3))}
    return assembled(zlib.compress(rows, draw(st.integers(0, 9))), **about), rows, about


def by_pillow(data: bytes) -> Image.Image:
    picture = Image.open(io.BytesIO(data))
    picture.load()
    return picture


@given(label_files())
@settings(max_examples=300, deadline=None)
def test_values_and_palette_are_those_of_pillow(file):
    """Second method: Pillow's stored mode. Filters are applied here byte by byte."""
    data = file[0]
    picture = by_pillow(data)
    quick = decode_label_png(data, max_pixels=10**6)
    mask = decode_mask(data)

    assert quick is not None, "the quick reader left a plain label map to Pillow"
    np.testing.assert_array_equal(quick.values, np.asarray(picture).astype(quick.values.dtype))
    np.testing.assert_array_equal(mask.values, quick.values)
    assert mask.kind == f"PNG, {picture.mode}" and mask.one_bit == (picture.mode == "1")
    assert (mask.palette is None) == (picture.mode != "P")
    if mask.palette is not None:
        assert mask.palette.ravel().tolist() == picture.getpalette("RGB")
    assert mask.values.flags.c_contiguous and mask.values.flags.writeable


@given(st.sampled_from([np.uint8, np.uint16]), st.integers(0, 2**32), st.integers(1, 70), st.integers(1, 70))
@settings(max_examples=40, deadline=None)
def test_what_pillow_writes_with_its_own_choice_of_filters_is_read_alike(kind, seed, height, width):
    """Smooth pictures and noise, so that the writer takes every filter."""
    rng = np.random.default_rng(seed)
    values = (np.add.outer(np.arange(height), np.arange(width)) // 3 + rng.integers(0, 2, (height, width))).astype(kind)
    buffer = io.BytesIO()
    Image.fromarray(values).save(buffer, "PNG")

    np.testing.assert_array_equal(decode_label_png(buffer.getvalue(), max_pixels=10**6).values, values)


@given(label_files(), st.sampled_from(SPEAKING))
@settings(max_examples=40, deadline=None)
def test_a_file_with_a_chunk_that_may_mean_something_is_left_to_pillow(file, speaking):
    _, rows, about = file
    told = about | {"before": [*about["before"], speaking]}

    assert decode_label_png(assembled(zlib.compress(rows), **told), max_pixels=10**6) is None


def test_interlaced_animated_coloured_and_oddly_built_files_are_left_to_pillow():
    rows = zlib.compress(bytes([0, 7]))
    plain = {"width": 1, "height": 1, "bits": 8, "colour_type": GREY}
    interlaced = assembled(rows, **plain, interlaced=True)

    assert decode_label_png(interlaced, max_pixels=9) is None
    assert decode_mask(interlaced).values.tolist() == [[7]]
    for unfit in (
        {"colour_type": 2}, {"colour_type": 4}, {"colour_type": 6}, {"colour_type": PALETTE},
        {"before": [(b"acTL", bytes(8))]}, {"before": [(b"eXIf", b"II*\x00\x08\x00\x00\x00\x00\x00")]},
        {"before": [(b"PLTE", bytes(3))]}, {"colour_type": PALETTE, "before": [(b"PLTE", bytes(4))]},
    ):
        assert decode_label_png(assembled(rows, **(plain | unfit)), max_pixels=9) is None
    late = assembled(rows, **plain).replace(chunk(b"IEND", b""), chunk(b"tIME", bytes(7)) + chunk(b"IDAT", b"")
                                            + chunk(b"IEND", b""))
    assert decode_label_png(late, max_pixels=9) is None
    assert decode_label_png(assembled(zlib.compress(bytes([9, 7])), **plain), max_pixels=9) is None    # no such filter


@given(label_files(), st.data())
@settings(max_examples=150, deadline=None)
def test_damaged_rows_are_refused_where_pillow_refuses_and_else_read_alike(file, data):
    """Bytes of the compressed rows are changed, dropped or added and the chunk's checksum made right again, so that
    only the stream itself, and its Adler checksum, can tell."""
    _, rows, about = file
    packed = bytearray(zlib.compress(rows))
    at = data.draw(st.integers(0, len(packed) - 1))
    damage = data.draw(st.sampled_from(["change", "cut", "add"]))
    if damage == "change":
        packed[at] ^= data.draw(st.integers(1, 255))
    elif damage == "cut":
        del packed[max(1, at):]
    else:
        packed[at:at] = b"\x55"
    broken = assembled(bytes(packed), **about)
    try:
        expected = np.asarray(by_pillow(broken))
    except Exception:
        expected = None
    try:
        found = decode_mask(broken).values
    except Fault:
        found = None

    assert expected is not None or found is None
    if found is not None:
        np.testing.assert_array_equal(found, expected.astype(found.dtype))


@given(label_files(), st.data())
@settings(max_examples=60, deadline=None)
def test_a_file_cut_off_or_with_one_wrong_byte_is_refused(file, data):
    whole = file[0]
    at = data.draw(st.integers(9, len(whole) - 1))
    wrong = bytearray(whole)
    wrong[at] ^= data.draw(st.integers(1, 255))

    for broken in (whole[:at], bytes(wrong)):
        with pytest.raises(Fault):
            decode_mask(broken)


def test_a_wrong_checksum_of_the_rows_and_missing_rows_are_refused():
    """The Adler checksum is the last four bytes; of 3 rows announced, 2 are there, which Pillow fills with zeros."""
    rows = zlib.compress(bytes([0, 7, 0, 7]))
    about = {"width": 1, "height": 2, "bits": 8, "colour_type": GREY}

    for broken in (assembled(rows[:-1] + bytes([rows[-1] ^ 1]), **about), assembled(rows[:-4], **about),
                   assembled(rows, **(about | {"height": 3}))):
        with pytest.raises(Fault, match="damaged"):
            decode_mask(broken)


def test_the_size_is_refused_before_anything_is_decoded():
    """A header that promises 60,000 x 60,000 pixels, and no rows."""
    with pytest.raises(Fault, match="60000x60000"):
        decode_label_png(assembled(b"x", width=60_000, height=60_000, bits=8, colour_type=GREY), max_pixels=10**8)


def test_importing_the_room_does_not_load_numba():
    code = "import sys, segcv.pixels; print('numba' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "False"
