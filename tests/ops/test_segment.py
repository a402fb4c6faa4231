"""Segments, different values, and places in sorted sequences."""

import asyncio
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import varigrad as vg

OFTEN = settings(max_examples=50)


@OFTEN
@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=2),
    st.lists(st.integers(0, 3), max_size=2),
    st.integers(0, 4),
    st.integers(0, 99),
)
def test_segments_are_summed_by_number_and_others_left_out(outer, rest, count, seed):
    random = np.random.default_rng(seed)
    ids = random.integers(-1, count + 2, outer)
    x = random.integers(-9, 9, (*outer, *rest)).astype(np.float32)
    expected = np.zeros((count, *rest), np.float32)
    for at in np.ndindex(*outer):
        if 0 <= ids[at] < count:
            expected[ids[at]] += x[at]
    result = vg.unsorted_segment_sum(x, ids, count)
    assert result.shape == expected.shape
    np.testing.assert_array_equal(result.numpy(), expected)


def test_segments_of_integers_stay_integers():
    result = vg.unsorted_segment_sum(vg.tensor([2**24 + 1, 1], dtype="int32"), [0, 0], 1)
    assert result.dtype == "int32"
    assert result.tolist() == [2**24 + 2]


def test_many_rows_are_summed_exactly_as_few():
    random = np.random.default_rng(0)
    ids = random.integers(0, 50, 4000)
    x = random.integers(-9, 9, (4000, 8)).astype(np.float32)
    expected = np.zeros((50, 8))
    np.add.at(expected, ids, x)
    np.testing.assert_array_equal(vg.unsorted_segment_sum(x, ids, 50).numpy(), expected)


def test_segments_that_do_not_fit_are_explained():
    with pytest.raises(ValueError, match=r"\(x: \[2\], segment_ids: \[3\]\)"):
        vg.unsorted_segment_sum([1, 2], [0, 1, 2], 3)
    with pytest.raises(TypeError, match="segment_ids must hold integers"):
        vg.unsorted_segment_sum([1, 2], [0.5, 1], 3)
    with pytest.raises(ValueError, match="num_segments"):
        vg.unsorted_segment_sum([1, 2], [0, 1], -1)


@pytest.mark.parametrize("side", ["left", "right"])
def test_places_in_sorted_sequences(side):
    random = np.random.default_rng(0)
    sequence = np.sort(random.integers(0, 9, (2, 3, 6)), -1)
    values = random.integers(-1, 11, (2, 3, 4))
    result = vg.search_sorted(sequence, values, side)
    assert result.dtype == "int32"
    for at in np.ndindex(2, 3):
        np.testing.assert_array_equal(result.numpy()[at], np.searchsorted(sequence[at], values[at], side))


def test_bounds_are_the_two_sides():
    sequence, values = [1.0, 3.0, 3.0, 5.0], [3, 4.5, 9]
    assert vg.lower_bound(sequence, values).tolist() == [1, 3, 4]
    assert vg.upper_bound(sequence, values).tolist() == [3, 3, 4]


def test_places_that_cannot_be_sought_are_explained():
    with pytest.raises(ValueError, match=r"sorted_sequence: \[1, 2\], values: \[2, 1\]"):
        vg.search_sorted([[1, 2]], [[1], [2]])
    with pytest.raises(ValueError, match="side must be"):
        vg.search_sorted([1], [1], "middle")


@OFTEN
@given(st.lists(st.integers(0, 3), min_size=1, max_size=3), st.integers(0, 99), st.data())
def test_unique_lists_slices_in_the_order_of_their_first_occurrence(shape, seed, data):
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    x = np.random.default_rng(seed).integers(0, 2, shape).astype(np.float32)
    values, indices = vg.unique(x, axis)
    slices = [tuple(s.reshape(-1).tolist()) for s in np.moveaxis(x, axis, 0)]
    seen = list(dict.fromkeys(slices))
    assert [tuple(s.reshape(-1).tolist()) for s in np.moveaxis(values.numpy(), axis, 0)] == seen
    assert indices.tolist() == [seen.index(s) for s in slices]
    assert indices.dtype == "int32"


def test_unique_of_rows_columns_strings_and_nan():
    # tf.unique(tf.tensor2d([[1, 2], [3, 4], [1, 2]]))
    values, indices = vg.unique([[1, 2], [3, 4], [1, 2]])
    assert (values.tolist(), indices.tolist()) == ([[1, 2], [3, 4]], [0, 1, 0])
    # tf.unique(tf.tensor2d([[1, 1], [3, 3], [1, 1]]), 1)
    result = vg.unique([[1, 1], [3, 3], [1, 1]], 1)
    assert (result.values.tolist(), result.indices.tolist()) == ([[1], [3], [1]], [0, 0])
    assert vg.unique(["b", "a", "b"]).values.tolist() == ["b", "a"]
    assert vg.unique([math.nan, 1, math.nan]).indices.tolist() == [0, 1, 0]
    with pytest.raises(ValueError, match="scalar"):
        vg.unique(1.0)


def test_setdiff1d_wants_one_dtype():
    with pytest.raises(TypeError, match="setdiff1d: x is float32 but y is int32"):
        vg.setdiff1d(vg.tensor([1, 2]), vg.tensor([1], dtype="int32"))


def test_setdiff1d_lists_what_only_the_first_has():
    # tf.setdiff1dAsync([1, 2, 3, 4, 2], [1, 3])
    x, y = vg.tensor([1, 2, 3, 4, 2], dtype="int32"), vg.tensor([1, 3], dtype="int32")
    values, indices = vg.setdiff1d(x, y)
    assert (values.tolist(), indices.tolist()) == ([2, 4, 2], [1, 3, 4])
    assert values.dtype == indices.dtype == "int32"
    assert asyncio.run(vg.setdiff1d_async(["a", "b"], ["b"])).values.tolist() == ["a"]
    with pytest.raises(ValueError, match="setdiff1d: needs two vectors"):
        vg.setdiff1d([[1]], [1])
