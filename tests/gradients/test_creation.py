"""Derivatives of making tensors out of others."""

import numpy as np
import pytest

import varigrad as vg
from varigrad.gradients.creation import GRADIENTS
from varigrad.testing import check_gradients

X = np.random.default_rng(1).normal(size=(2, 3))
# Complex numbers are of single precision: numbers that it holds exactly, differences of 1/4, at most squares.
DYADIC = [[0.5, -1.25], [2.0, 0.75]]


def double(x):
    return vg.cast(x, "float64")


CASES = {
    "Diag": (lambda x: vg.square(vg.diag(x)), X),
    "DiagPart": (lambda x: vg.square(vg.run_kernel("DiagPart", (x,))), X[:, :2]),
    "DiagPart: of rank 2": (lambda x: vg.square(vg.run_kernel("DiagPart", (vg.reshape(x, [1, 2, 1, 2]),))), X[:, :2]),
    "ZerosLike": (lambda x: vg.zeros_like(x) + x * x, X),
    "OnesLike": (lambda x: vg.ones_like(x) * x * x, X),
    "fill": (lambda x: vg.square(vg.fill([2, 2], x)), 0.7),
    "meshgrid": (lambda x, y: vg.mul(*vg.meshgrid(x, y)), X[0], X[1]),
    "Complex: real": (lambda x, y: double(vg.square(vg.real(vg.complex(x, y)))), DYADIC, DYADIC),
    "Real": (lambda x, y: double(vg.square(vg.real(vg.complex(x, y)))), DYADIC, DYADIC),
    "Imag": (lambda x, y: double(vg.square(vg.imag(vg.complex(x, y)))), DYADIC, DYADIC),
}
COARSE = {"Complex: real", "Real", "Imag"}


@pytest.mark.parametrize("case", CASES)
def test_gradients_agree_with_finite_differences(case):
    f, *args = CASES[case]
    check_gradients(f, *args, step=0.25 if case in COARSE else 1e-5)


def test_every_gradient_has_a_case():
    assert set(GRADIENTS) <= {case.split(":")[0] for case in CASES}


def test_the_gradient_of_a_part_of_a_complex_number_is_a_complex_number():
    z = vg.tensor([1 + 2j, 3 - 1j])
    assert vg.grad(vg.real)(z).tolist() == [1, 1]
    assert vg.grad(vg.imag)(z).tolist() == [1j, 1j]


def test_likenesses_pass_no_gradient_on():
    x = vg.tensor([1.0, 2.0])
    assert vg.grad(vg.ones_like)(x).tolist() == [0, 0]
    assert vg.grad(vg.zeros_like)(x).tolist() == [0, 0]
