"""Turned copies: eight hashes from one transform, and pictures known again whichever way they lie."""

from __future__ import annotations

import io
import itertools

import imagehash
import numpy as np
import pandas as pd
import pytest
from PIL import Image

from segcv.groups import assign_groups, near_duplicate_pairs
from segcv.groups.turns import TURNS, turned, turned_hashes
from segcv.pixels import look, read_image


def landscape(seed: int, size: int = 96) -> np.ndarray:
    """A random picture with coarse and fine detail, 8 bits, RGB."""
    rng = np.random.default_rng(seed)
    coarse = Image.fromarray(rng.integers(0, 256, (9, 8, 3), np.uint8)).resize((size, size), Image.Resampling.BICUBIC)
    return np.clip(np.asarray(coarse) + rng.normal(0, 12, (size, size, 3)), 0, 255).astype(np.uint8)


def turned_picture(picture: np.ndarray, turn: int) -> np.ndarray:
    return np.ascontiguousarray(turned(picture.transpose(2, 0, 1), turn).transpose(1, 2, 0))


def looks_of(pictures: dict[str, np.ndarray]) -> pd.DataFrame:
    seen = {name: look(picture) for name, picture in pictures.items()}
    return pd.DataFrame({"image_id": list(seen), "phash": np.array([one.phash for one in seen.values()], np.uint64),
                         "flat": [one.flat for one in seen.values()],
                         "thumbnail": [one.thumbnail.tobytes() for one in seen.values()]})


def test_the_turns_are_those_of_numpy():
    """Second method: np.fliplr, flipud, rot90 and transposition."""
    picture = np.arange(12).reshape(3, 4)
    expected = [picture, np.fliplr(picture), np.flipud(picture), np.rot90(picture, 2), picture.T,
                np.rot90(picture, -1), np.rot90(picture), np.rot90(picture, 2).T]

    assert len(expected) == len(TURNS)
    for turn, want in enumerate(expected):
        np.testing.assert_array_equal(turned(picture, turn), want)


@pytest.mark.parametrize("seed", range(6))
def test_one_transform_gives_the_hashes_of_all_turns(seed):
    """Second method: imagehash.phash of the turned picture; flips are bit-equal, quarter turns within two bits."""
    picture = landscape(seed)
    found = turned_hashes(look(picture).thumbnail[None])[0]

    for turn in range(len(TURNS)):
        expected = int(str(imagehash.phash(Image.fromarray(turned_picture(picture, turn)))), 16)
        assert (int(found[turn]) ^ expected).bit_count() <= (0 if turn < 4 else 2)


def test_every_turn_is_found_and_named_and_other_pictures_are_not():
    pictures = {f"p{turn}": landscape(turn) for turn in range(8)}
    copies = {f"p{turn}_copy": turned_picture(pictures[f"p{turn}"], turn) for turn in range(1, 8)}
    pairs = near_duplicate_pairs(looks_of(pictures | copies), max_distance=5, turns=True)

    assert pairs[["first", "second"]].sort_values("first").values.tolist() == [
        [f"p{turn}", f"p{turn}_copy"] for turn in range(1, 8)]
    back = {5: 6, 6: 5}      # which turn brings the copy (second) back to the original (first)
    assert pairs.sort_values("first")["turn"].tolist() == [TURNS[back.get(turn, turn)] for turn in range(1, 8)]
    assert near_duplicate_pairs(looks_of(pictures | copies), max_distance=5).empty


def test_a_turned_copy_is_known_after_strong_compression():
    pictures = {f"p{seed}": landscape(seed) for seed in range(8)}
    for seed in range(8):
        file = io.BytesIO()
        Image.fromarray(turned_picture(pictures[f"p{seed}"], seed)).save(file, "JPEG", quality=50)
        pictures[f"p{seed}_copy"] = np.asarray(Image.open(file))
    pairs = near_duplicate_pairs(looks_of(pictures), max_distance=5, turns=True)

    assert pairs[["first", "second"]].sort_values("first").values.tolist() == [
        [f"p{seed}", f"p{seed}_copy"] for seed in range(8)]


def test_the_evidence_names_the_turn():
    images = pd.DataFrame({"image_id": ["a", "b"], "image_path": ["a", "b"], "mask_path": ["a", "b"]})
    looks = looks_of({"a": landscape(1), "b": turned_picture(landscape(1), 1)})
    table = assign_groups(images, looks, pattern=None, max_distance=5, folds=2)
    apart = assign_groups(images, looks, pattern=None, max_distance=5, turns=False, folds=2)

    assert table["group_evidence"].tolist() == ["near-duplicate of b (flipped left-right)",
                                                "near-duplicate of a (flipped left-right)"]
    assert apart["group_id"].tolist() == ["a", "b"]


def test_small_crops_of_other_sequences_are_seldom_joined(shared):
    """Every second camvid frame cut into 64 px: hundreds of pairs within sequences, and at most 6 % of all cross them
    (`scripts/bench groups` counts random crops of several sizes, of which few pairs are true)."""
    table = pd.read_csv(shared / "data/camvid/dataset.csv", dtype=str).iloc[::2]
    pictures, sequence = {}, {}
    for path, group in zip(table["image_path"], table["group_id"], strict=True):
        frame = read_image(shared / "data/camvid" / path)
        for y, x in itertools.product(range(0, 320, 64), range(0, 448, 64)):
            pictures[f"{path}/{y}/{x}"] = np.ascontiguousarray(frame[y:y + 64, x:x + 64])
            sequence[f"{path}/{y}/{x}"] = group
    pairs = near_duplicate_pairs(looks_of(pictures), max_distance=5, turns=True)
    crossing = int((pairs["first"].map(sequence) != pairs["second"].map(sequence)).sum())

    assert len(pairs) > 200
    assert crossing <= 0.06 * len(pairs)


def test_all_near_frames_of_camvid_stay(shared):
    """76 pairs of frames within 5 bits, all of one sequence each: the data's own audit (audit.json) counts them."""
    table = pd.read_csv(shared / "data/camvid/dataset.csv", dtype=str)
    pictures = {path: read_image(shared / "data/camvid" / path) for path in table["image_path"]}
    pairs = near_duplicate_pairs(looks_of(pictures), max_distance=5, turns=True)

    assert len(pairs) == 76
    assert set(pairs["turn"]) == {""}
