"""A mask read by windows is the mask read whole, however the file is laid out, and in bounded memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tifffile
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from segcv.errors import MaskError
from segcv.pixels import LabelMap, label_map, open_mask, write_mask

RNG = np.random.default_rng(3)
IDS = np.repeat(np.repeat(RNG.integers(0, 5, (19, 23)), 7, axis=0), 9, axis=1)[:130, :201].astype(np.uint8)
LABELS = label_map(num_classes=5)
COLOURS = label_map(num_classes=5, colors={f"{60 * c},0,{9 * c}": c for c in range(5)})
LAYOUTS = [
    {}, {"rowsperstrip": 7}, {"rowsperstrip": 7, "compression": "lzw"}, {"compression": "zlib", "predictor": True},
    {"tile": (32, 48)}, {"tile": (16, 64), "compression": "zlib"}, {"tile": (64, 64), "compression": "packbits"},
    {"tile": (32, 32), "compression": "zstd", "bigtiff": True}, {"rowsperstrip": 1, "byteorder": ">"},
]


def read(path: Path, rows: slice, columns: slice, labels: LabelMap = LABELS, **limits: int) -> np.ndarray:
    with open_mask(path, **limits) as mask:
        return mask.read(rows, columns, lambda stored: labels.decode(stored).labels)


def by_windows(path: Path, pixels: int, labels: LabelMap = LABELS) -> np.ndarray:
    """Put together from windows; 77 where no window was, and each pixel must come once."""
    with open_mask(path) as mask:
        whole, seen = np.full(mask.shape, 77, np.uint8), np.zeros(mask.shape, int)
        for rows, columns in mask.windows(pixels=pixels):
            whole[rows, columns] = mask.read(rows, columns, lambda stored: labels.decode(stored).labels)
            seen[rows, columns] += 1
    assert (seen == 1).all()
    return whole


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@pytest.mark.parametrize("kind", [np.uint8, np.int32, np.float32])
def test_windows_put_together_are_the_whole_mask(tmp_path, layout, kind):
    """Written by tifffile from an array, which is what must come back."""
    if kind == np.float32 and "predictor" in layout:
        layout = layout | {"predictor": 3}
    tifffile.imwrite(tmp_path / "m.tif", IDS.astype(kind), **layout)

    for pixels in (1, 3000, 10**6):
        np.testing.assert_array_equal(by_windows(tmp_path / "m.tif", pixels), IDS)


@pytest.mark.parametrize("planes", ["contig", "separate"])
@pytest.mark.parametrize("tile", [None, (32, 32)])
def test_colours_are_read_by_windows_too(tmp_path, planes, tile):
    colours = np.stack([60 * IDS, 0 * IDS, 9 * IDS], axis=-1)
    stored = colours if planes == "contig" else np.moveaxis(colours, -1, 0)
    tifffile.imwrite(tmp_path / "m.tif", stored, photometric="rgb", planarconfig=planes, tile=tile, compression="zlib")

    np.testing.assert_array_equal(by_windows(tmp_path / "m.tif", 5000, COLOURS), IDS)
    np.testing.assert_array_equal(COLOURS.read(tmp_path / "m.tif"), IDS)


@pytest.fixture(scope="module")
def laid_out(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("layouts")
    for number, layout in enumerate(LAYOUTS):
        tifffile.imwrite(folder / f"{number}.tif", IDS, **layout)
    write_mask(folder / "m.png", IDS)
    return sorted(folder.iterdir())


@given(st.data())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_window_is_that_part_of_the_mask(laid_out, data):
    path = data.draw(st.sampled_from(laid_out))
    top, left = data.draw(st.integers(0, 129)), data.draw(st.integers(0, 200))
    rows, columns = slice(top, data.draw(st.integers(top + 1, 130))), slice(left, data.draw(st.integers(left + 1, 201)))

    np.testing.assert_array_equal(read(path, rows, columns), IDS[rows, columns])


def test_a_tile_that_was_left_out_holds_the_files_no_data_value(tmp_path):
    """GDAL writes no tile for an empty one, and says in a tag of its own what that means."""
    with tifffile.TiffWriter(tmp_path / "m.tif") as file:
        tiles = iter([np.ones((16, 16), np.uint8), None])
        file.write(tiles, shape=(16, 32), dtype=np.uint8, tile=(16, 16), extratags=[(42113, "s", 0, "255", True)])

    assert np.unique(read(tmp_path / "m.tif", slice(0, 16), slice(0, 16))).tolist() == [1]
    assert np.unique(read(tmp_path / "m.tif", slice(0, 16), slice(16, 32))).tolist() == [255]
    np.testing.assert_array_equal(by_windows(tmp_path / "m.tif", 999), LABELS.read(tmp_path / "m.tif"))


def test_what_cannot_be_read_by_windows_is_refused_by_name(tmp_path):
    path = tmp_path / "m.tif"
    tifffile.imwrite(path, IDS, compression="zlib")
    with pytest.raises(MaskError, match=r"m\.tif.*pieces of 130x201"):
        read(path, slice(0, 1), slice(0, 1), max_pixels=26_000)
    for rows, columns in ((slice(0, 131), slice(0, 1)), (slice(3, 3), slice(0, 1)), (slice(-1, 3), slice(0, 1))):
        with pytest.raises(MaskError, match=r"m\.tif is 130x201"):
            read(path, rows, columns)
    exif = Image.Exif()
    exif[274] = 6
    Image.fromarray(IDS).save(path, exif=exif)
    with pytest.raises(MaskError, match="upright"):
        read(path, slice(0, 1), slice(0, 1))
    whole = path.read_bytes()
    path.write_bytes(whole[:900])
    with pytest.raises(MaskError, match="damaged"):
        read(path, slice(0, 1), slice(0, 1))
    with pytest.raises(MaskError, match="no such file"):
        read(tmp_path / "n.tif", slice(0, 1), slice(0, 1))
    tifffile.imwrite(path, IDS + 1)
    with pytest.raises(MaskError, match="value 5 in"):
        read(path, slice(0, 130), slice(0, 201))


def test_memory_does_not_grow_with_the_raster(tmp_path):
    """20,000 x 20,000 pixels are 400 MB decoded; the process grows by less than half of that. By hand: the first 100 of
    512 rows are class 1, in 39 whole rows of tiles and in all 32 rows of the last: 3932 rows."""
    tile = np.zeros((512, 512), np.uint8)
    tile[:100] = 1
    with tifffile.TiffWriter(tmp_path / "m.tif", bigtiff=True) as file:
        file.write((tile for _ in range(40 * 40)), shape=(20_000, 20_000), dtype=np.uint8, tile=(512, 512),
                   compression="zlib")
    code = f"""
from pathlib import Path
from segcv.pixels import label_map, open_mask

def peak():                                  # of this process alone; ru_maxrss would begin at its parent's
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0])

labels = label_map(num_classes=2)
with open_mask(Path({str(tmp_path / "m.tif")!r})) as mask:
    windows = list(mask.windows())
    mask.read(*windows[0], labels.decode)
    before = peak()
    counts = sum(mask.read(*window, lambda stored: labels.decode(stored).counts) for window in windows)
print(*counts, peak() - before)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert not done.returncode, done.stderr
    background, objects, grown = map(int, done.stdout.split())

    assert (background, objects) == (16_068 * 20_000, 3_932 * 20_000)
    assert grown < 200_000                       # kB
