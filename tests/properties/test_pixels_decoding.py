"""What holds for every mask: one meaning per stored value, no pixel lost, no format that reads differently."""

from __future__ import annotations

from io import BytesIO

import numpy as np
import pytest
import tifffile
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from PIL import Image

from segcv.errors import MaskError
from segcv.pixels import label_map
from segcv.pixels.coding import distinct
from segcv.pixels.masks import decode_mask
from segcv.pixels.moments import Moments

SHAPES = hnp.array_shapes(min_dims=2, max_dims=2, max_side=12)


def png(stored: np.ndarray) -> bytes:
    buffer = BytesIO()
    Image.fromarray(stored).save(buffer, "PNG")
    return buffer.getvalue()


def tiff(stored: np.ndarray) -> bytes:
    buffer = BytesIO()
    tifffile.imwrite(buffer, stored)
    return buffer.getvalue()


@given(hnp.arrays(np.int64, SHAPES, elements=st.integers(0, 3)), st.permutations([0, 1, 2, 255]))
@settings(max_examples=60, deadline=None)
def test_every_format_gives_the_labels_that_the_table_says(raw, targets):
    """The expected labels are looked up one pixel at a time."""
    stored_as = [3, 300, 40_000, 7]
    labels = label_map(num_classes=3, values=dict(zip(stored_as, targets, strict=True)))
    stored = np.array(stored_as)[raw]
    expected = np.array(targets)[raw]

    for data in (png(stored.astype(np.uint16)), tiff(stored.astype(np.int32)), tiff(stored.astype(np.float32)),
                 tiff(stored.astype(np.uint16))):
        decoded = labels.decode(decode_mask(data))

        np.testing.assert_array_equal(decoded.labels, expected)
        assert decoded.counts.tolist() == [int((expected == c).sum()) for c in range(3)]
        assert decoded.counts.sum() + decoded.ignored == raw.size


@given(hnp.arrays(np.int64, SHAPES, elements=st.integers(0, 3)))
@settings(max_examples=40, deadline=None)
def test_colours_and_palettes_of_the_same_picture_give_the_same_labels(raw):
    palette = np.array([[1, 2, 3], [3, 2, 1], [255, 255, 255], [0, 0, 0]], np.uint8)
    labels = label_map(num_classes=3, colors={"1,2,3": 0, "3,2,1": 1, "FFFFFF": 2, "000000": 255})
    indexed = Image.fromarray(raw.astype(np.uint8), "P")
    indexed.putpalette(palette.ravel().tolist())
    buffer = BytesIO()
    indexed.save(buffer, "PNG")

    expected = np.array([0, 1, 2, 255])[raw]

    np.testing.assert_array_equal(labels.decode(decode_mask(buffer.getvalue())).labels, expected)
    np.testing.assert_array_equal(labels.decode(decode_mask(png(palette[raw]))).labels, expected)


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.int16, np.int64])
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_distinct_values_are_those_of_numpy_unique(kind, data):
    """Second method: numpy.unique."""
    coded = data.draw(hnp.arrays(kind, SHAPES))
    values, pixels = np.unique(coded, return_counts=True)
    found = distinct(coded)

    assert found.values.tolist() == values.tolist() and found.pixels.tolist() == pixels.tolist()
    np.testing.assert_array_equal(found.spread(found.values), coded)


@pytest.mark.parametrize("noise", [0, 0.02, 1])
@pytest.mark.parametrize("shift", [0, 1])
def test_distinct_values_of_large_label_maps_are_those_of_numpy_unique(noise, shift):
    """Second method: numpy.unique. Flat stretches, specks, noise; 8 bytes do not divide the size, nor the address."""
    rng = np.random.default_rng(7)
    flat = np.repeat(rng.integers(0, 256, 311), rng.integers(1, 700, 311)).astype(np.uint8)[:92_411 + shift]
    flat = np.where(rng.random(flat.size) < noise, rng.integers(0, 256, flat.size), flat).astype(np.uint8)
    coded = flat[shift:].reshape(23, -1) if flat[shift:].size % 23 == 0 else flat[shift:][None]
    values, pixels = np.unique(coded, return_counts=True)
    found = distinct(coded)

    assert coded.size >= 1 << 16
    assert found.values.tolist() == values.tolist() and found.pixels.tolist() == pixels.tolist()
    np.testing.assert_array_equal(found.spread((found.values * 7 % 251).astype(np.uint16)), coded.astype(int) * 7 % 251)


@given(hnp.arrays(np.float32, st.tuples(st.integers(1, 60), st.just(2)), elements=st.floats(-1e4, 1e4, width=32)),
       st.integers(0, 60))
@settings(max_examples=80, deadline=None)
def test_moments_merge_to_those_of_all_pixels_at_once(pixels, cut):
    """Second method: numpy's mean and standard deviation in float64."""
    moments = Moments(2)
    moments.add(pixels[:cut])
    moments.add(pixels[cut:])

    np.testing.assert_allclose(moments.mean(), pixels.mean(axis=0, dtype=np.float64), rtol=1e-9, atol=1e-7)
    np.testing.assert_allclose(moments.std(), pixels.std(axis=0, dtype=np.float64), rtol=1e-6, atol=1e-6)


@given(hnp.arrays(np.uint8, SHAPES, elements=st.sampled_from([0, 1, 2, 3, 254, 255])), st.sampled_from([None, 255, 3]))
@settings(max_examples=60, deadline=None)
def test_a_plain_mask_is_read_like_any_other(tmp_path_factory, stored, ignore):
    """Bytes that are class ids already are passed on; the same numbers in 16 bits go through the table."""
    labels = label_map(num_classes=3, ignore=ignore)
    folder = tmp_path_factory.mktemp("plain")
    found = []
    for kind in (np.uint8, np.uint16):
        (folder / "m.png").write_bytes(png(stored.astype(kind)))
        try:
            found.append(labels.read(folder / "m.png").tolist())
        except MaskError as error:
            found.append(str(error))

    assert found[0] == found[1]
