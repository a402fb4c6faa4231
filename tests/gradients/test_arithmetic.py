"""Derivatives of binary arithmetic."""

import numpy as np
import pytest

import varigrad as vg
from varigrad.gradients.arithmetic import GRADIENTS
from varigrad.ops.arithmetic import multiply_no_nan, scale
from varigrad.testing import check_gradients

MATRIX = [[1.3, -0.6, 2.1], [-1.7, 0.4, -2.5]]
ROW = [0.8, -1.1, 1.9]
COLUMN = [[1.6], [-0.9]]
POSITIVE = [[1.3, 0.6, 2.1], [1.7, 0.4, 2.5]]


def in_complex(f):
    """f of two complex numbers, as a real function of real ones; in single precision, so checked with `LOOSE`."""

    def g(x, y):
        z = f(x.cast("complex64") * (0.6 - 1.1j) + (1.3 + 0.4j), y.cast("complex64") * (0.5 + 0.7j) - 1j)
        return (z + (0.3 - 0.2j)).abs().cast("float64")

    return g


LOOSE = {"step": 1e-2, "relative": 2e-2, "absolute": 2e-2}

# "Kernel: which case", and the function and arguments that run it.
CASES = {
    "Add": (lambda a, b: (a + b) * a, MATRIX, ROW),
    "Add: both broadcast": (lambda a, b: (a + b) * a, COLUMN, ROW),
    "AddN": (lambda a, b: vg.add_n([a, b, a]) * a, ROW, [0.4, 1.2, -0.3]),
    "Atan2": (vg.atan2, MATRIX, ROW),
    "DivNoNan": (vg.div_no_nan, MATRIX, ROW),
    "FloorDiv": (vg.floor_div, MATRIX, ROW),
    "Maximum": (lambda a, b: vg.maximum(a, b) * a, MATRIX, ROW),
    "Minimum": (lambda a, b: vg.minimum(a, b) * a, MATRIX, ROW),
    "Mod": (vg.mod, MATRIX, ROW),
    "Multiply": (vg.mul, MATRIX, ROW),
    "Multiply: both broadcast": (vg.mul, COLUMN, ROW),
    "Multiply: complex": (in_complex(vg.mul), MATRIX, ROW),
    "MultiplyNoNan": (multiply_no_nan, MATRIX, ROW),
    "MultiplyNoNan: complex": (in_complex(multiply_no_nan), MATRIX, ROW),
    "MultiplyNoNan: with a factor": (
        lambda x, w: vg.run_kernel("MultiplyNoNan", (x, w), {"factor": 2.5}),
        MATRIX,
        ROW,
    ),
    "Pow": (vg.pow, POSITIVE, ROW),
    "Pow: complex": (in_complex(vg.pow), MATRIX, ROW),
    "Pow: complex to a number": (in_complex(lambda z, w: z**3 * w), MATRIX, ROW),
    "Pow: negative bases": (lambda x: x**3, MATRIX),
    "Pow: the square": (lambda x: x**2, MATRIX),
    "RealDiv": (vg.div, MATRIX, ROW),
    "RealDiv: both broadcast": (vg.div, COLUMN, ROW),
    "RealDiv: complex": (in_complex(vg.div), MATRIX, ROW),
    "Scale": (lambda x: scale(x, -1.5) * x, MATRIX),
    "SquaredDifference": (vg.squared_difference, MATRIX, ROW),
    "Sub": (lambda a, b: (a - b) * b, MATRIX, ROW),
}


@pytest.mark.parametrize("case", CASES)
def test_gradients_agree_with_finite_differences(case):
    f, *args = CASES[case]
    check_gradients(f, *args, **(LOOSE if "complex" in case else {}))


def test_every_gradient_has_a_case():
    assert set(GRADIENTS) <= {case.split(":")[0] for case in CASES}


def gradients(f, *args):
    return [g.tolist() for g in vg.grads(f)([vg.tensor(a) for a in args])]


@pytest.mark.parametrize(
    ("f", "a", "b", "expected"),
    [
        # tf.grads(tf.maximum)([[1, 2, 3], [1, 3, 2]]), and tf.minimum: of two that are equal the first has all
        (vg.maximum, [1, 2, 3], [1, 3, 2], [[1, 0, 1], [0, 1, 0]]),
        (vg.minimum, [1, 2, 3], [1, 3, 2], [[1, 1, 0], [0, 0, 1]]),
        (vg.maximum, [np.inf, -np.inf], [0, 0], [[1, 0], [0, 1]]),
        # tf.grads((a, b) => tf.mod(a, b))([[-7, 7], [3, 3]])
        (vg.mod, [-7, 7], [3, 3], [[1, 1], [3, -2]]),
        (vg.div_no_nan, [3, 2], [2, 0], [[0.5, 0], [-0.75, 0]]),
        (vg.floor_div, [3], [2], [[0], [0]]),
        (vg.atan2, [1, 0], [2, 0], [[0.4, 0], [-0.2, 0]]),
        # tf.grads((a, b) => tf.div(a, b))([[1, 1], [2, 0]])
        (vg.div, [1, 1], [2, 0], [[0.5, np.inf], [-0.25, -np.inf]]),
        (vg.pow, [0, 0, 0, 2, -2, -3], [0, 1, 2, 0, 2, 3], [[0, 1, 0, 0, -4, 27], [0, 0, 0, np.log(2), 0, 0]]),
    ],
)
def test_gradients_at_ties_and_zeros(f, a, b, expected):
    for found, wanted in zip(gradients(f, a, b), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=0)


def test_an_infinite_gradient_reaches_only_the_greater_one():
    weights = vg.tensor([np.inf, np.inf, np.inf])
    da, db = vg.grads(vg.maximum)([vg.tensor([1, 2, 3]), vg.tensor([1, 3, 2])], weights)
    assert da.tolist() == [np.inf, 0, np.inf]
    assert db.tolist() == [0, np.inf, 0]


def test_second_derivative_of_a_power_at_zero():
    second = vg.grad(vg.grad(lambda x: x ** vg.tensor([1.0, 2.0, 3.0])))
    assert second(vg.tensor([0.0, 0.0, 0.0])).tolist() == [0, 2, 0]


def test_gradients_of_a_power_for_the_exponent_of_second_order_at_zero():
    second = vg.grad(vg.grad(lambda b: vg.pow(vg.tensor([0.0, 2.0]), b)))
    np.testing.assert_allclose(second(vg.tensor([2.0, 3.0])).numpy(), [0, 8 * np.log(2) ** 2], rtol=1e-6)


def test_a_division_by_a_small_number_does_not_underflow():
    (da,), (db,) = gradients(vg.div, [1e-20], [1e-15])
    assert da == pytest.approx(1e15, rel=1e-5)
    assert db == pytest.approx(-1e10, rel=1e-5)


def test_a_number_beside_a_tensor_takes_part_in_gradients_of_float64():
    assert vg.grad(lambda x: 2.5 * x - 1)(vg.tensor(1, dtype="float64")).dtype == "float64"


def test_a_gradient_that_comes_through_integers_ends_there():
    x = vg.tensor([1.0, 2.0])
    assert vg.grad(lambda x: x * x.cast("int32"))(x).tolist() == [1, 2]
