"""Derivatives of convolutions."""

import numpy as np
import pytest

import varigrad as vg
from varigrad.gradients.convolution import GRADIENTS
from varigrad.testing import check_gradients


def normal(*shape):
    return np.random.default_rng(sum(shape)).normal(size=shape)


def kernel(name, **attrs):
    return lambda *xs: vg.run_kernel(name, xs, attrs)


PLANE = {"strides": (2, 1), "dilations": (1, 1), "pads": ((1, 0), (0, 1))}
DILATED = {"strides": (1, 2), "dilations": (2, 1), "pads": ((1, 1), (0, 1))}
DILATION = vg.tensor(normal(1, 4, 3, 2), dtype="float64"), vg.tensor(normal(2, 2, 2), dtype="float64")
SPACE = {"strides": (1, 1, 2), "dilations": (1, 1, 1), "pads": ((0, 1), (0, 0), (1, 0))}

# "Kernel: which case", and the function and arguments that run it. Second order runs each kernel's transposes.
CASES = {
    "Conv2D: strides": (lambda x, w: vg.conv2d(x, w, [2, 1], "same"), normal(2, 4, 3, 2), normal(3, 2, 2, 2)),
    "Conv2D: NCHW, dilations, pad 1": (
        lambda x, w: vg.conv2d(x, w, 1, 1, "NCHW", 2),
        normal(1, 2, 4, 3),
        normal(2, 2, 2, 2),
    ),
    "Conv2D: 1 by 1": (lambda x, w: vg.conv2d(x, w, 1, "valid"), normal(1, 3, 3, 2), normal(1, 1, 2, 3)),
    "Conv2D: 1 by 1, strides": (lambda x, w: vg.conv2d(x, w, 2, "valid"), normal(1, 4, 5, 2), normal(1, 1, 2, 3)),
    "Conv2D: many channels": (lambda x, w: vg.conv2d(x, w, 1, "valid"), normal(1, 2, 3, 13), normal(2, 2, 13, 1)),
    "Conv2D: unused rows": (lambda x, w: vg.conv2d(x, w, 2, "valid"), normal(1, 4, 5, 1), normal(3, 2, 1, 2)),
    "Conv2D: one image": (lambda x, w: vg.conv2d(x, w, 1, "same"), normal(3, 3, 1), normal(2, 2, 1, 2)),
    "Conv2D: 1-D": (lambda x, w: vg.conv1d(x, w, 2, "same"), normal(2, 5, 2), normal(3, 2, 2)),
    "Conv2DBackpropInput: transpose": (
        lambda x, w: vg.conv2d_transpose(x, w, [1, 4, 5, 2], 2, "same"),
        normal(1, 2, 3, 2),
        normal(3, 2, 2, 2),
    ),
    "Conv2DBackpropFilter: strides": (
        kernel("Conv2DBackpropFilter", filter_shape=(2, 2, 2, 3), **PLANE),
        normal(2, 3, 2, 2),
        normal(2, 2, 2, 3),
    ),
    "Conv3D: strides": (lambda x, w: vg.conv3d(x, w, 2, "same"), normal(1, 2, 3, 2, 2), normal(2, 2, 2, 2, 1)),
    "Conv3DBackpropInputV2: transpose": (
        lambda x, w: vg.conv3d_transpose(x, w, [1, 2, 3, 2, 1], 1, "same"),
        normal(1, 2, 3, 2, 1),
        normal(2, 2, 1, 1, 1),
    ),
    "Conv3DBackpropFilterV2: pads": (
        kernel("Conv3DBackpropFilterV2", filter_shape=(2, 1, 2, 1, 2), **SPACE),
        normal(1, 2, 2, 3, 1),
        normal(1, 2, 2, 2, 2),
    ),
    "DepthwiseConv2dNative: dilations": (
        lambda x, w: vg.depthwise_conv2d(x, w, 1, "same", dilations=2),
        normal(1, 3, 3, 2),
        normal(2, 2, 2, 2),
    ),
    "DepthwiseConv2dNative: separable": (
        lambda x, d, p: vg.separable_conv2d(x, d, p, 2, "same"),
        normal(1, 4, 3, 2),
        normal(2, 2, 2, 1),
        normal(1, 1, 2, 2),
    ),
    "DepthwiseConv2dNativeBackpropInput: strides": (
        kernel("DepthwiseConv2dNativeBackpropInput", input_shape=(2, 3, 2, 2), **PLANE),
        normal(2, 2, 2, 4),
        normal(2, 2, 2, 2),
    ),
    "DepthwiseConv2dNativeBackpropFilter: strides": (
        kernel("DepthwiseConv2dNativeBackpropFilter", filter_shape=(2, 2, 2, 2), **PLANE),
        normal(2, 3, 2, 2),
        normal(2, 2, 2, 4),
    ),
    "Dilation2D: strides and dilations": (
        lambda x, w: vg.dilation2d(x, w, [1, 2], "same", 2),
        normal(1, 4, 3, 2),
        normal(2, 2, 2),
    ),
    "Dilation2DBackpropInput: dilations": (
        lambda dy: vg.run_kernel("Dilation2DBackpropInput", (*DILATION, dy), DILATED),
        normal(1, 4, 2, 2),
    ),
    "Dilation2DBackpropFilter: dilations": (
        lambda dy: vg.run_kernel("Dilation2DBackpropFilter", (*DILATION, dy), DILATED),
        normal(1, 4, 2, 2),
    ),
    "Dilation2DTangent: dilations": (
        lambda dx, dw: vg.run_kernel("Dilation2DTangent", (*DILATION, dx, dw), DILATED),
        normal(1, 4, 3, 2),
        normal(2, 2, 2),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_gradients_agree_with_differences(case):
    f, *arguments = CASES[case]
    check_gradients(f, *arguments)


def test_every_gradient_of_the_family_has_a_case():
    assert GRADIENTS.keys() <= {case.split(":")[0] for case in CASES}


def test_of_several_largest_sums_a_dilation_moves_with_the_first():
    x = vg.tensor([[[1], [1]]])
    assert vg.grad(lambda x: vg.dilation2d(x, vg.zeros([1, 2, 1]), 1, "valid"))(x).tolist() == [[[1], [0]]]
