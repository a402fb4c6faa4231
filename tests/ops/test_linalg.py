"""Norms: values against NumPy and TensorFlow.js, gradients at zero, clipping, errors."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import varigrad as vg

STABLE = settings(max_examples=50)
VECTOR_ORDERS = ["euclidean", 1, 2, np.inf, -np.inf, 3, 1.5]
MATRIX_ORDERS = ["euclidean", "fro", 1, np.inf, -np.inf]


def numpy_order(order):
    return {"euclidean": None, "fro": "fro"}.get(order, order)


@pytest.mark.parametrize("order", VECTOR_ORDERS)
def test_norms_of_vectors_are_numpys_along_any_axis(order):
    @STABLE
    @given(
        hnp.arrays(
            np.float64, hnp.array_shapes(min_dims=1, max_dims=3, max_side=4), elements=st.floats(-9, 9, width=16)
        ),
        st.integers(-3, 2),
        st.booleans(),
    )
    def check(x, axis, keep_dims):
        axis = axis % x.ndim
        expected = np.linalg.norm(x, numpy_order(order), axis, keep_dims)
        result = vg.norm(vg.tensor(x, dtype="float64"), order, axis, keep_dims)
        np.testing.assert_allclose(result.numpy(), expected, rtol=1e-12)
        assert result.shape == expected.shape
        flat = np.linalg.norm(x.ravel(), numpy_order(order))
        np.testing.assert_allclose(vg.norm(vg.tensor(x, dtype="float64"), order).item(), flat, rtol=1e-12)
        assert vg.norm(x, order, keep_dims=True).shape == (1,) * x.ndim

    check()


@pytest.mark.parametrize("order", MATRIX_ORDERS)
@pytest.mark.parametrize("axis", [(0, 1), (1, 0), (1, 2), (-1, 0)])
@pytest.mark.parametrize("keep_dims", [False, True])
def test_norms_of_matrices_are_numpys(order, axis, keep_dims):
    x = np.random.default_rng(0).normal(size=(2, 3, 4))
    expected = np.linalg.norm(x, "fro" if order == "euclidean" else order, axis, keep_dims)
    result = vg.norm(vg.tensor(x, dtype="float64"), order, axis, keep_dims)
    assert result.shape == expected.shape
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-12)


# tf.norm(tf.tensor([[1, 2], [-3, 4]]), ord, axis)
@pytest.mark.parametrize(
    ("order", "whole", "columns", "matrix"),
    [
        ("euclidean", 5.4772257805, [3.1622776985, 4.4721360207], 5.4772257805),
        (1, 10, [4, 6], 6),
        (np.inf, 4, [3, 4], 7),
        (-np.inf, 1, [1, 2], 3),
    ],
)
def test_norms_are_tensorflow_js_s(order, whole, columns, matrix):
    x = vg.tensor([[1, 2], [-3, 4]])
    np.testing.assert_allclose(vg.norm(x, order).item(), whole, rtol=1e-6)
    np.testing.assert_allclose(x.norm(order, 0).numpy(), columns, rtol=1e-6)
    np.testing.assert_allclose(vg.norm(x, order, [0, 1]).item(), matrix, rtol=1e-6)


def test_the_norm_of_a_scalar_is_its_absolute_value():
    assert [vg.norm(-2.0, order).item() for order in VECTOR_ORDERS] == [2] * len(VECTOR_ORDERS)


def test_norms_of_integers_and_complex_numbers():
    assert vg.norm(vg.tensor([3, 4], dtype="int32")).item() == 5
    assert vg.norm(vg.tensor([3j, 4])).item() == 5
    assert vg.euclidean_norm(vg.tensor([[3, 4]], dtype="float64"), axis=1, keep_dims=True).tolist() == [[5]]


def test_a_norm_of_high_order_does_not_overflow():
    np.testing.assert_allclose(vg.norm([3e10, 1e10], 50).item(), 3e10, rtol=1e-6)
    assert vg.norm([np.inf, 1.0], 3).item() == np.inf


def test_norms_of_nothing_are_zero():
    for order in ("euclidean", 1, 3, np.inf):
        assert vg.norm(np.zeros(0), order).item() == 0
        assert vg.norm(np.zeros((2, 0)), order, axis=1).tolist() == [0, 0]


@pytest.mark.parametrize("order", VECTOR_ORDERS)
def test_the_gradient_at_a_zero_vector_is_zero_and_leaves_other_rows_right(order):
    assert vg.grad(lambda x: vg.norm(x, order))(vg.tensor([0, 0])).tolist() == [0, 0]
    gradient = vg.grad(lambda x: vg.norm(x, order, 1).sum())
    both = gradient(vg.tensor([[0, 0], [3, 4]])).numpy()
    np.testing.assert_array_equal(both[0], [0, 0])
    np.testing.assert_allclose(both[1], gradient(vg.tensor([[3, 4]])).numpy()[0])


@pytest.mark.parametrize("order", MATRIX_ORDERS)
def test_the_gradient_at_a_zero_matrix_is_zero(order):
    assert vg.grad(lambda x: vg.norm(x, order, [0, 1]))(vg.tensor([[0, 0], [0, 0]])).tolist() == [[0, 0], [0, 0]]


def test_the_second_gradient_at_a_zero_vector_is_finite():
    second = vg.grad(lambda x: (vg.grad(vg.norm)(x) * vg.tensor([1, 2])).sum())
    assert second(vg.tensor([0, 0])).tolist() == [0, 0]
    # (I - u uᵀ) / |x| applied to [1, 2], u = [0.6, 0.8]
    np.testing.assert_allclose(second(vg.tensor([3, 4])).numpy(), [-0.064, 0.048], rtol=1e-5)


# clip_by_norm


def test_clipping_by_norm_shortens_what_is_too_long_only():
    assert vg.clip_by_norm([6, 8], 5).tolist() == [3, 4]
    assert vg.clip_by_norm([0.3, 0.1], 5).tolist() == vg.tensor([0.3, 0.1]).tolist()
    np.testing.assert_allclose(vg.clip_by_norm([[6, 8], [0.6, 0.8]], 5, axis=1).numpy(), [[3, 4], [0.6, 0.8]])
    assert vg.clip_by_norm([0, 0], 5).tolist() == [0, 0]
    assert vg.clip_by_norm([3, 4], 0).tolist() == [0, 0]
    assert vg.clip_by_norm([3, 4], vg.scalar(10.0)).tolist() == [3, 4]


def test_the_gradient_of_clipping_by_norm_at_zero():
    assert vg.grad(lambda x: vg.clip_by_norm(x, 5))(vg.tensor([0, 0])).tolist() == [1, 1]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: vg.norm([1, 2], "fro"), "norm: ord of a vector must be 'euclidean', .* got 'fro'"),
        (lambda: vg.norm([1, 2], 0.5), "norm: ord of a vector must be .* got 0.5"),
        (lambda: vg.norm([1, 2], np.nan), "norm: ord of a vector must be .* got nan"),
        (lambda: vg.norm([[1, 2]], 2, [0, 1]), "norm: ord of a matrix must be .* got 2"),
        (lambda: vg.norm([[1, 2]], "nuc", [0, 1]), "norm: ord of a matrix must be .* got 'nuc'"),
        (lambda: vg.norm(np.ones((1, 1, 1)), 2, [0, 1, 2]), r"norm: axis must be None, .* got \[0, 1, 2\]"),
        (lambda: vg.norm([1, 2], 2, 1), "norm: axis 1 is out of range"),
        (lambda: vg.norm([[1, 2]], 1, [0, 0]), "norm: axis .* twice"),
        (lambda: vg.clip_by_norm([1, 2], -1), "clip_by_norm: clip_norm must not be negative, got -1"),
    ],
)
def test_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# Bands


@STABLE
@given(hnp.array_shapes(min_dims=2, max_dims=4, max_side=4), st.integers(-1, 4), st.integers(-1, 4))
def test_bands_are_what_numpy_leaves_of_both_triangles(shape, lower, upper):
    x = np.random.default_rng(0).normal(size=shape)
    lower, upper = min(lower, shape[-2]), min(upper, shape[-1])
    expected = np.tril(x, upper) if upper >= 0 else x
    expected = np.triu(expected, -lower) if lower >= 0 else expected
    np.testing.assert_array_equal(vg.linalg.band_part(vg.tensor(x, dtype="float64"), lower, upper).numpy(), expected)
    counts = vg.scalar(lower, "int32"), vg.scalar(upper, "int32")
    np.testing.assert_array_equal(vg.linalg.band_part(vg.tensor(x, dtype="float64"), *counts).numpy(), expected)


def test_bands_of_other_dtypes_and_of_nan():
    assert vg.linalg.band_part(vg.tensor([[True, True], [True, True]]), 0, 0).tolist() == [[True, False], [False, True]]
    assert vg.linalg.band_part(vg.tensor([["a", "b"]]), 0, 0).tolist() == [["a", ""]]
    assert vg.linalg.band_part(vg.tensor([[1j, np.nan]]), 0, 0).tolist() == [[1j, 0]]


# QR


@STABLE
@given(
    st.lists(st.integers(0, 3), max_size=2),
    st.integers(1, 5),
    st.integers(1, 5),
    st.booleans(),
    st.booleans(),
    st.integers(0, 99),
)
def test_qr_factors_are_orthogonal_and_triangular_and_give_the_matrix(batch, rows, columns, full, sparse, seed):
    x = np.random.default_rng(seed).normal(size=(*batch, rows, columns))
    if sparse:  # with zeros where reflections start
        x = np.round(x)
    q, r = (t.numpy() for t in vg.linalg.qr(vg.tensor(x, dtype="float64"), full))
    count = rows if full else min(rows, columns)
    assert q.shape == (*batch, rows, count)
    assert r.shape == (*batch, count, columns)
    np.testing.assert_allclose(q @ r, x, atol=1e-12)
    np.testing.assert_allclose(
        q.swapaxes(-1, -2) @ q, np.broadcast_to(np.eye(count), (*batch, count, count)), atol=1e-12
    )
    np.testing.assert_array_equal(r, np.triu(r))


# tf.linalg.qr(tf.tensor2d([[1, 2, 3], [0, 0, 4], [2, 0, 1], [3, 1, 1]]), true)
def test_qr_has_tensorflow_js_s_signs():
    q, r = vg.linalg.qr([[1, 2, 3], [0, 0, 4], [2, 0, 1], [3, 1, 1]], full_matrices=True)
    expected = [
        [-0.26726115, 0.91634184, 0.07525903, -0.2884874],
        [0, 0, 0.96761614, 0.25242645],
        [-0.5345225, -0.3984096, 0.18814745, -0.72121847],
        [-0.8017837, -0.03984093, -0.150518, 0.57697481],
    ]
    np.testing.assert_allclose(q.numpy(), expected, atol=1e-6)
    triangle = [[-3.7416573, -1.3363061, -2.1380892], [0, 1.7928427, 2.3107748], [0, 0, 4.1338711], [0, 0, 0]]
    np.testing.assert_allclose(r.numpy(), triangle, atol=1e-6)


def test_qr_of_matrices_that_are_diagonal_permuted_or_zero():
    q, r = vg.linalg.qr([[2, 0], [0, -3]])
    assert (q.tolist(), r.tolist()) == ([[-1, 0], [0, -1]], [[-2, 0], [0, 3]])
    q, r = vg.linalg.qr([[0, 3], [2, 0]])  # a zero on the diagonal is reflected to a positive number
    np.testing.assert_allclose(r.numpy(), [[2, 0], [0, -3]], atol=1e-7)
    np.testing.assert_allclose(q.numpy(), [[0, -1], [1, 0]], atol=1e-7)
    q, r = vg.linalg.qr(np.zeros((2, 2)))
    assert r.tolist() == [[0, 0], [0, 0]]
    np.testing.assert_allclose(np.abs(q.numpy()), np.eye(2))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_qr_keeps_the_dtype(dtype):
    q, r = vg.linalg.qr(vg.tensor([[1, 2], [3, 4]], dtype=dtype))
    assert (q.dtype, r.dtype) == (dtype, dtype)


# Gram-Schmidt


@STABLE
@given(st.integers(1, 4), st.integers(0, 3), st.integers(0, 99))
def test_gram_schmidt_takes_from_each_vector_what_the_others_span(count, more, seed):
    vectors = np.random.default_rng(seed).normal(size=(count, count + more))
    expected = []
    for vector in vectors:
        for other in expected:
            vector = vector - (vector @ other) * other
        expected.append(vector / np.linalg.norm(vector))
    result = vg.linalg.gram_schmidt(vg.tensor(vectors, dtype="float64"))
    np.testing.assert_allclose(result.numpy(), expected, atol=1e-9)
    listed = vg.linalg.gram_schmidt([vg.tensor(v, dtype="float64") for v in vectors])
    assert isinstance(listed, list)
    np.testing.assert_array_equal(np.stack([v.numpy() for v in listed]), result.numpy())


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: vg.linalg.band_part([1, 2], 0, 0), ValueError, "band_part: a must have rank 2 or more"),
        (lambda: vg.linalg.band_part([[1, 2]], 2, 0), ValueError, "num_lower 2 is more than the 1 rows"),
        (lambda: vg.linalg.band_part([[1, 2]], 0, 3), ValueError, "num_upper 3 is more than the 2 columns"),
        (lambda: vg.linalg.band_part([[1, 2]], 0.5, 0), TypeError, "num_lower must be an integer, got 0.5"),
        (lambda: vg.linalg.band_part([[1, 2]], vg.scalar(1.0), 0), TypeError, "num_lower must be an integer scalar"),
        (lambda: vg.linalg.qr([1, 2]), ValueError, "qr: x must have rank 2 or more"),
        (lambda: vg.linalg.qr([[1j]]), TypeError, "qr: x must be real"),
        (lambda: vg.linalg.gram_schmidt(vg.ones([3, 2])), ValueError, "no more rows than columns, got shape .3, 2."),
        (lambda: vg.linalg.gram_schmidt([]), ValueError, "vectors of one length, got none"),
        (lambda: vg.linalg.gram_schmidt([[1, 2], [1]]), ValueError, r"vectors of one length, got \[2\], \[1\]"),
        (lambda: vg.linalg.gram_schmidt([[1], [2]]), ValueError, "no more rows than columns"),
    ],
)
def test_errors_of_matrices(call, error, message):
    with pytest.raises(error, match=message):
        call()
