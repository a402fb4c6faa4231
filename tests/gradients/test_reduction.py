"""Derivatives of reductions."""

import numpy as np
import pytest

import varigrad as vg
from varigrad.gradients.reduction import GRADIENTS
from varigrad.testing import check_gradients

X = np.random.default_rng(1).normal(size=(2, 3, 2))
ONE_ZERO = [[0.5, 0.0, -1.5], [2.0, 1.0, 0.3]]
TWO_ZEROS = [[0.5, 0.0, 0.0], [0.0, 1.0, 0.3]]
PAIR = [[1.0, -2.0, 0.5], [0.3, 0.0, 2.0]]
AXES = [None, 0, 1, -1, [0, 1], [0, 2], [1, 2], []]

# "Kernel: which case", and the function and arguments that run it. Linear functions are squared, for a second order.
CASES = {
    "ExtremumShare": (lambda x: vg.run_kernel("ExtremumShare", (x, vg.max(x)), {"axis": (0, 1)}) * x, ONE_ZERO),
    "ExclusiveRecurrence": (
        lambda a, b: vg.run_kernel("ExclusiveRecurrence", (a, b), {"axis": 1, "reverse": False}),
        PAIR,
        ONE_ZERO,
    ),
    "ExclusiveRecurrence: reversed": (
        lambda a, b: vg.run_kernel("ExclusiveRecurrence", (a, b), {"axis": 0, "reverse": True}),
        X,
        X + 1,
    ),
    "Spread": (lambda x: vg.square(vg.run_kernel("Spread", (x,), {"shape": (4, 2, 3), "factor": 0.3})), ONE_ZERO),
    "Spread: a scalar": (lambda x: vg.square(vg.run_kernel("Spread", (x,), {"shape": (2, 3), "factor": 0.3})), 0.7),
    "Sum: moments": (lambda x: vg.moments(x, [0, 2]).variance, X),
    "LogSumExp: widely spread": (vg.log_sum_exp, [-400.0, 300.0, 300.5]),
}
for _axis in AXES:
    for _keep_dims in (False, True):
        _along = f"axis={_axis}, keep_dims={_keep_dims}"
        CASES |= {
            f"Sum: {_along}": (lambda x, a=_axis, k=_keep_dims: vg.square(vg.sum(x, a, k)), X),
            f"Mean: {_along}": (lambda x, a=_axis, k=_keep_dims: vg.square(vg.mean(x, a, k)), X),
            f"Max: {_along}": (lambda x, a=_axis, k=_keep_dims: vg.square(vg.max(x, a, k)), X),
            f"Min: {_along}": (lambda x, a=_axis, k=_keep_dims: vg.square(vg.min(x, a, k)), X),
            f"LogSumExp: {_along}": (lambda x, a=_axis, k=_keep_dims: vg.log_sum_exp(x, a, k), X),
            f"Prod: {_along}": (lambda x, a=_axis, k=_keep_dims: vg.prod(x, a, k), X),
        }
for _name, _x in {"no zero": X[0], "one zero": ONE_ZERO, "two zeros": TWO_ZEROS, "only zeros": [[0.0] * 3]}.items():
    for _axis in (None, 0, 1):
        CASES[f"Prod: {_name}, axis={_axis}"] = (lambda x, a=_axis: vg.prod(x, a), _x)
    for _exclusive in (False, True):
        for _reverse in (False, True):
            _options = f"exclusive={_exclusive}, reverse={_reverse}"
            CASES |= {
                f"Cumprod: {_name}, {_options}": (
                    lambda x, e=_exclusive, r=_reverse: vg.cumprod(x, 1, e, r),
                    _x,
                ),
                f"Cumsum: {_name}, {_options}": (
                    lambda x, e=_exclusive, r=_reverse: vg.square(vg.cumsum(x, 0, e, r)),
                    _x,
                ),
            }


def in_complex(f):
    """`f` of complex numbers as a real function of real ones, in single precision, so checked with `LOOSE`."""

    def real(x):
        z = x.cast("complex64") * (0.6 - 1.1j) + (1.3 + 0.4j)
        return vg.abs(f(z) + (0.3 - 0.2j)).cast("float64")

    return real


LOOSE = {"step": 1e-2, "relative": 2e-2, "absolute": 2e-2}
CASES |= {
    "Sum: complex": (in_complex(lambda z: vg.sum(z * z, 1)), ONE_ZERO),
    "Mean: complex": (in_complex(lambda z: vg.mean(z * z, 0)), ONE_ZERO),
    "Prod: complex": (in_complex(lambda z: vg.prod(z, 1)), ONE_ZERO),
    "Cumsum: complex": (in_complex(lambda z: vg.cumsum(z * z, 1)), ONE_ZERO),
    "Cumprod: complex": (in_complex(lambda z: vg.cumprod(z, 1)), ONE_ZERO),
    "Cumprod: complex, exclusive": (in_complex(lambda z: vg.cumprod(z, 1, exclusive=True, reverse=True)), ONE_ZERO),
}


@pytest.mark.parametrize("case", CASES)
def test_gradients_agree_with_finite_differences(case):
    f, *args = CASES[case]
    check_gradients(f, *args, **(LOOSE if "complex" in case else {}))


def test_every_gradient_has_a_case():
    assert set(GRADIENTS) <= {case.split(":")[0] for case in CASES}


def test_the_third_derivative_of_a_product_beside_zeros():
    # prod(x) = x0 x1 x2: its derivative for each of the three is 1, wherever x is.
    def derivative(f, i):
        return lambda x: vg.grad(f)(x)[i]

    f = derivative(derivative(derivative(vg.prod, 0), 1), 2)
    assert f(vg.tensor([0.0, 0.0, 5.0])).item() == 1
    assert f(vg.tensor([0.0, 0.0, 0.0])).item() == 1


@pytest.mark.parametrize(("op", "best"), [(vg.max, 3.0), (vg.min, -1.0)])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_ties_share_the_gradient_evenly(op, best, axis):
    x = vg.tensor([[best, 1.0, best], [best, 0.0, best]])
    gradient = vg.grad(lambda x: op(x, axis).sum())(x).numpy()
    ties = x.numpy() == op(x, axis, keep_dims=True).numpy()
    np.testing.assert_allclose(gradient, ties / ties.sum(axis, keepdims=True), rtol=1e-6)


def test_the_gradient_of_a_maximum_that_is_nan_goes_to_the_nan():
    gradient = vg.grad(lambda x: vg.max(x, 1).sum())(vg.tensor([[1, np.nan], [2, 3]]))
    assert gradient.tolist() == [[0, 1], [0, 1]]


def test_an_infinite_gradient_stays_out_of_what_is_not_the_maximum():
    assert vg.grad(vg.max)(vg.tensor([1.0, 2.0]), vg.scalar(np.inf)).tolist() == [0, np.inf]


@pytest.mark.parametrize("op", [vg.sum, vg.mean, vg.max, vg.min, vg.prod, vg.log_sum_exp])
def test_a_gradient_of_zero_leaks_nothing_from_where_it_is_not_finite(op):
    x = vg.tensor([[1.0, 2.0], [np.inf, np.nan]])
    gradient = vg.grad(lambda x: op(x, 1))(x, vg.tensor([1.0, 0.0]))
    assert gradient[1].tolist() == [0, 0]
