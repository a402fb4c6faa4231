"""Counting and ranking: values against NumPy, formulas and TensorFlow.js; ties, NaN, errors."""

import asyncio

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import varigrad as vg

STABLE = settings(max_examples=50)


def integers(values, dtype="int32"):
    return vg.tensor(values, dtype=dtype)


# topk


@STABLE
@given(
    hnp.arrays(np.float32, hnp.array_shapes(min_dims=1, max_dims=3, max_side=6), elements=st.integers(-3, 3)),
    st.data(),
)
def test_topk_is_the_start_of_a_stable_descending_sort(x, data):
    k = data.draw(st.integers(0, x.shape[-1]))
    indices = np.argsort(-x, -1, kind="stable")[..., :k]
    result = vg.topk(x, k)
    assert result.values.shape == result.indices.shape == (*x.shape[:-1], k)
    np.testing.assert_array_equal(result.indices.numpy(), indices)
    np.testing.assert_array_equal(result.values.numpy(), np.take_along_axis(x, indices, -1))
    assert result.indices.dtype == "int32"


# tf.topk(tf.tensor(x, undefined, dtype), k)
@pytest.mark.parametrize(
    ("x", "dtype", "k", "values", "indices"),
    [
        ([1, 3, 2, 3], "float32", 2, [3, 3], [1, 3]),
        ([1, np.nan, 3], "float32", 2, [np.nan, 3], [1, 2]),
        ([1, np.nan, 3], "float32", 1, [np.nan], [1]),
        ([1, 5, 3], "int32", 2, [5, 3], [1, 2]),
        ([-(2**31), 5, 3], "int32", 3, [5, 3, -(2**31)], [1, 2, 0]),
        ([True, False], "bool", 1, [True], [0]),
        ([1, 2], "float32", 0, [], []),
        ([[1, 2], [4, 3]], "float32", 1, [[2], [4]], [[1], [0]]),
    ],
)
def test_topk_is_tensorflow_js_s(x, dtype, k, values, indices):
    result = vg.topk(vg.tensor(x, dtype=dtype), k)
    np.testing.assert_array_equal(result.values.numpy(), values)
    assert result.values.dtype == dtype
    assert result.indices.tolist() == indices


def test_topk_takes_one_by_default_and_unpacks():
    values, indices = vg.tensor([1, 5, 3]).topk()
    assert (values.tolist(), indices.tolist()) == ([5], [1])
    assert vg.topk([1, 5, 2, 3], 3, sorted=False).values.tolist() == [5, 3, 2]


def test_the_gradient_of_topk_goes_to_the_values_picked():
    assert vg.grad(lambda x: vg.topk(x, 2).values.sum())(vg.tensor([1, 3, 2])).tolist() == [0, 1, 1]
    gradient = vg.grad(lambda x: (vg.topk(x, 2).values * vg.tensor([10, 1])).sum())
    assert gradient(vg.tensor([[1, 3, 2], [6, 5, 4]])).tolist() == [[0, 10, 1], [10, 1, 0]]


# in_top_k


def test_in_top_k_is_tensorflow_js_s():
    # tf.inTopKAsync(tf.tensor2d([[20, 10, 40, 30], [30, 50, -20, 10]]), tf.tensor1d([2, 0]), k)
    predictions = [[20, 10, 40, 30], [30, 50, -20, 10]]
    assert vg.in_top_k(predictions, [2, 0], 1).tolist() == [True, False]
    assert vg.in_top_k(predictions, integers([3, 0]), 2).tolist() == [True, True]
    # Of equal predictions the first counts as larger: tf.inTopKAsync([[1, 3, 3, 2]], [2], 1)
    assert vg.in_top_k([[1, 3, 3, 2]], [2], 1).tolist() == [False]
    assert vg.in_top_k([[1, 3, 3, 2]], [1], 1).tolist() == [True]


def test_in_top_k_of_more_axes():
    predictions = np.arange(12.0).reshape(2, 2, 3)
    result = vg.in_top_k(predictions, [[2, 1], [0, 2]], 2)
    assert result.dtype == "bool"
    assert result.tolist() == [[True, True], [False, True]]


def test_in_top_k_is_a_coroutine_under_its_own_name_too():
    assert asyncio.run(vg.in_top_k_async([[1, 2]], [1])).tolist() == [True]


# bincount, dense_bincount


@STABLE
@given(
    hnp.arrays(np.int32, hnp.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=5), elements=st.integers(0, 9)),
    st.integers(0, 8),
    st.booleans(),
)
def test_bincount_is_numpys(x, size, weighted):
    weights = np.linspace(0.5, 2, x.size, dtype=np.float32).reshape(x.shape) if weighted else None
    flat = None if weights is None else weights.ravel()
    expected = np.bincount(x.ravel(), flat, minlength=size)[:size]
    result = vg.bincount(x, weights, size)
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-6)
    assert result.dtype == "float32"


