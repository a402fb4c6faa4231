"""Derivatives of trigonometric and hyperbolic functions."""

import numpy as np
import pytest

import varigrad as vg
from varigrad.gradients.trigonometry import GRADIENTS
from varigrad.ops.trigonometry import tanh_grad
from varigrad.testing import check_gradients

ANYWHERE = [[-1.3, -0.4], [0.7, 1.1]]
INSIDE = [-0.9, -0.2, 0.5, 0.8]

CASES = {
    "Acos": (vg.acos, INSIDE),
    "Acosh": (vg.acosh, [1.1, 2.0, 5.0]),
    "Asin": (vg.asin, INSIDE),
    "Asinh": (vg.asinh, ANYWHERE),
    "Atan": (vg.atan, ANYWHERE),
    "Atanh": (vg.atanh, INSIDE),
    "Cos": (vg.cos, ANYWHERE),
    "Cosh": (vg.cosh, ANYWHERE),
    "Sin": (vg.sin, ANYWHERE),
    "Sinh": (vg.sinh, ANYWHERE),
    "Tan": (vg.tan, ANYWHERE),
    "Tanh": (vg.tanh, ANYWHERE),
    "TanhGrad": (tanh_grad, ANYWHERE, [[-0.9, -0.1], [0.3, 0.7]]),
}


@pytest.mark.parametrize("case", CASES)
def test_gradients_agree_with_finite_differences(case):
    f, *args = CASES[case]
    check_gradients(f, *args)


@pytest.mark.parametrize("f", [vg.sin, vg.cos, vg.tan, vg.sinh, vg.cosh, vg.tanh], ids=lambda f: f.__name__)
def test_gradients_of_complex_functions(f):
    def real(x):
        z = f(x.cast("complex64") * (0.6 - 1.1j) + (0.3 + 0.4j))
        return (z + (0.3 - 0.2j)).abs().cast("float64")

    check_gradients(real, ANYWHERE, order=1, step=1e-2, relative=1e-2, absolute=1e-2)


def test_every_gradient_has_a_case():
    assert set(GRADIENTS) <= set(CASES)


@pytest.mark.parametrize("f", [vg.tanh, vg.atan, vg.asinh], ids=lambda f: f.__name__)
def test_gradients_far_out_are_finite_and_small(f):
    for order in (1, 2):
        gradient = f
        for _ in range(order):
            gradient = vg.grad(gradient)
        found = gradient(vg.tensor([-1e30, -1e3, 1e3, 1e30])).numpy()
        assert np.all(np.abs(found) <= 1.001e-3)


def test_arcsine_keeps_its_digits_near_one():
    x = np.float32(1) - np.float32(2) ** -20
    assert vg.grad(vg.asin)(vg.tensor(x)).item() == pytest.approx(1 / np.sqrt(1 - np.float64(x) ** 2), rel=1e-6)
