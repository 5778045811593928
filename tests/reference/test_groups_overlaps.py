"""Tiles that share ground are known by what they show: equal pixels, and landmarks after compression."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from segcv.groups import assign_groups, overlapping_pairs
from segcv.pixels import look, read_image

Tile = tuple[np.ndarray, int, int]      # pixels, and where its corner lies: x, y


def scene(seed: int, height: int = 420, width: int = 700) -> np.ndarray:
    """Ground with coarse and fine detail, 8 bits, RGB."""
    rng = np.random.default_rng(seed)
    layers = [np.asarray(Image.fromarray(rng.integers(0, 256, (height // cell + 2, width // cell + 2, 3), np.uint8))
                         .resize((width, height), Image.Resampling.BICUBIC), float) for cell in (48, 12, 5)]
    return np.clip(0.5 * layers[0] + 0.3 * layers[1] + 0.2 * layers[2], 0, 255).astype(np.uint8)


def tile(ground: np.ndarray, x: int, y: int, side: int = 256) -> np.ndarray:
    return np.ascontiguousarray(ground[y:y + side, x:x + side])


def compressed(picture: np.ndarray, quality: int) -> np.ndarray:
    file = io.BytesIO()
    Image.fromarray(picture).save(file, "JPEG", quality=quality)
    return np.asarray(Image.open(file))


def looks_of(pictures: dict[str, np.ndarray]) -> pd.DataFrame:
    seen = {name: look(picture, marks="landmarks") for name, picture in pictures.items()}
    return pd.DataFrame({
        "image_id": list(seen), "height": [picture.shape[0] for picture in pictures.values()],
        "width": [picture.shape[1] for picture in pictures.values()],
        "phash": np.array([one.phash for one in seen.values()], np.uint64), "flat": [one.flat for one in seen.values()],
        "thumbnail": [one.thumbnail.tobytes() for one in seen.values()],
        "blocks": [one.blocks.tobytes() for one in seen.values()],
        "landmarks": [one.landmarks.tobytes() for one in seen.values()]})


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.float32])
def test_lossless_overlaps_of_a_quarter_are_found_with_their_shift(kind):
    """The second tile begins 192 px to the right and 3 px below: 64/256 x 253/256 = 24.7 % shared."""
    pictures = {}
    for number in range(6):
        ground = scene(number).astype(kind) * kind(3 if kind != np.uint8 else 1)
        pictures |= {f"{number}a": tile(ground, 5, 10), f"{number}b": tile(ground, 197, 13)}
    pairs = overlapping_pairs(looks_of(pictures), landmarks=False)

    assert sorted(zip(pairs["first"], pairs["second"], strict=True)) == [(f"{n}a", f"{n}b") for n in range(6)]
    assert set(pairs["kind"]) == {"equal pixels"}
    assert set(zip(pairs["shift_x"], pairs["shift_y"], strict=True)) == {(192, 3)}
    assert pairs["share"].tolist() == pytest.approx([64 / 256 * 253 / 256] * 6)


@pytest.mark.parametrize("quality", [50, 90])
def test_compressed_overlaps_of_a_half_are_found_off_the_grid(quality):
    """Shifted by 131 and 5 px, no multiples of 8: the blocks of JPEG differ, so no pixel block is equal."""
    pictures = {}
    for number in range(6):
        ground = scene(number)
        pictures |= {f"{number}a": compressed(tile(ground, 5, 10), quality),
                     f"{number}b": compressed(tile(ground, 136, 15), quality)}
    looks = looks_of(pictures)
    pairs = overlapping_pairs(looks)

    assert overlapping_pairs(looks, landmarks=False).empty
    assert sorted(zip(pairs["first"], pairs["second"], strict=True)) == [(f"{n}a", f"{n}b") for n in range(6)]
    assert set(pairs["kind"]) == {"same ground"}
    assert (pairs["shift_x"] - 131).abs().max() <= 1 and (pairs["shift_y"] - 5).abs().max() <= 1


def test_what_is_drawn_over_all_pictures_is_no_shared_ground():
    """A frame of text-like marks in one place of twelve different scenes."""
    overlay = np.random.default_rng(1).integers(0, 2, (28, 256, 1)).astype(np.uint8) * np.uint8(255)
    pictures = {}
    for number in range(12):
        picture = tile(scene(number), 0, 0)
        picture[:28] = overlay
        picture[-28:] = overlay[::-1]
        pictures[f"{number:02d}"] = picture

    assert overlapping_pairs(looks_of(pictures)).empty


def test_repeated_structure_and_plain_ground_share_nothing():
    """Tiles of a chessboard match at every period, plain and striped ones have nothing to match."""
    board = np.kron(np.indices((40, 40)).sum(0) % 2, np.ones((16, 16))).astype(np.uint8)[:, :, None] * np.uint8(200)
    stripes = (np.arange(640) // 9 % 2 * 180).astype(np.uint8)[None, :, None] * np.ones((640, 1, 1), np.uint8)
    pictures = {f"{name}{x}": tile(ground, x, 32) for name, ground in (("board", board), ("stripes", stripes))
                for x in (0, 128, 256)} | {f"plain{n}": np.full((256, 256, 1), n, np.uint8) for n in (9, 9, 40)}

    assert overlapping_pairs(looks_of(pictures)).empty


def test_the_overlaps_of_the_dubai_tiles_are_found_and_no_other(shared):
    """Truth: the rows of overlaps.csv at scale 1.000, found there by SIFT and verified on pixels (x and y in px of the
    first picture, with the other sign), and their share of the second."""
    table = pd.read_csv(shared / "data/dubai/dataset.csv", dtype=str)
    truth = pd.read_csv(shared / "data/dubai/overlaps.csv").query("scale == 1.0")
    looks = looks_of({path.removeprefix("images/").removesuffix(".jpg"): read_image(shared / "data/dubai" / path)
                      for path in table["image_path"]})
    pairs = overlapping_pairs(looks).set_index(["first", "second"]).sort_index()
    truth = truth.set_index(["a", "b"]).sort_index()

    assert pairs.index.tolist() == truth.index.tolist()
    np.testing.assert_allclose(pairs["share"], truth["overlap_share_of_b"], atol=0.001)
    assert (pairs["shift_x"].abs() - truth["shift_x"].abs()).abs().max() <= 1


def test_tiles_without_group_are_joined_by_the_ground_they_share():
    ground = scene(3)
    pictures = {name: tile(ground, x, 0) for name, x in (("a", 0), ("b", 200), ("c", 400))}
    pictures["d"] = tile(scene(4), 0, 0)
    images = pd.DataFrame({"image_id": list("abcd"), "image_path": list("abcd"), "mask_path": list("abcd")})
    table = assign_groups(images, looks_of(pictures), pattern=None, max_distance=5, overlaps="blocks", folds=2)

    assert table["group_id"].tolist() == ["a", "a", "a", "d"]
    assert table["group_evidence"].tolist() == ["overlap with b", "overlap with a", "overlap with b", "alone"]
