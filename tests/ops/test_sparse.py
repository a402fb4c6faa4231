"""Sparse tensors against dense ones, and against loops."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import varigrad as vg

SETTINGS = settings(max_examples=50)


@st.composite
def sparse_tensors(draw, max_rank=3):
    """A dense shape, and different places in it with a value each."""
    shape = draw(st.lists(st.integers(1, 4), min_size=1, max_size=max_rank))
    size = int(np.prod(shape))
    flat = draw(st.lists(st.integers(0, size - 1), unique=True, max_size=size))
    places = np.array(np.unravel_index(np.array(flat, int), shape)).T.reshape(len(flat), len(shape))
    values = draw(st.lists(st.integers(1, 9), min_size=len(flat), max_size=len(flat)))
    return shape, places.astype(np.int32), np.array(values, np.float32)


# To dense


@SETTINGS
@given(sparse_tensors(), st.integers(-3, 3))
def test_to_dense_writes_each_value_at_its_place(sparse, default):
    shape, places, values = sparse
    expected = np.full(shape, default, np.float32)
    expected[tuple(places.T)] = values
    found = vg.sparse_to_dense(places, values, shape, default)
    np.testing.assert_array_equal(found.numpy(), expected)
    assert found.dtype == "float32"


@pytest.mark.parametrize(
    ("values", "default", "dtype"),
    [
        (["a", "b"], "c", "string"),
        (np.array([5, 6], np.int32), 1, "int32"),
        (np.array([True, False]), True, "bool"),
        (np.array([1 + 2j, 3j], np.complex64), 1j, "complex64"),
        (vg.tensor([1, 2], dtype="float64"), 0.1, "float64"),
    ],
)
def test_to_dense_takes_every_dtype(values, default, dtype):
    found = vg.sparse_to_dense([0, 2], values, [3], default)
    assert found.dtype == dtype
    assert found.tolist() == [vg.tensor(values).tolist()[0], default, vg.tensor(values).tolist()[1]]


def test_to_dense_fills_strings_with_nothing_by_default():
    assert vg.sparse_to_dense([1], ["a"], [3]).tolist() == ["", "a", ""]


def test_to_dense_takes_one_index_and_one_value_for_all():
    assert vg.sparse_to_dense(2, 7, [4]).tolist() == [0, 0, 7, 0]
    assert vg.sparse_to_dense([0, 3], 7, [4]).tolist() == [7, 0, 0, 7]


def test_to_dense_of_a_scalar_and_of_nothing():
    assert vg.sparse_to_dense(np.zeros((1, 0), np.int32), [4], []).item() == 4
    assert vg.sparse_to_dense(np.zeros((0, 2), np.int32), np.zeros(0, np.float32), [2, 0]).shape == (2, 0)


def test_to_dense_keeps_the_last_of_several_values():
    assert vg.sparse_to_dense([1, 0, 1], [1, 2, 3], [2]).tolist() == [2, 3]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([[[0]]], [1], [3]), ValueError, "rank 2 at most"),
        (([0.5], [1], [3]), TypeError, "sparse_indices must hold integers"),
        (([0], [1, 2], [3]), ValueError, r"shape \[1\]"),
        (([[0, 1]], [1], [3]), ValueError, "2 long but the output has 1 axes"),
        (([3], [1], [3]), vg.OutOfRangeError, "index 3.*axis 0"),
        (([-1], [1], [3]), vg.OutOfRangeError, "index -1"),
        (([0], [1], [2.5]), TypeError, "output_shape must be a list of integers"),
        (([0], [1], [3], vg.tensor([1.0, 2.0])), ValueError, "default_value must have rank 0"),
        (([0], [1], [3], vg.scalar(1, "int32")), TypeError, "values are float32 but default_value is int32"),
    ],
)
def test_to_dense_says_what_is_wrong(arguments, error, message):
    with pytest.raises(error, match=f"sparse_to_dense: .*{message}"):
        vg.sparse_to_dense(*arguments)


# Empty rows


@SETTINGS
@given(sparse_tensors())
def test_filled_rows_are_the_same_tensor_with_a_value_in_each_empty_row(sparse):
    shape, places, values = sparse
    filled = vg.sparse.sparse_fill_empty_rows(places, values, shape, -1)
    missing = sorted(set(range(shape[0])) - set(places[:, 0].tolist()))
    dense = vg.sparse_to_dense(places, values, shape).numpy()
    dense[(missing, *[0] * (len(shape) - 1))] = -1
    np.testing.assert_array_equal(vg.sparse_to_dense(filled.output_indices, filled.output_values, shape).numpy(), dense)
    assert np.flatnonzero(filled.empty_row_indicator.numpy()).tolist() == missing
    assert filled.empty_row_indicator.dtype == "bool"
    rows = filled.output_indices.numpy()[:, 0]
    assert (np.diff(rows) >= 0).all()
    np.testing.assert_array_equal(filled.output_indices.numpy()[filled.reverse_index_map.numpy()], places)
    np.testing.assert_array_equal(filled.output_values.numpy()[filled.reverse_index_map.numpy()], values)


def test_filling_rows_keeps_the_order_within_a_row_and_takes_strings():
    filled = vg.sparse.sparse_fill_empty_rows([[2, 1], [0, 3], [2, 0]], ["x", "y", "z"], [4, 5], "-")
    assert filled.output_indices.tolist() == [[0, 3], [1, 0], [2, 1], [2, 0], [3, 0]]
    assert filled.output_values.tolist() == ["y", "-", "x", "z", "-"]
    assert filled.reverse_index_map.tolist() == [2, 0, 3]
    assert filled.output_indices.dtype == filled.reverse_index_map.dtype == "int32"


def test_filling_a_tensor_without_rows():
    filled = vg.sparse.sparse_fill_empty_rows(np.zeros((0, 2), np.int32), np.zeros(0, np.float32), [0, 3], 1)
    assert [t.shape for t in filled] == [(0, 2), (0,), (0,), (0,)]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([0], [1], [2], 0), ValueError, "indices must have rank 2"),
        (([[0]], [[1]], [2], 0), ValueError, "values must have rank 1"),
        (([[0]], [1], 2, 0), ValueError, "dense_shape must have rank 1"),
        (([[0]], [1, 2], [2], 0), ValueError, "one value for each index tuple"),
        (([[0]], [1], [2, 2], 0), ValueError, "as many numbers as an index tuple"),
        (([[0]], [1], [2], [0]), ValueError, "default_value must have rank 0"),
        (([[2]], [1], [2], 0), vg.OutOfRangeError, "index 2"),
        (([[0]], [1], [0], 0), vg.OutOfRangeError, "0 long"),
        ((np.zeros((1, 0), np.int32), [1], np.zeros(0, np.int32), 0), ValueError, "has no rows"),
    ],
)
def test_filling_rows_says_what_is_wrong(arguments, error, message):
    with pytest.raises(error, match=f"sparse_fill_empty_rows: .*{message}"):
        vg.sparse.sparse_fill_empty_rows(*arguments)


# Reshaping


@SETTINGS
@given(sparse_tensors(), st.data())
def test_reshaped_places_hold_the_values_of_the_reshaped_dense_tensor(sparse, data):
    shape, places, values = sparse
    size = int(np.prod(shape))
    first = data.draw(st.sampled_from([n for n in range(1, size + 1) if size % n == 0]))
    target = [size // first, first]
    given_shape = data.draw(st.sampled_from([target, [-1, first], [size // first, -1]]))
    indices, new_shape = vg.sparse.sparse_reshape(places, shape, given_shape)
    assert new_shape.tolist() == target
    assert indices.dtype == new_shape.dtype == "int32"
    dense = vg.sparse_to_dense(places, values, shape).numpy()
    np.testing.assert_array_equal(vg.sparse_to_dense(indices, values, target).numpy(), dense.reshape(target))


def test_reshaping_to_and_from_a_scalar():
    indices, shape = vg.sparse.sparse_reshape([[0, 0]], [1, 1], np.zeros(0, np.int32))
    assert (indices.shape, shape.shape) == ((1, 0), (0,))
    indices, shape = vg.sparse.sparse_reshape(np.zeros((1, 0), np.int32), np.zeros(0, np.int32), [1, 1])
    assert indices.tolist() == [[0, 0]]


def test_reshaping_reaches_beyond_32_bits():
    indices, _ = vg.sparse.sparse_reshape([[99_999, 99_999]], [100_000, 100_000], [10, 1_000_000_000])
    assert indices.tolist() == [[9, 999_999_999]]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([[0]], [6], [-1, -1]), ValueError, "-1 once"),
        (([[0]], [6], [-2, 3]), ValueError, "lengths of 0 and more"),
        (([[0]], [6], [4, -1]), ValueError, "do not fill"),
        (([[0]], [6], [4]), ValueError, "do not fill"),
        (([[0]], [6], [0, -1]), ValueError, "nothing says what -1 is"),
        (([[6]], [6], [2, 3]), vg.OutOfRangeError, "index 6"),
        (([[0]], [6, 1], [2, 3]), ValueError, "as many numbers as an index tuple"),
        (([0], [6], [2, 3]), ValueError, "input_indices must have rank 2"),
        (([[0, 0, 0]], [2**31 - 1] * 3, [-1]), ValueError, "more places than can be counted"),
    ],
)
def test_reshaping_says_what_is_wrong(arguments, error, message):
    with pytest.raises(error, match=f"sparse_reshape: .*{message}"):
        vg.sparse.sparse_reshape(*arguments)


# Segments


@SETTINGS
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 5)), max_size=12), st.sampled_from(["float32", "int32"]))
def test_segments_are_the_sums_and_means_of_their_rows(pairs, dtype):
    rows = [row for row, _ in pairs]
    ids = sorted(number for _, number in pairs)
    data = np.random.default_rng(2).integers(-9, 9, (5, 3)).astype(dtype)
    expected = np.zeros((ids[-1] + 1 if ids else 0, 3), np.float64)
    np.add.at(expected, ids, data[rows] if rows else data[:0])
    x = vg.tensor(data, dtype=dtype)
    total = vg.sparse.sparse_segment_sum(x, np.array(rows, np.int32), np.array(ids, np.int32))
    np.testing.assert_array_equal(total.numpy(), expected)
    assert total.dtype == dtype
    expected /= np.maximum(np.bincount(np.array(ids, int), minlength=len(expected)), 1)[:, None]
    if dtype == "int32":
        expected = np.trunc(expected)
    mean = vg.sparse.sparse_segment_mean(x, np.array(rows, np.int32), np.array(ids, np.int32))
    np.testing.assert_allclose(mean.numpy(), expected, rtol=1e-6)
    assert mean.dtype == dtype


@pytest.mark.parametrize("dtype", ["float64", "float16", "complex64"])
def test_segments_keep_the_dtype(dtype):
    x = vg.tensor([[1, 2], [3, 4]], dtype=dtype)
    for op in (vg.sparse.sparse_segment_sum, vg.sparse.sparse_segment_mean):
        assert op(x, [0, 1], [0, 1]).dtype == dtype


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((1, [0], [0]), ValueError, "data is a scalar"),
        (([1, 2], [[0]], [0]), ValueError, "indices must have rank 1"),
        (([1, 2], [0], [[0]]), ValueError, "segment_ids must have rank 1"),
        (([1, 2], [0, 1], [0]), ValueError, "one segment id for each index"),
        (([1, 2], [0, 1], [1, 0]), ValueError, "ascending order"),
        (([1, 2], [0, 1], [-1, 0]), vg.OutOfRangeError, "must not be negative"),
        (([1, 2], [0, 2], [0, 0]), vg.OutOfRangeError, "index 2"),
        (([1, 2], [0.5], [0]), TypeError, "indices must hold integers"),
        ((["a"], [0], [0]), TypeError, "data must be numeric"),
    ],
)
def test_segments_say_what_is_wrong(arguments, error, message):
    for op in (vg.sparse.sparse_segment_sum, vg.sparse.sparse_segment_mean):
        with pytest.raises(error, match=f"sparse_segment.*: .*{message}"):
            op(*arguments)
