"""Derivatives of softmax and normalization."""

import numpy as np
import pytest

import varigrad as vg
from varigrad.gradients.normalization import GRADIENTS
from varigrad.testing import check_gradients

RANDOM = np.random.default_rng(2)
X = RANDOM.normal(size=(2, 3, 4))
Y = RANDOM.normal(size=(2, 3, 4))
MEAN, VARIANCE = RANDOM.normal(size=4), RANDOM.uniform(0.5, 2, size=4)
OFFSET, SCALE = RANDOM.normal(size=4), RANDOM.normal(size=4)


def kernel(name, **attrs):
    return lambda *inputs: vg.run_kernel(name, inputs, attrs)


# "Kernel: which case", and the function and arguments that run it.
CASES = {
    "FusedBatchNorm": (vg.batch_norm, X, MEAN, VARIANCE, OFFSET, SCALE),
    "FusedBatchNorm: no offset": (lambda x, m, v, s: vg.batch_norm(x, m, v, None, s), X, MEAN, VARIANCE, SCALE),
    "FusedBatchNorm: no scale": (lambda x, m, v, o: vg.batch_norm(x, m, v, o), X, MEAN, VARIANCE, OFFSET),
    "FusedBatchNorm: statistics alone": (
        lambda x, m, v: vg.batch_norm(x, m, v, variance_epsilon=0.1),
        X,
        MEAN,
        VARIANCE,
    ),
    "FusedBatchNorm: parameters of several shapes": (
        vg.batch_norm,
        X,
        RANDOM.normal(size=(3, 1)),
        VARIANCE,
        RANDOM.normal(size=(2, 1, 1)),
        Y,
    ),
    "FusedBatchNorm: by the batch's own moments": (
        lambda x: vg.batch_norm(x, *vg.moments(x, [0, 1])),
        X,
    ),
    "LRN": (lambda x: vg.local_response_normalization(x, 1, 1.5, 0.3, 0.75), X),
    "LRN: the whole row": (lambda x: vg.local_response_normalization(x), X),
    "LogSoftmax": (vg.log_softmax, X),
    "LogSoftmax: first axis": (lambda x: vg.log_softmax(x, 0), X),
    "LogSoftmaxGrad": (kernel("LogSoftmaxGrad", axis=2), X, Y),
    "LogSoftmaxGrad: middle axis": (kernel("LogSoftmaxGrad", axis=1), X, Y),
    "Softmax": (vg.softmax, X),
    "Softmax: middle axis": (lambda x: vg.softmax(x, 1), X),
    "SoftmaxGrad": (kernel("SoftmaxGrad", dim=2), X, Y),
    "SoftmaxGrad: first axis": (kernel("SoftmaxGrad", dim=0), X, Y),
    "WindowSum": (lambda x: vg.square(vg.run_kernel("WindowSum", (x,), {"depth_radius": 1})), X),
}


@pytest.mark.parametrize("case", CASES)
def test_gradients_agree_with_finite_differences(case):
    f, *args = CASES[case]
    check_gradients(f, *args)


def test_every_gradient_has_a_case():
    assert set(GRADIENTS) <= {case.split(":")[0] for case in CASES}


def test_the_third_derivative_of_softmax():
    # softmax([x, 0])[0] is sigmoid(x), whose third derivative at 0 is -1/8.
    f = lambda x: vg.softmax(vg.stack([x, x * 0.0]))[0]  # noqa: E731
    np.testing.assert_allclose(vg.grad(vg.grad(vg.grad(f)))(vg.scalar(0.0)).item(), -0.125, rtol=1e-5)


@pytest.mark.parametrize(
    "f", [vg.softmax, vg.log_softmax, lambda x: vg.batch_norm(x, [0, 0], [0, 1], variance_epsilon=0)]
)
def test_a_gradient_of_zero_leaks_nothing(f):
    gradient = vg.grad(f)(vg.tensor([[1.0, 2.0], [np.inf, np.nan]]), vg.tensor([[0.0, 1.0], [0.0, 0.0]]))
    assert gradient[1].tolist() == [0, 0]
