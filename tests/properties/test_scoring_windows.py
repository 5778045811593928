"""Rasters of any size are scored by windows: the counts of the whole, in memory that does not grow with them."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
import tifffile

from segcv.errors import ScoreError
from segcv.pixels import label_map, predicted_coding, write_mask
from segcv.scoring import Item, PredictionForm, Reading, Scored, score_item

LABELS = label_map(num_classes=3)
RNG = np.random.default_rng(2)
TRUTH = RNG.integers(0, 3, (90, 130)).astype(np.uint8)
TRUTH[RNG.random(TRUTH.shape) < 0.1] = 255
SOFT = RNG.dirichlet([1, 1, 1], TRUTH.shape).astype(np.float32)          # H x W x 3


def scored(truth: Path, prediction: Path, *, at_once: int, form: PredictionForm | None = None) -> Scored:
    reading = Reading(LABELS, predicted_coding(LABELS), form or PredictionForm())
    return score_item(Item("run", "a", "g", "", truth, prediction), reading, at_once=at_once)


@pytest.mark.parametrize("truth", ["png", "strips", "tiles"])
@pytest.mark.parametrize("prediction", ["labels.png", "labels.tif", "labels.npy", "half.tif", "first.npy", "last.npy",
                                        "bands.tif", "planes.tif", "soft.npz"])
def test_windows_count_as_the_whole_does(tmp_path: Path, truth: str, prediction: str):
    """Second way: numpy on the whole arrays. Strips of 7 rows, tiles of 32 x 48, windows of about 500 numbers."""
    mask = tmp_path / f"truth.{'png' if truth == 'png' else 'tif'}"
    if truth == "png":
        write_mask(mask, TRUTH)
    else:
        tifffile.imwrite(mask, TRUTH, **({"rowsperstrip": 7} if truth == "strips" else {"tile": (32, 48)}),
                         compression="zlib")
    path, ids = tmp_path / prediction, SOFT.argmax(axis=-1).astype(np.uint8)
    form = None if prediction.startswith(("labels", "half")) else PredictionForm(
        "probabilities", channels="first" if prediction == "first.npy" else None)
    if prediction == "labels.png":
        write_mask(path, ids)
    elif prediction == "labels.tif":
        tifffile.imwrite(path, ids, tile=(16, 16), compression="zlib")
    elif prediction == "half.tif":
        ids = ids[::2, ::2]
        tifffile.imwrite(path, ids, tile=(16, 16))
        ids = ids.repeat(2, axis=0).repeat(2, axis=1)
    elif prediction.endswith(".npy"):
        np.save(path, {"labels": ids, "first": np.moveaxis(SOFT, -1, 0), "last": SOFT}[path.stem])
    elif prediction == "soft.npz":
        np.savez(path, SOFT)
    else:
        samples = SOFT if prediction == "bands.tif" else np.moveaxis(SOFT, -1, 0)
        tifffile.imwrite(path, samples, photometric="minisblack", tile=(32, 32),
                         planarconfig="contig" if prediction == "bands.tif" else "separate")

    found = scored(mask, path, at_once=500, form=form)

    counted = np.zeros((3, 3), np.int64)
    np.add.at(counted, (TRUTH[TRUTH != 255], ids[TRUTH != 255]), 1)
    assert found.score.cells.tolist() == [[t, p, counted[t, p]] for t in range(3) for p in range(3)]
    whole = scored(mask, path, at_once=10**9, form=form)
    assert (whole.score.cells == found.score.cells).all()
    if form is not None:
        assert (whole.bins == found.bins).all()
        assert found.score.mean_top_probability == pytest.approx(SOFT.max(axis=-1).mean(), abs=1e-6)


def test_bands_that_are_not_last_are_refused(tmp_path: Path):
    """A picture of 3 x 130 pixels with 90 bands is no map of three classes."""
    write_mask(tmp_path / "m.png", TRUTH)
    tifffile.imwrite(tmp_path / "p.tif", np.zeros((3, 130, 90), np.float32), photometric="minisblack",
                     planarconfig="contig")

    with pytest.raises(ScoreError, match=r"p\.tif: .*channels=last"):
        scored(tmp_path / "m.png", tmp_path / "p.tif", at_once=10**9, form=PredictionForm("probabilities"))


@pytest.mark.slow
def test_memory_does_not_grow_with_the_raster(tmp_path: Path):
    """Peak memory of a process that scores 2 000 and 8 000 rows of 8 000 pixels: 16 against 64 million."""
    script = textwrap.dedent("""
        import resource, sys
        from pathlib import Path
        import numpy as np
        import tifffile
        from segcv.pixels import label_map, predicted_coding
        from segcv.scoring import Item, PredictionForm, Reading, score_item

        folder, rows = Path(sys.argv[1]), int(sys.argv[2])
        strip = np.repeat(np.arange(4, dtype=np.uint8), 2000)
        with tifffile.TiffWriter(folder / "m.tif") as file:
            file.write((np.tile(strip, (64, 1)) for _ in range(rows // 64)), shape=(rows // 64 * 64, 8000),
                       dtype=np.uint8, tile=(64, 8000), compression="zlib")
        labels = label_map(num_classes=4)
        reading = Reading(labels, predicted_coding(labels), PredictionForm(), max_pixels=10**6)
        score = score_item(Item("r", "a", "g", "", folder / "m.tif", folder / "m.tif"), reading, at_once=1 << 22).score
        assert score.valid == rows // 64 * 64 * 8000
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    """)

    peaks = [float(subprocess.run([sys.executable, "-c", script, str(tmp_path), str(rows)], capture_output=True,
                                  text=True, check=True).stdout) for rows in (2_000, 8_000)]

    assert peaks[1] - peaks[0] < 40, peaks
