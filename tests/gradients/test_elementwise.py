"""Derivatives of functions of single numbers."""

import numpy as np
import pytest

import varigrad as vg
from varigrad.gradients.elementwise import GRADIENTS
from varigrad.ops.elementwise import conj
from varigrad.testing import check_gradients

ANYWHERE = [[-2.3, -0.4], [0.7, 1.9]]
POSITIVE = [0.3, 1.2, 4.5]


def in_complex(f):
    """f of complex numbers, as a real function of real ones; in single precision, so checked with `LOOSE`."""

    def g(x):
        z = f(x.cast("complex64") * (0.6 - 1.1j) + (1.3 + 0.4j))
        return (z + (0.3 - 0.2j)).abs().cast("float64")

    return g


LOOSE = {"step": 1e-2, "relative": 1e-2, "absolute": 1e-2}

# "Kernel: which case", and the function and arguments that run it.
CASES = {
    "Abs": (vg.abs, ANYWHERE),
    "Ceil": (vg.ceil, ANYWHERE),
    "ClipByValue": (lambda x: vg.clip_by_value(x, -1, 1) * x, ANYWHERE),
    "ComplexAbs": (in_complex(lambda z: z), ANYWHERE),
    "Conj": (in_complex(lambda z: conj(z) * z * z), ANYWHERE),
    "Erf": (vg.erf, ANYWHERE),
    "Exp": (vg.exp, ANYWHERE),
    "Exp: complex": (in_complex(vg.exp), ANYWHERE),
    "Expm1": (vg.expm1, ANYWHERE),
    "Floor": (vg.floor, ANYWHERE),
    "Log": (vg.log, POSITIVE),
    "Log: complex": (in_complex(vg.log), ANYWHERE),
    "Log1p": (vg.log1p, [-0.5, 0.3, 4.0]),
    "Neg": (vg.neg, ANYWHERE),
    "Neg: complex": (in_complex(vg.neg), ANYWHERE),
    "Reciprocal": (vg.reciprocal, ANYWHERE),
    "Reciprocal: complex": (in_complex(vg.reciprocal), ANYWHERE),
    "Round": (vg.round, ANYWHERE),
    "Rsqrt": (vg.rsqrt, POSITIVE),
    "Rsqrt: complex": (in_complex(vg.rsqrt), ANYWHERE),
    "Sign": (vg.sign, ANYWHERE),
    "Sqrt": (vg.sqrt, POSITIVE),
    "Sqrt: complex": (in_complex(vg.sqrt), ANYWHERE),
    "Square": (vg.square, ANYWHERE),
    "Square: complex": (in_complex(vg.square), ANYWHERE),
    "Step": (lambda x: vg.step(x, 0.3), ANYWHERE),
    # Ops that are formulas over others.
    "ClipByValue: tensor limits": (vg.clip_by_value, ANYWHERE, [[-1.0], [-1.5]], [1.0, 1.5]),
}


@pytest.mark.parametrize("case", CASES)
def test_gradients_agree_with_finite_differences(case):
    f, *args = CASES[case]
    check_gradients(f, *args, **(LOOSE if "omplex" in case or case == "Conj" else {}))


def test_every_gradient_has_a_case():
    assert set(GRADIENTS) <= {case.split(":")[0] for case in CASES}


@pytest.mark.parametrize("f", [vg.ceil, vg.floor, vg.round, vg.sign, vg.step], ids=lambda f: f.__name__)
def test_a_function_of_steps_has_gradient_zero(f):
    x = vg.tensor([-1.5, 0.0, np.inf, np.nan])
    assert vg.grad(f)(x, vg.fill([4], np.inf)).tolist() == [0, 0, 0, 0]
    # d²(x f(x))/dx² = 2 f'(x) + x f''(x)
    assert vg.grad(vg.grad(lambda x: x * f(x)))(vg.tensor([-1.5, 0.5])).tolist() == [0, 0]


@pytest.mark.parametrize(
    ("f", "at", "expected"),
    [
        (vg.abs, [-2, 0, 3], [-1, 0, 1]),
        # tf.grad(x => tf.clipByValue(x, 0, 2))([-1, 0, 1, 2, 3])
        (lambda x: vg.clip_by_value(x, 0, 2), [-1, 0, 1, 2, 3], [0, 1, 1, 1, 0]),
        (vg.sqrt, [0, 4], [np.inf, 0.25]),
        (vg.log, [0, 2], [np.inf, 0.5]),
    ],
)
def test_gradients_at_kinks(f, at, expected):
    np.testing.assert_allclose(vg.grad(f)(vg.tensor(at)).numpy(), expected, rtol=1e-6)


