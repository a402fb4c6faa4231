"""Taking parts of tensors by name and putting them back, against NumPy and TensorFlow.js."""

import asyncio
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import varigrad as vg

OFTEN = settings(max_examples=50)
X = np.arange(120, dtype=np.float32).reshape(2, 3, 4, 5)


def same(result, expected):
    expected = np.asarray(expected)
    assert result.shape == expected.shape
    np.testing.assert_array_equal(result.numpy(), expected)


# Blocks


@pytest.mark.parametrize(
    ("begin", "size", "expected"),
    [
        (1, 1, X[1:2]),
        (1, None, X[1:]),
        ([0, 1], [2, -1], X[:, 1:]),
        ([1, 0, 2], 1, X[1:2, :, 2:]),
        ([2], [0], X[2:2]),
        ([0, 1, 2, 3], [1, 2, 2, 1], X[0:1, 1:3, 2:4, 3:4]),
    ],
)
def test_slice_takes_a_block(begin, size, expected):
    same(vg.slice(X, begin, size), expected)


def test_slices_of_a_rank_take_that_rank_only():
    same(vg.slice1d(X[0, 0, 0], 1, 2), X[0, 0, 0, 1:3])
    same(vg.slice2d(X[0, 0], [1, 1], [2, 2]), X[0, 0, 1:3, 1:3])
    same(vg.slice3d(X[0], [1, 1, 0], [1, 2, 5]), X[0, 1:2, 1:3])
    same(vg.slice4d(X, [1, 1, 0, 0], [1, 2, 2, 5]), X[1:2, 1:3, :2])
    with pytest.raises(ValueError, match="slice2d: x must have rank 2"):
        vg.slice2d(X, [0, 0], [1, 1])


@pytest.mark.parametrize(
    ("begin", "size", "message"),
    [
        ([0, 1], [2, 3], r"begin 1 and size 3 on axis 1 reach outside x, which is 3 long there"),
        (-1, 1, "begin -1"),
        (0, -2, "size -2"),
        (3, None, "begin 3"),
        ([0] * 5, None, "begin has 5 numbers but x has 4 axes"),
    ],
)
def test_a_block_outside_is_explained(begin, size, message):
    with pytest.raises(ValueError, match=message):
        vg.slice(X, begin, size)


def test_a_scalar_cannot_be_sliced():
    with pytest.raises(ValueError, match="scalar"):
        vg.slice(1.0, 0, 1)


@pytest.mark.parametrize(
    ("arguments", "masks", "expected"),
    [
        (([0, 1, 0, 0], [2, 3, 4, 5], [1, 1, 2, 3]), {}, X[0:2, 1:3, 0:4:2, 0:5:3]),
        (([1], [0], [-1]), {}, X[1:0:-1]),
        (([-1, 2], [-3, 0], [-1, -1]), {}, X[-1:-3:-1, 2:0:-1]),
        (([9], [9]), {"begin_mask": 1, "end_mask": 1}, X),
        (([0, 0, 1], [0, 0, 3]), {"ellipsis_mask": 2, "shrink_axis_mask": 1}, X[0, ..., 1:3]),
        (([0, 1], [0, 2]), {"new_axis_mask": 1}, X[None, 1:2]),
        (([-1, -2], [0, 0]), {"shrink_axis_mask": 3}, X[-1, -2]),
        (([0], [100]), {}, X),
    ],
)
def test_strided_slice_is_an_index_in_lists_and_masks(arguments, masks, expected):
    same(vg.strided_slice(X, *arguments, **masks), expected)


def test_strided_slice_wants_lists_of_one_length():
    with pytest.raises(ValueError, match="of one length, got 1, 2 and 1"):
        vg.strided_slice(X, [0], [1, 2], [1])


# gather


@OFTEN
@given(st.data())
def test_gather_takes_along_an_axis_as_numpy_take(data):
    shape = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    outer = data.draw(st.lists(st.integers(0, 3), max_size=2))
    flat = data.draw(st.lists(st.integers(0, shape[axis] - 1), min_size=math.prod(outer), max_size=math.prod(outer)))
    x = np.arange(math.prod(shape), dtype=np.float32).reshape(shape)
    indices = np.array(flat, np.int32).reshape(outer)
    same(vg.gather(x, indices, axis), np.take(x, indices, axis))


