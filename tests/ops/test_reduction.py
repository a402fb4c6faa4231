"""Reductions: values against NumPy and TensorFlow.js, axes, empty tensors, NaN, dtypes and errors."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import varigrad as vg

STABLE = settings(max_examples=50)

REDUCTIONS = {
    "sum": (vg.sum, np.sum),
    "mean": (vg.mean, np.mean),
    "prod": (vg.prod, np.prod),
    "max": (vg.max, np.max),
    "min": (vg.min, np.min),
    "log_sum_exp": (vg.log_sum_exp, lambda x, axis, keepdims: np.log(np.exp(x).sum(axis=axis, keepdims=keepdims))),
}


@st.composite
def arrays_and_axes(draw, dtype=np.float64, min_side=1):
    shape = draw(hnp.array_shapes(min_dims=0, max_dims=4, min_side=min_side, max_side=5))
    elements = st.floats(-2, 2, width=32) if np.dtype(dtype).kind == "f" else None
    x = draw(hnp.arrays(dtype, shape, elements=elements))
    keep_dims = draw(st.booleans())
    if not shape:
        return x, None, keep_dims
    axes = draw(st.lists(st.integers(-len(shape), len(shape) - 1), unique_by=lambda a: a % len(shape)))
    return x, draw(st.sampled_from([None, axes, *axes[:1]])), keep_dims


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_reductions_are_numpys_for_any_shape_and_axes(name, dtype):
    ours, numpys = REDUCTIONS[name]

    @STABLE
    @given(arrays_and_axes())
    def check(case):
        x, axis, keep_dims = case
        x = x.astype(dtype)
        result = ours(vg.tensor(x, dtype=dtype.__name__), axis, keep_dims)
        along = tuple(axis) if isinstance(axis, list) else axis
        expected = numpys(x.astype(np.float64), axis=along, keepdims=keep_dims)
        assert result.dtype == dtype.__name__
        assert result.shape == np.shape(expected)
        tolerance = 1e-5 if dtype is np.float32 else 1e-12
        np.testing.assert_allclose(result.numpy(), expected, rtol=tolerance, atol=tolerance * 10)

    check()


@STABLE
@given(arrays_and_axes(dtype=np.bool_, min_side=0))
def test_all_and_any_are_numpys_for_any_shape_and_axes(case):
    x, axis, keep_dims = case
    along = tuple(axis) if isinstance(axis, list) else axis
    for ours, numpys in ((vg.all, np.all), (vg.any, np.any)):
        np.testing.assert_array_equal(ours(x, axis, keep_dims).numpy(), numpys(x, axis=along, keepdims=keep_dims))


@pytest.mark.parametrize(("rows", "axis"), [(20_000, 0), (100, (0, 1)), (7, -1), (7, (1, 2))])
def test_float32_sums_keep_five_digits_however_long(rows, axis):
    x = np.random.default_rng(0).uniform(size=(rows, 3, 40)).astype(np.float32)
    np.testing.assert_allclose(vg.sum(x, axis).numpy(), x.sum(axis, dtype=np.float64), rtol=1e-5)


def test_sums_along_an_axis_pass_infinities_and_nan_on():
    x = [[np.inf, 1.0], [-np.inf, np.inf], [0.0, 2.0]]
    np.testing.assert_array_equal(vg.sum(x, 0).numpy(), [np.nan, np.inf])
    np.testing.assert_array_equal(vg.sum(x, 1).numpy(), [np.inf, np.nan, 2])


# (expression, value, dtype) as TensorFlow.js 4.22 gives them: tf.tensor([1, 2], [2], 'int32').mean() and so on
DTYPES = [
    (lambda x: vg.sum(x), [1, 2], "int32", 3, "int32"),
    (lambda x: vg.sum(x), [True, True], "bool", 2, "int32"),
    (lambda x: vg.mean(x), [1, 2], "int32", 1.5, "float32"),
    (lambda x: vg.mean(x), [True, False], "bool", 0.5, "float32"),
    (lambda x: vg.prod(x), [3, 2], "int32", 6, "int32"),
    (lambda x: vg.prod(x), [True, True], "bool", 1, "int32"),
    (lambda x: vg.max(x), [3, 2], "int32", 3, "int32"),
    (lambda x: vg.max(x), [True, False], "bool", True, "bool"),
    (lambda x: vg.min(x), [True, False], "bool", False, "bool"),
    (lambda x: vg.cumsum(x), [True, True], "bool", [1, 2], "int32"),
    (lambda x: vg.cumsum(x), [1, 2], "int32", [1, 3], "int32"),
    (lambda x: vg.cumprod(x), [True, True], "bool", [1, 1], "int32"),
    (lambda x: vg.moments(x).variance, [1, 2], "int32", 0.25, "float32"),
    (lambda x: vg.arg_max(x), [False, True], "bool", 1, "int32"),
    (lambda x: vg.sum(x), [1 + 2j, 3 - 1j], "complex64", 4 + 1j, "complex64"),
]


@pytest.mark.parametrize(("op", "values", "dtype", "expected", "result_dtype"), DTYPES)
def test_dtypes_are_tensorflow_js_s(op, values, dtype, expected, result_dtype):
    result = op(vg.tensor(values, dtype=dtype))
    assert result.tolist() == expected
    assert result.dtype == result_dtype


def test_integer_sums_stay_exact_beyond_float32():
    assert vg.sum(vg.tensor([2**24, 1], dtype="int32")).item() == 2**24 + 1
    assert vg.sum(vg.tensor([[2**24, 1]], dtype="int32"), 1).tolist() == [2**24 + 1]


EMPTY = {
    "sum": (vg.sum, 0),
    "prod": (vg.prod, 1),
    "max": (vg.max, -np.inf),
    "min": (vg.min, np.inf),
    "mean": (vg.mean, np.nan),
    "log_sum_exp": (vg.log_sum_exp, -np.inf),
}


@pytest.mark.parametrize("name", EMPTY)
def test_reductions_of_nothing(name):
    op, expected = EMPTY[name]
    np.testing.assert_array_equal(op(np.zeros(0)).numpy(), np.float32(expected))
    np.testing.assert_array_equal(op(np.zeros((0, 3)), 0).numpy(), np.full(3, expected, np.float32))
    np.testing.assert_array_equal(op(np.zeros((2, 0, 3)), (0, 1), True).numpy(), np.full((1, 1, 3), expected))
    assert op(np.zeros((0, 3)), 1).shape == (0,)
    assert vg.grad(lambda x: op(x, 0).sum())(vg.tensor(np.zeros((0, 3)))).shape == (0, 3)


def test_the_extrema_of_no_integers_and_bools_are_the_dtypes_limits():
    assert vg.max(vg.tensor([], [0], "int32")).item() == -(2**31)
    assert vg.min(vg.tensor([], [0], "int32")).item() == 2**31 - 1
    assert vg.max(vg.tensor([], [0], "bool")).item() is False
    assert vg.min(vg.tensor([], [0], "bool")).item() is True


@pytest.mark.parametrize("op", [vg.sum, vg.mean, vg.prod, vg.max, vg.min, vg.log_sum_exp])
def test_nan_is_passed_on(op):
    np.testing.assert_array_equal(np.isnan(op([[1, np.nan], [2, 3]], 1).numpy()), [True, False])


def test_all_and_any_take_lists_of_numbers():
    assert vg.all([1, 0]).item() is False
    assert vg.any([1, 0]).item() is True


def test_an_empty_list_of_axes_reduces_nothing():
    for op in (vg.sum, vg.mean, vg.prod, vg.max, vg.min):
        assert op([[1, 2]], []).tolist() == [[1, 2]]


# arg_max, arg_min


@STABLE
@given(arrays_and_axes(), st.integers(-4, 3))
def test_arg_max_and_arg_min_are_numpys(case, axis):
    x = np.atleast_1d(case[0])
    axis = axis % x.ndim
    assert vg.arg_max(x, axis).tolist() == x.astype(np.float32).argmax(axis).tolist()
    assert vg.arg_min(x, axis).tolist() == x.astype(np.float32).argmin(axis).tolist()


@pytest.mark.parametrize("op", [vg.arg_max, vg.arg_min])
@pytest.mark.parametrize(
    ("shape", "axis", "result"),
    [([0, 3], 1, [0]), ([3, 0], 0, [0]), ([2, 0, 3], -1, [2, 0]), ([0, 1, 0], 1, [0, 0])],
)
def test_arg_max_and_arg_min_of_nothing_along_an_axis_that_is_not_empty_is_empty(op, shape, axis, result):
    found = op(vg.zeros(shape), axis)
    assert found.shape == tuple(result)
    assert found.dtype == "int32"


def test_arg_max_searches_the_first_axis_by_default():
    assert vg.arg_max([[1, 9], [3, 4]]).tolist() == [1, 0]


def test_arg_max_and_arg_min_pass_over_nan():
    assert vg.arg_max([0, 3, 5, np.nan, 3]).item() == 2  # pinned by a spec of TensorFlow.js
    assert vg.arg_max([np.nan, 1, 3]).item() == 2
    assert vg.arg_min([np.nan, 1, 3]).item() == 1
    assert vg.arg_max([np.nan, np.nan]).item() == 0


# log_sum_exp


def test_log_sum_exp_neither_overflows_nor_loses_infinities():
    assert vg.log_sum_exp([-np.inf, -np.inf]).item() == -np.inf
    assert vg.log_sum_exp([np.inf, 1]).item() == np.inf
    np.testing.assert_allclose(vg.log_sum_exp([-1000, -1000]).item(), -1000 + np.log(2), rtol=1e-6)


def test_the_gradient_of_log_sum_exp_of_minus_infinities_is_zero():
    np.testing.assert_array_equal(vg.grad(vg.log_sum_exp)(vg.tensor([-np.inf, -np.inf])).numpy(), [0, 0])
    np.testing.assert_array_equal(vg.grad(vg.log_sum_exp)(vg.tensor([-np.inf, 1])).numpy(), [0, 1])


# Running sums and products


@STABLE
@given(arrays_and_axes(min_side=0), st.integers(-4, 3), st.booleans(), st.booleans())
def test_running_sums_and_products_are_numpys(case, axis, exclusive, reverse):
    x = np.atleast_1d(case[0])
    axis = axis % x.ndim
    for ours, numpys, nothing in ((vg.cumsum, np.cumsum, 0), (vg.cumprod, np.cumprod, 1)):
        turned = np.flip(x, axis) if reverse else x
        expected = numpys(turned, axis)
        if exclusive:
            first = np.full_like(x.take([0], axis) if x.shape[axis] else x, nothing)
            expected = np.concatenate([first, expected], axis).take(range(x.shape[axis]), axis)
        expected = np.flip(expected, axis) if reverse else expected
        result = ours(vg.tensor(x, dtype="float64"), axis, exclusive, reverse)
        np.testing.assert_allclose(result.numpy(), expected, rtol=1e-12, atol=1e-12)


def test_running_sums_take_negative_axes():
    assert vg.cumsum([[1, 2], [3, 4]], -1).tolist() == [[1, 3], [3, 7]]


# Products beside zeros


@pytest.mark.parametrize(
    ("x", "expected"), [([2, 3, 4], [12, 8, 6]), ([0, 3, 4], [12, 0, 0]), ([0, 3, 0], [0, 0, 0]), ([5], [1])]
)
def test_the_gradient_of_a_product_beside_zeros(x, expected):
    assert vg.grad(vg.prod)(vg.tensor(x)).tolist() == expected


# The second derivative of x·y·z: 0 on the diagonal, the third factor elsewhere
@pytest.mark.parametrize("x", [[2, 3, 4], [0, 3, 4], [0, 3, 0], [0, 0, 0]])
def test_the_second_derivative_of_a_product_beside_zeros(x):
    for row in range(3):
        dy = vg.tensor(np.eye(3)[row])
        found = vg.grad(lambda v, dy=dy: (vg.grad(vg.prod)(v) * dy).sum())(vg.tensor(x))
        expected = [0 if row == column else x[3 - row - column] for column in range(3)]
        assert found.tolist() == expected


# moments


def test_moments_are_a_mean_and_a_variance():
    x = np.random.default_rng(0).normal(100, 1, size=(3, 4, 5))
    result = vg.moments(x, [0, 2], keep_dims=True)
    np.testing.assert_allclose(result.mean.numpy(), x.mean((0, 2), keepdims=True), rtol=1e-6)
    np.testing.assert_allclose(result.variance.numpy(), x.var((0, 2), keepdims=True), rtol=1e-3)
    mean, variance = vg.moments(x, [0, 2])
    assert mean.shape == variance.shape == (4,)
    assert vg.moments(x).mean.shape == ()


# Errors


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: vg.sum([1, 2], 3), ValueError, "sum: axis 3 is out of range for a tensor of rank 1"),
        (lambda: vg.sum([[1, 2]], [0, -2]), ValueError, "sum: axis .* twice"),
        (lambda: vg.mean([1, 2], "x"), TypeError, "mean: axis must be an integer, got 'x'"),
        (lambda: vg.sum(["a"]), TypeError, "sum: x must be numeric, got string"),
        (lambda: vg.max(["a"]), TypeError, "max: x must be real, got string"),
        (lambda: vg.min(vg.tensor([1j])), TypeError, "min: x must be real, got complex64"),
        (lambda: vg.all(vg.tensor([1, 2])), TypeError, "all: x must be bool .*compare.* got float32"),
        (lambda: vg.any(vg.tensor([1, 2])), TypeError, "any: x must be bool"),
        (lambda: vg.arg_max(3), ValueError, "arg_max: axis 0 is out of range for a tensor of rank 0"),
        (lambda: vg.arg_max(np.zeros((2, 0)), 1), ValueError, r"arg_max: .* axis 1 of shape \[2, 0\]"),
        (lambda: vg.cumsum(2), ValueError, "cumsum: axis 0 is out of range"),
        (lambda: vg.log_sum_exp(vg.tensor([1j])), TypeError, "log_sum_exp: x must be real"),
        (lambda: vg.sum(None), TypeError, "sum: x must be a tensor"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_the_gradient_of_a_mean_takes_one_kernel():
    x = vg.tensor(np.ones((4, 5)))
    kernels = [kernel.name for kernel in vg.profile(lambda: vg.grad(vg.mean)(x)).kernels]
    assert kernels[kernels.index("Mean") + 1 :] == ["Spread"]