def test_the_second_derivative_of_erf_is_zero_far_out():
    np.testing.assert_allclose(vg.grad(vg.grad(vg.erf))(vg.tensor([-1000, 1000])).numpy(), [0, 0], atol=1e-12)


def test_third_derivatives_of_functions_differentiated_by_their_result():
    def third(f):
        return vg.grad(vg.grad(vg.grad(f)))(vg.tensor(0.5, dtype="float64")).item()

    e, s, t = np.exp(0.5), 1 / (1 + np.exp(-0.5)), np.tanh(0.5)
    assert third(vg.exp) == pytest.approx(e)
    assert third(vg.sigmoid) == pytest.approx(s * (1 - s) * (1 - 6 * s + 6 * s * s))
    assert third(vg.tanh) == pytest.approx((6 * t * t - 2) * (1 - t * t))
    assert third(vg.sqrt) == pytest.approx(3 / 8 * 0.5**-2.5)
    assert third(vg.reciprocal) == pytest.approx(-6 * 0.5**-4)


# Where a function has no finite derivative, or no value: nothing comes out of it if it is not used.
SINGULAR = {
    "acos": (vg.acos, 2.0, 0.5),
    "acos at the end": (vg.acos, 1.0, 0.5),
    "acosh": (vg.acosh, 0.5, 2.0),
    "acosh at the end": (vg.acosh, 1.0, 2.0),
    "asin": (vg.asin, -1.0, 0.5),
    "atanh": (vg.atanh, 1.0, 0.5),
    "cosh": (vg.cosh, 1e3, 0.5),
    "exp": (vg.exp, 1e3, 0.5),
    "expm1": (vg.expm1, 1e3, 0.5),
    "log": (vg.log, 0.0, 2.0),
    "log of a negative number": (vg.log, -1.0, 2.0),
    "log1p": (vg.log1p, -1.0, 2.0),
    "reciprocal": (vg.reciprocal, 0.0, 2.0),
    "rsqrt": (vg.rsqrt, 0.0, 2.0),
    "sin": (vg.sin, np.inf, 2.0),
    "sqrt": (vg.sqrt, 0.0, 2.0),
    "sqrt of a negative number": (vg.sqrt, -1.0, 2.0),
    "square": (lambda x: x * vg.square(x), np.inf, 2.0),
    "tan": (vg.tan, np.inf, 0.5),
    "x log x": (lambda x: x * vg.log(x), 0.0, 2.0),
    "1 / x": (lambda x: 1 / x, 0.0, 2.0),
    "x / x²": (lambda x: x / vg.square(x), 0.0, 2.0),
    "x ** 0.5": (lambda x: x**0.5, 0.0, 2.0),
    "x ** -1": (lambda x: x**-1, 0.0, 2.0),
    "x ** x": (lambda x: x**x, 0.0, 2.0),
    "sqrt of a sum of squares": (lambda x: vg.sqrt(x * x + x * x), 0.0, 2.0),
    "exp of 1 / x": (lambda x: vg.exp(1 / x), 0.0, 2.0),
    "elu of a large product": (lambda x: vg.elu(x * 1e38 * 1e38), 1e3, -0.1),
    "gelu": (vg.gelu, -np.inf, 0.5),
    "gelu in float32's far end": (lambda x: vg.gelu(x, approximate=True), 1e30, 0.5),
}


@pytest.mark.parametrize("case", SINGULAR)
@pytest.mark.parametrize("order", [1, 2, 3])
def test_nothing_leaks_out_of_a_side_that_was_not_chosen(case, order):
    f, bad, good = SINGULAR[case]
    chosen = vg.tensor([False, True])

    def of_one(x):
        return f(x)

    def of_both(x):
        return vg.where(chosen, f(x), x * 0.0 + x)

    for _ in range(order):
        of_one, of_both = vg.grad(of_one), vg.grad(of_both)
    found = of_both(vg.tensor([1.0, good]) * 0 + vg.tensor([bad, good]))
    expected = of_one(vg.tensor([good]))
    assert found.numpy()[0] == (1.0 if order == 1 else 0.0)
    np.testing.assert_allclose(found.numpy()[1], expected.numpy()[0], rtol=1e-5)
