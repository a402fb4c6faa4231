"""Derivatives of activations."""

import numpy as np
import pytest

import varigrad as vg
from varigrad.gradients.activations import GRADIENTS
from varigrad.ops.activations import relu_grad, sigmoid_grad
from varigrad.testing import check_gradients

ANYWHERE = [[-2.3, -0.4], [0.7, 1.9]]
SLOPES = [0.5, -1.5]

# "Kernel: which case", and the function and arguments that run it.
CASES = {
    "Elu": (vg.elu, ANYWHERE),
    "Elu: alpha": (lambda x: vg.elu(x, 0.3), ANYWHERE),
    "EluGrad": (lambda dy, y: vg.run_kernel("EluGrad", (dy, y)), ANYWHERE, [[-0.9, -0.2], [0.7, 1.9]]),
    "EluGrad: scaled": (
        lambda dy, y: vg.run_kernel("EluGrad", (dy, y), {"alpha": 0.4, "scale": 2.0}),
        ANYWHERE,
        [[-0.5, -0.2], [0.7, 1.9]],
    ),
    "LeakyRelu": (lambda x: vg.leaky_relu(x) * x, ANYWHERE),
    "LeakyRelu: negative slope": (lambda x: vg.leaky_relu(x, -0.5) * x, ANYWHERE),
    "Prelu": (vg.prelu, ANYWHERE, SLOPES),
    "Prelu: alpha of more axes": (vg.prelu, [0.5, -1.5], ANYWHERE),
    "Relu": (lambda x: vg.relu(x) * x, ANYWHERE),
    "Relu6": (lambda x: vg.relu6(x) * x, [-1.0, 2.0, 5.5, 7.0]),
    "ReluGrad": (relu_grad, ANYWHERE, [[0.5, -0.5], [1.5, -2.0]]),
    "Selu": (vg.selu, ANYWHERE),
    "Sigmoid": (vg.sigmoid, ANYWHERE),
    "SigmoidGrad": (sigmoid_grad, ANYWHERE, [[0.1, 0.5], [0.7, 0.9]]),
    "Softplus": (vg.softplus, ANYWHERE),
    "Erf: gelu": (vg.gelu, ANYWHERE),
    "Tanh: approximate gelu": (lambda x: vg.gelu(x, approximate=True), ANYWHERE),
    "Softplus: log_sigmoid": (vg.log_sigmoid, ANYWHERE),
}


@pytest.mark.parametrize("case", CASES)
def test_gradients_agree_with_finite_differences(case):
    f, *args = CASES[case]
    check_gradients(f, *args)


def test_every_gradient_has_a_case():
    assert set(GRADIENTS) <= {case.split(":")[0] for case in CASES}


@pytest.mark.parametrize(
    ("f", "at", "expected"),
    [
        (vg.relu, [-1, 0, 1], [0, 0, 1]),
        # tf.grad(x => tf.relu6(x))([-1, 0, 1, 6, 7])
        (vg.relu6, [-1, 0, 1, 6, 7], [0, 0, 1, 1, 0]),
        # tf.grad(x => tf.leakyRelu(x))([-1, 0, 1])
        (vg.leaky_relu, [-1, 0, 1], [0.2, 0.2, 1]),
        # tf.grad(x => tf.elu(x))([-1, 0, 1])
        (vg.elu, [-1, 0, 1], [0.3678794503211975, 1, 1]),
        # tf.grad(x => tf.selu(x))([-1, 0, 1])
        (vg.selu, [-1, 0, 1], [0.6467686295509338, 1.7580993175506592, 1.0507010221481323]),
        (vg.softplus, [-1000, 0, 1000], [0, 0.5, 1]),
        (vg.log_sigmoid, [-1000, 0, 1000], [1, 0.5, 0]),
        (vg.sigmoid, [-1000, 0, 1000], [0, 0.25, 0]),
        (vg.gelu, [-1000, 0, 1000], [0, 0.5, 1]),
        (lambda x: vg.gelu(x, approximate=True), [-1000, 0, 1000], [0, 0.5, 1]),
        (vg.elu, [-1000, 1000], [0, 1]),
    ],
)
def test_gradients_at_kinks_and_far_out(f, at, expected):
    np.testing.assert_allclose(vg.grad(f)(vg.tensor(at)).numpy(), expected, rtol=1e-6)


@pytest.mark.parametrize(
    "f",
    [
        vg.elu,
        vg.selu,
        vg.softplus,
        vg.log_sigmoid,
        vg.sigmoid,
        vg.gelu,
        lambda x: vg.gelu(x, approximate=True),
        vg.relu,
        vg.leaky_relu,
    ],
)
def test_second_derivatives_far_out_are_zero(f):
    np.testing.assert_allclose(vg.grad(vg.grad(f))(vg.tensor([-1000, 1000])).numpy(), [0, 0], atol=1e-12)
