"""Derivatives through random numbers: they are constants."""

import numpy as np

import varigrad as vg
from varigrad.testing import check_gradients

X = np.random.default_rng(1).normal(size=(3, 4))

CASES = {
    "dropout": (lambda x: vg.square(vg.dropout(x, 0.4, seed=3)), X),
    "dropout: shared": (lambda x: vg.square(vg.dropout(x, 0.4, [3, 1], seed=3)), X),
}


def test_gradients_agree_with_finite_differences():
    for f, *args in CASES.values():
        check_gradients(f, *args)


def test_what_is_dropped_gets_no_gradient_and_the_rest_a_scaled_one():
    x = vg.ones([1000])
    value, gradient = vg.value_and_grad(lambda x: vg.dropout(x, 0.25))(x)
    np.testing.assert_array_equal(value.numpy(), gradient.numpy())
    assert set(gradient.tolist()) == {0.0, float(np.float32(1) / np.float32(0.75))}
