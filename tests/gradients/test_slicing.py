"""Derivatives of taking parts and putting them back."""

import numpy as np
import pytest

import varigrad as vg
from varigrad.gradients.slicing import GRADIENTS
from varigrad.testing import check_gradients

X = np.random.default_rng(1).normal(size=(2, 3, 4))
Y = np.random.default_rng(2).normal(size=(3, 4))
BY_BATCH = np.array([[0, 2, 2], [1, 1, 0]])
TUPLES = np.array([[0, 1], [1, 2], [0, 1]])


def strided(kernel, x, shape):
    attrs = {"begin": (1, 3), "size": (2, 2), "strides": (1, -2), "shape": shape}
    return vg.square(vg.run_kernel(kernel, (x,), attrs))


def put(x, indices, **attrs):
    return vg.square(vg.run_kernel("GatherV2Put", (x, vg.tensor(indices)), attrs))


# "Kernel: which case", and the function and arguments that run it. Linear functions are squared, for a second order.
CASES = {
    "Slice": (lambda x: vg.square(vg.slice(x, [0, 1], [-1, 2])), X),
    "StridedSlice": (lambda x: strided("StridedSlice", x, (2, 2)), Y),
    "StridedSlicePut": (lambda x: strided("StridedSlicePut", x, (3, 4)), Y[:2, :2]),
    "GatherNd": (lambda x: vg.square(vg.gather_nd(x, TUPLES)), X),
    "GatherNd: whole tuples": (lambda x: vg.square(vg.gather_nd(x, [[0, 1, 2], [0, 1, 2]])), X),
    "GatherNd: of nothing": (lambda x: vg.square(vg.gather_nd(x, np.zeros((2, 0), int))), X),
    "ScatterNd": (lambda x: vg.square(vg.scatter_nd(TUPLES, x, [2, 3, 4])), Y),
    "TensorScatterUpdate": (
        lambda x, y: vg.square(vg.tensor_scatter_update(x, [[0, 1], [1, 2], [1, 0]], y)),
        X,
        Y,
    ),
    "TensorScatterUpdate: one place twice": (lambda x, y: vg.square(vg.tensor_scatter_update(x, TUPLES, y)), X, Y),
}
for _axis, _given, _made in ((0, (2, 2, 3, 4), (6, 3, 4)), (1, (2, 2, 2, 4), (2, 6, 4)), (2, (2, 3, 2, 2), (2, 3, 6))):
    CASES |= {
        f"GatherV2: axis={_axis}": (lambda x, a=_axis: vg.square(vg.gather(x, [[1, 0], [1, 1]], a)), X),
        f"GatherV2Put: axis={_axis}": (
            lambda x, a=_axis, s=_made: put(x, np.array([[5, 0], [5, 1]]), shape=s, axis=a, batch_dims=0),
            np.random.default_rng(3).normal(size=_given),
        ),
    }
for _axis, _batch_dims in ((1, 1), (2, 1), (2, 2)):
    CASES |= {
        f"GatherV2: axis={_axis}, batch_dims={_batch_dims}": (
            lambda x, a=_axis, b=_batch_dims: vg.square(vg.gather(x, BY_BATCH, a, b)),
            X,
        ),
        f"GatherV2Put: axis={_axis}, batch_dims={_batch_dims}": (
            lambda x, a=_axis, b=_batch_dims: put(
                vg.gather(x, BY_BATCH, a, b), BY_BATCH, shape=(2, 3, 4), axis=a, batch_dims=b
            ),
            X,
        ),
    }
for _name, _key in {
    "an int": 1,
    "ints and an ellipsis": (0, ..., 2),
    "slices with steps": (slice(None, None, -1), slice(0, 3, 2), slice(3, None, -2)),
    "new axes": (None, 0, None, slice(1, 3)),
    "an array": [1, 0, 1],
    "arrays that broadcast": (slice(None), [[0], [2]], [1, -1]),
    "arrays apart": ([0, 1], slice(None), [2, 2]),
    "a mask": np.array([[True, False, True], [False, True, True]]),
    "nothing": (slice(2, 2),),
}.items():
    CASES[f"x[...]: {_name}"] = (lambda x, k=_key: vg.square(x[k]), X)


@pytest.mark.parametrize("case", CASES)
def test_gradients_agree_with_finite_differences(case):
    f, *args = CASES[case]
    check_gradients(f, *args)


def test_every_gradient_has_a_case():
    assert set(GRADIENTS) <= {case.split(":")[0] for case in CASES}


def test_the_third_derivative_through_an_index():
    f = lambda x: x[[0, 0, 2]] ** 3  # noqa: E731
    third = vg.grad(vg.grad(vg.grad(f)))(vg.tensor([1.0, 2.0, 3.0]))
    assert third.tolist() == [12, 0, 6]


def test_gather_nd_is_differentiable_as_in_q_learning():
    gradient = vg.grad(lambda x: vg.gather_nd(x, [[0, 1], [0, 1]]).sum())(vg.tensor([[1.0, 2.0], [3.0, 4.0]]))
    assert gradient.tolist() == [[0, 2], [0, 0]]


@pytest.mark.parametrize("count", [3, 3000])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_rows_that_are_taken_often_get_the_sum_of_the_gradients(count, dtype):
    indices = np.random.default_rng(4).integers(0, 7, count)
    table = vg.tensor(np.zeros((7, 4)), dtype=dtype)
    gradient = vg.grad(lambda t: vg.gather(t, indices))(table)
    assert gradient.dtype == dtype
    np.testing.assert_array_equal(gradient.numpy(), np.repeat(np.bincount(indices, minlength=7)[:, None], 4, 1))


def test_integers_taken_by_index_have_the_gradient_of_the_numbers_they_are():
    assert vg.grad(lambda x: vg.gather(x, [0]))(vg.tensor([1, 2], dtype="int32")).tolist() == [1.0, 0.0]
