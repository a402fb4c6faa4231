"""Derivatives of products with a bias and an activation."""

import numpy as np
import pytest

import varigrad as vg
from varigrad.gradients.fused import GRADIENTS
from varigrad.testing import check_gradients


def normal(*shape):
    return np.random.default_rng(sum(shape)).normal(size=shape)


ACTIVATIONS = ["linear", "relu", "relu6", "elu", "sigmoid", "leakyrelu"]

# "Kernel: which case", and the function and arguments that run it.
CASES = {
    "_FusedMatMul: no bias": (lambda a, b: vg.fused.mat_mul(a, b, activation="relu"), normal(2, 3), normal(3, 2)),
    "_FusedMatMul: batch, transposed": (
        lambda a, b, c: vg.fused.mat_mul(a, b, True, True, c, "sigmoid"),
        normal(2, 3, 2),
        normal(2, 3),
        normal(1, 2, 1),
    ),
    "_FusedMatMul: prelu": (
        lambda a, b, c, w: vg.fused.mat_mul(a, b, bias=c, activation="prelu", prelu_activation_weights=w),
        normal(2, 3),
        normal(3, 2),
        normal(2),
        normal(2),
    ),
    "FusedConv2D: strides, no bias": (
        lambda x, w: vg.fused.conv2d(x, w, [2, 1], "same", activation="elu"),
        normal(1, 3, 4, 2),
        normal(2, 3, 2, 2),
    ),
    "FusedConv2D: NCHW, prelu": (
        lambda x, w, b, p: vg.fused.conv2d(
            x, w, 1, "valid", "NCHW", bias=b, activation="prelu", prelu_activation_weights=p
        ),
        normal(1, 2, 3, 3),
        normal(2, 2, 2, 3),
        normal(3),
        normal(3),
    ),
}
for _activation in ACTIVATIONS:
    CASES |= {
        f"_FusedMatMul: {_activation}": (
            lambda a, b, c, f=_activation: vg.fused.mat_mul(a, b, bias=c, activation=f),
            normal(4, 3),
            normal(3, 2),
            normal(2),
        ),
        f"FusedConv2D: {_activation}": (
            lambda x, w, b, f=_activation: vg.fused.conv2d(x, w, 1, "same", bias=b, activation=f),
            normal(1, 3, 3, 2),
            normal(2, 2, 2, 2),
            normal(2),
        ),
        f"FusedDepthwiseConv2D: {_activation}": (
            lambda x, w, b, f=_activation: vg.fused.depthwise_conv2d(x, w, 1, "same", bias=b, activation=f),
            normal(1, 3, 3, 2),
            normal(2, 2, 2, 2),
            normal(4),
        ),
    }


@pytest.mark.parametrize("case", CASES)
def test_gradients_agree_with_differences(case):
    f, *arguments = CASES[case]
    check_gradients(f, *arguments)


def test_every_gradient_of_the_family_has_a_case():
    assert GRADIENTS.keys() <= {case.split(":")[0] for case in CASES}


def test_a_dense_step_runs_only_the_kernels_it_needs():
    x = vg.ones([4, 3])
    w, b = vg.variable(normal(3, 2)), vg.variable([0.5, -0.5])
    step = lambda: vg.variable_grads(lambda: vg.fused.mat_mul(x, w, bias=b, activation="relu").sum())  # noqa: E731
    kernels = [k.name for k in vg.profile(step).kernels]
    assert kernels[:2] == ["_FusedMatMul", "Sum"]
    # The gradient of the sum, of relu, of the kernel and of the bias; none of x, which is not trained.
    assert sorted(kernels[2:]) == ["BatchMatMul", "ReluGrad", "Spread", "Sum"]
