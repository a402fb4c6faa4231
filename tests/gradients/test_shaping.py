"""Derivatives of changes of shape, layout and dtype."""

import numpy as np
import pytest

import varigrad as vg
from varigrad.gradients.shaping import GRADIENTS
from varigrad.testing import check_gradients

X = np.random.default_rng(1).normal(size=(2, 3, 4))

# "Kernel: which case", and the function and arguments that run it. Linear functions are squared, for a second order.
CASES = {
    "Cast": (lambda x: vg.square(vg.run_kernel("Cast", (x,), {"dtype": "float64"})), X),
    "Identity": (lambda x: vg.clone(x) * x, X),
    "Reshape": (lambda x: vg.square(vg.reshape(x, [4, -1])), X),
    "Reshape: to a scalar": (lambda x: vg.square(x.as_scalar()), [[0.5]]),
    "Reshape: expand_dims and squeeze": (lambda x: vg.square(vg.squeeze(vg.expand_dims(x, 1))), X),
    "BroadcastTo": (lambda x: vg.square(vg.broadcast_to(x, [5, 2, 3, 2])), X[..., :1]),
    "BroadcastTo: a scalar": (lambda x: vg.square(vg.broadcast_to(x, [2, 3])), 0.7),
    "BroadcastTo: to no rows": (lambda x: vg.square(vg.broadcast_to(x, [0, 3])), X[0, :, 0]),
    "Reverse": (lambda x: vg.reverse(x, [0, 2]) * x, X),
    "Tile": (lambda x: vg.square(vg.tile(x, [2, 1, 3])), X),
    "Tile: no repetition": (lambda x: vg.square(vg.tile(x, [0, 2, 1])), X),
    "Transpose": (lambda x: vg.square(vg.transpose(x, [2, 0, 1])), X),
    "Transpose: reversed": (lambda x: vg.square(vg.transpose(x)), X),
}


@pytest.mark.parametrize("case", CASES)
def test_gradients_agree_with_finite_differences(case):
    f, *args = CASES[case]
    check_gradients(f, *args)


def test_every_gradient_has_a_case():
    assert set(GRADIENTS) <= {case.split(":")[0] for case in CASES}


def test_a_cast_gives_the_gradient_the_dtype_of_its_input():
    x = vg.tensor([1.5, -2.0])
    gradient = vg.grad(lambda x: vg.square(vg.cast(x, "float64")))(x)
    assert gradient.dtype == "float32"
    assert gradient.tolist() == [3, -4]


def test_the_gradient_for_integers_is_not_rounded():
    # tf.grads(tf.pow)([tf.scalar(5), tf.scalar(2, 'int32')], tf.scalar(3))
    base, exponent = vg.grads(vg.pow)([vg.scalar(5.0), vg.scalar(2, "int32")], vg.scalar(3.0))
    assert (base.dtype, exponent.dtype) == ("float32", "float32")
    assert base.item() == 30
    assert exponent.item() == pytest.approx(120.70784343255752)


def test_what_becomes_an_integer_has_gradient_zero_and_trains_nothing():
    assert vg.grad(lambda x: vg.cast(x, "int32"))(vg.tensor([1.5])).tolist() == [0.0]
    w = vg.variable(1.5)
    with pytest.raises(vg.GradientError, match="Cast"):
        vg.variable_grads(lambda: vg.cast(w, "int32"), [w])
