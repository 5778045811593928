"""The Hamming join finds exactly the pairs that comparing all with all finds, in every way it works."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from segcv.groups import diameter, hamming_matches, hamming_pairs


def planted(n: int, seed: int) -> np.ndarray:
    """Different hashes, a fifth of them within a few bits of others, some in chains."""
    rng = np.random.default_rng(seed)
    hashes = rng.integers(0, 2**64, n, dtype=np.uint64)
    for place in range(0, n // 5, 4):
        for step in range(1, 4):
            bits = rng.choice(64, rng.integers(1, 8), replace=False).astype(np.uint64)
            before = hashes[place + (step - 1 if place % 3 == 0 else 0)]
            hashes[place + step] = before ^ np.bitwise_or.reduce(np.uint64(1) << bits)
    return rng.permutation(np.unique(hashes))


def all_pairs(hashes: np.ndarray, max_distance: int) -> set[tuple[int, int]]:
    """Second method: every pair, with Python's own bit count."""
    values = [int(value) for value in hashes]
    return {(i, j) for i, j in itertools.combinations(range(len(values)), 2)
            if (values[i] ^ values[j]).bit_count() <= max_distance}


@pytest.mark.parametrize("max_distance", range(11))
def test_the_join_equals_all_with_all(max_distance):
    hashes = planted(500, seed=max_distance)
    expected = all_pairs(hashes, max_distance)

    for by_bands in (False, True):
        i, j, distance = hamming_pairs(hashes, max_distance=max_distance, by_bands=by_bands)
        found = list(zip(i.tolist(), j.tolist(), strict=True))
        assert found == sorted(expected)
        assert distance.tolist() == [(int(hashes[a]) ^ int(hashes[b])).bit_count() for a, b in found]


@settings(max_examples=40, deadline=None)
@given(st.sets(st.integers(0, 2**64 - 1) | st.integers(0, 255), min_size=0, max_size=40), st.integers(0, 64))
def test_few_hashes_of_any_kind(values, max_distance):
    hashes = np.array(sorted(values), np.uint64)
    i, j, _ = hamming_pairs(hashes, max_distance=max_distance)

    assert set(zip(i.tolist(), j.tolist(), strict=True)) == all_pairs(hashes, max_distance)


def test_many_hashes_take_the_compiled_way_and_are_the_same():
    """4000 hashes are joined by bands; the planted pairs are those of blocks compared in numpy."""
    hashes = planted(4000, seed=1)
    i, j, _ = hamming_pairs(hashes, max_distance=5)
    expected = [(row, row + 1 + later) for row in range(len(hashes))
                for later in np.nonzero(np.bitwise_count(hashes[row] ^ hashes[row + 1:]) <= 5)[0].tolist()]

    assert list(zip(i.tolist(), j.tolist(), strict=True)) == expected


@pytest.mark.parametrize("max_distance", [0, 3, 6])
def test_two_sets_are_joined_as_all_with_all_joins_them(max_distance):
    hashes = planted(500, seed=max_distance)
    some, others = hashes[:200], np.concatenate([hashes[200:], hashes[:50]])
    expected = [(i, j) for i, a in enumerate(some.tolist()) for j, b in enumerate(others.tolist())
                if (a ^ b).bit_count() <= max_distance]

    for by_bands in (False, True):
        i, j, distance = hamming_matches(some, others, max_distance=max_distance, by_bands=by_bands)
        assert list(zip(i.tolist(), j.tolist(), strict=True)) == expected
        assert distance.tolist() == np.bitwise_count(some[i] ^ others[j]).tolist()


@given(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=30))
def test_the_diameter_is_the_largest_distance(values):
    hashes = np.array(values, np.uint64)
    bits, one, other = diameter(hashes)

    assert bits == max((a ^ b).bit_count() for a in values for b in values)
    assert (values[one] ^ values[other]).bit_count() == bits


def test_a_sorted_table_of_pairs_is_the_same_for_any_order_of_hashes():
    hashes = planted(300, seed=9)
    order = np.random.default_rng(0).permutation(len(hashes))
    one, other = (pd.DataFrame({"a": np.minimum(h[i], h[j]), "b": np.maximum(h[i], h[j])}).sort_values(["a", "b"])
                  for h in (hashes, hashes[order]) for i, j, _ in [hamming_pairs(h, max_distance=6)])

    assert one.to_numpy().tolist() == other.to_numpy().tolist()