@OFTEN
@given(st.data())
def test_gather_in_batches_takes_in_each_batch(data):
    batch = data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=2))
    between = data.draw(st.lists(st.integers(1, 3), max_size=1))
    length = data.draw(st.integers(1, 4))
    after = data.draw(st.lists(st.integers(1, 3), max_size=1))
    own = data.draw(st.lists(st.integers(0, 3), max_size=2))
    shape = batch + between + [length] + after
    x = np.arange(math.prod(shape), dtype=np.float32).reshape(shape)
    indices = np.random.default_rng(data.draw(st.integers(0, 99))).integers(0, length, batch + own)
    axis = len(batch) + len(between)
    expected = np.empty((*batch, *between, *own, *after), np.float32)
    for at in np.ndindex(*batch):
        expected[at] = np.take(x[at], indices[at], len(between))
    same(vg.gather(x, indices, axis, len(batch)), expected)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        # As TensorFlow.js, which refuses indices from the back too.
        (lambda: vg.gather([1, 2, 3], [-1]), IndexError, "gather: index -1, at .0. of the indices, is outside axis 0"),
        (lambda: vg.gather([1, 2, 3], [[0, 3]]), IndexError, r"index 3, at \[0, 1\]"),
        (lambda: vg.gather([1, 2, 3], [0.5]), TypeError, "indices must hold integers"),
        (lambda: vg.gather(1, [0]), ValueError, "scalar"),
        (lambda: vg.gather(X, [0], 4), ValueError, "axis 4 is out of range"),
        (lambda: vg.gather(X, [[0], [0]], 0, 1), ValueError, "batch_dims 1 must not exceed axis 0"),
        (lambda: vg.gather(X, [[0], [0], [0]], 1, 1), ValueError, "the first 1 axes of x and indices differ"),
    ],
)
def test_gather_explains_what_does_not_fit(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("depth", [0, 1, 2, 3, 4])
def test_gather_nd_takes_what_index_tuples_name(depth):
    indices = np.random.default_rng(depth).integers(0, 2, (5, 3, depth))
    expected = X[tuple(np.moveaxis(indices, -1, 0))] if depth else np.broadcast_to(X, (5, 3, *X.shape))
    same(vg.gather_nd(X, indices), expected)


def test_gather_nd_explains_what_does_not_fit():
    with pytest.raises(IndexError, match=r"gather_nd: index 3, at \[1\] of the indices, is outside axis 1, which is 3"):
        vg.gather_nd(X, [[0, 0], [1, 3]])
    with pytest.raises(ValueError, match="index tuples are 5 long but x has 4 axes"):
        vg.gather_nd(X, [[0] * 5])
    with pytest.raises(ValueError, match="index tuples"):
        vg.gather_nd(X, 0)


# scatter


@OFTEN
@given(st.data())
def test_scatter_nd_adds_what_falls_on_one_place(data):
    shape = data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    depth = data.draw(st.integers(1, len(shape)))
    outer = data.draw(st.lists(st.integers(0, 4), min_size=1, max_size=2))
    random = np.random.default_rng(data.draw(st.integers(0, 99)))
    indices = random.integers(0, shape[:depth], (*outer, depth))
    updates = random.integers(-5, 5, (*outer, *shape[depth:])).astype(np.float32)
    expected = np.zeros(shape, np.float32)
    np.add.at(expected, tuple(np.moveaxis(indices, -1, 0)), updates)
    same(vg.scatter_nd(indices, updates, shape), expected)


@pytest.mark.parametrize("dtype", ["int32", "float16", "float64", "complex64"])
@pytest.mark.parametrize("count", [10, 10_000])
def test_scatter_nd_keeps_the_dtype_and_adds_exactly(dtype, count):
    indices = np.arange(count)[:, None] % 3
    result = vg.scatter_nd(indices, vg.ones([count], dtype), [3])
    assert result.dtype == dtype
    # Rounded once: float16 has no odd numbers beyond 2048.
    np.testing.assert_array_equal(result.numpy(), np.bincount(indices[:, 0]).astype(dtype))


def test_a_vector_of_indices_scatters_by_one_number_each():
    assert vg.scatter_nd([0, 4, 2], [100, 101, 102], [5]).tolist() == [100, 0, 102, 0, 101]
    assert vg.scatter_nd([2, 0], [[1, 2], [3, 4]], [3, 2]).tolist() == [[3, 4], [0, 0], [1, 2]]
    assert vg.tensor_scatter_update([1, 2, 3], [2], [9]).tolist() == [1, 2, 9]


def test_negative_batch_dims_count_from_the_rank_of_the_indices():
    x, indices = [[1, 11], [2, 22]], [[1, 0], [0, 1]]
    assert vg.gather(x, indices, 1, -1).tolist() == vg.gather(x, indices, 1, 1).tolist() == [[11, 1], [2, 22]]
    with pytest.raises(ValueError, match="batch_dims"):
        vg.gather(x, indices, 1, -3)


def test_tensor_scatter_update_replaces_and_the_last_update_stays():
    # tf.tensorScatterUpdate([1, 2, 3], [[1], [1]], [5, 6]) is [1, 6, 3]
    assert vg.tensor_scatter_update([1, 2, 3], [[1], [1]], [5, 6]).tolist() == [1, 6, 3]
    expected = X.copy()
    expected[[1, 0], [2, 0]] = 7
    same(vg.tensor_scatter_update(X, [[1, 2], [0, 0]], np.full((2, 4, 5), 7.0)), expected)


def test_only_the_update_that_stays_gets_a_gradient():
    gradient = vg.grad(lambda u: vg.tensor_scatter_update([1, 2, 3], [[1], [1]], u) * [1, 10, 100])(
        vg.tensor([5.0, 6.0])
    )
    assert gradient.tolist() == [0, 10]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: vg.scatter_nd([[3]], [1.0], [3]), IndexError, "scatter_nd: index 3"),
        (lambda: vg.scatter_nd([[0]], [1.0, 2.0], [3]), ValueError, r"updates must have shape \[1\], got \[2\]"),
        (lambda: vg.scatter_nd([[0.5]], [1.0], [3]), TypeError, "indices must hold integers"),
        (lambda: vg.tensor_scatter_update([1, 2], [[0]], vg.tensor([1], dtype="int32")), TypeError, "cast one of them"),
        (lambda: vg.tensor_scatter_update([1, 2], [[2]], [1]), IndexError, "tensor_scatter_update: index 2"),
    ],
)
def test_scatter_explains_what_does_not_fit(call, error, message):
    with pytest.raises(error, match=message):
        call()


