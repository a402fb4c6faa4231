"""The tools of `vg.util`."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import varigrad as vg

SETTINGS = settings(max_examples=50)


@SETTINGS
@given(st.integers(0, 50), st.integers(0, 5))
def test_shuffled_indices_are_a_permutation_that_a_seed_repeats(n, seed):
    vg.set_random_seed(seed)
    order = vg.util.create_shuffled_indices(n)
    assert sorted(order.tolist()) == list(range(n))
    assert order.dtype == np.int32
    vg.set_random_seed(seed)
    assert vg.util.create_shuffled_indices(n).tolist() == order.tolist()


def test_every_order_occurs_about_equally_often():
    vg.set_random_seed(0)
    counts = {}
    for _ in range(1200):
        order = tuple(vg.util.create_shuffled_indices(3).tolist())
        counts[order] = counts.get(order, 0) + 1
    assert len(counts) == math.factorial(3)
    assert all(150 < count < 250 for count in counts.values())  # 200 each, with a deviation of 13


def test_shuffling_moves_rows_and_changes_in_place():
    rows = np.arange(20).reshape(10, 2)
    vg.set_random_seed(1)
    assert vg.util.shuffle(rows) is None
    assert (rows[:, 1] - rows[:, 0] == 1).all()
    assert sorted(rows[:, 0].tolist()) == list(range(0, 20, 2)) != rows[:, 0].tolist()


def test_two_are_shuffled_alike():
    numbers, rows = list(range(10)), np.arange(10.0)[:, None]
    vg.util.shuffle_combo(numbers, rows)
    assert numbers == rows[:, 0].tolist()
    with pytest.raises(ValueError, match="of one length, got 1 and 2"):
        vg.util.shuffle_combo([1], [1, 2])


def test_flatten_opens_lists_tuples_and_arrays():
    x = vg.tensor([1, 2])
    assert vg.util.flatten([1, (2, [np.array([[3, 4]])]), "ab", x]) == [1, 2, 3, 4, "ab", x]
    assert vg.util.flatten(5) == [5]


def test_sizes_of_shapes():
    assert [vg.util.size_from_shape(s) for s in ([], [3], (2, 0, 4))] == [1, 3, 0]