@STABLE
@given(
    hnp.arrays(np.int32, st.tuples(st.integers(0, 4), st.integers(0, 5)), elements=st.integers(0, 9)),
    st.integers(0, 8),
    st.booleans(),
)
def test_dense_bincount_is_a_bincount_of_each_row(x, size, binary):
    expected = np.array([np.bincount(row, minlength=size)[:size] for row in x]).reshape(len(x), size)
    result = vg.dense_bincount(x, None, size, binary)
    np.testing.assert_array_equal(result.numpy(), np.minimum(expected, 1) if binary else expected)


# (arguments, result) by tf.bincount and tf.denseBincount
@pytest.mark.parametrize(
    ("result", "expected", "dtype"),
    [
        (lambda: vg.bincount(integers([1, 1, 3]), [], 5), [0, 2, 0, 1, 0], "float32"),
        (lambda: vg.bincount(integers([1, 1, 3]), [0.5, 0.5, 2], 5), [0, 1, 0, 2, 0], "float32"),
        (lambda: vg.bincount(integers([1, 1, 3]), integers([1, 2, 3]), 5), [0, 3, 0, 3, 0], "int32"),
        (lambda: vg.bincount(integers([1, 1, 7]), [], 5), [0, 2, 0, 0, 0], "float32"),
        (lambda: vg.bincount(integers([[1, 1], [3, 2]]), [], 5), [0, 2, 1, 1, 0], "float32"),
        (lambda: vg.dense_bincount(integers([[1, 1], [3, 2]]), [], 4), [[0, 2, 0, 0], [0, 0, 1, 1]], "float32"),
        (lambda: vg.dense_bincount(integers([1, 1, 2]), [], 5, True), [0, 1, 1, 0, 0], "float32"),
        (
            lambda: vg.dense_bincount(integers([[1, 1], [3, 2]]), [[1, 2], [3, 4]], 4),
            [[0, 3, 0, 0], [0, 0, 4, 3]],
            "float32",
        ),
        (
            lambda: vg.dense_bincount(integers([[1, 1], [3, 2]]), [[1, 2], [3, 4]], 4, True),
            [[0, 1, 0, 0], [0, 0, 1, 1]],
            "float32",
        ),
    ],
)
def test_bincounts_are_tensorflow_js_s(result, expected, dtype):
    # But tf.denseBincount(x, [], 5, true) of a vector counts all the same, against its documentation.
    assert result().tolist() == expected
    assert result().dtype == dtype


# confusion_matrix


def test_confusion_matrix_is_tensorflow_js_s():
    # tf.math.confusionMatrix(labels, predictions, 3)
    assert vg.math.confusion_matrix([0, 1, 2, 1], [0, 2, 2, 1], 3).tolist() == [[1, 0, 0], [0, 1, 1], [0, 0, 1]]
    result = vg.math.confusion_matrix(integers([0, 5]), integers([0, 1]), 3)
    assert result.tolist() == [[1, 0, 0], [0, 0, 0], [0, 0, 0]]
    assert result.dtype == "int32"
    assert vg.math.confusion_matrix([-1, 1], [0, -1], 2).tolist() == [[0, 0], [0, 0]]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: vg.topk(1.0), ValueError, "topk: x must have rank 1 or more"),
        (lambda: vg.topk([1, 2], 3), ValueError, "topk: k must be from 0 to 2, .* got 3"),
        (lambda: vg.topk([1, 2], -1), ValueError, "topk: k must be from 0 to 2, .* got -1"),
        (lambda: vg.topk(["a"]), TypeError, "topk: x must be real, got string"),
        (lambda: vg.in_top_k([1, 2], [1]), ValueError, r"in_top_k: .*predictions: \[2\], targets: \[1\]"),
        (lambda: vg.in_top_k([[1, 2]], [1], 3), ValueError, "in_top_k: k must be from 1 to 2, .* got 3"),
        (lambda: vg.bincount(integers([-1]), None, 5), ValueError, "bincount: x must not be negative, got -1"),
        (
            lambda: vg.dense_bincount(integers([-1]), None, 5),
            ValueError,
            "dense_bincount: x must not be negative, got -1",
        ),
        (lambda: vg.bincount(vg.tensor([1.0]), None, 5), TypeError, "bincount: x must hold integers"),
        (lambda: vg.bincount([1, 2], [1], 5), ValueError, r"bincount: .*x: \[2\], weights: \[1\]"),
        (lambda: vg.bincount([1], None, -1), ValueError, "bincount: size must not be negative, got -1"),
        (lambda: vg.dense_bincount([[[1]]], None, 2), ValueError, r"rank 1 or 2, got shape \[1, 1, 1\]"),
        (lambda: vg.math.confusion_matrix([0, 1], [0], 2), ValueError, r"labels: \[2\], predictions: \[1\]"),
        (lambda: vg.math.confusion_matrix([[0]], [[0]], 2), ValueError, "must be vectors of one length"),
        (lambda: vg.math.confusion_matrix([0], [0], 0), ValueError, "num_classes must be 1 or more, got 0"),
        (lambda: vg.math.confusion_matrix([0], [0], 1.5), TypeError, "num_classes must be an integer, got 1.5"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()