# boolean_mask


def test_boolean_mask_takes_the_true_places():
    mask = np.array([[True, False, True], [False, False, True]])
    same(vg.boolean_mask(X, mask), X[mask])
    same(vg.boolean_mask(X, [True, False, False, True], 2), X[:, :, [0, 3]])
    same(asyncio.run(vg.boolean_mask_async([[1, 2], [3, 4]], [True, False], 1)), [[1], [3]])


def test_where_async_lists_the_true_places():
    mask = np.random.default_rng(0).integers(0, 2, (2, 3, 4)).astype(bool)
    places = asyncio.run(vg.where_async(mask))
    assert places.dtype == "int32"
    same(places, np.argwhere(mask))
    assert asyncio.run(vg.where_async([False])).shape == (0, 1)
    assert asyncio.run(vg.where_async(True)).shape == (1, 0)
    with pytest.raises(TypeError, match="where_async: condition must be bool"):
        asyncio.run(vg.where_async(vg.tensor([1, 0])))


@pytest.mark.parametrize("mask", [True, [True, False, True]])
def test_a_mask_of_another_shape_is_explained(mask):
    with pytest.raises(ValueError, match="boolean_mask: the mask must have the shape that x has from axis 0 on"):
        vg.boolean_mask(X, mask)


def test_one_string_gathered_is_a_scalar_tensor():
    x = vg.tensor(["a", "b"])
    taken = vg.gather(x, 1)
    assert (taken.shape, taken.dtype, taken.item()) == ((), "string", "b")
    assert x[np.array(1)].item() == "b"
